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

"""The filters behind the gates: readings in, one sample of the robot at each tick out."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..model.robot import RobotModel
from ..model.sample import Sample
from .checks.response_check import TRIED_RESPONSES
from .decode.clocks import Clocks
from .decode.readings import Reading
from .decode.sensor_clock import SensorClock
from .filters.altitude import Altitude
from .filters.body_motion import NO_IMU, BodyMotion
from .filters.depth import DepthFilter
from .filters.inertial import InertialFilter
from .filters.joints import NO_STATE, JointFilter, JointMotion
from .filters.thrusters import SATURATED, OnCommand, ThrusterModel
from .filters.wrench import MeasuredWrench, NoWrench
from .masks import FOUND_WRONG, NEVER_SEEN, RowMasks

THRUST_LOG_TICKS = 5            # between rows of thrust for the frame checks
FIXED_BASE = BodyMotion(np.eye(3), np.zeros(6), np.zeros(6), "")
for _array in FIXED_BASE[:3]:
    _array.setflags(write=False)


class FoundWrong(NamedTuple):
    """Which rows depend on a sensor that was right before and is found wrong: the vehicle's, the
    arm's, and all that need the attitude."""

    vehicle: bool = False
    arm: bool = False
    attitude: bool = False


class FilterChain:
    """The filters of all sensors; times [s] are relative to the origin of the readings.

    on_outlier(role, reason) counts what the filters reject, log(name, t, *values) feeds the frame
    checks, on_command with every thruster command, as in `ThrusterModel`."""

    def __init__(self, config: Config, robot: RobotModel, clocks: Clocks,
                 on_outlier: Callable[[str, str], None], log: Callable[..., None],
                 on_command: OnCommand):
        self._config, self._clocks, self._log = config, clocks.sensors, log
        self.inertial = InertialFilter(
            config, self._clocks.get("imu", SensorClock()), self._clocks.get("dvl", SensorClock()),
            on_outlier, log)
        self.joints = JointFilter(config, robot, self._clocks.get("joint_states", SensorClock()),
                                  on_outlier, log)
        self.depth = DepthFilter(config, on_outlier, log)
        self.altitude = Altitude(config)
        self._wrench = _wrench_source(config, on_outlier, on_command)
        self._add = self._filters_by_role()
        self._discard_after: dict[str, Callable[[float], None]] = {
            "imu": self.inertial.discard_imu_after, "dvl": self.inertial.discard_dvl_after,
            "joint_states": self.joints.discard_after, "depth": self.depth.discard_after}
        if not isinstance(self._wrench, NoWrench):
            self._discard_after[config.thrusters.source] = self._wrench.discard_after

    def _filters_by_role(self) -> dict[str, Callable[[float, Sequence[float]], None]]:
        """The method that takes the readings of each role."""
        filters: dict[str, Callable[[float, Sequence[float]], None]] = {
            "imu": self.inertial.add_imu, "dvl": self.inertial.add_dvl,
            "joint_states": self.joints.add, "depth": self.depth.add}
        if isinstance(self._wrench, ThrusterModel):
            filters |= {"thrusters": self._wrench.add_command, "battery": self._wrench.add_voltage}
        elif isinstance(self._wrench, MeasuredWrench):
            filters |= {"wrench": self._wrench.add}
        return filters

    def change_settings(self, config: Config, gates_change: bool) -> None:
        """Use new settings from now on; gates_change: `filter.gates` has changed."""
        self._config = config
        for part in (self.inertial, self.joints, self.depth, self.altitude, self._wrench):
            part.change_settings(config, gates_change)

    def reset(self) -> None:
        """Forget all signals."""
        for part in (self.inertial, self.joints, self.depth, self.altitude, self._wrench):
            part.reset()

    def add(self, reading: Reading) -> None:
        """Add a reading; the gates for outliers are inside, since each filter knows its signal's
        scale."""
        role, t, values, altitude, thrust_shares, odometry = reading
        if role == "thrusters" and isinstance(self._wrench, ThrusterModel):
            self._wrench.use_shares(thrust_shares)
        self._add[role](t, values)
        if role == "dvl":
            self.altitude.add(t, altitude)
            if odometry:
                self._log("odometry", t, odometry)

    def compared(self, reading: Reading) -> Sequence[float]:
        """What readings of one role are compared by: their values; the thrust of commands."""
        if reading.role == "thrusters" and isinstance(self._wrench, ThrusterModel):
            return self._wrench.static_thrust(reading.values)
        return reading.values

    def discard_after(self, role: str, t: float) -> None:
        """Discard the role's readings after t [s]."""
        self._discard_after[role](t)

    def flush(self) -> None:
        """Use what the filters still hold, at the end of a recording."""
        for part in (self.inertial, self.joints, self._wrench, self.depth):
            part.flush()

    def wait(self) -> float:
        """[s] of data after a tick until everything for its sample has arrived."""
        wrench = self._clocks.get("wrench")
        return max(self.inertial.wait(), self.joints.wait(),
                   wrench.delay + (wrench.period or 0.0) if wrench else 0.0)

    def sentences(self) -> list[str]:
        """Warnings for the operator about single sensors."""
        return [*self.inertial.sentences(), *self.joints.gates.sentences(),
                *self.depth.sentences(), *self.altitude.sentences()]

    def sample(self, tick: int, stamp: float, t: float, masks: RowMasks,
               wrong: FoundWrong) -> Sample | None:
        """The sample at a tick, stamp [s since the epoch] and t [s]; None while the robot's state
        is unknown. Its rows are masked by `masks`, and where a sensor is found wrong."""
        # motion of the vehicle and of the arm
        motion = self._vehicle_motion(t, wrong)
        joints = self._joint_motion(t)
        if motion is None:
            masks.mask_all(masks.since_start(NO_IMU, t))
            return None
        if joints is None and not self._config.robot.vehicle:
            masks.mask_all(masks.since_start(NO_STATE, t))
            return None
        arm = self._unseen_arm() if joints is None else joints
        # wrench of the thrusters
        wrench, wrench_reason, by_thruster = self._wrench.wrench(t)
        if tick % THRUST_LOG_TICKS == 0 and wrench_reason in ("", SATURATED):
            self._log_thrust()
        # masks: rows that the model cannot explain, and rows of a sensor that has become wrong
        vehicle_reason = masks.vehicle_reason(
            motion.mask_reason, wrench_reason, _arm_reason(joints),
            self.depth.mask_reason(t) or self.altitude.mask_reason(t))
        arm_place = self.depth.arm_mask_reason(t) if self._config.robot.vehicle else ""
        arm_reasons = [reason or arm_place for reason in arm.mask_reasons]
        if wrong.vehicle:
            vehicle_reason = FOUND_WRONG
        if wrong.arm:
            arm_reasons = [FOUND_WRONG] * len(arm_reasons)
        vehicle_rows = 6 if self._config.robot.vehicle else 0
        valid = masks.valid(stamp, [masks.since_start(reason, t) for reason in (
            *[vehicle_reason] * vehicle_rows, *arm_reasons)])
        return Sample(stamp, motion.R_nb, motion.nu, motion.nu_dot, arm.mu, arm.mu_dot,
                      arm.mu_ddot, wrench, arm.effort, valid, motion.down_covariance,
                      by_thruster=by_thruster, velocity_stddev=motion.velocity_stddev)

    def _vehicle_motion(self, t: float, wrong: FoundWrong) -> BodyMotion | None:
        if not self._config.robot.vehicle:
            return FIXED_BASE
        if wrong.attitude:
            return self.inertial.unseen(t, FOUND_WRONG)
        return self.inertial.motion(t)

    def _joint_motion(self, t: float) -> JointMotion | None:
        return self.joints.motion(t) if self._config.robot.joints else self._unseen_arm()

    def _unseen_arm(self) -> JointMotion:
        """An arm without any message yet, all of whose rows are masked."""
        n = len(self._config.robot.joints)
        zero = np.zeros(n)
        return JointMotion(zero, zero, zero, zero, [NO_STATE] * n)

    def _log_thrust(self) -> None:
        if isinstance(self._wrench, ThrusterModel):
            self._log("thrust", self._wrench.time, self._wrench.impulse)
            self._wrench.log_tried()

    def tried_log(self) -> list[np.ndarray]:
        """See `ThrusterModel.tried_log`."""
        return self._wrench.tried_log() if isinstance(self._wrench, ThrusterModel) else []


def _wrench_source(config: Config, on_outlier: Callable[[str, str], None],
                   on_command: OnCommand) -> ThrusterModel | MeasuredWrench | NoWrench:
    thrusters = config.thrusters
    if not config.robot.vehicle or thrusters.source == "zero":
        return NoWrench()
    if thrusters.source == "thrusters":
        return ThrusterModel(config, on_outlier, on_command, TRIED_RESPONSES)
    return MeasuredWrench(thrusters.timeout, on_outlier, config.filter.gates)


def _arm_reason(joints: JointMotion | None) -> str:
    """Why the arm's reaction on the vehicle is unknown, '' if it is known."""
    return NEVER_SEEN if joints is None else joints.lost
