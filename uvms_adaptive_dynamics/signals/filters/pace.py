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

"""Adaptation of windows and gaps to sensors slower than the settings assume, and warnings about
sensors that are too slow or too late."""
from __future__ import annotations

import math
from collections.abc import Mapping

from ..decode.sensor_clock import LONGEST_LATENCY, SensorClock
from ..gates.spikes import LOOKAHEAD, NEIGHBOURHOOD, SPIKE_NEIGHBOURS

# In periods of a slow sensor: half a window, since a fit needs five readings, and the longest gap
# that jitter leaves.
WINDOW_PERIODS, GAP_PERIODS = 2.0, 1.5
KEPT_GAIN = 0.1     # of the low-pass: motion passed with more than this must be sampled
# Sensors whose quantity nothing else shows between messages: a DVL is bridged by the IMU,
# depth and voltage change slowly.
SAMPLED = {"imu": "the motion", "joint_states": "the arm's motion", "thrusters": "the thrust",
           "wrench": "the wrench"}


def half_window(setting: float, period: float | None) -> float:
    """[s] Half of the window in which readings are fitted that come every `period` [s], None if
    that is unknown: at least the setting."""
    return max(setting, WINDOW_PERIODS * (period or 0.0))


def longest_gap(setting: float, period: float | None, periods: float = GAP_PERIODS) -> float:
    """[s] Longest gap between readings that is bridged: the setting, or so many periods [s] if
    these are longer."""
    return max(setting, periods * (period or 0.0))


def window_wait(setting: float, clock: SensorClock, neighbours: int = SPIKE_NEIGHBOURS) -> float:
    """[s] of data after a tick until its window is full and has passed the spike gate, which waits
    for so many neighbours."""
    period = clock.period or 0.0
    waited = max(SPIKE_NEIGHBOURS * period, min(neighbours * period, NEIGHBOURHOOD + period))
    return clock.delay + half_window(setting, period) + min(waited, LOOKAHEAD + period)


def late_sensors(clocks: Mapping[str, SensorClock], latency: float, wait: float) -> list[str]:
    """A sentence on the sensors that arrive in bursts so long that no usual transport explains
    them, [] if there are none; latency [s]: that of the samples, wait [s]: what the sensors need.
    """
    late = {role: clock.lateness for role, clock in clocks.items()
            if clock.tells_lateness and clock.lateness > LONGEST_LATENCY}
    if not late:
        return []
    longest = max(late.values())
    said = (f"filter.latency: messages of {', '.join(late)} arrive in bursts or late, up to "
            f"{longest:.1f} s after others of the same sensor; ")
    if wait > latency:
        return [f"{said}rows before them do not count, since samples wait for {latency:.1f} s "
                f"only: set filter.latency to {math.ceil(10.0 * wait) / 10.0:.1f} or more, or "
                "receive or record them without a buffer or a slow link between"]
    return [f"{said}they are dated by their stamps, and every sample waits {latency:.1f} s for "
            "them. For newer estimates, receive them without a buffer or a slow link between"]


def slow_sensors(clocks: Mapping[str, SensorClock], lowpass: float) -> list[str]:
    """A sentence for each sensor whose rate is below twice the highest frequency [Hz] that the
    rows' low-pass, a Gaussian with standard deviation `lowpass` [s], keeps (sampling theorem); none
    without a low-pass."""
    if not lowpass:
        return []
    kept = math.sqrt(-2.0 * math.log(KEPT_GAIN)) / (2.0 * math.pi * lowpass)
    return [f"{role}.topic: its messages come at {clock.rate:.1f} Hz, too slow to show {what} "
            f"between them; publish it at {math.ceil(2.0 * kept)} Hz or more, or raise "
            "filter.lowpass" for role, what in SAMPLED.items()
            if (clock := clocks.get(role)) is not None and clock.rate is not None
            and clock.rate < 2.0 * kept]
