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

"""A recording of the simulated robot as the logs that an ArduPilot vehicle would write.

Packed by pymavlink: DFReader's make_msgbuf for a .BIN, the dialect's pack() for a .tlog. Numbers
have the resolution of the real fields (whole microseconds of PWM, mrad/s and mg in RAW_IMU). Joint
states go into a CSV, since an autopilot has none.
"""
import csv
import struct
from pathlib import Path

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.evaluation.bags import read_messages
from uvms_adaptive_dynamics.model.rotations import FRD_FROM_FLU, NED_FROM_ENU
from uvms_adaptive_dynamics.signals.decode.stamps import stamp_of
from uvms_adaptive_dynamics.signals.topics import inputs

G = 9.80665
JOINTS = Config().robot.joints
FORMATS = {   # of ArduPilot's LogStructure.h
    "ATT": ("QffffffB", "TimeUS,DesRoll,Roll,DesPitch,Pitch,DesYaw,Yaw,AEKF"),
    "IMU": ("QBffffff", "TimeUS,I,GyrX,GyrY,GyrZ,AccX,AccY,AccZ"),
    "RCOU": ("Q" + "H" * 14, "TimeUS," + ",".join(f"C{k}" for k in range(1, 15))),
    "BARO": ("QBff", "TimeUS,I,Alt,Press"),
    "VISO": ("Qffffffff", "TimeUS,dt,AngDX,AngDY,AngDZ,PosDX,PosDY,PosDZ,conf"),
    "GPS": ("QBIH", "TimeUS,I,GMS,GWk")}


def readings(bag):
    """(role, reception [s], stamp [s], values) of every message of a bag, or of a list of messages.
    IMU: roll, pitch, yaw of FRD in NED, rates and force in FRD; all others in ROS units."""
    if isinstance(bag, list):
        yield from bag
        return
    for role, message, t in read_messages(bag, inputs(Config())):
        stamp = stamp_of(message)
        stamp = t if stamp is None else stamp
        if role == "imu":
            q, w, f = message.orientation, message.angular_velocity, message.linear_acceleration
            R = NED_FROM_ENU @ Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix() @ FRD_FROM_FLU.T
            rpy = Rotation.from_matrix(R).as_euler("ZYX")[::-1]
            rates, force = ((FRD_FROM_FLU @ [v.x, v.y, v.z]) for v in (w, f))
            yield role, t, stamp, np.concatenate([rpy, rates, force])
        elif role == "dvl":
            v = message.twist.twist.linear
            yield role, t, stamp, np.array([v.x, v.y, v.z])
        elif role == "depth":
            yield role, t, stamp, np.array([message.fluid_pressure])
        elif role == "thrusters":
            yield role, t, stamp, np.array(message.data)
        else:
            order = [message.name.index(joint) for joint in JOINTS]
            yield role, t, stamp, np.concatenate(
                [np.array(values)[order] for values in
                 (message.position, message.velocity, message.effort)])


