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

"""The wrench that thrusters can produce, and its allocation."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.allocation import WrenchAllocation, wrench_limits
from uvms_adaptive_dynamics.control.excitation.limits import MotionLimits
from uvms_adaptive_dynamics.model.robot import RobotModel

CONFIG = Config()
# Six thrusters at the corners of a box of 1 m x .6 m: four along surge, two along heave amidships,
# which can neither push sideways nor turn about pitch.
FOUR_AND_TWO = CONFIG.with_values({
    "thrusters.signs": [1] * 6, "thrusters.allocation": [
        1, 1, 1, 1, 0, 0,
        0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 1, 1,
        0, 0, 0, 0, -0.3, 0.3,
        0, 0, 0, 0, 0, 0,
        -0.3, 0.3, -0.3, 0.3, 0, 0]})


def test_limits_are_those_that_extreme_thrusts_reach_with_nothing_else():
    """Of a box of thrusts the largest wrench along one axis alone is reached where no thruster has
    room left, so for this vehicle by hand: 51.4 N forward and 39.95 N backward at 16 V."""
    forward, backward = 51.4, 39.95
    np.testing.assert_allclose(wrench_limits(FOUR_AND_TWO), [
        4 * backward, 0.0, 2 * backward, 2 * 0.3 * backward, 0.0, 4 * 0.3 * backward], rtol=1e-3)
    weak = FOUR_AND_TWO.with_values({"thrusters.efficiency": [0.5] * 6})
    np.testing.assert_allclose(wrench_limits(weak), 0.5 * wrench_limits(FOUR_AND_TWO), atol=1e-5)
    heavy = wrench_limits(CONFIG)
    assert heavy[0] == pytest.approx(np.sqrt(2.0) * (forward + backward), rel=1e-3)


def test_no_allocation_of_bounded_thrusts_exceeds_the_limits():
    """Random thrusts within their box, projected on each axis alone, stay below the limit."""
    matrix = np.reshape(CONFIG.thrusters.allocation, (6, 8))
    limits, rng = wrench_limits(CONFIG), np.random.default_rng(1)
    inverse = np.linalg.pinv(matrix)
    null = np.eye(8) - inverse @ matrix
    reached = np.zeros(6)
    for k in range(6):
        thrust = inverse[:, [k]] + null @ rng.uniform(-0.5, 0.5, (8, 4000))
        scale = np.minimum(51.4 / np.maximum(thrust, 1e-9).max(axis=0),
                           39.95 / np.maximum(-thrust, 1e-9).max(axis=0))
        reached[k] = scale.max()
    assert np.all(reached <= limits * 1.001)
    assert np.all(reached > 0.75 * limits)


def test_thrusters_off_centre_still_push():
    """Surge thrusters above the body's origin pitch it as well, which no thruster can undo: they
    are as strong along surge as on the plane of the origin."""
    allocation = np.reshape(FOUR_AND_TWO.thrusters.allocation, (6, 6))
    allocation[4] = 0.06 * allocation[0]
    above = FOUR_AND_TWO.with_values({"thrusters.allocation": allocation.ravel().tolist()})
    np.testing.assert_allclose(wrench_limits(above), wrench_limits(FOUR_AND_TWO), rtol=1e-6)


def test_set_limits_are_taken_as_they_are():
    given = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    config = CONFIG.with_values({"feedforward.wrench_limits": given})
    np.testing.assert_array_equal(wrench_limits(config), given)


def test_an_axis_without_thrust_gets_no_wrench_and_the_others_keep_theirs():
    allocation = WrenchAllocation(wrench_limits(FOUR_AND_TWO))
    given = allocation.allocate(np.array([10.0, 5.0, 0.0, 0.0, 2.0, 1.0]))
    np.testing.assert_array_equal(given.wrench, [10.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    assert given.limited
    assert not allocation.allocate(np.array([10.0, 0.0, 0.0, 0.0, 0.0, 1.0])).limited
    limits = MotionLimits.from_config(FOUR_AND_TWO, RobotModel.from_config(FOUR_AND_TWO))
    assert limits.passive.tolist() == [4]
    assert np.all(limits.thrust_high > 0) and len(limits.mixer) == 4
