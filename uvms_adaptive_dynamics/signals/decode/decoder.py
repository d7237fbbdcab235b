"""Messages to readings: SI units, body FRD, world NED; the one border where REP-103 ends (DESIGN sections 2, 10).

Messages are read by their field names only, so that those of rclpy and those a bag reader builds are the same here.

A reading is a flat list of floats:
    imu           down vector (3), rates (3) [rad/s] and specific force (3) [m/s^2] in body FRD at the IMU's place, heading [rad]
    dvl           velocity (3) [m/s] over ground of the DVL's own place, body FRD
    depth         depth [m] of the pressure sensor below the surface
    joint_states  positions (n) [rad or m], velocities (n), efforts (n) [N m or N] in the configured order; NaN where a
                  message leaves velocity or effort empty, as JointState allows
    thrusters     a command for each thruster, in the configured unit
    battery       voltage [V]
    wrench        force (3) [N] and torque (3) [N m] about the body origin, FRD
"""
from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

from ...config import Config
from ...errors import MessageError
from ...model.rotations import FRD_FROM_FLU, NED_FROM_ENU, from_rpy
from ..filters.vectors import floats, from_quaternion, product, turned

QUATERNION_TOLERANCE = 0.05   # of its length from one
RC_LOW, RC_HIGH = 500.0, 2500.0   # [us] what an RC channel can mean as PWM


