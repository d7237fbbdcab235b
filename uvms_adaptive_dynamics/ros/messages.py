"""Builders of the messages that go out; the one place where FRD becomes FLU (docs/conventions.md).

Numbers become `float` or `array.array('d')` here: rclpy silently serializes anything else as
garbage. A builder returns None when a number is not finite: NaN is never published.
"""
from __future__ import annotations

import array
from collections.abc import Mapping, Sequence

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

# Components of a six-vector that change sign between FRD and FLU.
FLU_SIGNS = np.array([1., -1., -1., 1., -1., -1.])


def time_message(t: float) -> Time:
    """`t` [s since the epoch] to the microsecond, which is what a double holds today."""
    seconds, micro = divmod(round(t * 1e6), 1_000_000)
    return Time(sec=int(seconds), nanosec=int(micro) * 1000)


def doubles(values) -> array.array:
    """Values as the flat float64 array that rclpy copies fastest."""
    return array.array("d", np.ascontiguousarray(values, dtype=float).tobytes())


def header(t: float, frame_id: str = "") -> Header:
    """Header with the time of the tick."""
    return Header(stamp=time_message(t), frame_id=frame_id)


def frame_id(output: Output) -> str:
    """Name of the body frame that wrenches and accelerations are published in."""
    return output.base_frame + ("_frd" if output.frame == "frd" else "")


def in_output_axes(six: np.ndarray, output: Output) -> np.ndarray:
    """A six-vector (6,) from body FRD to the axes of the setting output.frame."""
    return np.asarray(six, float) * (FLU_SIGNS if output.frame == "flu" else 1.0)


def parameters_message(t: float, names: Sequence[str], pi: np.ndarray,
                       stddev: np.ndarray) -> JointState | None:
    """name: parameter, position: estimate, effort: standard deviation; SI, FRD."""
    if not _finite(pi, stddev):
        return None
    return JointState(header=header(t), name=list(names), position=doubles(pi),
                      effort=doubles(stddev))


def covariance_message(covariance: np.ndarray) -> Float64MultiArray | None:
    """Covariance (p, p) row by row, in the order of ~/parameters."""
    if not _finite(covariance):
        return None
    rows, columns = covariance.shape
    dimensions = [MultiArrayDimension(label="rows", size=rows, stride=rows * columns),
                  MultiArrayDimension(label="columns", size=columns, stride=columns)]
    return Float64MultiArray(layout=MultiArrayLayout(dim=dimensions, data_offset=0),
                             data=doubles(covariance))


def wrench_message(t: float, wrench: np.ndarray, output: Output) -> WrenchStamped | None:
    """Wrench (6,) [N, N m] about the body origin, given in FRD."""
    if not _finite(wrench):
        return None
    force, torque = _vectors(in_output_axes(wrench, output))
    return WrenchStamped(header=header(t, frame_id(output)),
                         wrench=Wrench(force=force, torque=torque))


def wrench_stddev_message(t: float, stddev: np.ndarray, output: Output) -> WrenchStamped | None:
    """Standard deviations (6,) [N, N m]: magnitudes, the same in either frame."""
    if not _finite(stddev):
        return None
    force, torque = _vectors(np.abs(stddev))
    return WrenchStamped(header=header(t, frame_id(output)),
                         wrench=Wrench(force=force, torque=torque))


def effort_message(t: float, joints: Sequence[str], effort: np.ndarray) -> JointState | None:
    """Efforts (n,) [N m or N] by joint; a joint whose value is not finite is left out."""
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
    """nu (6,) [m/s, rad/s], or nu_dot for those who want it so, given in FRD."""
    if not _finite(six):
        return None
    linear, angular = _vectors(in_output_axes(six, output))
    return TwistStamped(header=header(t, frame_id(output)),
                        twist=Twist(linear=linear, angular=angular))


def diagnostic_status(level: int, name: str, message: str, values: Mapping[str, object],
                      hardware_id: str) -> DiagnosticStatus:
    """One status; `level` 0 ok, 1 warning, 2 error, 3 stale; values get four significant digits."""
    pairs = [KeyValue(key=str(key),
                      value=f"{value:.4g}" if isinstance(value, (float, np.floating))
                      else str(value))
             for key, value in values.items()]
    return DiagnosticStatus(level=bytes([level]), name=name, message=message,
                            hardware_id=hardware_id, values=pairs)


def diagnostic_array(t: float, statuses: Sequence[DiagnosticStatus]) -> DiagnosticArray:
    """The statuses of one moment."""
    return DiagnosticArray(header=header(t), status=list(statuses))


def _vectors(six: np.ndarray) -> tuple[Vector3, Vector3]:
    x, y, z, k, m, n = (float(value) for value in six)
    return Vector3(x=x, y=y, z=z), Vector3(x=k, y=m, z=n)


def _finite(*arrays: np.ndarray) -> bool:
    return all(values is not None and np.isfinite(values).all() for values in arrays)
