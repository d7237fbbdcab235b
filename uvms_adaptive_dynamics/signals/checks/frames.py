"""Frames, signs and units of the sensors held against each other while the robot moves (DESIGN section 5).

Every sensor sees the same motion: the IMU integrates to what the DVL measures, depth follows heave, rates turn the
attitude, thrust accelerates. Each relation is a small linear fit over windows of a second; where the fit is a clean
mirror image, rotation or factor of what it should be, the setting that would cause it is named. What has not moved
enough is not judged, and waited for.
"""
from __future__ import annotations

from typing import Sequence

import numpy as np

from ...config import Config
from .finding import Finding, Verdict
from .imu import gravity, rates
from .joints import joints
from ...model.robot import RobotModel
from .thrusters import thruster_findings
from .velocity import depth, velocity

BEGIN, AGAIN, END = 30.0, 10.0, 60.0    # [s] of data at the first judgement, between judgements, at the last if all have moved
LATER = 30.0                            # [s] between judgements of what has not moved by then
KEEP = 60.0                             # [s] of the newest data that count
JUDGEMENTS = 3                          # of everything, before the checks end: the first may rest on little motion
FEWEST = 50                             # rows of a log that can be judged
WAITING = Verdict([], False)


class FrameChecks:
    """Collects what the sensors say until all of it has been judged; times are the front end's."""

    def __init__(self, config: Config, robot: RobotModel):
        self._config, self._effort_limits = config, robot.effort_limits
        self._allocation = np.array(config.thrusters.allocation).reshape(6, -1)
        arm, settings = robot.arm, config.joint_states
        self._low = np.array(settings.limits_low) if settings.limits_low else (arm.limits_low if arm else np.zeros(0))
        self._high = np.array(settings.limits_high) if settings.limits_high else (arm.limits_high if arm else np.zeros(0))
        vehicle = config.robot.vehicle
        there = {"IMU": vehicle, "DVL": vehicle and config.dvl.enabled, "depth": vehicle and config.depth.enabled,
                 "joints": bool(config.robot.joints), "thrusters": vehicle and config.thrusters.source == "thrusters"}
        self._needed = [name for name, yes in there.items() if yes]
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._verdicts = dict.fromkeys(self._needed, WAITING)
        self.done = False
        self._judge_at = BEGIN
        self._begin: float | None = None
        self._logs: dict[str, list] = {"imu": [], "dvl": [], "depth": [], "joints": [], "thrust": []}
        self._saturated = [0, 0]
        self._judgements = 0

    @property
    def findings(self) -> list[Finding]:
        """All mismatches found so far."""
        return [finding for verdict in self._verdicts.values() for finding in verdict.findings]

    @property
    def waiting_for(self) -> list[str]:
        """What has not shown enough motion to be judged."""
        return [name for name, verdict in self._verdicts.items() if not verdict.complete]

    def add(self, log: str, t: float, *values: Sequence[float]) -> None:
        """Note one instant of a log: imu (n3, w, f, R_Gb, yaw), dvl (v, w, C, R_Gb, n3), depth, joints, thrust (its integral)."""
        if self.done:
            return
        self._begin = t if self._begin is None else self._begin
        self._logs[log].append(np.concatenate([[t], *values]))
        if t - self._begin > self._judge_at:
            self._judge(t)

    def saturated(self, yes: bool) -> None:
        """Note of a thruster command whether it lies at the end of the curve."""
        self._saturated[0] += yes
        self._saturated[1] += 1

    def _judge(self, t: float) -> None:
        for rows in self._logs.values():
            del rows[:next((k for k, row in enumerate(rows) if row[0] >= t - KEEP), len(rows))]
        for name, new in self._checks().items():
            # A warning stays until motion enough has shown that it is void.
            if new.complete or new.findings or not (self._verdicts[name].findings or self._verdicts[name].complete):
                self._verdicts[name] = new
        self._judge_at += AGAIN if self._judge_at < END else LATER
        self._judgements += not self.waiting_for
        if t - self._begin > END and self._judgements >= JUDGEMENTS:
            self.done = True
            self._logs = {name: [] for name in self._logs}

    def _checks(self) -> dict[str, Verdict]:
        """The verdicts on what was collected, by what is judged, in the order in which one spoils the next."""
        logs = {name: np.array(rows) for name, rows in self._logs.items() if len(rows) > FEWEST}
        found: dict[str, Verdict] = {}
        upside_down, attitude_right, turn = False, False, np.eye(3)
        if "imu" in logs and "IMU" in self._needed:
            turning = rates(logs["imu"])
            wrong, upside_down, agree = gravity(logs, self._config)
            found["IMU"] = Verdict(turning.findings + wrong, turning.complete)
            attitude_right = agree and not turning.findings
        if "dvl" in logs and attitude_right:
            found["DVL"], turn = velocity(logs, self._config, upside_down)
        unit_right = not any(finding.setting == "dvl.unit" for finding in found.get("DVL", WAITING).findings)
        if "dvl" in logs and "depth" in logs and unit_right and attitude_right and not upside_down:
            found["depth"] = depth(logs, self._config, turn)
        if "joints" in logs:
            found["joints"] = joints(logs["joints"], self._config.robot.joints, self._low, self._high, self._effort_limits)
        if "thrusters" in self._needed:
            found["thrusters"] = self._thrusters(logs, any(verdict.findings for verdict in found.values()))
        return found

    def _thrusters(self, logs: dict, others_wrong: bool) -> Verdict:
        """Unit, directions and order; the latter two mean nothing while another sensor is wrong."""
        hits, commands = self._saturated
        if commands > 100 and hits > 0.9 * commands:
            return Verdict([Finding("thrusters.unit", f"{hits} of {commands} thruster commands lie at the end of the thrust curve: thrusters.unit "
                                                      f"is probably not '{self._config.thrusters.unit}' (or the topic is another one)")], True)
        if "thrust" not in logs or "dvl" not in logs or others_wrong:
            return WAITING
        wrong = thruster_findings(logs["thrust"], logs["dvl"], self._allocation)
        return WAITING if wrong is None else Verdict([Finding(*each) for each in wrong], True)
