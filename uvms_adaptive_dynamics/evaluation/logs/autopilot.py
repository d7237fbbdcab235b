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

"""Measurements of an ArduPilot autopilot as the topics that mavros would have published.

Each kind of log is converted to one form (`Quantities`: SI, body FRD, world NED) and from there to
the messages and names of mavros, so that one configuration fits all.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from ...model.rotations import FRD_FROM_FLU, NED_FROM_ENU
from .ros_messages import (
    BATTERY_TYPE,
    IMU,
    PRESSURE_TYPE,
    RC_OUT,
    TWIST,
    finite,
    header,
    make,
    quaternion,
    type_store,
    vector,
)
from .tracks import Track

# mavros' name for the first pressure sensor; on a BlueROV2 that is the one in the hull.
PRESSURE_TOPICS = ("/mavros/imu/static_pressure", "/ardupilot/pressure_2", "/ardupilot/pressure_3")
# [s] Longest time between attitudes to interpolate over: at 1 rad/s^2 a vehicle is 0.1 degrees off
# the great circle between two attitudes 0.12 s apart.
LONGEST_BETWEEN = 0.25
NO_ORIENTATION = np.array([-1.0, *[0.0] * 8])     # the marker of REP-145


class LoggedSeries(NamedTuple):
    """A quantity: times of reception and stamps (k,) [s], values (k, m)."""

    received: np.ndarray
    stamps: np.ndarray
    values: np.ndarray


@dataclass
class Quantities:
    """Quantities of a log.

    attitude: roll, pitch, yaw [rad] of FRD in NED; imu: rates [rad/s] and specific force [m/s^2] in
    FRD; outputs: pulse widths [us] of all channels, 0 if unknown; pressure [Pa] by sensor number;
    voltage [V]; body_velocity (FRD), ned_velocity (NED): of the DVL [m/s]."""

    attitude: LoggedSeries | None = None
    imu: LoggedSeries | None = None
    outputs: LoggedSeries | None = None
    pressure: Mapping[int, LoggedSeries] = field(default_factory=dict)
    voltage: LoggedSeries | None = None
    body_velocity: LoggedSeries | None = None
    ned_velocity: LoggedSeries | None = None


def tracks_of(found: Quantities) -> list[Track]:
    """The topics of all quantities that the log has."""
    tracks = []
    if found.imu is not None:
        tracks.append(_imu_track(found.imu, found.attitude))
    if found.outputs is not None:
        tracks.append(_track("/mavros/rc/out", RC_OUT, found.outputs, found.outputs.values, _rc))
    for number, series in found.pressure.items():
        if number < len(PRESSURE_TOPICS):
            tracks.append(_track(PRESSURE_TOPICS[number], PRESSURE_TYPE, series, series.values,
                                 _pressure))
    if found.voltage is not None:
        tracks.append(_track("/mavros/battery", BATTERY_TYPE, found.voltage, found.voltage.values,
                             _battery))
    if found.body_velocity is not None:
        tracks.append(_track("/ardupilot/dvl", TWIST, found.body_velocity,
                             found.body_velocity.values, _velocity))
    elif found.ned_velocity is not None and found.attitude is not None:
        series = found.ned_velocity
        tracks.append(_track("/ardupilot/dvl", TWIST, series, _in_body(series, found.attitude),
                             _velocity))
    return tracks


def warnings_of(found: Quantities) -> list[str]:
    """A warning about quantities that the log lacks; [] if it is complete."""
    lacks = {
        "attitude (ATT; ATTITUDE)": found.attitude, "IMU (IMU; RAW_IMU, SCALED_IMU)": found.imu,
        "thruster outputs (RCOU; SERVO_OUTPUT_RAW)": found.outputs,
        "DVL (VISO, VISV; VISION_POSITION_DELTA, VISION_SPEED_ESTIMATE)":
            found.body_velocity or found.ned_velocity}
    missing = [name for name, series in lacks.items() if series is None]
    return [f"the log has no {', no '.join(missing)}; docs/recordings.md says what an autopilot "
            "must log."] if missing else []


def _track(topic, kind, series: LoggedSeries, values: np.ndarray, maker) -> Track:
    return Track(topic, kind, series.received, series.stamps, values, maker)


def _imu_track(imu: LoggedSeries, attitude: LoggedSeries | None) -> Track:
    """Rates, force, and orientation of FLU in ENU as x y z w. The orientation is NaN in a log
    without attitudes; in others, as with mavros, readings without a near attitude are dropped."""
    found = None if attitude is None else _attitudes(attitude, imu.stamps)
    if found is None:
        quaternions = np.full((len(imu.stamps), 4), np.nan)
    else:
        near, R_nb = found
        turned = Rotation.from_matrix(NED_FROM_ENU.T @ R_nb.as_matrix() @ FRD_FROM_FLU)
        quaternions = turned.as_quat()
        imu = LoggedSeries(*(values[near] for values in imu))
    return _track("/mavros/imu/data", IMU, imu, np.hstack([imu.values, quaternions]), _imu)


def _attitudes(attitude: LoggedSeries, t: np.ndarray) -> tuple[np.ndarray, Rotation] | None:
    """(bool (k,): whether there is an attitude at the times t (k,); those attitudes R_nb),
    interpolated on the great circle between neighbours; None without any."""
    stamps, first = np.unique(attitude.stamps, return_index=True)
    if len(stamps) < 2:
        return None
    rpy = attitude.values[first]
    after = np.clip(np.searchsorted(stamps, t), 1, len(stamps) - 1)
    near = ((stamps[after] - stamps[after - 1] < LONGEST_BETWEEN)
            & (t >= stamps[0]) & (t <= stamps[-1]))
    if not near.any():
        return None
    rotations = Rotation.from_euler("ZYX", rpy[:, ::-1])
    return near, Slerp(stamps, rotations)(t[near])


def _in_body(series: LoggedSeries, attitude: LoggedSeries) -> np.ndarray:
    """(k, 3) velocities in FRD, from those in NED; NaN without a near attitude."""
    values = np.full((len(series.stamps), 3), np.nan)
    found = _attitudes(attitude, series.stamps)
    if found is not None:
        near, R_nb = found
        values[near] = R_nb.inv().apply(series.values[near])
    return values


def _imu(stamp: float, row: np.ndarray):
    rates, force = FRD_FROM_FLU @ finite(row[:3]), FRD_FROM_FLU @ finite(row[3:6])
    found = {"header": header(stamp, "base_link"), "angular_velocity": vector(rates),
             "linear_acceleration": vector(force)}
    if np.isfinite(row[6]):
        return make(IMU, orientation=quaternion(row[6:]), **found)
    return make(IMU, orientation_covariance=NO_ORIENTATION, **found)


def _rc(stamp: float, row: np.ndarray):
    return make(RC_OUT, header=header(stamp), channels=np.asarray(row, np.uint16))


def _pressure(stamp: float, row: np.ndarray):
    return make(PRESSURE_TYPE, header=header(stamp), fluid_pressure=float(finite(row)[0]))


def _battery(stamp: float, row: np.ndarray):
    return make(BATTERY_TYPE, header=header(stamp), voltage=float(finite(row)[0]), present=True)


def _velocity(stamp: float, row: np.ndarray):
    types = type_store().types
    twist = types["geometry_msgs/msg/Twist"](vector(finite(row)), vector(np.zeros(3)))
    with_covariance = types["geometry_msgs/msg/TwistWithCovariance"](twist, np.zeros(36))
    return make(TWIST, header=header(stamp, "dvl_link"), twist=with_covariance)
