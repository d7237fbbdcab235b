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

"""Stamps that several messages share, against those that only seem to."""

import math

import pytest

from uvms_adaptive_dynamics.signals.decode.sensor_clock import (
    SensorClock,
    StampStatus,
    clock_sentence,
)
from uvms_adaptive_dynamics.signals.decode.shared_stamps import JUDGED_MESSAGES, SharedStamps

START = 1000.0


def judged(stamp, period=0.02, messages=400, burst=1, copy=False):
    """The judge after messages with stamp(t), received at regular times t [s], each `burst` times.
    """
    judge = SharedStamps()
    for k in range(messages):
        t = START + period * k
        for part in range(burst):
            judge.add(stamp(t), t + 1e-4 * part, copy and part > 0)
    return judge


@pytest.mark.parametrize("rate", [4.0, 10.0, 50.0, 200.0])
def test_whole_seconds_tell_no_time(rate):
    """Four messages a second are few enough to be unlucky, and enough."""
    assert judged(math.floor, period=1.0 / rate).found


@pytest.mark.parametrize("step, rate", [(0.01, 100.0), (0.1, 20.0), (0.01, 200.0), (1.0, 2.0)])
def test_stamps_with_a_coarse_step_tell_time(step, rate):
    """As long as every second message has a new one."""
    assert not judged(lambda t: math.floor(t / step) * step, period=1.0 / rate).found


def test_parts_of_one_measurement_share_its_stamp():
    """Eight joints one by one, and packets of ten readings."""
    assert not judged(lambda t: t, burst=8).found
    assert not judged(lambda t: t, period=0.1, burst=10).found


def test_copies_of_a_message_are_no_measurements():
    """A driver that has died behind a relay that repeats its last message."""
    judge = SharedStamps()
    for k in range(400):
        judge.add(START, START + 0.1 * k, copy=k > 0)
    assert not judge.found


def test_a_stopped_clock_that_runs_again_is_used_again():
    """The sentence is there while it stands, and readings are dated throughout."""
    clock = SensorClock()
    states = []
    for k in range(600):
        t = START + 0.02 * k
        stopped = 200 <= k < 400
        status = clock.add(START + 4.0 if stopped else t, t + 0.01)
        if status is StampStatus.NEW and clock.can_begin:
            clock.begin()
        states.append((clock.tells_time, clock.known))
        assert not stopped or k < 200 + JUDGED_MESSAGES or "same stamp" in clock_sentence(clock)
    unused = [k for k, (told, _) in enumerate(states) if not told]
    assert unused == list(range(unused[0], unused[-1] + 1))
    assert 200 < unused[0] <= 200 + JUDGED_MESSAGES and 400 <= unused[-1] < 400 + JUDGED_MESSAGES
    assert [known for _, known in states[10:]].count(False) <= 4
