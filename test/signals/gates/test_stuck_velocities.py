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

"""Velocities that a driver publishes without measuring them."""

import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.gates.stuck_velocities import StuckVelocities

STDDEV = 0.001


def followed(rate, velocity, position=lambda t: 0.4 * np.sin(t), seconds=20.0):
    """Times, and whether the second of two joints, whose velocity is velocity(t), is stuck."""
    gate, found = StuckVelocities(2, STDDEV), []
    t = np.arange(0.0, seconds, 1 / rate)
    for now in t:
        found.append(list(gate.stuck(now, [0.1, position(now)], [0.0, velocity(now)])))
    found = np.array(found)
    assert not found[:, 0].any()  # it rests, and a velocity of zero is right
    return t, found[:, 1]


@pytest.mark.parametrize("rate", [10.0, 100.0])
def test_a_velocity_that_stays_zero_is_none_once_the_joint_has_moved(rate):
    """After twenty deviations of its position; from the beginning, and when it starts later."""
    t, stuck = followed(rate, lambda t: 0.0)
    assert stuck[t > 0.5].all()
    t, stuck = followed(rate, lambda t: 0.4 * np.cos(t) if t < 9.0 else -0.36)
    assert not stuck[t < 9.0].any() and stuck[t > 11.0].all()


@pytest.mark.parametrize("step", [1e-6, 0.01, 0.05])
def test_measured_velocities_are_kept(step):
    """Even from a coarse sensor, except where it hides a slow motion."""
    t, stuck = followed(100.0, lambda t: step * np.round(0.4 * np.cos(t) / step))
    assert np.mean(stuck) < 0.01 + step


def test_a_position_that_jumps_is_no_motion():
    """Nor is a position that is repeated together with its velocity, as in some recordings."""
    _, stuck = followed(50.0, lambda t: 0.0, lambda t: 0.0 if t < 10.0 else 0.3)
    assert not stuck.any()
    held = lambda t: 0.1 * np.floor(10 * t)
    _, stuck = followed(50.0, lambda t: 0.8 * np.cos(held(t)), lambda t: 0.8 * np.sin(held(t)))
    assert not stuck.any()


def test_a_gap_begins_anew():
    """The joint's motion in the gap is unknown."""
    gate = StuckVelocities(1, STDDEV)
    gate.stuck(0.0, [0.0], [0.0])
    gate.reset()
    assert gate.stuck(60.0, [0.5], [0.0]) == [False]
    assert gate.stuck(60.1, [0.51], [0.0]) == [False]
    assert gate.stuck(60.2, [0.53], [0.0]) == [True]
