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

"""Simulate the robot of a configuration, and publish its messages in that configuration's format.

The arm comes from the URDF; thrusters, mounts, water and sensor positions from the settings. The
rest (vehicle body, drag, friction, rotors) comes from the default robot or from the guesses below.
Apart from the links' inertias, truth and settings then agree, which they never do on a real robot:
`individual` makes them differ.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
from rosbags.typesys.store import Typestore

from ..config import Config
from ..errors import ConfigError
from ..model.rotations import (
    FRD_FROM_FLU,
    NED_FROM_ENU,
    from_quaternion,
    from_rpy,
    to_frd,
    to_quaternion,
)
from ..model.thrust_curve import NEUTRAL_PWM_US, PWM_SPAN_US, ThrustCurve
from ..model.urdf_address import resolve_urdf
from ..signals.decode.decoder import PASCAL, depth_unit
from ..signals.topics import inputs
from .physics import arm_model, build_model
from .true_robot import MEAN_DEPTH, TrueLink, TrueRobot, inertia_entries

# Relative error of the true links against the URDF's inertials, which makes these a wrong prior.
LINK_ERROR = 0.1
# A link's mass over the mass of water it displaces, between those of the Alpha's motors and tubes.
LINK_DENSITY = 2.2
DRAG_COEFFICIENT, SLENDERNESS = 1.1, 4.0     # cylinder in cross flow; length over diameter
# Shares of a joint's torque limit that viscous friction takes at the joint's speed limit, and
# Coulomb friction at any speed; rotor inertia per torque limit [s^2/rad]. On the Alpha they are .44
# to .68, .05 to .09 and 6e-4 to .012.
VISCOUS_SHARE, COULOMB_SHARE, ROTOR_SHARE = 0.55, 0.07, 8e-3
# [rad or m] position error at which a servo uses all of its joint's torque; Alpha: .03 to .07
SERVO_ERROR = 0.05
USUAL_SPEED = 0.5   # [rad/s or m/s] limit of a joint whose URDF has none, amid those of the Alpha
# Torque limit of a joint whose URDF has none, as a multiple of `_largest_loads`; a Panda's are 1.2
# to 8. Friction takes more than half of it.
USUAL_STRENGTH = 4.0


def true_robot_of(config: Config) -> TrueRobot:
    """The robot that `config` describes: a vehicle with or without an arm, in water, or an arm on a
    fixed base, in air. Raises ConfigError for a URDF that cannot be used."""
    base, robot = TrueRobot(), config.robot
    settings: dict[str, Any] = {
        "gravity": robot.gravity, "water_density": robot.water_density,
        "surface_pressure": robot.surface_pressure, "dvl_place": config.dvl.xyz,
        "allocation": np.reshape(config.thrusters.allocation, (6, -1)),
        "rotor_lag": max(config.thrusters.time_constant, 0.02)}
    default = Config().robot
    if (robot.urdf, robot.joints) != (default.urdf, default.joints):
        settings |= _arm(resolve_urdf(robot.urdf), robot.joints, robot.water_density, robot.gravity)
    settings |= {"mount_xyz": robot.mount_xyz, "mount_rpy": robot.mount_rpy}
    made = replace(base, **settings, depth=_depth(config))
    made = replace(made, posture=_posture(config, made))
    if not robot.vehicle:
        in_air = tuple(replace(link, volume=0.0, drag=(0.0, 0.0, 0.0)) for link in made.links)
        made = replace(made, fixed_base=True, links=in_air)
    made = replace(made, buoyancy=_buoyancy(base, made))
    return made if made.fixed_base else replace(made, cob=_trimmed(base, made))


def _depth(config: Config) -> float:
    """[m] depth with room for the whole box in the free water, if there is so much of it."""
    least, most = config.excitation.depth_range
    room = min(config.excitation.box[2], (most - least) / 2)
    return float(np.clip(MEAN_DEPTH, least + room, most - room))


def _posture(config: Config, made: TrueRobot) -> tuple[float, ...]:
    """[rad or m] the arm at rest: amid the positions that designed motions may use, if these are
    set."""
    low, high = config.excitation.joint_low, config.excitation.joint_high
    if not (low or high):
        return made.posture
    lower, upper = _position_limits(made)
    return tuple((0.5 * (np.array(low or lower) + np.array(high or upper))).tolist())


def _position_limits(robot: TrueRobot) -> tuple[np.ndarray, np.ndarray]:
    """(n,) [rad or m] each: the stops of the joints."""
    _, arm = build_model(robot)
    places = [arm.joints[arm.getJointId(name)].idx_q for name in robot.joints]
    return arm.lowerPositionLimit[places], arm.upperPositionLimit[places]


def _buoyancy(base: TrueRobot, made: TrueRobot) -> float:
    """[N] buoyancy of the vehicle that gives the whole robot the default robot's net buoyancy."""
    def weight(robot: TrueRobot) -> float:
        links = sum(link.mass - robot.water_density * link.volume for link in robot.links)
        return robot.gravity * (robot.mass + links)
    return base.buoyancy - weight(base) + weight(made)


