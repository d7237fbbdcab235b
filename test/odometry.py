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

"""Recordings of the simulated robot with odometry or poses in place of its DVL and IMU."""

from types import SimpleNamespace as Message

import numpy as np
from frame_cases import vector

from uvms_adaptive_dynamics.model.rotations import (
    FRD_FROM_FLU,
    NED_FROM_ENU,
    from_quaternion,
    from_rotation_vector,
    to_quaternion,
)

ODOMETRY, POSE = "nav_msgs/msg/Odometry", "geometry_msgs/msg/PoseStamped"
BOTH = {"imu.topic": "odom", "dvl.topic": "odom", "dvl.frame": "flu", "dvl.xyz": (0.0, 0.0, 0.0)}
# Noise of filtered motion capture: position [m], attitude [rad], velocity [m/s],
# rates [rad/s].
NOISE = 0.002, 0.003, 0.01, 0.01
LATENCY = 0.02


def odometry(truth, rng, place=(0.0, 0.0, 0.0), noise=NOISE, world="enu"):
    """(message, time of reception) of Odometry of a point (FLU) of the body, in REP-103 axes, with
    noise on pose and twist."""
    r = FRD_FROM_FLU @ np.array(place)
    to_world = NED_FROM_ENU if world == "enu" else np.eye(3)
    found = []
    for t, p, R, nu in zip(truth.t, truth.position, truth.R_nb, truth.nu):
        position, attitude, velocity, rates = (s * rng.standard_normal(3) for s in noise)
        x, y, z, w = to_quaternion(
            to_world @ R @ FRD_FROM_FLU @ from_rotation_vector(np.array(attitude)))
        pose = Message(position=vector(to_world @ (p + R @ r) + position),
                       orientation=Message(x=x, y=y, z=z, w=w))
        twist = Message(
            linear=vector(FRD_FROM_FLU @ (nu[:3] + np.cross(nu[3:], r)) + velocity),
            angular=vector(FRD_FROM_FLU @ nu[3:] + rates))
        ns = round(t * 1e9)
        header = Message(stamp=Message(sec=ns // 10**9, nanosec=ns % 10**9), frame_id="map")
        covariance = np.diag([NOISE[2] ** 2] * 6).ravel()
        found.append((Message(header=header, pose=Message(pose=pose, covariance=covariance),
                              twist=Message(twist=twist, covariance=covariance)),
                      t + LATENCY * (1 + 0.1 * rng.random())))
    return found


def in_world(message):
    """The Odometry with its twist in the axes of its pose."""
    q, twist = message.pose.pose.orientation, message.twist.twist
    R = np.reshape(from_quaternion(q.x, q.y, q.z, q.w), (3, 3))
    linear, angular = (vector(R @ [v.x, v.y, v.z]) for v in (twist.linear, twist.angular))
    return Message(header=message.header, pose=message.pose,
                   twist=Message(twist=Message(linear=linear, angular=angular),
                                 covariance=message.twist.covariance))


def as_pose(message):
    """A PoseStamped made from Odometry."""
    return Message(header=message.header, pose=message.pose.pose)


def replaced(messages, source, roles=("imu", "dvl")):
    """The recording with the messages of those roles replaced by those of `source`: (message,
    reception)."""
    kept = [m for m in messages if m[0] not in roles]
    return sorted([*kept, *((role, m, t) for m, t in source for role in roles)],
                  key=lambda item: item[2])