class Decoder:
    """Turns the messages of each role into readings; raises MessageError for what cannot be used."""

    def __init__(self, config: Config):
        self._config = config
        self._imu_axes = _flat(_axes(config.imu.frame) @ from_rpy(*config.imu.rpy))
        # R_nb = left Q right, with Q the message's rotation from the IMU's axes to its world.
        self._left = _flat(NED_FROM_ENU if config.imu.world == "enu" else np.eye(3))
        self._right = _flat(from_rpy(*config.imu.rpy).T @ _axes(config.imu.frame))
        self._dvl_axes = _flat(_axes(config.dvl.frame) @ from_rpy(*config.dvl.rpy))
        self._dvl_scale = 3 * config.dvl.max_stddev ** 2
        self._wrench_axes = _flat(_axes(config.thrusters.wrench_frame))
        self._pascal_per_metre = config.robot.water_density * config.robot.gravity
        self._thrusters = len(config.thrusters.signs)
        joints = config.joint_states
        n = len(config.robot.joints)
        scale = joints.effort_scale or (1.0,) * n
        # offset, scale above it and scale below it of each joint's effort
        self._efforts = list(zip(joints.effort_offset or (0.0,) * n, scale, joints.effort_scale_negative or scale))
        self._position_offset = joints.position_offset or (0.0,) * n
        self._names: Any = None      # of the last message
        self._order: list[int] = []

    def decode(self, role: str, message: Any) -> list[float]:
        """The reading of one message, as the module's table has it."""
        try:
            return getattr(self, role)(message)
        except (AttributeError, TypeError, ValueError) as error:
            raise MessageError(f"{role}: message does not have the fields of its type ({error})") from None

    def imu(self, message: Any) -> list[float]:
        """sensor_msgs/Imu."""
        q = message.orientation
        x, y, z, w = q.x, q.y, q.z, q.w
        length = math.sqrt(x * x + y * y + z * z + w * w)
        if not abs(length - 1) < QUATERNION_TOLERANCE:
            raise MessageError(f"imu: orientation has length {length:.3g}, expected 1 (does the driver publish an orientation?)")
        Q = from_quaternion(x / length, y / length, z / length, w / length)
        R = product(product(self._left, Q), self._right)
        rates = turned(self._imu_axes, _finite_vector(message.angular_velocity, "imu: angular_velocity"))
        force = turned(self._imu_axes, _finite_vector(message.linear_acceleration, "imu: linear_acceleration"))
        return [*R[6:], *rates, *force, math.atan2(R[3], R[0])]

    def dvl(self, message: Any) -> list[float]:
        """dvl_msgs/DVL, marine_acoustic_msgs/Dvl, geometry_msgs/TwistWithCovarianceStamped or TwistStamped."""
        if hasattr(message, "velocity_valid"):                       # dvl_msgs/DVL
            if not message.velocity_valid:
                raise MessageError("dvl: no bottom lock")
            velocity, variance = _finite_vector(message.velocity, "dvl: velocity"), 3 * float(getattr(message, "fom", 0.0)) ** 2
        elif hasattr(message, "velocity_covar"):                     # marine_acoustic_msgs/Dvl
            velocity = _finite_vector(message.velocity, "dvl: velocity")
            variance = float(np.trace(np.reshape(message.velocity_covar, (3, 3))))
        else:
            twist = message.twist
            variance = 0.0
            if hasattr(twist, "covariance"):                         # TwistWithCovarianceStamped
                variance = float(twist.covariance[0] + twist.covariance[7] + twist.covariance[14])
                twist = twist.twist
            velocity = _finite_vector(twist.linear, "dvl: velocity")
        if not variance <= self._dvl_scale:
            raise MessageError("dvl: covariance says no lock")
        if max(map(abs, velocity)) > self._config.dvl.max_speed:
            raise MessageError("dvl: velocity beyond dvl.max_speed")
        return list(turned(self._dvl_axes, velocity))

    def depth(self, message: Any) -> list[float]:
        """sensor_msgs/FluidPressure, absolute, or std_msgs/Float64, metres."""
        if hasattr(message, "fluid_pressure"):
            value = (message.fluid_pressure - self._config.robot.surface_pressure) / self._pascal_per_metre
        else:
            value = message.data
        if not -20.0 < value < 12000.0:
            raise MessageError(f"depth: {value:.4g} m is not a depth (pressure is expected in Pa, absolute)")
        return [float(value)]

    def joint_states(self, message: Any) -> list[float]:
        """sensor_msgs/JointState or control_msgs/DynamicJointState, in any order of names."""
        if hasattr(message, "interface_values"):
            names, position, velocity, effort = _dynamic_joint_state(message)
        else:
            names, position, velocity, effort = message.name, message.position, message.velocity, message.effort
        if names != self._names:
            self._order = self._find(names)
            self._names = list(names)
        count = len(names)
        efforts = self._ordered(effort, count, "effort", False)
        found = [p - zero for p, zero in zip(self._ordered(position, count, "position", True), self._position_offset)]
        found += self._ordered(velocity, count, "velocity", False)
        for value, (offset, scale, scale_negative) in zip(efforts, self._efforts):
            load = value - offset
            found.append(load * (scale_negative if load < 0.0 else scale))
        return found

    def thrusters(self, message: Any) -> list[float]:
        """std_msgs/Float64MultiArray, mavros_msgs/RCOut or OverrideRCIn."""
        commands = floats(message.data if hasattr(message, "data") else message.channels)
        if hasattr(message, "channels"):
            commands = commands[:self._thrusters]                    # RC messages carry 16 or 18 channels
            if any(not RC_LOW <= c <= RC_HIGH for c in commands):
                raise MessageError("thrusters: an RC channel is released or unchanged (0 or 65535), its PWM is unknown")
        if len(commands) != self._thrusters:
            raise MessageError(f"thrusters: got {len(commands)} commands, expected {self._thrusters} (thrusters.allocation)")
        return _finite(commands, "thrusters: command")

    def battery(self, message: Any) -> list[float]:
        """sensor_msgs/BatteryState."""
        if not 5.0 < message.voltage < 60.0:
            raise MessageError(f"battery: {message.voltage:.3g} V is not a battery voltage")
        return [float(message.voltage)]

    def wrench(self, message: Any) -> list[float]:
        """geometry_msgs/WrenchStamped."""
        return [*turned(self._wrench_axes, _finite_vector(message.wrench.force, "wrench: force")),
                *turned(self._wrench_axes, _finite_vector(message.wrench.torque, "wrench: torque"))]

    def _find(self, names: Sequence[str]) -> list[int]:
        """Places of the configured joints among the names of a message."""
        places = {name: k for k, name in reversed(list(enumerate(names)))}
        missing = [joint for joint in self._config.robot.joints if joint not in places]
        if missing:
            raise MessageError(f"joint_states: joint '{missing[0]}' is missing; the message has {', '.join(names) or 'no names'}")
        return [places[joint] for joint in self._config.robot.joints]

    def _ordered(self, values: Any, count: int, what: str, needed: bool) -> list[float]:
        """Values of the configured joints; NaN for a whole field that is left empty, as JointState allows."""
        values = floats(values)
        if not values and not needed:
            return [math.nan] * len(self._order)
        if len(values) != count:
            raise MessageError(f"joint_states: got {len(values)} values of {what}, expected {count} (one per name)")
        return _finite([values[k] for k in self._order], f"joint_states: {what}")


def _axes(frame: str) -> np.ndarray:
    return FRD_FROM_FLU if frame == "flu" else np.eye(3)


def _flat(R: np.ndarray) -> tuple[float, ...]:
    return tuple(R.ravel().tolist())


def _finite_vector(xyz: Any, what: str) -> tuple[float, float, float]:
    x, y, z = xyz.x, xyz.y, xyz.z
    if not math.isfinite(x + y + z):      # one NaN or infinity spoils the sum
        raise MessageError(f"{what} is not finite")
    return x, y, z


def _finite(values: list[float], what: str) -> list[float]:
    if not math.isfinite(sum(values)):
        raise MessageError(f"{what} is not finite")
    return values


def _dynamic_joint_state(message: Any) -> tuple[Sequence[str], Any, Any, Any]:
    names = list(message.joint_names)
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
