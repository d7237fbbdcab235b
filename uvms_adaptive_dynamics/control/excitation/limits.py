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

"""Limits of a motion: space, the robot's ranges and speeds, its actuators."""
from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from ...config import Config
from ...errors import ParameterError, RobotError
from ...model.robot import RobotModel
from ..allocation import PASSIVE, Curve, mixing, wrench_limits
from ..desired_motion import DesiredMotion
from ..feedforward import joint_effort_limits
from .trajectory import VEHICLE_COORDINATES

# Range of a joint without stops, in each direction from its start [rad or m].
ENDLESS = math.pi


@dataclass(frozen=True)
class MotionLimits:
    """Limits that hold at every instant.

    low, high (6 + n,): ranges of the coordinates (`Trajectory.coordinates`) [m, rad], roll and
    pitch within the tilt; tilt [rad]; speed [m/s] and rate [rad/s] of the body; joint_speed (n,)
    [rad/s or m/s]; thrust = mixer (k, 6) @ wrench between thrust_low and thrust_high (k,) [N];
    missing (6, 6): a wrench's part that the thrusters cannot produce is missing @ wrench; torque
    (n,) [N m or N]; radian (n,): a radian of each joint in its unit, see `ManipulatorModel`.
    """

    joints: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray
    tilt: float
    speed: float
    rate: float
    joint_speed: np.ndarray
    mixer: np.ndarray
    thrust_low: np.ndarray
    thrust_high: np.ndarray
    missing: np.ndarray
    torque: np.ndarray
    radian: np.ndarray

    @classmethod
    def from_config(cls, config: Config, robot: RobotModel,
                    curve: Curve | None = None) -> MotionLimits:
        """Limits from settings, URDF and thrust curve; from `wrench_limits` without a curve, or if
        the thrusters are not commanded individually.

        Raises RobotError for a joint without a speed or effort limit.
        """
        excitation, joints = config.excitation, robot.joints
        torque = joint_effort_limits(robot, config)
        arm = robot.arm
        ends = [np.zeros(0)] * 2
        speed = np.zeros(0)
        if arm is not None:
            stops = config.joint_states
            ends = [np.array(ours or stop or urdf) for ours, stop, urdf in (
                (excitation.joint_low, stops.limits_low, tuple(arm.limits_low)),
                (excitation.joint_high, stops.limits_high, tuple(arm.limits_high)))]
            speed = np.array(excitation.joint_speed or arm.speed_limits)
        for name, v in zip(joints, speed):
            if not (math.isfinite(v) and v > 0):
                raise RobotError(f"joint '{name}' has no speed limit in the URDF; set "
                                 "excitation.joint_speed.")
        box, tilt = np.array(excitation.box), excitation.tilt
        yaw = 2 * math.pi * excitation.yaw_turns
        high = np.concatenate([box, [tilt, tilt, yaw]])
        return cls(joints, np.concatenate([-high, ends[0]]), np.concatenate([high, ends[1]]), tilt,
                   excitation.speed, excitation.rate, speed, *_thrusters(config, robot, curve),
                   torque, robot.radian)

    @property
    def passive(self) -> np.ndarray:
        """(r,) of the coordinates roll (3) and pitch (4) those about which the thrusters cannot
        turn the vehicle."""
        return np.array([k for k in (3, 4) if self.missing[k, k] > PASSIVE], int)

    def at_depth(self, depth: float, config: Config) -> MotionLimits:
        """These limits with the box cut to excitation.depth_range, for a start at a depth [m].

        Raises ParameterError for a start outside that range.
        """
        least, most = config.excitation.depth_range
        if not least <= depth <= most:
            raise ParameterError(
                f"the robot is at a depth of {depth:.2f} m; expected {least:g} to {most:g} m "
                "(setting excitation.depth_range). Move it there, or change the setting.")
        low, high = self.low.copy(), self.high.copy()
        low[2], high[2] = max(low[2], least - depth), min(high[2], most - depth)
        return replace(self, low=low, high=high)

    def with_margins(self, config: Config, duration: float) -> MotionLimits:
        """The limits for a wanted motion of `duration` [s]: these less margins for tracking error,
        drift of dead reckoning and the controller's share of the actuators.

        Raises ParameterError if nothing is left.
        """
        settings, margin = config.excitation, self._margins(config, duration)
        low, high = self.low + margin, self.high - margin
        # A coordinate without any range needs no margin: it stands still.
        still = self.low == self.high
        low, high = np.where(still, self.low, low), np.where(still, self.high, high)
        for name, a, b in zip(VEHICLE_COORDINATES + self.joints, low, high):
            if a > b:
                raise ParameterError(
                    f"no room is left for '{name}' in {duration:g} s: its margins exceed its "
                    "range; expected more room. " + (
                        "Change excitation.joint_margin, .joint_low or .joint_high."
                        if name in self.joints else
                        "Move the robot to open water, or change excitation.box, .drift, "
                        ".position_margin, .attitude_margin or .depth_range."))
        left = 1.0 - settings.speed_margin
        return replace(
            self, low=low, high=high, tilt=max(self.tilt - settings.attitude_margin, 1e-9),
            speed=left * self.speed, rate=left * self.rate, joint_speed=left * self.joint_speed,
            thrust_low=settings.thrust_share * self.thrust_low,
            thrust_high=settings.thrust_share * self.thrust_high,
            torque=settings.torque_share * self.torque)

    def doubtful(self, doubt: float, config: Config, duration: float) -> MotionLimits:
        """These limits with the box narrowed by the doubt [m] of the forward and right position; an
        axis without room left for a motion of `duration` [s] stands still."""
        low, high, margin = self.low.copy(), self.high.copy(), self._margins(config, duration)
        for k in range(2):
            low[k], high[k] = low[k] + doubt, high[k] - doubt
            if high[k] - low[k] <= 2 * margin[k] and doubt > 0:
                low[k] = high[k] = 0.0
        return replace(self, low=low, high=high)

    def smaller(self, size: float, config: Config) -> MotionLimits:
        """These limits with tilt (less its margin), speeds and rates scaled by `size`."""
        margin = min(config.excitation.attitude_margin, self.tilt)
        tilt = margin + size * (self.tilt - margin)
        low, high = self.low.copy(), self.high.copy()
        low[3:5], high[3:5] = np.maximum(low[3:5], -tilt), np.minimum(high[3:5], tilt)
        return replace(self, low=low, high=high, tilt=tilt, speed=size * self.speed,
                       rate=size * self.rate, joint_speed=size * self.joint_speed)

    def halfway(self, config: Config) -> MotionLimits:
        """These limits less half of the margins, without drift: beyond them, a motion has used
        more than half of its margins."""
        settings = config.excitation
        margin = np.minimum(self._margins(config, 0.0), 0.5 * (self.high - self.low))
        left = 1.0 - 0.5 * settings.speed_margin
        return replace(
            self, low=self.low + 0.5 * margin, high=self.high - 0.5 * margin,
            tilt=self.tilt - 0.5 * min(settings.attitude_margin, self.tilt),
            speed=left * self.speed, rate=left * self.rate, joint_speed=left * self.joint_speed)

    def _margins(self, config: Config, duration: float) -> np.ndarray:
        """(6 + n,) margin kept at each end of a coordinate's range."""
        settings = config.excitation
        return np.concatenate([
            np.full(3, settings.position_margin + settings.drift * duration),
            np.full(3, settings.attitude_margin), settings.joint_margin * self.radian])

    @property
    def middle(self) -> np.ndarray:
        """(6 + n,) middle of the coordinates' ranges; zero for unbounded ones."""
        return np.mean(self._ends, axis=0)

    @property
    def reach(self) -> np.ndarray:
        """(6 + n,) half of the coordinates' ranges, slightly above zero for an empty range."""
        low, high = self._ends
        return np.maximum(0.5 * (high - low), 1e-9)

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """(low, high) (6 + n,) each, with ends for those coordinates that have none."""
        stops = np.isfinite(self.low), np.isfinite(self.high)
        low = np.where(stops[0], self.low, np.where(stops[1], self.high - 2 * ENDLESS, -ENDLESS))
        return low, np.where(stops[1], self.high, low + 2 * ENDLESS)

    @property
    def fastest(self) -> np.ndarray:
        """(6 + n,) speed of each coordinate when all move as fast as the limits allow."""
        return np.concatenate([np.full(3, self.speed / math.sqrt(3)),
                               np.full(3, self.rate / math.sqrt(3)), self.joint_speed])

    def motion_uses(self, value: np.ndarray, motion: DesiredMotion) -> dict[str, np.ndarray]:
        """Share (T,) of each position and speed limit that a motion uses at T instants, by name; 1
        is at the limit. value (T, 6 + n): coordinates; motion: at the same instants."""
        places = np.abs(value - self.middle) / self.reach
        tilt = np.arccos(np.clip(motion.R_nb[:, 2, 2], -1.0, 1.0)) / self.tilt
        names = (*VEHICLE_COORDINATES, *(f"{joint} range" for joint in self.joints))
        found = {name: places[:, k] for k, name in enumerate(names) if k not in (3, 4)}
        found |= {"tilt": tilt, "speed": np.linalg.norm(motion.nu[:, :3], axis=1) / self.speed,
                  "rate": np.linalg.norm(motion.nu[:, 3:], axis=1) / self.rate}
        return found | {f"{joint} speed": np.abs(motion.mu_dot[:, j]) / self.joint_speed[j]
                        for j, joint in enumerate(self.joints)}

    def effort_uses(self, efforts: np.ndarray) -> np.ndarray:
        """Share (..., k + n) of each thruster's and joint's limit that efforts (..., C) use."""
        shares = []
        if self.mixer.size:
            thrust = efforts[..., :6] @ self.mixer.T
            shares.append(np.maximum(thrust / self.thrust_high, thrust / self.thrust_low))
        joints = efforts[..., efforts.shape[-1] - len(self.joints):]
        return np.concatenate([*shares, np.abs(joints) / self.torque], axis=-1)

    def beyond_at_rest(self, effort: np.ndarray, config: Config) -> dict[str, float]:
        """Thrusters and joints that use more of their limit to hold the robot still with an effort
        (C,) than a whole motion may use (thrust_share, torque_share), with the share used."""
        settings, uses = config.excitation, self.effort_uses(effort)
        thrusters = len(self.mixer)
        most = np.where(np.arange(uses.size) < thrusters, settings.thrust_share,
                        settings.torque_share)
        return {name: float(use) for name, use, share in zip(self.effort_names, uses, most)
                if use > share}

    @property
    def effort_names(self) -> tuple[str, ...]:
        """Names of the columns of `effort_uses`."""
        actuators = [f"thruster {k + 1}" for k in range(len(self.mixer))]
        return (*actuators, *(f"{joint} effort" for joint in self.joints))


