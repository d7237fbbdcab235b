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

"""Positions of encoders that wrap."""
import math

import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.checks.joint_check import check_joints
from uvms_adaptive_dynamics.signals.decode.turns import TURN, WholeTurns, within_turn


@pytest.mark.parametrize("lowest", [-math.pi, 0.0])
@pytest.mark.parametrize("rate", [5.0, 50.0])
def test_turns_are_counted(lowest, rate):
    """A joint that turns several times both ways, read within one turn, goes on where it was."""
    t = np.arange(0.0, 40.0, 1 / rate)
    truth = np.column_stack([3.0 + 9.0 * np.sin(0.5 * t), 0.1 * np.sin(t)])
    turns = WholeTurns(2)
    read = np.array([turns.unwrapped(row) for row in (truth - lowest) % TURN + lowest])
    steps = np.diff(read, axis=0) - np.diff(truth, axis=0)
    np.testing.assert_allclose(steps, 0.0, atol=1e-9)
    assert turns.wrapped == [True, lowest == 0.0]


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("speed", [-1.5, 1.5])
def test_turns_that_are_counted_anew_are_no_motion(sign, speed):
    """By a driver, for a while, as the joint moves: the step is longer or shorter than a turn."""
    turns, t = WholeTurns(1), np.arange(0.0, 2.0, 0.02)
    anew = np.where((t > 0.5) & (t < 1.5), sign * TURN, 0.0)
    read = [turns.unwrapped([place])[0] for place in speed * t + anew]
    np.testing.assert_allclose(read, speed * t, atol=1e-9)


@pytest.mark.parametrize("wrong", [1e3, 8.0, 3.0, math.nan])
def test_what_is_no_turn_stays_as_it_is(wrong):
    """A value from nowhere is not brought nearer, and leaves no turn behind."""
    turns = WholeTurns(1)
    for value in (0.2, wrong, 0.2):
        np.testing.assert_array_equal(turns.unwrapped([value]), [value])
    assert turns.wrapped == [False]


def test_turns_are_counted_anew_after_a_pause():
    """In which the joint may have turned anyhow; that its encoder wraps stays known."""
    turns = WholeTurns(1)
    for value in (3.1, -3.1):
        (last,) = turns.unwrapped([value])
    assert last > math.pi
    turns.restart()
    assert turns.unwrapped([-3.0]) == [-3.0] and turns.wrapped == [True]


def test_limits_hold_within_the_turn_that_they_leave():
    """Of a range of less than a turn there is one place; a joint of several turns has many, and
    beyond a stop is beyond it."""
    assert within_turn(3.0 - TURN, 1.0, 5.5) == pytest.approx(3.0)
    assert within_turn(5.6, 1.0, 5.5) == 5.6
    assert within_turn(6.3, -TURN, TURN) == 6.3
    assert within_turn(50.0, -math.inf, math.inf) == 50.0


@pytest.mark.parametrize("wrapped, found", [((True,), 0), ((False,), 1), ((), 1)])
def test_a_joint_a_turn_beyond_its_limits_is_named_unless_it_wraps(wrapped, found):
    """A zero that is wrong looks alike: only the jump of an encoder tells that it wraps."""
    t = np.arange(0.0, 30.0, 0.05)
    mu = 3.0 - TURN + np.sin(t)
    log = np.column_stack([t, mu, np.cos(t), np.full(t.size, np.nan)])
    result = check_joints(log, ("one",), np.array([1.0]), np.array([5.5]), np.array([10.0]),
                          wrapped=wrapped)
    assert sum("outside its limits" in one.sentence for one in result.findings) == found
