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

"""Joint friction and joint stops."""

import numpy as np

from uvms_adaptive_dynamics.simulation.friction import joint_friction, joint_stops
from uvms_adaptive_dynamics.simulation.physics import Physics
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot


def test_friction_opposes_motion_and_peaks_at_low_speed():
    """Friction has the sign of the speed, its breakaway exceeds the Coulomb level, and it settles
    to Coulomb plus viscous friction."""
    robot = TrueRobot()
    torque = lambda speed: joint_friction(robot, np.full(4, speed))[0]
    assert np.all(torque(0.0) == 0.0) and np.all(torque(0.2) == -torque(-0.2))
    assert np.all(torque(0.012) - 0.012 * np.array(robot.viscous) > 1.15 * np.array(robot.coulomb))
    np.testing.assert_allclose(torque(0.3), 0.3 * np.array(robot.viscous) + robot.coulomb,
                               rtol=1e-6)


def test_stops_push_back_and_never_pull():
    """A joint beyond its limit is pushed back; a joint inside, or quickly returning, is not
    affected."""
    robot, low, high = TrueRobot(), np.full(4, 1.0), np.full(4, 2.0)
    angle, speed = np.array([1.5, 2.01, 0.99, 2.001]), np.array([5.0, 0.1, -0.1, -1.0])
    torque, _ = joint_stops(robot, low, high, angle, speed)
    assert torque[0] == 0.0 and torque[1] > 0.0 > torque[2] and torque[3] == 0.0
    physics = Physics(robot)
    physics.set_state([0.0, 0.0, 5.0], np.eye(3), [5.45, 1.8, 1.7, 2.8])
    for _ in range(800):
        physics.step(np.zeros(6), np.array([1.5, 0.0, 0.0, 0.0]))
    assert 5.5 < physics.mu[0] < 5.53
