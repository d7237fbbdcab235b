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

"""The robot's state: what its dynamics depend on."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import MessageError
from .rotations import FRD_FROM_FLU, NED_FROM_ENU, from_quaternion

# Tolerance of a quaternion's length about one: more than the rounding of single precision or of
# three decimals.
LENGTH_TOLERANCE = 0.05
FILTER = "an IMU without orientation needs an attitude filter, such as that of node feedforward."


@dataclass(frozen=True)
class State:
    """R_nb (3, 3), nu (6,), mu (n,), mu_dot (n,) in SI, body FRD, world NED."""

    R_nb: np.ndarray
    nu: np.ndarray
    mu: np.ndarray
    mu_dot: np.ndarray

    @classmethod
    def from_messages(cls, imu: Any = None, twist: Any = None, joint_state: Any = None,
                      joints: Sequence[str] = ()) -> State:
        """The state of one instant from messages at the body's origin in REP-103 axes (body FLU,
        world ENU).

        imu: sensor_msgs/Imu, or nav_msgs/Odometry for attitude and rates. twist: velocity of the
        body in its own axes, as geometry_msgs/TwistStamped, TwistWithCovarianceStamped or
        nav_msgs/Odometry (twist in child_frame_id); its angular part is not used. joint_state:
        sensor_msgs/JointState with position and velocity of `joints` (robot.joints), in any order.
        Leave None what the robot does not have: it is then level, at rest, without joints. Any
        object with the same field names will do. Raises MessageError. Use node feedforward for
        sensors elsewhere on the body, in other axes or at different rates.
        """
        R_nb, rates, velocity = np.eye(3), np.zeros(3), np.zeros(3)
        try:
            if imu is not None:
                odometry = hasattr(imu, "pose")
                # REP-145: -1 marks an IMU without orientation
                if getattr(imu, "orientation_covariance", (0.0,))[0] == -1.0:
                    raise MessageError(f"state: the IMU reports no orientation; {FILTER}")
                R_nb = _attitude(imu.pose.pose.orientation if odometry else imu.orientation)
                rates = _frd(imu.twist.twist.angular if odometry else imu.angular_velocity,
                             "angular velocity")
            if twist is not None:
                velocity = _frd(getattr(twist.twist, "twist", twist.twist).linear, "velocity")
            places = [list(joint_state.name).index(joint) for joint in joints]
            mu = _joints(joint_state.position, places, "position") if places else np.zeros(0)
            mu_dot = _joints(joint_state.velocity, places, "velocity") if places else np.zeros(0)
        except (AttributeError, TypeError, ValueError, LookupError) as error:
            raise MessageError(f"state: a message lacks a field or a joint ({error}); expected "
                               f"those of its type, with the joints {list(joints)}.") from None
        return cls(R_nb, np.concatenate([velocity, rates]), mu, mu_dot)


def _attitude(q: Any) -> np.ndarray:
    x, y, z, w = q.x, q.y, q.z, q.w
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if not abs(length - 1) < LENGTH_TOLERANCE:
        raise MessageError(f"state: orientation has length {length:.3g}, expected 1; "
                           + FILTER)
    R = np.reshape(from_quaternion(x / length, y / length, z / length, w / length), (3, 3))
    return NED_FROM_ENU @ R @ FRD_FROM_FLU


def _frd(xyz: Any, what: str) -> np.ndarray:
    return FRD_FROM_FLU @ _finite(np.array([xyz.x, xyz.y, xyz.z], float), what)


def _joints(values: Any, places: list[int], what: str) -> np.ndarray:
    return _finite(np.array([values[k] for k in places], float), f"joint {what}")


def _finite(values: np.ndarray, what: str) -> np.ndarray:
    if not np.isfinite(values).all():
        raise MessageError(f"state: {what} is not finite; expected numbers.")
    return values
