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

"""External commands: the robot obeys them, and is unchanged without them."""
import numpy as np
import pytest
from simulated import of

from uvms_adaptive_dynamics.errors import MessageError
from uvms_adaptive_dynamics.simulation.inputs import INPUT_TIMEOUT
from uvms_adaptive_dynamics.simulation.robot import COMMAND_PERIOD, SimulatedRobot


def driven(robot, seconds, **commands):
    """Messages of a robot that gets the same commands every 20 ms."""
    found, begin = [], robot.t
    for k in range(round(seconds / COMMAND_PERIOD)):
        for name, values in commands.items():
            getattr(robot, f"command_{name}")(values)
        found += robot.advance(begin + (k + 1) * COMMAND_PERIOD)
    return found


def test_its_own_commands_from_outside_change_nothing():
    """PWM and efforts of its own controllers, sent from outside, reproduce every message bit by
    bit: external commands take the same path."""
    own, driven_robot = SimulatedRobot(5, 3.0), SimulatedRobot(5, 3.0)
    messages = list(own)
    sent = iter([m.payload["data"] for m in of(messages, "thruster_commands")])
    again, dt = [], own.physics.dt
    for k in range(round(3.0 / dt)):
        if k % round(COMMAND_PERIOD / dt) == 0:
            driven_robot.command_pwm(next(sent))
        reference = driven_robot.motion.at(driven_robot.t)
        driven_robot.command_joint_torque(
            driven_robot._servo.torque(reference, driven_robot.physics.mu))
        again += driven_robot.advance((k + 1) * dt)
    assert again == messages[:len(again)] and len(again) > 0.95 * len(messages)


def test_a_wrench_moves_the_vehicle_its_way():
    """A push forward and a turn to the right move the vehicle that way, while the arm continues its
    own motion."""
    robot = SimulatedRobot(1)
    before = robot.physics.nu.copy()
    driven(robot, 1.0, wrench=[30.0, 0.0, 0.0, 0.0, 0.0, 2.0])
    assert robot.physics.nu[0] > before[0] + 0.2 and robot.physics.nu[5] > before[5] + 0.3
    np.testing.assert_allclose(robot.physics.mu, robot.motion.at(robot.t).value[6:], atol=0.1)


def test_commands_count_for_their_time():
    """When commands stop, thrusters go neutral and joints limp after the timeout."""
    robot = SimulatedRobot(1)
    driven(robot, 0.2, pwm=[1600.0] * 8, joint_torque=[0.1, -0.1, 0.1, 0.1])
    at_once = of(list(robot.advance(0.2 + INPUT_TIMEOUT - 0.05)), "thruster_commands")
    late = list(robot.advance(2.0))
    assert all(m.payload["data"] == (1600.0,) * 8 for m in at_once)
    assert of(late, "thruster_commands")[-1].payload["data"] == (1500.0,) * 8
    efforts = np.array([m.payload["effort"] for m in of(late, "joint_states")[-20:]])
    assert np.abs(efforts).max() < 0.1      # noise alone, of .02 N m


def test_commands_keep_to_what_motors_and_escs_take():
    """Torque and PWM are limited."""
    robot = SimulatedRobot(1)
    messages = driven(robot, 0.2, pwm=[5000.0] * 8, joint_torque=[100.0, -100.0, 0.0, 0.0])
    assert set(of(messages, "thruster_commands")[-1].payload["data"]) == {1900.0}
    effort = np.array(of(messages, "joint_states")[-1].payload["effort"])
    assert np.all(np.abs(effort) < 1.3 * robot.physics.torque_limit)


@pytest.mark.parametrize("name, values", [
    ("pwm", [1500.0] * 7), ("pwm", [1500.0] * 7 + [np.nan]), ("wrench", [1.0] * 5),
    ("wrench", [np.inf] * 6), ("joint_torque", [0.0] * 3), ("joint_torque", [np.nan] * 4)])
def test_what_is_no_command_is_refused(name, values):
    """The error says what was got and expected; the last good command stays."""
    robot = SimulatedRobot(1)
    with pytest.raises(MessageError, match="expected [468] finite ones"):
        getattr(robot, f"command_{name}")(values)


def test_a_payload_is_taken_and_dropped_while_it_moves():
    """The weight jumps, state and velocities do not; without gripping, no bit changes."""
    robot, other = SimulatedRobot(2, truth_period=None), SimulatedRobot(2, truth_period=None)
    for each in (robot, other):
        list(each.advance(0.5))
    robot.grip(0.38)
    np.testing.assert_array_equal(robot.physics.v, other.physics.v)
    still = np.zeros(10)
    load = robot.physics.bias(robot.physics.q, still) - other.physics.bias(other.physics.q, still)
    down = robot.physics.R_nb[2]
    np.testing.assert_allclose(load[:3], -0.38 * robot.robot.gravity * down, rtol=1e-9)
    robot.grip(0.0)
    assert list(robot.advance(1.0)) == list(other.advance(1.0))
