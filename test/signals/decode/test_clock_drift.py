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

"""A clock's drift, told from delays that change."""

import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.decode.clock_drift import ClockDrift
from uvms_adaptive_dynamics.signals.decode.clocks import Clocks, Handling
from uvms_adaptive_dynamics.signals.decode.sensor_clock import RIGHT_CLOCK

START = 1_767_000_000.0


def rates(delay, seconds=60.0, period=0.1, jitter=0.002):
    """[s/s] found after each message with delay(t) [s] and exponential jitter."""
    drift, rng, found = ClockDrift(RIGHT_CLOCK), np.random.default_rng(3), []
    for t in np.arange(0.0, seconds, period):
        drift.add(START + t, delay(t) + rng.exponential(jitter))
        found.append(drift.rate)
    return np.array(found)


@pytest.mark.parametrize("rate", [0.02, -0.02, 0.005, -0.005, 0.002, -0.002])
def test_a_steady_drift_is_found_soon_and_exactly(rate):
    """As soon as the clock has gained or lost somewhat more than synchronized clocks may."""
    found = rates(lambda t: 0.1 + rate * t, seconds=60.0)
    first = 0.1 * np.argmax(found != 0.0)
    assert found[-1] == pytest.approx(rate, rel=0.03)
    assert first < max(5.1, 0.055 / abs(rate))


@pytest.mark.parametrize("delay", [
    lambda t: 0.05,
    lambda t: 0.05 if t < 20.0 else 0.12,                                     # another network
    lambda t: 0.05 + 0.1 * max(0.0, 1.0 - abs(t - 20.0) / 3.0),               # a queue, emptied
    lambda t: 0.05 + 0.03 * np.sin(t)])
def test_a_delay_that_changes_is_no_drift(delay):
    """A step, a queue that grows for three seconds, and a delay that goes to and fro."""
    assert not rates(delay).any()


@pytest.mark.parametrize("deviation, time", [(0.02, 10.0), (0.03, 60.0)])
def test_a_delay_that_wanders_is_no_drift(deviation, time):
    """A radio link: a stationary delay [s] with this deviation [s] and time of correlation [s].

    Of ten such links, each for five minutes, none drifts; a clock that loses 5 ms/s over the same
    link does, once it has lost more than the link wanders by.
    """
    rng, period = np.random.default_rng(11), 0.1
    keep = np.exp(-period / time)
    for _ in range(10):
        link, lossy, delay = ClockDrift(RIGHT_CLOCK), ClockDrift(RIGHT_CLOCK), 0.0
        for t in np.arange(0.0, 300.0, period):
            delay = keep * delay + deviation * np.sqrt(1.0 - keep**2) * rng.normal()
            link.add(START + t, 0.05 + abs(delay))
            lossy.add(START + t, 0.05 + abs(delay) + 0.005 * t)
            assert not link.rate
        assert lossy.rate == pytest.approx(0.005, rel=0.1)


def test_a_drifting_clock_keeps_the_delay_that_it_began_with():
    """The DVL's stamps gain or lose 5 ms/s from the first message on; its true delay is .1 s."""
    for rate in (0.005, -0.005):
        clocks = Clocks(("imu", "dvl", "depth", "joint_states"))
        for k in range(4000):
            t = 0.01 * k
            clocks.observe("imu", START + t, START + t + 0.002)
            if k % 10 == 0:
                clocks.observe("depth", START + t, START + t + 0.02)
                clocks.observe("joint_states", START + t, START + t + 0.004)
                clocks.observe("dvl", START + t * (1.0 + rate), START + t + 0.1)
        at = clocks.data_time("dvl", START + t * (1.0 + rate), START + t + 0.1)
        assert at == pytest.approx(START + t, abs=0.02)
        assert clocks.drifts() == pytest.approx({"dvl": rate}, rel=0.05)


@pytest.mark.parametrize("seed", [3, 5])
def test_messages_of_a_drifting_clock_behind_a_jittering_link_are_used(seed):
    """A DVL of 4 Hz, whose delays of 54 to 126 ms, one in twenty later still, grow by 5 ms/s: none
    of its messages is taken for one of another clock before the drift is certain."""
    rng, clocks, handled = np.random.default_rng(seed), Clocks(("imu", "dvl")), []
    for k in range(3500):
        t = 0.01 * k
        clocks.observe("imu", START + t, START + t + 0.002)
        if k % 25 == 0:
            lost = rng.random() < 0.05
            delay = rng.uniform(0.054, 0.126) + (
                rng.exponential(0.05) if rng.random() < 0.05 else 0.0)
            if not lost:
                handled.append(clocks.observe("dvl", START + t * (1.0 - 0.005), START + t + delay))
    assert Handling.LATE not in handled and Handling.AHEAD not in handled
    assert clocks.drifts() == pytest.approx({"dvl": -0.005}, rel=0.15)


def test_two_of_four_clocks_that_drift_alike_are_not_the_common_clock():
    """The receiver's clock decides."""
    clocks = Clocks(("imu", "dvl", "depth", "joint_states"))
    for k in range(400):
        t = 0.1 * k
        for role, rate in (("imu", 0.005), ("dvl", 0.005), ("depth", 0.0), ("joint_states", 0.0)):
            clocks.observe(role, START + t * (1.0 + rate), START + t + 0.01)
    assert set(clocks.drifts()) == {"imu", "dvl"}