def _trimmed(base: TrueRobot, made: TrueRobot) -> tuple[float, ...]:
    """[m] centre of the vehicle's buoyancy with which the whole robot, its arm at rest, hangs like
    the default robot: with an arm on one side, a vehicle is trimmed before it dives."""
    shift = (_static_moment(made) - _static_moment(base)) / made.buoyancy
    return tuple((np.array(made.cob) + np.append(shift, 0.0)).tolist())


def _static_moment(robot: TrueRobot) -> np.ndarray:
    """(2,) sum of all weights and buoyancies times their places forward and right [N m], of the
    level robot with its arm at rest."""
    model, _ = build_model(robot)
    data = model.createData()
    pin.forwardKinematics(model, data, np.concatenate([
        pin.neutral(model)[:7], robot.posture or np.mean(_position_limits(robot), axis=0)]))
    found = (robot.mass * robot.gravity * np.array(robot.com)
             - robot.buoyancy * np.array(robot.cob))
    for link, joint in zip(robot.links, data.oMi[2:]):
        found += robot.gravity * (link.mass * joint.act(np.array(link.com))
                                  - robot.water_density * link.volume
                                  * joint.act(np.array(link.cob)))
    return found[:2]


def _arm(urdf: str, joints: tuple[str, ...], density: float, gravity: float) -> dict[str, Any]:
    """Links and joints of the URDF; other joints are locked at zero, as in the estimator."""
    try:
        arm = arm_model(urdf, joints)
    except (ValueError, RuntimeError, SyntaxError) as error:     # from Pinocchio or the XML parser
        raise ConfigError(f"simulate: robot.urdf '{urdf}' cannot be read ({error}).") from None
    missing = [joint for joint in joints if not arm.existJointName(joint)]
    if missing:
        raise ConfigError(f"simulate: '{urdf}' has no joint '{missing[0]}' (robot.joints).")
    signs = np.where(np.arange(len(joints)) % 2, 1.0, -1.0)
    links, limits = [], []
    for joint, sign in zip(joints, signs):
        k = arm.getJointId(joint)
        body, factor = arm.inertias[k], 1.0 + LINK_ERROR * sign
        tensor, volume = factor * body.inertia, body.mass / (LINK_DENSITY * density)
        across = SLENDERNESS * (4 * volume / (np.pi * SLENDERNESS)) ** (2 / 3)
        drag = 0.5 * density * DRAG_COEFFICIENT * across
        entries = inertia_entries(tensor)
        links.append(TrueLink(factor * body.mass, tuple(body.lever), entries, volume,
                              tuple(body.lever), (drag, drag, drag)))
        place = arm.joints[k].idx_v
        limits.append((arm.effortLimit[place], arm.velocityLimit[place]))
    torque, speed = np.reshape(limits, (-1, 2)).T
    stated = (torque > 0) & np.isfinite(torque)
    torque = np.where(stated, torque, USUAL_STRENGTH * gravity * _largest_loads(arm, joints))
    speed = top_speeds(speed)
    return {"urdf": urdf, "joints": tuple(joints), "links": tuple(links),
            "posture": (), "top_speed": tuple(speed), "torque_limit": tuple(torque),
            "servo_stiffness": tuple(torque / SERVO_ERROR),
            "viscous": tuple(VISCOUS_SHARE * torque / speed),
            "coulomb": tuple(COULOMB_SHARE * torque),
            "static": tuple(1.3 * COULOMB_SHARE * torque),
            "rotor_inertia": tuple(ROTOR_SHARE * torque)}


def _largest_loads(arm: pin.Model, joints: tuple[str, ...]) -> np.ndarray:
    """(n,) bound of each joint's load in air, over gravity [kg m or kg]: the links from it on, all
    stretched out."""
    places = [arm.getJointId(joint) for joint in joints]
    bodies = [arm.inertias[k] for k in places]
    reach = np.cumsum([np.linalg.norm(arm.jointPlacements[k].translation) for k in places])
    loads = []
    for j, k in enumerate(places):
        turns = "P" not in arm.joints[k].shortname()
        loads.append(sum(
            body.mass * (reach[i] - reach[j] + np.linalg.norm(body.lever) if turns else 1.0)
            for i, body in enumerate(bodies) if i >= j))
    return np.array(loads)


def top_speeds(limits: np.ndarray) -> np.ndarray:
    """(n,) speed limits of a URDF, USUAL_SPEED where it states none."""
    return np.where((limits > 0) & np.isfinite(limits), limits, USUAL_SPEED)


