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

"""From messages to values in SI units, body FRD and world NED: the border where REP-103 ends.

Messages are read by field name only, so those of rclpy and of a bag reader are treated alike. The
frames are defined in docs/conventions.md. The values of a message are a flat list of floats:

    imu           down vector (3), rates (3) [rad/s] and specific force (3) [m/s^2] at the IMU in
                  body FRD, heading [rad]; NaN where the message has no orientation or no force. For
                  a pose, also of an Odometry whose angular twist is left at zero: R_nb (9)
    dvl           velocity (3) [m/s] over ground at the DVL, body FRD. For a pose, also of an
                  Odometry whose linear twist is left at zero: position (3) [m] in its world,
                  rotation (9) from body FRD to that world
    altitude      altitude [m] of the same message over the bottom, NaN if it is unknown
    odometry      of the same Odometry, in its own axes: position (3) [m], rotation (9) from the
                  child frame to the pose's, linear (3) [m/s] and angular twist (3) [rad/s]; empty
                  for other messages, without a pose, and with a linear twist that is left at zero
    depth         depth [m] of the pressure sensor below the surface
    joint_states  positions (n) [rad or m], velocities (n), efforts (n) [N m or N] in the configured
                  order; NaN where a message leaves velocity or effort empty, as JointState allows,
                  and for joints that it does not contain (`joint_parts` combines such messages)
    thrusters     a command for each thruster, in the configured unit
    battery       voltage [V]
    wrench        force (3) [N] and torque (3) [N m] about the body origin, FRD
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ...config import Config
from ...config.sensors import ODOMETRY, POSES
from ...errors import MessageError, OtherJointsError
from ...model.rotations import (
    NED_FROM_ENU,
    from_quaternion,
    from_rpy,
    product,
    to_frd,
    turned,
)
from .fields import (
    check_finite,
    check_limit,
    dynamic_joint_state,
    finite_vector,
    floats,
    pose_of,
)
from .turns import WholeTurns
from .unset_twist import UnsetTwist

QUATERNION_TOLERANCE = 0.05       # of its length from one
RC_LOW, RC_HIGH = 500.0, 2500.0   # [us] range of an RC channel that is a PWM
DEPTH_RANGE = -20.0, 12000.0      # [m] range of plausible depths
VOLTAGE_RANGE = 5.0, 60.0         # [V] range of plausible battery voltages
# Largest values that a sensor of an underwater vehicle can measure: full scale of gyros and
# accelerometers (2000 deg/s, 16 g); for the others, a hundred times larger than on any robot.
LARGEST_RATE, LARGEST_FORCE = 35.0, 160.0                    # [rad/s], [m/s^2]
LARGEST_POSITION, LARGEST_SPEED = 1000.0, 100.0              # [rad or m], per second
LARGEST_COMMAND, LARGEST_WRENCH = 1e4, 1e5                   # in any unit; [N, N m]
NO_LOCK, NO_LOCK_BY_COVARIANCE = "no bottom lock", "covariance says no lock"
NO_PULSE = "no pulse for a thruster"
WATER_TRACK = 2       # marine_acoustic_msgs/Dvl: velocity relative to the water
FEWEST_BEAMS = 3      # that determine a velocity
UNKNOWN_VECTOR: tuple[float, ...] = (math.nan, math.nan, math.nan)
# [Pa] per pressure unit of `depth.unit`.
PASCAL = {"Pa": 1.0, "hPa": 1e2, "kPa": 1e3, "bar": 1e5}


class Decoder:
    """Decodes the messages of each role; raises MessageError for unusable ones."""

    def __init__(self, config: Config, prismatic: Sequence[bool] = ()):
        """prismatic (n,): which joints are (`RobotModel.table`); empty: none."""
        self.change_settings(config)
        self._imu_axes = imu_axes(config)
        self._left, self._right = map(_flat, orientation_axes(config))
        self._dvl_axes = dvl_axes(config)
        self._dvl_axes_back = _flat(np.reshape(self._dvl_axes, (3, 3)).T)
        self._wrench_axes = _flat(to_frd(config.thrusters.wrench_frame))
        self._pascal_per_metre = config.robot.water_density * config.robot.gravity
        self._thrusters = len(config.thrusters.signs)
        self._channels = [round(channel) - 1 for channel in config.thrusters.channels]
        joints = config.joint_states
        self._names = joints.names or config.robot.joints
        n = len(config.robot.joints)
        self._to_si = (1.0,) * n
        if joints.unit == "deg":
            self._to_si = tuple(1.0 if slides else math.radians(1.0)
                                for slides in prismatic or (False,) * n)
        scale = joints.effort_scale or (1.0,) * n
        # of each joint's effort: offset, scale above it, scale below it
        self._effort_scales = list(zip(joints.effort_offset or (0.0,) * n, scale,
                                       joints.effort_scale_negative or scale))
        self._position_offset = joints.position_offset or (0.0,) * n
        self.turns = WholeTurns(n)
        self._oriented = False     # an Imu message had an orientation, so zeros are an error
        self._flags_beams = False  # a Dvl message was flagged valid, so one that is not has no lock
        # indices of joints of which a velocity, or an effort, has been measured
        self._measured: dict[str, set[int]] = {"velocity": set(), "effort": set()}
        self._types = {"imu": config.imu.type, "dvl": config.dvl.type}
        self.unset_twist = UnsetTwist(config)
        self._last_names: Any = None
        # index of each configured joint among the last names, None if it is not among them
        self._order: list[int | None] = []

    def change_settings(self, config: Config) -> None:
        """Use new settings; only those that may change while running may differ."""
        self._config = config
        self._max_dvl_variance = 3 * config.dvl.max_stddev ** 2    # sum over three axes

    def decode(self, role: str, message: Any) -> list[float]:
        """The values of a message, as listed in the module's docstring."""
        try:
            return getattr(self, role)(message)
        except (AttributeError, TypeError, ValueError, LookupError, OverflowError) as error:
            raise MessageError(f"{role}: message does not have the fields of its type ({error})") \
                from None

    def imu(self, message: Any) -> list[float]:
        """sensor_msgs/Imu, nav_msgs/Odometry or a pose."""
        if not hasattr(message, "angular_velocity"):
            return self._imu_of_pose(message)
        down, heading = UNKNOWN_VECTOR, math.nan
        if self._has_orientation(message):
            R = self._rotation(message.orientation)
            down, heading = R[6:], math.atan2(R[3], R[0])
        rates = turned(self._imu_axes,
                       finite_vector(message.angular_velocity, "imu: angular_velocity"))
        force = turned(self._imu_axes,
                       finite_vector(message.linear_acceleration, "imu: linear_acceleration"))
        check_limit(rates, LARGEST_RATE, "imu: angular_velocity", "rad/s")
        check_limit(force, LARGEST_FORCE, "imu: linear_acceleration", "m/s^2")
        if not any(force) and getattr(message, "linear_acceleration_covariance", (0.0,))[0] == -1.0:
            raise MessageError("imu: linear_acceleration is not measured, says its covariance of "
                               "-1; let the driver publish it (behind mavros: request RAW_IMU)")
        return [*down, *rates, *force, heading]

    def _imu_of_pose(self, message: Any) -> list[float]:
        """Attitude and rates of an odometry, without force; only the rotation of a pose."""
        R = self._rotation(pose_of(message).orientation)
        if not hasattr(message, "twist"):
            return list(R)
        rates = turned(self._imu_axes,
                       finite_vector(message.twist.twist.angular, "imu: twist.angular"))
        check_limit(rates, LARGEST_RATE, "imu: twist.angular", "rad/s")
        if not self.unset_twist.is_set("imu", rates):
            self.unset_twist.note_pose("imu", R)
            return list(R)
        return [*R[6:], *rates, *UNKNOWN_VECTOR, math.atan2(R[3], R[0])]

    def _has_orientation(self, message: Any) -> bool:
        """Whether an Imu message's orientation is to be used and is set. Not set are: REP-145's
        mark, an all-zero quaternion, and the exact identity (ROS 2's default, which no vehicle has
        to the last bit)."""
        if self._config.imu.orientation != "auto":
            return self._config.imu.orientation == "message"
        covariance, q = getattr(message, "orientation_covariance", (0.0,)), message.orientation
        unset = q.x == q.y == q.z == 0.0 and not (self._oriented and q.w == 0.0)
        found = covariance[0] != -1.0 and not unset
        self._oriented = self._oriented or found
        return found

    def _rotation(self, q: Any) -> tuple[float, ...]:
        """R_nb (9,) of the body from the IMU's orientation."""
        Q = _matrix(q, "imu", "; check that the driver publishes an orientation, or set "
                              "imu.orientation to 'own'")
        return product(product(self._left, Q), self._right)

    def _velocity_pose(self, pose: Any) -> list[float]:
        """Position and rotation of a pose, to be differentiated to a velocity."""
        place = finite_vector(pose.position, "dvl: position")
        return [*place, *product(_matrix(pose.orientation, "dvl"), self._dvl_axes_back)]

    def dvl(self, message: Any) -> list[float]:
        """A velocity message.

        dvl_msgs/DVL, marine_acoustic_msgs/Dvl, geometry_msgs/TwistWithCovarianceStamped or
        TwistStamped, nav_msgs/Odometry; or a pose.
        """
        if hasattr(message, "pose") and not hasattr(message, "twist"):
            return self._velocity_pose(pose_of(message))
        if hasattr(message, "velocity_valid"):                       # dvl_msgs/DVL
            if not message.velocity_valid:
                raise MessageError(f"dvl: {NO_LOCK}")
            vector, variance = message.velocity, 3 * float(getattr(message, "fom", 0.0)) ** 2
        elif hasattr(message, "velocity_covar"):                     # marine_acoustic_msgs/Dvl
            flagged = bool(message.beam_velocities_valid)
            self._flags_beams = self._flags_beams or flagged
            if message.velocity_mode == WATER_TRACK or not flagged and (
                    self._flags_beams or message.num_good_beams < FEWEST_BEAMS):
                raise MessageError(f"dvl: {NO_LOCK}")
            vector = message.velocity
            variance = float(np.trace(np.reshape(message.velocity_covar, (3, 3))))
        elif hasattr(message.twist, "covariance"):     # TwistWithCovarianceStamped, Odometry
            vector, covariance = message.twist.twist.linear, message.twist.covariance
            variance = float(covariance[0] + covariance[7] + covariance[14])
        else:
            vector, variance = message.twist.linear, 0.0
        velocity = finite_vector(vector, "dvl: velocity")
        if hasattr(message, "pose") and not self.unset_twist.is_set("dvl", velocity):
            with suppress(MessageError):        # (without a pose, it may be the velocity)
                pose = self._velocity_pose(pose_of(message))
                self.unset_twist.note_pose("dvl", pose)
                return pose
        if not variance <= self._max_dvl_variance:
            raise MessageError(f"dvl: {NO_LOCK_BY_COVARIANCE}")
        if max(map(abs, velocity)) > self._config.dvl.max_speed:
            raise MessageError("dvl: the velocity is beyond dvl.max_speed "
                               f"({max(map(abs, velocity)):.3g} m/s; publish m/s)")
        return list(turned(self._dvl_axes, velocity))

    def altitude(self, message: Any) -> list[float]:
        """Altitude [m] over the bottom of a DVL's message; NaN without a valid one, for which
        drivers publish -1, 0 or NaN."""
        altitude = float(getattr(message, "altitude", math.nan))
        return [altitude if altitude > 0.0 else math.nan]

    def gave_pose(self, role: str) -> bool:
        """Whether the role's last values were those of a pose."""
        return self._types.get(role) in POSES or self.unset_twist.is_unset(role)

    def odometry(self, message: Any) -> list[float]:
        """Pose and twist of an Odometry, as published."""
        if self._config.dvl.type != ODOMETRY or self.unset_twist.is_unset("dvl"):
            return []
        pose = pose_of(message)
        try:
            place = finite_vector(pose.position, "dvl: position")
            R = _matrix(pose.orientation, "dvl")
        except MessageError:    # only its twist is needed
            return []
        twist = message.twist.twist
        return [*place, *R, *finite_vector(twist.linear, "dvl: velocity"),
                *finite_vector(twist.angular, "dvl: twist.angular")]

    def depth(self, message: Any) -> list[float]:
        """sensor_msgs/FluidPressure or std_msgs/Float64, in `depth.unit`."""
        is_pressure = hasattr(message, "fluid_pressure")
        value = message.fluid_pressure if is_pressure else message.data
        unit = depth_unit(self._config, is_pressure)
        if unit != "m":
            overpressure = value * PASCAL[unit] - self._config.robot.surface_pressure
            value = overpressure / self._pascal_per_metre
        if not DEPTH_RANGE[0] < value < DEPTH_RANGE[1]:
            raise MessageError(f"depth: the value is not a depth ({value:.4g} m; check "
                               "depth.unit; a pressure must be absolute)")
        return [float(value)]

    def joint_states(self, message: Any) -> list[float]:
        """sensor_msgs/JointState or control_msgs/DynamicJointState, in any order of names."""
        if hasattr(message, "interface_values"):
            names, position, velocity, effort = dynamic_joint_state(message)
        else:
            names, position = message.name, message.position
            velocity, effort = message.velocity, message.effort
        if names != self._last_names:
            self._order = self._order_of(names)
            self._last_names = list(names)
        count = len(names)
        efforts = self._efforts(effort, count)
        positions = self._ordered(position, count, "position", required=True)
        values = [factor * p - offset
                  for factor, p, offset in zip(self._to_si, positions, self._position_offset)]
        check_limit(values, LARGEST_POSITION, "joint_states: position", "rad or m")
        values = self.turns.unwrapped(values)
        speeds = [factor * v for factor, v in zip(
            self._to_si, self._measured_ones(velocity, count, "velocity"))]
        check_limit(speeds, LARGEST_SPEED, "joint_states: velocity", "rad/s or m/s")
        values += speeds
        for value, (offset, scale, scale_negative) in zip(efforts, self._effort_scales):
            load = value - offset
            values.append(load * (scale_negative if load < 0.0 else scale))
        return values

    def thrusters(self, message: Any) -> list[float]:
        """std_msgs/Float64MultiArray, mavros_msgs/RCOut or OverrideRCIn."""
        commands = floats(message.data if hasattr(message, "data") else message.channels)
        if self._channels:
            if len(commands) <= max(self._channels):
                raise MessageError(f"thrusters: too few values (got {len(commands)} values, "
                                   f"expected at least {max(self._channels) + 1} of "
                                   "thrusters.channels)")
            commands = [commands[k] for k in self._channels]
        if hasattr(message, "channels"):
            commands = commands[:self._thrusters]       # RC messages carry 16 or 18 channels
            if any(not RC_LOW <= c <= RC_HIGH for c in commands):
                raise MessageError("thrusters: an RC channel is released or unchanged "
                                   "(0 or 65535), its PWM is unknown")
        if len(commands) != self._thrusters:
            raise MessageError("thrusters: another number of thrusters "
                               f"(got {len(commands)} commands, expected {self._thrusters} of "
                               "thrusters.allocation)")
        if self._config.thrusters.unit == "pwm" and 0.0 in commands:
            raise MessageError(f"thrusters: {NO_PULSE} (a command of 0 us)")
        check_limit(commands, LARGEST_COMMAND, "thrusters: command", "in any unit")
        return check_finite(commands, "thrusters: command")

    def battery(self, message: Any) -> list[float]:
        """sensor_msgs/BatteryState."""
        if not VOLTAGE_RANGE[0] < message.voltage < VOLTAGE_RANGE[1]:
            raise MessageError("battery: the value is not a battery voltage "
                               f"({message.voltage:.3g} V)")
        return [float(message.voltage)]

    def wrench(self, message: Any) -> list[float]:
        """geometry_msgs/WrenchStamped."""
        force = finite_vector(message.wrench.force, "wrench: force")
        torque = finite_vector(message.wrench.torque, "wrench: torque")
        check_limit([*force, *torque], LARGEST_WRENCH, "wrench", "N or N m")
        return [*turned(self._wrench_axes, force), *turned(self._wrench_axes, torque)]

    def _efforts(self, values: Any, count: int) -> list[float]:
        """Efforts of the configured joints; NaN for a joint without one, which masks its rows."""
        values = floats(values)
        if not any(map(math.isfinite, values)):
            return self._measured_ones(values, count, "effort")
        known = self._measured_ones([v if math.isfinite(v) else 0.0 for v in values], count,
                                    "effort")
        return [effort if k is None or math.isfinite(values[k]) else math.nan
                for effort, k in zip(known, self._order)]

    def _measured_ones(self, values: Any, count: int, what: str) -> list[float]:
        """Values of an optional field, NaN if it is empty or was never measured: without the
        interface, ros2_control's joint_state_broadcaster sends NaN for every joint."""
        values = floats(values)
        joints = {j for j, k in enumerate(self._order) if k is not None}
        if all(map(math.isnan, values)) and not joints & self._measured[what]:
            values = []
        found = self._ordered(values, count, what, required=False)
        if values:
            self._measured[what] |= joints
        return found

    def _order_of(self, names: Sequence[str]) -> list[int | None]:
        """Indices of the configured joints among a message's names, None for joints that it does
        not contain. Raises OtherJointsError if it contains none."""
        places = {name: k for k, name in reversed(list(enumerate(names)))}
        missing = [joint for joint in self._names if joint not in places]
        if len(missing) == len(self._names):
            raise OtherJointsError(
                f"joint_states: joint '{missing[0]}' is missing; "
                f"the message has {', '.join(names) or 'no names'} (check robot.joints, or set "
                "joint_states.names if the messages use other names)")
        return [places.get(joint) for joint in self._names]

    def _ordered(self, values: Any, count: int, what: str, required: bool) -> list[float]:
        """Values of the configured joints; NaN if an optional field is empty."""
        values = floats(values)
        if not values and not required:
            return [math.nan] * len(self._order)
        if len(values) != count:
            raise MessageError(f"joint_states: not one {what} per name (got {len(values)} values "
                               f"of {what}, expected {count})")
        check_finite([values[k] for k in self._order if k is not None], f"joint_states: {what}")
        return [math.nan if k is None else values[k] for k in self._order]


