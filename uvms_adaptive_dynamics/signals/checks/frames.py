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

"""Frames, signs and units of the sensors against each other while the robot moves.

Every sensor sees the same motion: the IMU integrates to what the DVL measures, depth follows heave,
rates turn the attitude, thrust accelerates. Each relation is a small linear fit over windows of a
second. If the fit is a clean mirror image, rotation or factor of what it should be, the setting
that would cause it is named. What has not moved enough is not judged.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...config import Config
from ...model.robot import RobotModel
from ..filters.joints import joint_limits
from .depth_check import check_depth
from .dvl_check import check_velocity
from .finding import UNDECIDED, CheckResult, Finding, mismatch
from .imu_check import check_gravity, check_rates
from .joint_check import check_joints
from .thruster_check import thruster_findings

# [s] of data at the first evaluation, between evaluations, and after which they become rarer.
FIRST_CHECK, CHECK_PERIOD, EARLY_CHECKS = 30.0, 10.0, 60.0
LATE_CHECK_PERIOD = 30.0                # [s]
LOG_LENGTH = 60.0                       # [s] of the newest data that are evaluated
COMPLETE_CHECKS = 3                     # before the end: the first may rest on little motion
MIN_LOG_ROWS = 50
SATURATED_SHARE, MIN_COMMANDS = 0.9, 100    # of commands, from which their unit is wrong
LOGS = ("imu", "dvl", "depth", "joints", "thrust")


class FrameChecks:
    """Logs what the sensors measure until it has been checked; times [s] are the front end's."""

    def __init__(self, config: Config, robot: RobotModel):
        self._config, self._effort_limits = config, robot.effort_limits
        self._allocation = np.array(config.thrusters.allocation).reshape(6, -1)
        self._low, self._high = joint_limits(config, robot)
        vehicle = config.robot.vehicle
        # Without a force there is nothing that a DVL can be held against.
        has_both = config.dvl.enabled and config.imu.measures_force
        present = {"IMU": vehicle, "DVL": vehicle and has_both,
                   "depth": vehicle and config.depth.enabled, "joints": bool(config.robot.joints),
                   "thrusters": vehicle and config.thrusters.source == "thrusters"}
        self._checked = [name for name, yes in present.items() if yes]
        self.reset()

    def reset(self) -> None:
        """Forget all logs and results."""
        self._results = dict.fromkeys(self._checked, UNDECIDED)
        self._since: dict[str, float] = {}       # setting -> [s] from the first row
        self.done = False
        self._next_check = FIRST_CHECK
        self._begin: float | None = None
        self._logs: dict[str, list[np.ndarray]] = {name: [] for name in LOGS}
        self._saturated_commands = self._commands = 0
        self._complete_checks = 0

    @property
    def findings(self) -> list[tuple[Finding, float]]:
        """All mismatches, each with the time [s] from the first row at which it was found."""
        return [(finding, self._since[finding.setting])
                for result in self._results.values() for finding in result.findings]

    @property
    def waiting_for(self) -> list[str]:
        """What has not shown enough motion to be judged."""
        return [name for name, result in self._results.items() if not result.complete]

    def add(self, log: str, t: float, *values: Sequence[float] | np.ndarray) -> None:
        """Add a row to a log and check everything if it is time.

        imu: n3, w, f, R_Gb, yaw; dvl: v, w, C, R_Gb, n3; depth; joints: the reading; thrust: its
        integral (N,) [N s].
        """
        if self.done:
            return
        self._begin = t if self._begin is None else self._begin
        self._logs[log].append(np.concatenate([[t], *values]))
        elapsed = t - self._begin
        if elapsed > self._next_check:
            self._update(t, elapsed)

    def add_command(self, saturated: bool) -> None:
        """Count a thruster command, which may lie at the end of the thrust curve."""
        self._saturated_commands += saturated
        self._commands += 1

    def _update(self, t: float, elapsed: float) -> None:
        """Check the newest data, and plan the next check."""
        for rows in self._logs.values():
            old = (k for k, row in enumerate(rows) if row[0] >= t - LOG_LENGTH)
            del rows[:next(old, len(rows))]
        for name, new in self._check_all().items():
            # A warning stays until there was enough motion to withdraw it.
            before = self._results[name]
            if new.complete or new.findings or not (before.findings or before.complete):
                self._results[name] = new
        found = {finding.setting for result in self._results.values()
                 for finding in result.findings}
        self._since = {setting: self._since.get(setting, elapsed) for setting in found}
        self._next_check += CHECK_PERIOD if self._next_check < EARLY_CHECKS else LATE_CHECK_PERIOD
        self._complete_checks += not self.waiting_for
        if elapsed > EARLY_CHECKS and self._complete_checks >= COMPLETE_CHECKS:
            self.done = True
            self._logs = {name: [] for name in LOGS}

    def _check_all(self) -> dict[str, CheckResult]:
        """Results by what is checked; what depends on a wrong sensor is left out."""
        # By time: rows of a doubted sensor come after later ones.
        logs = {name: np.array(sorted(rows, key=lambda row: row[0]))
                for name, rows in self._logs.items() if len(rows) > MIN_LOG_ROWS}
        results: dict[str, CheckResult] = {}
        upside_down, attitude_right = False, False
        turn: np.ndarray | None = np.eye(3)
        if "imu" in logs and "IMU" in self._checked:
            rates = check_rates(logs["imu"])
            gravity = check_gravity(logs, self._config)
            results["IMU"] = CheckResult(rates.findings + gravity.findings, rates.complete)
            upside_down = gravity.upside_down
            attitude_right = gravity.consistent and not rates.findings
        if "dvl" in logs and "DVL" in self._checked and attitude_right:
            results["DVL"], turn = check_velocity(logs, self._config, upside_down)
        dvl_findings = results.get("DVL", UNDECIDED).findings
        unit_right = all(finding.setting != "dvl unit" for finding in dvl_findings)
        if ("dvl" in logs and "depth" in logs and unit_right and attitude_right
                and not upside_down):
            results["depth"] = check_depth(logs, self._config, np.eye(3) if turn is None else turn)
        if "joints" in logs:
            results["joints"] = check_joints(logs["joints"], self._config.robot.joints, self._low,
                                             self._high, self._effort_limits,
                                             self._config.joint_states.effort_scale)
        if "thrusters" in self._checked:
            # (Of a vehicle that hardly moves it is a tether that pushes against the thrusters.)
            sensors_right = turn is not None and not any(
                result.findings for result in results.values())
            results["thrusters"] = self._check_thrusters(logs, sensors_right)
        return results

    def _check_thrusters(self, logs: dict[str, np.ndarray], sensors_right: bool) -> CheckResult:
        """Unit, directions and order; the latter two only if the sensors are right."""
        saturated, commands = self._saturated_commands, self._commands
        if commands > MIN_COMMANDS and saturated > SATURATED_SHARE * commands:
            return mismatch("thrusters.unit", (
                f"{saturated} of {commands} thruster commands lie at the end of the thrust curve; "
                f"check thrusters.unit (now '{self._config.thrusters.unit}') and the topic"))
        if "thrust" not in logs or "dvl" not in logs or not sensors_right:
            return UNDECIDED
        findings = thruster_findings(logs["thrust"], logs["dvl"], self._allocation)
        if findings is None:
            return UNDECIDED
        return CheckResult([finding._replace(values=self._absolute(finding.values))
                            for finding in findings], True)

    def _absolute(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Signs of thrusters, found beside those that are set, as the setting has them."""
        return {name: tuple(a * b for a, b in zip(value, self._config.thrusters.signs))
                if name == "thrusters.signs" else value for name, value in values.items()}