class Publication:
    """Converts the simulated robot's messages to a configuration's topics, types, units, axes and
    order. Raises ConfigError for a type that the simulation cannot publish."""

    TYPES: Mapping[str, tuple[str, ...]] = {
        "imu": ("sensor_msgs/msg/Imu",),
        "dvl": ("geometry_msgs/msg/TwistWithCovarianceStamped", "geometry_msgs/msg/TwistStamped"),
        "depth": ("sensor_msgs/msg/FluidPressure", "std_msgs/msg/Float64"),
        "joint_states": ("sensor_msgs/msg/JointState",),
        "thrusters": ("std_msgs/msg/Float64MultiArray", "mavros_msgs/msg/RCOut")}

    def __init__(self, config: Config, store: Typestore):
        self._config, self._types = config, store.types
        self.topics: dict[str, str] = {}
        for needed in inputs(config):
            if needed.role == "battery":       # the voltage is not measured
                continue
            possible = self.TYPES.get(needed.role, ())
            if needed.type not in possible:
                raise ConfigError(f"simulate: {needed.role}.type is '{needed.type}', which the "
                                  f"simulated robot does not publish; expected "
                                  f"{' or '.join(possible) or 'thruster commands'}.")
            self.topics[needed.role] = needed.topic.lstrip("/")
        if config.thrusters.unit == "newton":
            raise ConfigError("simulate: thrusters.unit is 'newton'; the simulated robot takes "
                              "'pwm' or 'normalized'.")

    def message(self, role: str, message: Any, t: float) -> Any:
        """Convert a message of the simulated robot, received at t [s since the epoch]."""
        return getattr(self, f"_{role}")(message, t)

    def _imu(self, message: Any, t: float) -> Any:
        imu = self._config.imu
        axes = to_frd(imu.frame) @ from_rpy(*imu.rpy)
        if imu.frame == "flu" and not any(imu.rpy) and imu.world == "enu":
            return message
        for vector in (message.angular_velocity, message.linear_acceleration):
            self._turn(vector, axes.T @ FRD_FROM_FLU)
        q = message.orientation
        R_nb = NED_FROM_ENU @ np.reshape(from_quaternion(q.x, q.y, q.z, q.w), (3, 3)) @ FRD_FROM_FLU
        world = NED_FROM_ENU.T if imu.world == "enu" else np.eye(3)
        q.x, q.y, q.z, q.w = to_quaternion(world @ R_nb @ axes)
        return message

    def _dvl(self, message: Any, t: float) -> Any:
        dvl = self._config.dvl
        self._turn(message.twist.twist.linear, (to_frd(dvl.frame) @ from_rpy(*dvl.rpy)).T)
        if dvl.type.endswith("/TwistStamped"):
            return self._types[dvl.type](message.header, message.twist.twist)
        return message

    def _depth(self, message: Any, t: float) -> Any:
        depth, robot = self._config.depth, self._config.robot
        unit = depth_unit(self._config, depth.type.endswith("FluidPressure"))
        value = (message.fluid_pressure / PASCAL[unit] if unit in PASCAL else
                 (message.fluid_pressure - robot.surface_pressure)
                 / (robot.water_density * robot.gravity))
        if depth.type.endswith("Float64"):
            return self._types[depth.type](value)
        message.fluid_pressure = value
        return message

    def _joint_states(self, message: Any, t: float) -> Any:
        joints = self._config.joint_states
        n = len(message.name)
        radian = np.radians(1.0) if joints.unit == "deg" else 1.0
        scale = np.array(joints.effort_scale or (1.0,) * n)
        negative = np.array(joints.effort_scale_negative or scale)
        message.position = (message.position + np.array(joints.position_offset or (0.0,) * n)
                            ) / radian
        message.velocity = message.velocity / radian
        load = np.where(message.effort / scale >= 0.0, message.effort / scale,
                        message.effort / negative)
        message.effort = load + np.array(joints.effort_offset or (0.0,) * n)
        message.name = list(joints.names or message.name)
        return message

    def _thrusters(self, message: Any, t: float) -> Any:
        thrusters = self._config.thrusters
        commands = ThrustCurve.turning(np.array(message.data), np.array(thrusters.signs))
        pulses = thrusters.unit == "pwm"
        if not pulses:
            commands = (commands - NEUTRAL_PWM_US) / PWM_SPAN_US
        places = [round(channel) - 1 for channel in thrusters.channels] or range(len(commands))
        is_rc = thrusters.type.endswith("RCOut")
        values = np.full(max(*places, 15 if is_rc else 0) + 1, NEUTRAL_PWM_US if pulses else 0.0)
        values[list(places)] = commands
        if not is_rc:
            message.data = values
            return message
        ns, types = round(t * 1e9), self._types
        stamp = types["builtin_interfaces/msg/Time"](ns // 10**9, ns % 10**9)
        return types[thrusters.type](types["std_msgs/msg/Header"](stamp, ""),
                                     np.round(values).astype(np.uint16))

    @staticmethod
    def _turn(vector: Any, R: np.ndarray) -> None:
        vector.x, vector.y, vector.z = map(float, R @ [vector.x, vector.y, vector.z])
