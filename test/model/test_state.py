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

"""A state from messages: frames, joint order, and refusals."""
from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import AnalyticMotion, quaternion, vector

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import MessageError
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import FRD_FROM_FLU, NED_FROM_ENU
from uvms_adaptive_dynamics.model.state import State

JOINTS = Config().robot.joints
SAMPLE = AnalyticMotion(3).sample(1.7, RobotModel.from_config(Config()))


def imu(**changes):
    q = quaternion(NED_FROM_ENU @ SAMPLE.R_nb @ FRD_FROM_FLU)
    return Message(**{"orientation": q, "angular_velocity": vector(FRD_FROM_FLU @ SAMPLE.nu[3:]),
                      **changes})


def twist(linear=None):
    return Message(twist=Message(linear=vector(
        FRD_FROM_FLU @ SAMPLE.nu[:3] if linear is None else linear), angular=vector([0, 0, 0])))


def joint_state(**changes):
    """A message with the joints in reverse order, and one more."""
    return Message(**{"name": ["gripper", *JOINTS[::-1]], "position": [9.0, *SAMPLE.mu[::-1]],
                      "velocity": [9.0, *SAMPLE.mu_dot[::-1]], **changes})


@pytest.mark.parametrize("wrapped", [False, True], ids=["TwistStamped", "with covariance"])
def test_the_state_of_a_moving_robot(wrapped):
    """Exactly the state from which the messages were made."""
    velocity = Message(twist=twist()) if wrapped else twist()
    state = State.from_messages(imu(), velocity, joint_state(), JOINTS)
    for name in ("R_nb", "nu", "mu", "mu_dot"):
        np.testing.assert_allclose(getattr(state, name), getattr(SAMPLE, name), atol=1e-12)


def test_odometry_says_all_of_the_vehicle():
    """Pose and twist in the child's axes."""
    odometry = Message(pose=Message(pose=Message(orientation=imu().orientation)), twist=Message(
        twist=Message(linear=twist().twist.linear, angular=imu().angular_velocity)))
    state = State.from_messages(odometry, odometry)
    np.testing.assert_allclose(state.nu, SAMPLE.nu, atol=1e-12)
    np.testing.assert_allclose(state.R_nb, SAMPLE.R_nb, atol=1e-12)
    assert state.mu.size == 0


def test_what_a_robot_does_not_have_stays_out():
    """An arm on a fixed base: level, at rest."""
    state = State.from_messages(joint_state=joint_state(), joints=JOINTS)
    assert not state.nu.any() and np.array_equal(state.R_nb, np.eye(3))


@pytest.mark.parametrize("given, part", [
    (lambda: State.from_messages(imu(orientation=Message(x=0, y=0, z=0, w=0))), "length 0"),
    (lambda: State.from_messages(imu(orientation_covariance=[-1.0] + [0.0] * 8)), "no orientation"),
    (lambda: State.from_messages(imu(angular_velocity=vector([np.nan] * 3))), "not finite"),
    (lambda: State.from_messages(imu(), twist([np.inf, 0, 0])), "velocity is not finite"),
    (lambda: State.from_messages(joint_state=joint_state(velocity=[]), joints=JOINTS), "field or"),
    (lambda: State.from_messages(joint_state=None, joints=JOINTS), "lacks a field"),
    (lambda: State.from_messages(joint_state=joint_state(), joints=["axis_z"]), "axis_z"),
    (lambda: State.from_messages(Message()), "lacks a field")])
def test_what_is_no_state_is_refused(given, part):
    with pytest.raises(MessageError, match=part):
        given()
