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

"""Message types of packages that need not be installed: bags contain their definitions, and the
front end reads them by field names."""

import sqlite3
from contextlib import closing
from functools import cache
from textwrap import dedent

import numpy as np
import pytest
from analytic import AnalyticMotion, stream
from campaign_cases import also
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.evaluation.bags import read_messages
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import (
    FRD_FROM_FLU,
    NED_FROM_ENU,
    from_rpy,
    to_quaternion,
)
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.topics import inputs

DEFINITIONS = {
    "dvl_msgs/msg/DVLBeam": """
        int64 id
        float64 velocity
        float64 distance
        float64 rssi
        float64 nsd
        bool valid
    """,
    "dvl_msgs/msg/DVL": """
        std_msgs/Header header
        float64 time
        geometry_msgs/Vector3 velocity
        float64 fom
        float64[] covariance
        float64 altitude
        dvl_msgs/DVLBeam[] beams
        bool velocity_valid
        int64 status
        int64 time_of_validity
        int64 time_of_transmission
        string form
    """,
    "marine_acoustic_msgs/msg/Dvl": """
        std_msgs/Header header
        uint8 DVL_MODE_BOTTOM=1
        uint8 DVL_MODE_WATER=2
        uint8 velocity_mode
        uint8 dvl_type
        geometry_msgs/Vector3 velocity
        float64[9] velocity_covar
        float64 altitude
        float64 course_gnd
        float64 speed_gnd
        uint8 num_good_beams
        float32 sound_speed
        bool beam_ranges_valid
        bool beam_velocities_valid
        geometry_msgs/Vector3[4] beam_unit_vec
        float64[4] range
        float32[4] range_covar
        float32[4] beam_quality
        float32[4] beam_velocity
        float32[4] beam_velocity_covar
    """,
    "mavros_msgs/msg/RCOut": "std_msgs/Header header\nuint16[] channels\n",
    "mavros_msgs/msg/OverrideRCIn": """
        uint16 CHAN_RELEASE=0
        uint16 CHAN_NOCHANGE=65535
        uint16[18] channels
    """,
    "control_msgs/msg/InterfaceValue": "string[] interface_names\nfloat64[] values\n",
    "control_msgs/msg/DynamicJointState": """
        std_msgs/Header header
        string[] joint_names
        control_msgs/InterfaceValue[] interface_values
    """,
}


@pytest.fixture(scope="module")
def store():
    store = get_typestore(Stores.ROS2_JAZZY)
    for name, text in DEFINITIONS.items():
        if name not in store.types:
            store.register(get_types_from_msg(dedent(text), name))
    return store