def imu_axes(config: Config) -> tuple[float, ...]:
    """(9,) rotation from the axes of an IMU's rates and forces to the body's."""
    return _flat(to_frd(config.imu.frame) @ from_rpy(*config.imu.rpy))


def dvl_axes(config: Config) -> tuple[float, ...]:
    """(9,) rotation from the DVL's axes to the body's."""
    return _flat(to_frd(config.dvl.frame) @ from_rpy(*config.dvl.rpy))


def orientation_axes(config: Config) -> tuple[np.ndarray, np.ndarray]:
    """(left, right) (3, 3) with R_nb = left Q right; the message's Q takes the IMU's axes to its
    world."""
    return (NED_FROM_ENU if config.imu.world == "enu" else np.eye(3),
            from_rpy(*config.imu.rpy).T @ to_frd(config.imu.frame))


def depth_unit(config: Config, is_pressure: bool) -> str:
    """`depth.unit`, or with 'auto' the unit of a pressure message or of a plain number."""
    if config.depth.unit != "auto":
        return config.depth.unit
    return "Pa" if is_pressure else "m"


def _matrix(q: Any, role: str, advice: str = "") -> tuple[float, ...]:
    """Rotation matrix (9,) of a quaternion; raises MessageError, with advice, without unit length.
    """
    length = math.sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w)
    if not abs(length - 1) < QUATERNION_TOLERANCE:
        raise MessageError(f"{role}: no unit quaternion (orientation has length {length:.3g}, "
                           f"expected 1{advice})")
    return from_quaternion(q.x / length, q.y / length, q.z / length, q.w / length)


def _flat(R: np.ndarray) -> tuple[float, ...]:
    return tuple(R.ravel().tolist())
