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

"""ROS messages of what instruments and drivers say, without ROS."""
from __future__ import annotations

import numpy as np
from fleet import F
from rosbags.typesys import Stores, get_typestore

ENU = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])     # from NED


class Types:
    """ROS messages of the roles, in REP-103 axes, the DVL's in FRD."""

    TOPIC = {"imu": "/imu/data", "dvl": "/dvl/twist", "depth": "/depth",
             "joint_states": "/joint_states", "thrusters": "/thruster_commands",
             "battery": "/battery"}

    def __init__(self, joints: list[str]):
        self.store, self.joints = get_typestore(Stores.ROS2_JAZZY), joints
        self.t = self.store.types

    def header(self, stamp: float):
        ns = round(stamp * 1e9)
        return self.t["std_msgs/msg/Header"](
            self.t["builtin_interfaces/msg/Time"](ns // 10 ** 9, ns % 10 ** 9), "base_link")

    def vector(self, x):
        return self.t["geometry_msgs/msg/Vector3"](*(float(v) for v in x))

    def message(self, role: str, stamp: float, x):
        t, head = self.t, self.header(stamp)
        if role == "imu":
            q = quaternion(ENU @ x[0] @ F)
            return t["sensor_msgs/msg/Imu"](
                head, t["geometry_msgs/msg/Quaternion"](*q), 1e-4 * np.eye(3).ravel(),
                self.vector(F @ x[1]), 1e-5 * np.eye(3).ravel(), self.vector(F @ x[2]),
                1e-3 * np.eye(3).ravel())
        if role == "dvl":
            twist = t["geometry_msgs/msg/Twist"](self.vector(x[0]), self.vector(np.zeros(3)))
            C = np.diag([x[1] ** 2] * 3 + [0.0] * 3).ravel()
            return t["geometry_msgs/msg/TwistWithCovarianceStamped"](
                head, t["geometry_msgs/msg/TwistWithCovariance"](twist, C))
        if role == "depth":
            return t["sensor_msgs/msg/FluidPressure"](head, x, 625.0)
        if role == "joint_states":
            return t["sensor_msgs/msg/JointState"](head, list(self.joints), *map(np.array, x))
        if role == "thrusters":
            return t["std_msgs/msg/Float64MultiArray"](
                t["std_msgs/msg/MultiArrayLayout"]([], 0), np.array(x))
        none = np.array([], dtype=np.float32)
        return t["sensor_msgs/msg/BatteryState"](
            head, float(x), 20.0, 0.0, 0.0, 0.0, 0.0, 0.5, 2, 1, 0, True, none, none, "", "")


def quaternion(R: np.ndarray) -> np.ndarray:
    """[x y z w] of a rotation matrix, by the largest column of 4 q q^T (Bar-Itzhack)."""
    K = np.array([[R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0],
                   R[2, 1] - R[1, 2]],
                  [0, R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]],
                  [0, 0, R[2, 2] - R[0, 0] - R[1, 1], R[1, 0] - R[0, 1]],
                  [0, 0, 0, np.trace(R)]])
    K = np.triu(K) + np.triu(K, 1).T + np.eye(4)
    column = K[:, np.argmax(K.diagonal())]
    return column / np.linalg.norm(column)