class Maker:
    """Builds rosbags messages of the foreign types, and of the usual ones, from those of the
    analytic stream."""

    def __init__(self, store, config):
        self.t, self.config = store.types, config

    def header(self, m):
        stamp = self.t["builtin_interfaces/msg/Time"](m.header.stamp.sec, m.header.stamp.nanosec)
        return self.t["std_msgs/msg/Header"](stamp, "")

    def vector(self, v):
        return self.t["geometry_msgs/msg/Vector3"](v.x, v.y, v.z)

    def make(self, role, m, number):
        kind = getattr(self.config, role).type
        make, four = self.t[kind], np.zeros(4, np.float32)
        if role == "imu":
            q = self.t["geometry_msgs/msg/Quaternion"](m.orientation.x, m.orientation.y,
                                                       m.orientation.z, m.orientation.w)
            zero = np.zeros(9)
            return make(self.header(m), q, zero, self.vector(m.angular_velocity), zero,
                        self.vector(m.linear_acceleration), zero)
        if kind == "dvl_msgs/msg/DVL":
            return make(self.header(m), 0.0, self.vector(m.twist.twist.linear), 0.005,
                        np.zeros(9), 2.0, [], number % 40 != 7, 0, 0, 0, "json_v3")
        if kind == "marine_acoustic_msgs/msg/Dvl":
            covariance = np.eye(3).ravel() * (1e-4 if number % 40 != 7 else 10.0)
            return make(self.header(m), 1, 0, self.vector(m.twist.twist.linear), covariance, 2.0,
                        0.0, 0.0, 4, 1500.0, False, False, [self.vector(m.twist.twist.linear)] * 4,
                        four.astype(float), four, four, four, four)
        if role == "depth":
            return make(self.header(m), m.fluid_pressure, 0.0)
        value = self.t["control_msgs/msg/InterfaceValue"]
        rows = [
            value(["effort", "position", "velocity"], np.array([e, p, v]))
            for p, v, e in zip(m.position, m.velocity, m.effort)
        ]
        return make(self.header(m), list(m.name), rows)

    def command(self, t, number):
        pwm = np.full(18, 1500, np.uint16)
        pwm[:2] += 20 * (number // 50)  # surge alone
        if number == 60:
            pwm[3] = 65535
        kind = self.config.thrusters.type
        if kind == "mavros_msgs/msg/OverrideRCIn":
            return self.t[kind](pwm)
        stamp = self.t["builtin_interfaces/msg/Time"](int(t), int(t % 1 * 1e9))
        return self.t[kind](self.t["std_msgs/msg/Header"](stamp, ""), pwm[:16])


@pytest.mark.parametrize(
    "dvl, thrusters, storage",
    [("dvl_msgs/msg/DVL", "mavros_msgs/msg/RCOut", StoragePlugin.MCAP),
     ("marine_acoustic_msgs/msg/Dvl", "mavros_msgs/msg/OverrideRCIn", StoragePlugin.SQLITE3),
     ("dvl_msgs/msg/DVL", "mavros_msgs/msg/RCOut", StoragePlugin.SQLITE3),
     also("marine_acoustic_msgs/msg/Dvl", "mavros_msgs/msg/OverrideRCIn", StoragePlugin.MCAP)],
)
def test_foreign_types_in_a_bag_give_the_same_samples(dvl, thrusters, storage, store, tmp_path):
    """Velocity, joints and wrench are those of the motion; messages without lock or without change
    are counted. Of the sqlite3 files the definitions are taken, as ROS 2 Humble writes none."""
    config = Config().with_values(
        {
            "dvl.type": dvl,
            "thrusters.type": thrusters,
            "joint_states.type": "control_msgs/msg/DynamicJointState",
        }
    )
    robot = RobotModel.from_config(config)
    motion, maker = AnalyticMotion(3, config=config), Maker(store, config)
    messages = [
        m
        for m in stream(motion, robot, prior_from_config(config, robot).values, 6.0)
        if m[0] != "wrench"
    ]
    begin = messages[0][2]
    whole = [(r, maker.make(r, m, k), t) for k, (r, m, t) in enumerate(messages)]
    whole += [
        ("thrusters", maker.command(begin + 0.02 * k, k), begin + 0.02 * k) for k in range(300)
    ]
    path = tmp_path / "bag"
    with Writer(path, version=9, storage_plugin=storage) as writer:
        connections = {
            i.role: writer.add_connection("/" + i.topic, i.type, typestore=store)
            for i in inputs(config)
        }
        for role, message, t in sorted(whole, key=lambda item: item[2]):
            writer.write(connections[role], round(t * 1e9),
                         store.serialize_cdr(message, connections[role].msgtype))

    if storage is StoragePlugin.SQLITE3:
        with closing(sqlite3.connect(next(path.glob("*.db3")))) as file, file:
            file.execute("DELETE FROM message_definitions")
    front, samples = SignalFrontEnd(config, robot), []
    for item in read_messages(path, inputs(config)):
        front.add_message(*item)
        samples += front.samples()
    good = [s for s in samples[80:] if s.valid[:6].all()]
    truth = [motion.sample(s.t - 1_700_000_000.0, robot) for s in good]
    assert len(good) > 100
    assert max(np.abs(s.nu - x.nu).max() for s, x in zip(good, truth)) < 0.05
    assert max(np.abs(s.mu_dot - x.mu_dot).max() for s, x in zip(good, truth)) < 0.01
    last = good[-1].wrench
    assert last[0] > 3 and abs(last[1]) < 1e-6 and abs(last[5]) < 1e-6
    assert any("lock" in reason for reason in front.inputs["dvl"].rejected)
    assert (
        front.inputs["thrusters"].rejected.total() == 1
        and "released or unchanged" in front.inputs["thrusters"].last_error
    )


@pytest.mark.parametrize("kind", ["nav_msgs/msg/Odometry", "geometry_msgs/msg/PoseStamped",
                                  "geometry_msgs/msg/PoseWithCovarianceStamped"])
def test_one_topic_in_a_bag_gives_attitude_and_velocity(kind, store, tmp_path):
    """Odometry and both kinds of poses, read for `imu` and `dvl`: velocity and rates are those of
    the motion."""
    config = Config().with_values({
        "imu.type": kind, "dvl.type": kind, "imu.topic": "odom", "dvl.topic": "odom",
        "dvl.frame": "flu", "dvl.xyz": (0.0, 0.0, 0.0), "thrusters.source": "zero",
        "depth.enabled": False,
    })
    robot, motion = RobotModel.from_config(config), AnalyticMotion(3, config=config)
    path, types = tmp_path / "bag", store.types
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        odom = writer.add_connection("/odom", kind, typestore=store)
        joints = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState",
                                       typestore=store)
        for k in range(500):
            s = motion.sample(0.01 * k, robot)
            message = _odometry(types, kind, s, motion, 0.01 * k)
            at = round(s.t * 1e9) + 5_000_000
            writer.write(odom, at, store.serialize_cdr(message, kind))
            state = types["sensor_msgs/msg/JointState"](
                message.header, list(config.robot.joints), s.mu, s.mu_dot, np.zeros(4))
            writer.write(joints, at, store.serialize_cdr(state, "sensor_msgs/msg/JointState"))
    front, samples = SignalFrontEnd(config, robot), []
    for item in read_messages(path, inputs(config)):
        front.add_message(*item)
        samples += front.samples()
    good = [s for s in samples if s.valid[:6].all()]
    error = np.array([s.nu - motion.sample(s.t - 1_700_000_000.0, robot).nu for s in good])
    assert len(good) > 150 and np.sqrt(np.mean(error**2)) < 0.02


