"""Messages to readings: SI units, body FRD, world NED; the one border where REP-103 ends (DESIGN sections 2, 10).

Messages are read by their field names only, so that those of rclpy and those a bag reader builds are the same here.
"""
from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..config import Config
from ..errors import MessageError
from ..rotations import FRD_FROM_FLU, NED_FROM_ENU, from_quaternion, from_rpy

QUATERNION_TOLERANCE = 0.05   # of its length from one
RC_LOW, RC_HIGH = 500.0, 2500.0   # [us] what an RC channel can mean as PWM


class ImuReading(NamedTuple):
    """R_nb (3, 3); angular rate w (3,) [rad/s] and specific force f (3,) [m/s^2] in body FRD, at the IMU's place."""

    R_nb: np.ndarray
    w: np.ndarray
    f: np.ndarray


class JointReading(NamedTuple):
    """Position [rad or m], velocity and effort [N m or N] in the configured order; NaN where the message has none."""

    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


class Decoder:
    """Turns the messages of each role into readings; raises MessageError for what cannot be used."""

    def __init__(self, config: Config):
        self._config = config
        self._imu_axes = _axes(config.imu.frame) @ from_rpy(*config.imu.rpy)
        # R_nb = left Q right, with Q the message's rotation from the IMU's axes to its world.
        self._left = NED_FROM_ENU if config.imu.world == "enu" else np.eye(3)
        self._right = from_rpy(*config.imu.rpy).T @ _axes(config.imu.frame)
        self._dvl_axes = _axes(config.dvl.frame) @ from_rpy(*config.dvl.rpy)
        self._dvl_scale = 3 * config.dvl.max_stddev ** 2
        self._wrench_axes = _axes(config.thrusters.wrench_frame)
        self._pascal_per_metre = config.robot.water_density * config.robot.gravity
        self._thrusters = len(config.thrusters.signs)
        joints = config.joint_states
        n = len(config.robot.joints)
        self._effort_scale = np.array(joints.effort_scale or (1.0,) * n)
        self._effort_scale_negative = np.array(joints.effort_scale_negative or joints.effort_scale or (1.0,) * n)
        self._effort_offset = np.array(joints.effort_offset or (0.0,) * n)
        self._position_offset = np.array(joints.position_offset or (0.0,) * n)
        self._orders: dict[tuple, np.ndarray] = {}

    def decode(self, role: str, message: Any) -> Any:
        """The reading of one message: ImuReading, JointReading, or an array in the role's units."""
        try:
            return getattr(self, role)(message)
        except (AttributeError, TypeError, ValueError) as error:
            raise MessageError(f"{role}: message does not have the fields of its type ({error})") from None

    def imu(self, message: Any) -> ImuReading:
        """sensor_msgs/Imu."""
        q = message.orientation
        length = math.sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w)
        if not abs(length - 1) < QUATERNION_TOLERANCE:
            raise MessageError(f"imu: orientation has length {length:.3g}, expected 1 (does the driver publish an orientation?)")
        R = self._left @ from_quaternion(q.x, q.y, q.z, q.w) @ self._right
        w = self._imu_axes @ _vector(message.angular_velocity, "imu: angular_velocity")
        f = self._imu_axes @ _vector(message.linear_acceleration, "imu: linear_acceleration")
        return ImuReading(R, w, f)

    def dvl(self, message: Any) -> np.ndarray:
        """Velocity (3,) [m/s] of the DVL's own place over ground, body FRD."""
        if hasattr(message, "velocity_valid"):                       # dvl_msgs/DVL
            if not message.velocity_valid:
                raise MessageError("dvl: no bottom lock")
            velocity, variance = _vector(message.velocity, "dvl: velocity"), 3 * float(getattr(message, "fom", 0.0)) ** 2
        elif hasattr(message, "velocity_covar"):                     # marine_acoustic_msgs/Dvl
            velocity = _vector(message.velocity, "dvl: velocity")
            variance = float(np.trace(np.reshape(message.velocity_covar, (3, 3))))
        else:
            twist = message.twist
            variance = 0.0
            if hasattr(twist, "covariance"):                         # TwistWithCovarianceStamped
                variance = float(twist.covariance[0] + twist.covariance[7] + twist.covariance[14])
                twist = twist.twist
            velocity = _vector(twist.linear, "dvl: velocity")
        if not variance <= self._dvl_scale:
            raise MessageError("dvl: covariance says no lock")
        if np.max(np.abs(velocity)) > self._config.dvl.max_speed:
            raise MessageError("dvl: velocity beyond dvl.max_speed")
        return self._dvl_axes @ velocity

    def depth(self, message: Any) -> np.ndarray:
        """Depth (1,) [m] of the pressure sensor below the surface."""
        if hasattr(message, "fluid_pressure"):
            value = (message.fluid_pressure - self._config.robot.surface_pressure) / self._pascal_per_metre
        else:
            value = message.data
        if not -20.0 < value < 12000.0:
            raise MessageError(f"depth: {value:.4g} m is not a depth (pressure is expected in Pa, absolute)")
        return np.array([float(value)])

    def joint_states(self, message: Any) -> JointReading:
        """sensor_msgs/JointState or control_msgs/DynamicJointState, in any order of names."""
        if hasattr(message, "interface_values"):
            names, position, velocity, effort = _dynamic_joint_state(message)
        else:
            names, position, velocity, effort = tuple(message.name), message.position, message.velocity, message.effort
        order = self._order(names)
        load = _ordered(effort, order, names, "effort", False) - self._effort_offset
        return JointReading(_ordered(position, order, names, "position", True) - self._position_offset,
                            _ordered(velocity, order, names, "velocity", False),
                            load * np.where(load < 0.0, self._effort_scale_negative, self._effort_scale))

    def thrusters(self, message: Any) -> np.ndarray:
        """Thruster commands (N,) in the configured unit."""
        data = message.data if hasattr(message, "data") else message.channels
        commands = np.asarray(data, float)
        if hasattr(message, "channels"):
            commands = commands[:self._thrusters]                    # RC messages carry 16 or 18 channels
            if np.any((commands < RC_LOW) | (commands > RC_HIGH)):
                raise MessageError("thrusters: an RC channel is released or unchanged (0 or 65535), its PWM is unknown")
        if commands.shape != (self._thrusters,):
            raise MessageError(f"thrusters: got {commands.size} commands, expected {self._thrusters} (thrusters.allocation)")
        return _finite(commands, "thrusters: command")

    def battery(self, message: Any) -> np.ndarray:
        """Voltage (1,) [V]."""
        if not 5.0 < message.voltage < 60.0:
            raise MessageError(f"battery: {message.voltage:.3g} V is not a battery voltage")
        return np.array([float(message.voltage)])

    def wrench(self, message: Any) -> np.ndarray:
        """Body wrench (6,) [N, N m] about the body origin, FRD."""
        return np.concatenate([self._wrench_axes @ _vector(message.wrench.force, "wrench: force"),
                               self._wrench_axes @ _vector(message.wrench.torque, "wrench: torque")])

    def _order(self, names: tuple) -> np.ndarray:
        if names not in self._orders:
            missing = [joint for joint in self._config.robot.joints if joint not in names]
            if missing:
                raise MessageError(f"joint_states: joint '{missing[0]}' is missing; the message has {', '.join(names) or 'no names'}")
            self._orders[names] = np.array([names.index(joint) for joint in self._config.robot.joints], int)
        return self._orders[names]