def _thrusters(config: Config, robot: RobotModel,
               curve: Curve | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(mixer (k, 6), lowest and highest thrust (k,) [N], missing (6, 6))."""
    if not robot.vehicle:
        return np.zeros((0, 6)), np.zeros(0), np.zeros(0), np.zeros((6, 6))
    thrusters = config.thrusters
    if curve is None or thrusters.source != "thrusters":
        wrench = wrench_limits(config)
        driven = wrench > 0
        return (np.eye(6)[driven], -wrench[driven], wrench[driven],
                np.diag(np.where(driven, 0.0, 1.0)))
    found = mixing(thrusters, curve, config.excitation.voltage)
    count = len(found.inverse)
    return (found.inverse, np.full(count, found.low), np.full(count, found.high),
            np.eye(6) - found.matrix @ found.inverse)


def moving(robot: RobotModel, move: tuple[str, ...] | list[str]) -> np.ndarray:
    """(6 + n,) bool: the coordinates whose channels match the patterns `move`.

    Raises ParameterError for a pattern without a match.
    """
    chosen = np.zeros(6 + len(robot.joints), bool)
    offset = 0 if robot.vehicle else 6
    for pattern in move:
        fits = [fnmatchcase(name, pattern) for name in robot.channels]
        if not any(fits):
            raise ParameterError(f"pattern '{pattern}' fits no channel; expected any of "
                                 f"{', '.join(robot.channels)}, or '*'.")
        chosen[offset:] |= fits
    return chosen