def write_bin(bag, path, start):
    """Write the .BIN; `start` [s since the epoch] is TimeUS zero, given by a GPS fix at its
    beginning."""
    from pymavlink.DFReader import DFFormat, DFReader_binary
    empty = Path(path).with_suffix(".empty")
    empty.write_bytes(struct.pack("BBB", 0xA3, 0x95, 0x80) + bytes(86))
    maker = DFReader_binary(str(empty))
    forms = {name: DFFormat(200 + k, name, 0, form, columns)
             for k, (name, (form, columns)) in enumerate(FORMATS.items())}
    with open(path, "wb") as stream:
        for form in forms.values():
            form.len = struct.calcsize(form.msg_struct) + 3
            stream.write(maker.make_format_msgbuf(form))

        def write(name, *values):
            stream.write(maker.make_msgbuf(forms[name], values))

        gps = start + 18 - 315_964_800
        write("GPS", 0, 0, round((gps % 604_800) * 1000), int(gps // 604_800))
        last_dvl = None
        for role, _, stamp, x in readings(bag):
            us = round(1e6 * (stamp - start))
            if role == "imu":
                roll, pitch, yaw = np.degrees(x[:3])
                write("ATT", us, 0, roll, 0, pitch, 0, yaw % 360, 0)
                write("IMU", us, 0, *x[3:])
            elif role == "thrusters":
                write("RCOU", us, *(round(c) for c in x), *[1500] * 6)
            elif role == "depth":
                write("BARO", us, 0, 0.0, 95_000.0)
                write("BARO", us, 1, 0.0, x[0])
            elif role == "dvl":
                if last_dvl is not None:
                    dt = stamp - last_dvl
                    # a displacement is stamped at its end, a velocity at the middle
                    write("VISO", us + round(0.5e6 * dt), 1e6 * dt, 0, 0, 0, *(x * dt), 90)
                last_dvl = stamp
    empty.unlink()


def write_tlog(bag, path, start):
    """Write the .tlog of a ground station; `start` [s since the epoch]: when the autopilot
    booted."""
    from pymavlink.dialects.v20 import ardupilotmega as mavlink
    autopilot, companion = mavlink.MAVLink(None, 1, 1), mavlink.MAVLink(None, 1, 197)
    last_dvl = None
    with open(path, "wb") as stream:
        def write(t, sender, message):
            stream.write(struct.pack(">Q", round(1e6 * t)) + message.pack(sender))

        for role, t, stamp, x in readings(bag):
            since = stamp - start
            ms, us = round(1e3 * since), round(1e6 * since)
            if role == "imu":
                write(t, autopilot, mavlink.MAVLink_attitude_message(ms, *x[:6]))
                gyro, force = np.round(1e3 * x[3:6]), np.round(1e3 * x[6:] / G)
                write(t, autopilot, mavlink.MAVLink_raw_imu_message(
                    us, *map(int, force), *map(int, gyro), 0, 0, 0))
            elif role == "thrusters":
                write(t, autopilot, mavlink.MAVLink_servo_output_raw_message(
                    us % 2 ** 32, 0, *(round(c) for c in x), *[0] * 8))
            elif role == "depth":
                write(t, autopilot, mavlink.MAVLink_scaled_pressure_message(ms, 950.0, 0, 0))
                write(t, autopilot, mavlink.MAVLink_scaled_pressure2_message(ms, x[0] / 100, 0, 0))
            elif role == "dvl":
                if last_dvl is not None:
                    dt = stamp - last_dvl
                    write(t, companion, mavlink.MAVLink_vision_position_delta_message(
                        us + round(0.5e6 * dt), round(1e6 * dt), [0, 0, 0], list(x * dt), 90))
                last_dvl = stamp


def write_joints(bag, path):
    """Write joint states as CSV, times in [us since the epoch]."""
    with open(path, "w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["time_us", *(f"{what}_{k}" for what in "qve" for k in range(len(JOINTS)))])
        for role, _, stamp, x in readings(bag):
            if role == "joint_states":
                rows.writerow([round(1e6 * stamp), *(repr(float(value)) for value in x)])


def write_joined(log, joints, path):
    """Write a mapping that joins a log with the CSV of joints."""
    columns = {what: [f"{letter}_{k}" for k in range(len(JOINTS))]
               for what, letter in (("position", "q"), ("velocity", "v"), ("effort", "e"))}
    path.write_text(yaml.safe_dump({"files": [{"file": log.name}, {
        "file": joints.name, "time": {"column": "time_us", "unit": "us"},
        "topics": {"joint_states": {"type": "sensor_msgs/msg/JointState", "name": list(JOINTS),
                                    **columns}}}]}))
    return path


SETTINGS = {   # for the topic names of an autopilot's log
    "imu.topic": "mavros/imu/data", "dvl.topic": "ardupilot/dvl",
    "depth.topic": "ardupilot/pressure_2", "thrusters.topic": "mavros/rc/out",
    "thrusters.type": "mavros_msgs/msg/RCOut"}


def small_logs():
    """(a .BIN, a .tlog) of a few messages, as bytes."""
    import tempfile
    found = []
    with tempfile.TemporaryDirectory() as name:
        for write, file in ((write_bin, "x.BIN"), (write_tlog, "x.tlog")):
            write(SOME, Path(name) / file, BEGIN)
            found.append((Path(name) / file).read_bytes())
    return found


BEGIN = 1_767_225_600.0      # [s since the epoch]
SOME = [(role, BEGIN + t, BEGIN + t, values) for role, t, values in (
    *(("imu", 1.0 + 0.02 * k, np.full(9, 0.1)) for k in range(9)),
    ("thrusters", 1.1, np.full(8, 1500.0)), ("depth", 1.1, np.array([1e5])),
    ("dvl", 1.1, np.zeros(3)), ("dvl", 1.2, np.ones(3)))]
