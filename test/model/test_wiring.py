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

"""Commands that drive other thrusters than the settings say."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.model.wiring import (
    between,
    driven,
    one_step_from,
    rewired,
    then_driven,
    thrusts,
)

RNG = np.random.default_rng(0)
ALLOCATION = RNG.normal(size=(6, 4))
DRIVES = (3, -1, 2, 4)


def test_contributions_are_those_of_the_thrusters_that_are_driven():
    """Each along its own column, and the wrench is that of the commands' real columns."""
    sent = RNG.normal(size=(5, 4))
    by_thruster = np.zeros((5, 8, 4))
    by_thruster[:, :6] = ALLOCATION * sent[:, None]
    assert thrusts(ALLOCATION, by_thruster) == pytest.approx(sent)
    found = rewired(ALLOCATION, by_thruster, DRIVES)
    assert found[:, :6].sum(axis=2) == pytest.approx(sent @ driven(ALLOCATION, DRIVES).T)
    assert thrusts(ALLOCATION, found) == pytest.approx(
        np.column_stack([-sent[:, 1], sent[:, 2], sent[:, 0], sent[:, 3]]))
    assert not found[:, 6:].any()
    assert rewired(ALLOCATION, by_thruster, (1, 2, 3, 4)) == pytest.approx(by_thruster)


def test_wirings_follow_each_other_and_return():
    """What is found of thrusters that commands are taken to drive holds for the commands."""
    assert then_driven((), DRIVES) == DRIVES
    back = between(DRIVES, (), 4)
    assert then_driven(DRIVES, back) == ()
    other = (2, 1, -4, 3)
    assert then_driven(DRIVES, between(DRIVES, other, 4)) == other
    sent = RNG.normal(size=(1, 4))
    by_thruster = ALLOCATION * sent
    assert rewired(ALLOCATION, rewired(ALLOCATION, by_thruster, DRIVES), back) == pytest.approx(
        by_thruster)


def test_a_step_exchanges_or_reverses_commands_at_the_given_places():
    found = one_step_from(np.array([2, -1, 3, 4]), [0, 1, 3])
    assert found.tolist() == [[-1, 2, 3, 4], [4, -1, 3, 2], [2, 4, 3, -1],
                              [-2, -1, 3, 4], [2, 1, 3, 4], [2, -1, 3, -4]]
    assert len(one_step_from(np.arange(1, 5), [0, 1, 3], reversing=False)) == 3
