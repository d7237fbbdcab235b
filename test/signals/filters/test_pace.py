# Copyright 2026 uvms_adaptive_dynamics developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Windows, gaps and sentences of slow sensors."""
from types import SimpleNamespace

import pytest

from uvms_adaptive_dynamics.signals.filters.pace import (
    half_window,
    late_sensors,
    longest_gap,
    slow_sensors,
)


def clock(period):
    return SimpleNamespace(period=period, rate=1.0 / period if period else None)


def test_windows_follow_a_slow_sensor_alone():
    """The settings apply to sensors that are fast enough, and before the rate is known."""
    assert half_window(0.1, 0.25) == 0.5 and longest_gap(0.1, 0.25) == 0.375
    for period in (0.01, None):
        assert half_window(0.1, period) == longest_gap(0.1, period) == 0.1


@pytest.mark.parametrize("role, rate, slow", [
    ("thrusters", 5.0, True), ("imu", 4.0, True), ("imu", 20.0, False), ("dvl", 2.0, False),
    ("joint_states", 50.0, False)])
def test_a_rate_that_does_not_show_the_motion_is_said(role, rate, slow):
    """With the rate that would show it; a DVL is bridged by the IMU."""
    said = slow_sensors({role: clock(1.0 / rate)}, lowpass=0.07)
    assert bool(said) == slow
    if slow:
        assert said[0].startswith(f"{role}.topic: its messages come at {rate:.1f} Hz")
        assert "10 Hz or more" in said[0]


def test_no_low_pass_asks_for_no_rate():
    """Then rows contain every frequency that the sensor does."""
    assert slow_sensors({"imu": clock(0.25)}, lowpass=0.0) == []


@pytest.mark.parametrize("latency, wait, said", [
    (1.4, 1.4, "every sample waits 1.4 s"), (2.0, 3.41, "set filter.latency to 3.5 or more")])
def test_bursts_are_told_with_the_latency_that_they_need(latency, wait, said):
    """Samples wait for them by themselves for two seconds at most. A usual jitter is not told, nor
    a sensor whose stamps say nothing."""
    clocks = {"imu": SimpleNamespace(lateness=0.98, tells_lateness=True),
              "dvl": SimpleNamespace(lateness=0.3, tells_lateness=True),
              "depth": SimpleNamespace(lateness=0.9, tells_lateness=False)}
    (sentence,) = late_sensors(clocks, latency, wait)
    assert sentence.startswith("filter.latency: messages of imu arrive in bursts or late, up to 1")
    assert said in sentence
    del clocks["imu"]
    assert late_sensors(clocks, latency, wait) == []
