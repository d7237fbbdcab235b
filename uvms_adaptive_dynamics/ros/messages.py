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

"""Build outgoing messages; the only place that converts FRD to FLU (docs/conventions.md).

Numbers are converted to `float` or `array.array('d')`: rclpy silently serializes other types as
garbage. A builder returns None if a number is not finite, so that NaN is never published.
"""
from __future__ import annotations

import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import (
    Accel,
    AccelStamped,
    Twist,
    TwistStamped,
    Vector3,
    Wrench,
    WrenchStamped,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension, MultiArrayLayout

from ..config import Output
from ..errors import MessageError, brief

# Signs of a six-vector's components between FRD and FLU.
FLU_SIGNS = np.array([1., -1., -1., 1., -1., -1.])


def stamp_of(t: float) -> tuple[int, int]:
    """Seconds and nanoseconds of `t` [s since the epoch], to the microsecond, the resolution of a
    double today."""
    seconds, micro = divmod(round(t * 1e6), 1_000_000)
    return int(seconds), int(micro) * 1000


def time_message(t: float) -> Time:
    """`t` [s since the epoch] as a message."""
    seconds, nanoseconds = stamp_of(t)
    return Time(sec=seconds, nanosec=nanoseconds)


def status_values(message: DiagnosticArray) -> dict[str, str]:
    """All keys and values of a message's statuses."""
    return {pair.key: pair.value for status in message.status for pair in status.values}


def doubles(values) -> array.array:
    """Values as a flat float64 array, which rclpy copies fastest."""
    return array.array("d", np.ascontiguousarray(values, dtype=float).tobytes())


def header(t: float, frame_id: str = "") -> Header:
    """Header with stamp t [s]."""
    return Header(stamp=time_message(t), frame_id=frame_id)


def frame_id(output: Output) -> str:
    """Name of the body frame of published wrenches and accelerations."""
    return output.base_frame + ("_frd" if output.frame == "frd" else "")


def in_output_axes(six: np.ndarray, output: Output) -> np.ndarray:
    """A six-vector (6,) from body FRD to the axes of the setting output.frame."""
    return np.asarray(six, float) * (FLU_SIGNS if output.frame == "flu" else 1.0)


def parameters_message(t: float, names: Sequence[str], pi: np.ndarray,
                       stddev: np.ndarray, state: str = "") -> JointState | None:
    """Parameters as a JointState; SI, FRD.

    name: parameter, position: estimate, effort: standard deviation, frame_id: state of
    docs/validity.md.
    """
    if not _finite(pi, stddev):
        return None
    return JointState(header=header(t, state), name=list(names), position=doubles(pi),
                      effort=doubles(stddev))


def covariance_message(t: float, names: Sequence[str],
                       covariance: np.ndarray) -> Float64MultiArray | None:
    """Covariance (p, p), row by row, of the parameters `names` stamped t.

    Dimension labels carry names and stamp, for which the type has no field (docs/validity.md).
    """
    return _labelled(t, names, names, covariance)


def intervals_message(t: float, names: Sequence[str],
                      intervals: np.ndarray) -> Float64MultiArray | None:
    """Bounds (2, p) of the parameters' 95 % intervals within P, one row per parameter.

    Labelled like a covariance.
    """
    return _labelled(t, names, ("lower", "upper"), intervals.T)


def _labelled(t: float, rows: Sequence[str], columns: Sequence[str],
              matrix: np.ndarray) -> Float64MultiArray | None:
    if not _finite(matrix):
        return None
    (height, width), stamp = matrix.shape, time_message(t)
    dimensions = [
        MultiArrayDimension(label=f"rows: {','.join(rows)}", size=height, stride=height * width),
        MultiArrayDimension(label=f"columns: {','.join(columns)}", size=width, stride=width),
        MultiArrayDimension(label=f"stamp: {stamp.sec}.{stamp.nanosec:09d}", size=1, stride=1)]
    return Float64MultiArray(layout=MultiArrayLayout(dim=dimensions, data_offset=0),
                             data=doubles(matrix))


class NamedCovariance(NamedTuple):
    """names: parameters; stamp: of the parameters that it belongs to; matrix (p, p)."""

    names: tuple[str, ...]
    stamp: Time
    matrix: np.ndarray


def read_covariance(message: Float64MultiArray) -> NamedCovariance:
    """Decode ~/covariance or ~/trusted_covariance; raises MessageError for anything else."""
    dims = message.layout.dim
    words = [dimension.label.partition(": ") for dimension in dims]
    if [word for word, _, _ in words] != ["rows", "columns", "stamp"]:
        raise MessageError("a covariance has dimensions labelled 'rows: NAMES', 'columns: NAMES' "
                           f"and 'stamp: TIME'; got {brief([d.label for d in dims])}.")
    names, (seconds, _, nanoseconds) = words[0][2].split(","), words[2][2].partition(".")
    sizes = [dimension.size for dimension in dims] + [len(message.data)]
    p = len(names)
    if words[1][2] != words[0][2] or sizes != [p, p, 1, p * p]:
        raise MessageError(f"a covariance of {p} parameters has the same names in rows and columns "
                           f"and {p} x {p} x 1 numbers; got sizes {sizes[:3]} and {sizes[3]} "
                           "numbers.")
    if not (seconds.isdecimal() and nanoseconds.isdecimal() and len(nanoseconds) == 9):
        raise MessageError(f"the stamp of a covariance is {brief(words[2][2])}; expected seconds, "
                           "a point and nine digits.")
    return NamedCovariance(tuple(names), Time(sec=int(seconds), nanosec=int(nanoseconds)),
                           np.array(message.data).reshape(p, p))


def wrench_message(t: float, wrench: np.ndarray, output: Output) -> WrenchStamped | None:
    """Wrench (6,) [N, N m] about the body origin, given in FRD."""
    if not _finite(wrench):
        return None
    force, torque = _vectors(in_output_axes(wrench, output))
    return WrenchStamped(header=header(t, frame_id(output)),
                         wrench=Wrench(force=force, torque=torque))


def wrench_stddev_message(t: float, stddev: np.ndarray, output: Output) -> WrenchStamped | None:
    """Standard deviations (6,) [N, N m]; magnitudes are the same in FRD and FLU."""
    if not _finite(stddev):
        return None
    force, torque = _vectors(np.abs(stddev))
    return WrenchStamped(header=header(t, frame_id(output)),
                         wrench=Wrench(force=force, torque=torque))


def effort_message(t: float, joints: Sequence[str], effort: np.ndarray) -> JointState | None:
    """Efforts (n,) [N m or N] by joint; joints with a non-finite value are left out."""
    known = np.isfinite(effort)
    if not known.any():
        return None
    return JointState(header=header(t), name=[joint for joint, ok in zip(joints, known) if ok],
                      effort=doubles(np.asarray(effort, float)[known]))


def acceleration_message(t: float, nu_dot: np.ndarray, output: Output) -> AccelStamped | None:
    """nu_dot (6,) [m/s^2, rad/s^2], the derivative of nu in the body frame, given in FRD."""
    if not _finite(nu_dot):
        return None
    linear, angular = _vectors(in_output_axes(nu_dot, output))
    return AccelStamped(header=header(t, frame_id(output)),
                        accel=Accel(linear=linear, angular=angular))


def twist_message(t: float, six: np.ndarray, output: Output) -> TwistStamped | None:
    """nu (6,) [m/s, rad/s], or nu_dot as a twist, given in FRD."""
    if not _finite(six):
        return None
    linear, angular = _vectors(in_output_axes(six, output))
    return TwistStamped(header=header(t, frame_id(output)),
                        twist=Twist(linear=linear, angular=angular))


def diagnostic_status(level: int, name: str, message: str, values: Mapping[str, object],
                      hardware_id: str) -> DiagnosticStatus:
    """One status; `level` 0 ok, 1 warning, 2 error, 3 stale; numbers have four significant
    digits."""
    pairs = [_pair(str(key), f"{value:.4g}" if isinstance(value, (float, np.floating))
                   else str(value))
             for key, value in values.items()]
    return DiagnosticStatus(level=bytes([level]), name=name, message=message,
                            hardware_id=hardware_id, values=pairs)


@lru_cache(maxsize=1024)
def _pair(key: str, value: str) -> KeyValue:
    """Shared by all messages, since most values stay from one status to the next."""
    return KeyValue(key=key, value=value)


def diagnostic_array(t: float, statuses: Sequence[DiagnosticStatus]) -> DiagnosticArray:
    """Statuses with the stamp t [s]."""
    return DiagnosticArray(header=header(t), status=list(statuses))


def status_array(t: float, node: str, what: str, level: int, message: str,
                 values: Mapping[str, object]) -> DiagnosticArray:
    """An array with the single status `what` of the node with full name `node`, at time t [s]."""
    return diagnostic_array(t, [diagnostic_status(level, f"{node}: {what}", message, values, node)])


def _vectors(six: np.ndarray) -> tuple[Vector3, Vector3]:
    x, y, z, k, m, n = (float(value) for value in six)
    return Vector3(x=x, y=y, z=z), Vector3(x=k, y=m, z=n)


def _finite(*arrays: np.ndarray) -> bool:
    return all(values is not None and np.isfinite(values).all() for values in arrays)