def _axes(frame: str) -> np.ndarray:
    return FRD_FROM_FLU if frame == "flu" else np.eye(3)


def _vector(xyz: Any, what: str) -> np.ndarray:
    x, y, z = xyz.x, xyz.y, xyz.z
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        raise MessageError(f"{what} is not finite")
    return np.array((x, y, z), float)


def _finite(values: np.ndarray, what: str) -> np.ndarray:
    if not np.isfinite(values).all():
        raise MessageError(f"{what} is not finite")
    return values


def _ordered(values: Any, order: np.ndarray, names: tuple, what: str, needed: bool) -> np.ndarray:
    """Values of the configured joints; NaN for a whole field that is left empty, as JointState allows."""
    values = np.asarray(values, float)
    if values.size == 0 and not needed:
        return np.full(order.size, np.nan)
    if values.size != len(names):
        raise MessageError(f"joint_states: got {values.size} values of {what}, expected {len(names)} (one per name)")
    return _finite(values[order], f"joint_states: {what}")


def _dynamic_joint_state(message: Any):
    names = tuple(message.joint_names)
    columns = {}
    for field in ("position", "velocity", "effort"):
        values = [dict(zip(entry.interface_names, entry.values)).get(field) for entry in message.interface_values]
        columns[field] = [] if any(v is None for v in values) else values
    return names, columns["position"], columns["velocity"], columns["effort"]


def stamp_of(message: Any) -> float | None:
    """Seconds of the header's stamp; None for a message without a header or with a stamp left at zero."""
    header = getattr(message, "header", None)
    if header is None or (header.stamp.sec == 0 and header.stamp.nanosec == 0):
        return None
    return header.stamp.sec + 1e-9 * header.stamp.nanosec
