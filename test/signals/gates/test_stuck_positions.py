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

"""Positions that a driver publishes without measuring them."""

import math

import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.gates.stuck_positions import StuckPositions

HELD = 0.2     # [s] as joint_states.timeout


def followed(position, velocity, rate=100.0, seconds=20.0):
    """Times, and whether the second of two joints, at position(t) with velocity(t), is stuck."""
    gate, t, found = StuckPositions(2), np.arange(0.0, seconds, 1 / rate), []
    for now in t:
        found.append(list(gate.stuck(now, [0.1, position(now)], [0.0, velocity(now)], HELD)))
    found = np.array(found)
    assert not found[:, 0].any()  # it rests
    return t, found[:, 1], gate


@pytest.mark.parametrize("rate", [20.0, 1000.0])
@pytest.mark.parametrize("speed", [lambda t: 0.4 * math.cos(t), lambda t: 0.2])
def test_a_position_that_stays_is_not_measured_until_it_changes(rate, speed):
    """Whether its velocity goes on or stays as well, through reversals, for any time."""
    t, stuck, gate = followed(lambda t: 0.4 * math.sin(t) if not 6.0 <= t < 16.0 else 0.3,
                              lambda t: speed(t) if 6.0 <= t < 16.0 else 0.4 * math.cos(t), rate)
    assert stuck[(t > 6.3) & (t < 15.99)].all() and not stuck[(t < 6.0) | (t > 16.05)].any()
    assert gate.since == math.inf


def test_since_when_a_position_is_stuck():
    """From its first copy on, not from the proof."""
    _, stuck, gate = followed(lambda t: 0.4 * math.sin(min(t, 6.0)), lambda t: 0.4 * math.cos(t),
                              seconds=8.0)
    assert stuck[-1] and gate.since == pytest.approx(6.0)


@pytest.mark.parametrize("position, velocity", [
    (lambda t: 0.0, lambda t: 0.04),                                    # a biased tachometer
    (lambda t: 0.02 * round(20.0 * math.sin(t)), lambda t: 0.4 * math.cos(t)),   # coarse steps
    (lambda t: 0.8 * math.sin(0.1 * math.floor(10 * t)), lambda t: 0.8 * math.cos(t)),   # 10 Hz
    (lambda t: 0.0, lambda t: math.nan),
])
def test_measured_positions_are_kept(position, velocity):
    """Of a joint at rest, a coarse encoder, a driver that repeats readings, no velocity."""
    assert not followed(position, velocity)[1].any()
