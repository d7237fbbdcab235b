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

"""All checks of the sensors' frames, signs and units, run on one set of logs.

A full check takes a fifth of a second, so it runs in steps. What its results mean for the rows is
decided in `frames`."""
from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...config import Config
from ...config.sensors import ODOMETRY
from ...model.robot import RobotModel
from ...model.rotations import FRD_FROM_FLU
from ...model.thrust_curve import neutral_command
from ...model.vehicle_size import least_mass
from ..filters.joints import joint_limits
from .depth_check import check_depth
from .dvl_check import OF_PLACE, OF_UNIT, OF_WORLD, check_velocity
from .effort_scale import check_effort_scale, loads_of, tip_of
from .finding import (
    CHANGE_WINDOW,
    CONSISTENT,
    UNDECIDED,
    CheckResult,
    Finding,
    Harm,
    Mend,
    mismatch,
)
from .fits import listed, mounted
from .gravity_direction import check_gravity_direction, loads_along
from .imu_check import check_gravity, check_rates
from .joint_check import ScaleCheck, check_joints
from .joint_effort_check import with_changed_wires
from .odometry_check import check_odometry
from .quaternion_check import check_quaternion
from .response_check import response_findings
from .thrust_share import share_since
from .thruster_check import thruster_findings
from .thruster_windows import Windows, thrust_windows
from .velocity_log import dvl_place
from .velocity_map import fused
from .weak_thruster import with_share
from .wirings import OF_PAIR, OR_ELSE

MIN_LOG_ROWS = 50
# Share of saturated commands, and number of commands, from which the unit is wrong.
SATURATED_SHARE, MIN_COMMANDS = 0.9, 100
OF_TOPIC = "thrusters.topic"