@cache
def _positions(motion):
    """Positions (K, 3) NED of a motion every millisecond, its velocity integrated."""
    times = np.arange(0.0, 5.1, 1e-3)
    slopes = np.array([from_rpy(*motion.rpy(t)) @ motion.v(t) for t in times])
    steps = 0.5e-3 * (slopes[1:] + slopes[:-1])
    return np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])


def _odometry(types, kind, s, motion, t):
    """A message of the sample's attitude and velocity, in REP-103 axes; its position is the
    velocity's integral."""
    position = _positions(motion)[round(t / 1e-3)]
    x, y, z, w = to_quaternion(NED_FROM_ENU @ s.R_nb @ FRD_FROM_FLU)
    pose = types["geometry_msgs/msg/Pose"](
        types["geometry_msgs/msg/Point"](*(NED_FROM_ENU @ position)),
        types["geometry_msgs/msg/Quaternion"](x, y, z, w))
    ns = round(s.t * 1e9)
    header = types["std_msgs/msg/Header"](
        types["builtin_interfaces/msg/Time"](ns // 10**9, ns % 10**9), "map")
    if kind.endswith("PoseStamped"):
        return types[kind](header, pose)
    with_covariance = types["geometry_msgs/msg/PoseWithCovariance"](pose, np.zeros(36))
    if kind.endswith("CovarianceStamped"):
        return types[kind](header, with_covariance)
    vector = types["geometry_msgs/msg/Vector3"]
    twist = types["geometry_msgs/msg/Twist"](vector(*(FRD_FROM_FLU @ s.nu[:3])),
                                             vector(*(FRD_FROM_FLU @ s.nu[3:])))
    return types[kind](header, "base_link", with_covariance,
                       types["geometry_msgs/msg/TwistWithCovariance"](twist, np.zeros(36)))
