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

"""The motion that leaves room for a payload."""
import numpy as np

from uvms_adaptive_dynamics.simulation.carrying import (
    CARRYING_CENTRE,
    CARRYING_RAMP,
    CarryingMotion,
)
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot


def test_it_begins_as_the_other_and_keeps_its_rates():
    """There is no jump at the start; rate and acceleration are derivatives, also while blending;
    the vehicle's part is unchanged; the arm stays within its limits."""
    robot = SimulatedRobot(3, truth_period=None)
    own, h = CarryingMotion(robot.motion), 1e-5
    for a, b in zip(own.at(0.0), robot.motion.at(0.0)):
        np.testing.assert_array_equal(a, b)
    values = []
    for t in np.linspace(0.1, 3 * CARRYING_RAMP, 60):
        here, before, after = own.at(t), own.at(t - h), own.at(t + h)
        np.testing.assert_allclose(here.rate, (after.value - before.value) / (2 * h), atol=1e-7)
        np.testing.assert_allclose(here.acceleration, (after.rate - before.rate) / (2 * h),
                                   atol=1e-6)
        np.testing.assert_array_equal(here.value[:6], robot.motion.at(t).value[:6])
        values.append(here.value[6:])
    late = np.array(values)[20:]
    assert np.all(late > robot.physics.lower) and np.all(late < robot.physics.upper)
    np.testing.assert_array_equal(own.centre[6:], CARRYING_CENTRE)