class SensorChecks:
    """The checks that a robot's sensors allow; names: theirs, in order."""

    def __init__(self, config: Config, robot: RobotModel, wrapped: Callable[[], Sequence[bool]],
                 guessed: Callable[[], Collection[str]] = tuple):
        """wrapped: returns which joints' encoders have wrapped (n,); empty: none. guessed: returns
        the roles whose transport delay is assumed, as `Clocks.guessed`."""
        self._config, self._robot, self._wrapped = config, robot, wrapped
        self._dvl_place = dvl_place(config)
        self._guessed = guessed
        self._effort_limits = robot.effort_limits
        self._allocation = np.array(config.thrusters.allocation).reshape(6, -1)
        self._lightest = least_mass(config)
        self._low, self._high = joint_limits(config, robot)
        vehicle = config.robot.vehicle
        # Without specific force there is nothing to check a DVL against.
        has_both = config.dvl.enabled and config.imu.measures_force
        present = {"IMU": vehicle, "DVL": vehicle and has_both,
                   "odometry": (vehicle and config.dvl.enabled and config.dvl.type == ODOMETRY
                                and not has_both),
                   "depth": vehicle and config.depth.enabled, "joints": bool(config.robot.joints),
                   "thrusters": vehicle and config.thrusters.source == "thrusters"}
        self.names = [name for name, yes in present.items() if yes]
        self.reset()

    def reset(self) -> None:
        """Forget the commands."""
        self._saturated_commands = self._commands = 0
        self._commands_changed = False

    def add_command(self, saturated: bool, changed: bool) -> None:
        """Count a thruster command; saturated, changed: as in `ThrusterModel`."""
        self._saturated_commands += saturated
        self._commands_changed |= changed
        self._commands += 1

    def standing(self, results: Mapping[str, CheckResult]) -> dict[str, CheckResult]:
        """The results that still stand: commands that change have not always been the same."""
        unchanging = any(finding.setting == OF_TOPIC for finding in results.get(
            "thrusters", UNDECIDED).findings)
        void = {"thrusters": UNDECIDED} if unchanging and self._commands_changed else {}
        return dict(results) | void

    def steps(self, logs: dict[str, np.ndarray], before: Mapping[str, CheckResult]
              ) -> Generator[None, None, dict[str, CheckResult]]:
        """Results by check, in steps; checks that depend on a wrong sensor are left out. before:
        the results that stand, by check."""
        logs = {name: rows for name, rows in logs.items() if len(rows) > MIN_LOG_ROWS}
        results: dict[str, CheckResult] = {}
        upside_down, attitude_right = False, False
        turn: np.ndarray | None = np.eye(3)
        if "imu" in logs and "IMU" in self.names:
            rates = check_rates(logs["imu"])
            yield
            gravity = check_gravity(logs, self._config)
            results["IMU"] = CheckResult(rates.findings + gravity.findings, rates.complete)
            if results["IMU"].is_harmful:
                yield
                results["IMU"] = check_quaternion(logs, self._config) or results["IMU"]
            upside_down = gravity.upside_down
            attitude_right = gravity.consistent and not rates.findings
        yield
        if "odometry" in self.names:
            results["odometry"] = check_odometry(logs["odometry"], self._config) if (
                "odometry" in logs) else CONSISTENT
            yield
        if attitude_right:
            moved, turn = self._check_velocities(logs, upside_down)
            results |= moved
            yield
        if "joints" in logs:
            results["joints"] = check_joints(logs["joints"], self._config.robot.joints, self._low,
                                             self._high, self._effort_limits,
                                             self._config.joint_states.effort_scale,
                                             self._scale_check(logs.get("imu")),
                                             loads_of(self._robot, logs.get("imu")),
                                             self._wrapped(),
                                             self._config.joint_states.effort_masked,
                                             before.get("joints", UNDECIDED),
                                             self._config.joint_states.unit,
                                             self._robot.table.prismatic)
            yield
        if "thrusters" in self.names:
            # (`turn` is None where the vehicle hardly moves: there thrust works against a tether.
            # The arm's own faults, such as late velocities, do not move the vehicle.)
            # A DVL at another place than is set is put there.
            sensors_right = turn is not None and not any(
                _misleads(result) or not result.complete and _misleads(before[name])
                for name, result in results.items() if name != "joints")
            windows, place = None, self._dvl_place
            if sensors_right and "thrust" in logs and "dvl" in logs:
                if "DVL" in self.names:
                    rows, place = self._placed(logs["dvl"], results.get("DVL", UNDECIDED))
                    logs["dvl"] = fused(rows, place)
                    yield
                windows = thrust_windows(logs["thrust"], logs["dvl"])
            checked = self._check_thrusters(logs, windows, place)
            yield
            if (windows is not None and checked.complete and not checked.findings
                    and "tried" in logs):
                checked = checked._replace(findings=response_findings(
                    windows, logs["tried"], logs["dvl"], self._allocation, self._config.thrusters))
                yield
            results["thrusters"] = checked
            if any(finding.setting == OF_PAIR and finding.values for finding in checked.findings):
                results["DVL"] = UNDECIDED      # (its place was seen in turned axes)
        return results

    def _placed(self, dvl: np.ndarray, result: CheckResult) -> tuple[np.ndarray, np.ndarray]:
        """(rows of `dvl`, as in `frames`, place (3,) of the DVL relative to the IMU), with the
        place that the result has measured."""
        found = next((one for one in result.findings if one.setting == OF_PLACE), None)
        if found is None:
            return dvl, self._dvl_place
        off = FRD_FROM_FLU @ np.subtract(found.values[OF_PLACE], self._config.dvl.xyz)
        rows = dvl.copy()
        rows[:, 1:4] -= np.cross(rows[:, 4:7], off)
        return rows, self._dvl_place + off

    def with_share(self, result: CheckResult, logs: dict[str, np.ndarray],
                   onsets: Sequence[float]) -> CheckResult:
        """The thrusters' result; if it says that one has become weak since one of these times [s],
        with the share of its thrust that it still gives, or with the sign that it has now, which
        the logs from before it tell."""
        weak = next((one for one in result.findings if one.mend and one.mend.of_thrust), None)
        if weak is None or weak.mend is None or not {"thrust", "dvl"} <= logs.keys():
            return result
        dvl = fused(logs["dvl"], self._dvl_place) if "DVL" in self.names else logs["dvl"]
        thruster = int(np.argmin(np.diag(weak.mend.matrix)))
        share = share_since(logs["thrust"], dvl, self._allocation, thruster, onsets)
        if share is None:
            return result
        found = with_share(weak, thruster, share, self._allocation.shape[1])
        return result._replace(findings=[self._in_settings(found)])

    def with_changed_wires(self, result: CheckResult, log: np.ndarray,
                           was_right: bool) -> CheckResult:
        """The joints' result, with the efforts that come in another order or with another sign
        since some time of the log; was_right: as in the function of this name."""
        joints = self._config.joint_states
        return with_changed_wires(result, self._config.robot.joints, log, self._effort_limits,
                                  CHANGE_WINDOW, joints.effort_masked, joints.effort_scale,
                                  was_right)

    def _scale_check(self, imu: np.ndarray | None) -> ScaleCheck:
        """The check of the efforts' unit; imu: its log, None if it is too short."""
        joints, robot = self._config.joint_states, self._robot
        loads = loads_of(robot, imu)
        if loads is None:
            return lambda t, mu, speed, effort: []
        names, masked = self._config.robot.joints, joints.effort_masked
        fixed = not (robot.vehicle or robot.knows_buoyancy)
        scale_check = partial(check_effort_scale, loads=loads, names=names,
                              scale=joints.effort_scale, masked=masked,
                              floats=robot.vehicle and not robot.knows_buoyancy, fixed=fixed,
                              tip=tip_of(robot, imu))

        def check(t: np.ndarray, mu: np.ndarray, speed: np.ndarray,
                  effort: np.ndarray) -> list[Finding]:
            turned = check_gravity_direction(
                t, mu, speed, effort, partial(loads_along, robot), names, masked,
                self._config.robot.mount_rpy) if fixed else []
            return turned or scale_check(t, mu, speed, effort)
        return check

    def _check_velocities(self, logs: dict[str, np.ndarray], upside_down: bool
                          ) -> tuple[dict[str, CheckResult], np.ndarray | None]:
        """(results of DVL and depth, matrix (3, 3) that rotates the DVL's velocity into the IMU's
        axes, or None), given a correct attitude."""
        results: dict[str, CheckResult] = {}
        turn: np.ndarray | None = np.eye(3)
        if "dvl" in logs and "DVL" in self.names:
            results["DVL"], turn = check_velocity(logs, self._config, upside_down,
                                                  "dvl" in self._guessed())
        usable = all(finding.setting not in (OF_UNIT, OF_WORLD)
                     for result in results.values() for finding in result.findings)
        if "dvl" in logs and "depth" in logs and usable and not upside_down:
            depth = check_depth(logs, self._config, np.eye(3) if turn is None else turn)
            # (the slopes of the path may be those of a DVL that is not yet known to be right)
            unsure = "DVL" in results and not results["DVL"].complete
            results["depth"] = UNDECIDED if unsure and depth.is_harmful else depth
        return results, turn

    def _check_thrusters(self, logs: dict[str, np.ndarray],
                         windows: Windows | None, place: np.ndarray) -> CheckResult:
        """Check unit, directions and order of the thrusters; the latter two only with windows of
        thrust and motion, which need sensors that are right. place (3,): as `_placed`."""
        saturated, commands = self._saturated_commands, self._commands
        if commands > MIN_COMMANDS and saturated > SATURATED_SHARE * commands:
            return mismatch("thrusters.unit", (
                f"{saturated} of {commands} thruster commands are at the end of the thrust curve, "
                "or newtons of the size of pulse widths; "
                f"check thrusters.unit (now '{self._config.thrusters.unit}') and the topic"))
        if commands > MIN_COMMANDS and windows is not None and not self._commands_changed:
            # (windows: the vehicle moved)
            return mismatch(OF_TOPIC, (
                f"none of {commands} commands on '{self._config.thrusters.topic}' changed the "
                "thrust while the vehicle moved, so its efforts tell nothing; check "
                f"{OF_TOPIC}, whether that topic carries what the motors get, and whether the "
                "vehicle was armed (if it drifted, set thrusters.source to 'zero')"),
                harm=Harm.FOLLOWED)
        findings = None if windows is None else thruster_findings(
            windows, logs["thrust"], logs["dvl"], self._allocation, self._lightest)
        if findings is None:
            return UNDECIDED
        return CheckResult([self._in_settings(self._by_place(finding, place))
                            for finding in findings], True)

    def _by_place(self, finding: Finding, place: np.ndarray) -> Finding:
        """The finding; if it says that IMU and DVL are turned, which other wires may explain as
        well, only with values if the DVL's place (3,), as `_placed`, is seen turned too."""
        if finding.setting != OF_PAIR or not finding.values:
            return finding
        turned = finding.values["dvl.rpy"].T @ self._dvl_place
        if np.linalg.norm(place - turned) < np.linalg.norm(place - self._dvl_place):
            return finding._replace(sentence=finding.sentence.partition(OR_ELSE)[0])
        return finding._replace(values={}) if OR_ELSE in finding.sentence else finding

    def _in_settings(self, finding: Finding) -> Finding:
        """The finding on thrust along the allocation, in values and commands as the settings have
        them."""
        finding = finding._replace(values=self._absolute(finding.values),
                                   mend=self._of_commands(finding.mend))
        if finding.setting != OF_PAIR or not finding.values:
            return finding
        return finding._replace(sentence=f"{finding.sentence}; set " + " and ".join(
            f"{name} to {listed(value)}" for name, value in finding.values.items()))

    def _of_commands(self, mend: Mend | None) -> Mend | None:
        """The mend of thrust along the allocation, as one of commands in their unit."""
        if mend is None or mend.of_thrust:
            return mend
        signs = np.array(self._config.thrusters.signs)
        return mend._replace(matrix=signs[:, None] * mend.matrix * signs,
                             neutral=neutral_command(self._config.thrusters.unit))

    def _absolute(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values with thruster signs and turns of sensors, which are found relative to the
        settings, as to be set."""
        mounts: dict[str, Any] = {"imu.rpy": self._config.imu, "dvl.rpy": self._config.dvl}
        return {name: tuple(a * b for a, b in zip(value, self._config.thrusters.signs))
                if name == "thrusters.signs" else
                mounted(mounts[name].frame, mounts[name].rpy, value) if name in mounts
                else value for name, value in values.items()}


def _misleads(result: CheckResult) -> bool:
    """Whether the motion of the vehicle cannot be judged by a sensor with this result."""
    return any(finding.harm is not Harm.SLIGHT and finding.setting != OF_PLACE
               for finding in result.findings)
