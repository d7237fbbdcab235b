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

"""A simulated recording, converted to a vehicle with other names, types, units, axes and order."""
import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from scipy.spatial.transform import Rotation

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.evaluation.bags import read_messages
from uvms_adaptive_dynamics.evaluation.logs.ros_messages import (
    BATTERY_TYPE,
    IMU,
    PRESSURE_TYPE,
    RC_OUT,
    header,
    make,
    quaternion,
    type_store,
    vector,
)
from uvms_adaptive_dynamics.model.rotations import NED_FROM_ENU
from uvms_adaptive_dynamics.signals.decode.stamps import stamp_of
from uvms_adaptive_dynamics.signals.topics import inputs

TWIST_STAMPED = "geometry_msgs/msg/TwistStamped"
JOINTS = "sensor_msgs/msg/JointState"
TOPICS = {"imu": ("/mavros/imu/data", IMU), "dvl": ("/dvl/velocity", TWIST_STAMPED),
          "depth": ("/bar30/pressure", PRESSURE_TYPE),
          "joint_states": ("/alpha/joint_states", JOINTS),
          "thrusters": ("/mavros/rc/out", RC_OUT), "battery": ("/mavros/battery", BATTERY_TYPE)}
ORDER = ("axis_b", "axis_d", "axis_a", "axis_e", "axis_c")      # axis_a is the gripper
# The configuration that fits the vehicle.
TRUTH = {"imu.topic": "/mavros/imu/data", "imu.world": "ned", "dvl.topic": "/dvl/velocity",
         "dvl.type": TWIST_STAMPED, "dvl.frame": "flu", "depth.topic": "/bar30/pressure",
         "depth.unit": "hPa", "joint_states.topic": "/alpha/joint_states",
         "joint_states.names": ("r_axis_e", "r_axis_d", "r_axis_c", "r_axis_b"),
         "joint_states.unit": "deg", "joint_states.effort_scale": (-1.0, 1.0, 1.0, 1.0),
         "thrusters.topic": "/mavros/rc/out", "thrusters.type": RC_OUT,
         "thrusters.channels": tuple(k + 9.0 for k in range(8)),
         "thrusters.signs": (1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
         "battery.topic": "/mavros/battery", "battery.enabled": True}


def write(source, path):
    """Write the recording `source` of the simulated robot as that vehicle's."""
    store = type_store()
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        connections = {role: bag.add_connection(topic, kind, typestore=store)
                       for role, (topic, kind) in TOPICS.items()}
        beside = [bag.add_connection(topic, kind, typestore=store) for topic, kind in (
            ("/mavros/imu/data_raw", IMU), ("/mavros/imu/static_pressure", PRESSURE_TYPE))]
        last_battery = 0.0
        for role, message, t in read_messages(source, inputs(Config())):
            bag.write(connections[role], round(1e9 * t),
                      store.serialize_cdr(_foreign(role, message, t), TOPICS[role][1]))
            if role == "imu":
                raw = make(IMU, header=message.header, angular_velocity=message.angular_velocity,
                           linear_acceleration=message.linear_acceleration)
                bag.write(beside[0], round(1e9 * t), store.serialize_cdr(raw, IMU))
            if role == "depth":
                hull = make(PRESSURE_TYPE, header=message.header, fluid_pressure=95_000.0)
                bag.write(beside[1], round(1e9 * t), store.serialize_cdr(hull, PRESSURE_TYPE))
            if t - last_battery > 0.5:
                last_battery = t
                voltage = make(BATTERY_TYPE, header=header(t), voltage=15.6, present=True)
                bag.write(connections["battery"], round(1e9 * t),
                          store.serialize_cdr(voltage, BATTERY_TYPE))
    return path


def _foreign(role, message, t):
    stamp = stamp_of(message)
    if role == "imu":       # FLU in NED
        q = message.orientation
        turned = (Rotation.from_matrix(np.array(NED_FROM_ENU))
                  * Rotation.from_quat([q.x, q.y, q.z, q.w]))
        return make(IMU, header=message.header, orientation=quaternion(turned.as_quat()),
                    angular_velocity=message.angular_velocity,
                    linear_acceleration=message.linear_acceleration)
    if role == "dvl":
        v = message.twist.twist.linear
        twist = type_store().types["geometry_msgs/msg/Twist"](
            vector(np.array([v.x, -v.y, -v.z])), vector(np.zeros(3)))
        return make(TWIST_STAMPED, header=header(stamp), twist=twist)
    if role == "depth":
        return make(PRESSURE_TYPE, header=message.header,
                    fluid_pressure=message.fluid_pressure / 100)
    if role == "thrusters":
        pwm = np.array(message.data)
        pwm[2] = 3000 - pwm[2]
        channels = np.concatenate([np.full(8, 1500), np.round(pwm)]).astype(np.uint16)
        return make(RC_OUT, header=header(t - 0.0005), channels=channels)
    values = {}
    for what in ("position", "velocity", "effort"):
        of = dict(zip(message.name, getattr(message, what))) | {"axis_a": 0.0}
        values[what] = np.array([of[joint] for joint in ORDER])
    values["position"], values["velocity"] = (np.degrees(values[what])
                                              for what in ("position", "velocity"))
    values["effort"][ORDER.index("axis_e")] *= -1
    return make(JOINTS, header=message.header, name=[f"r_{joint}" for joint in ORDER], **values)
