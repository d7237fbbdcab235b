"""The sensor front end: messages of every role in, synchronous samples on the grid out (DESIGN section 5).

    message -> reading in time (intake) -> gates and series -> at each tick: motion (inertial, joint_filter), wrench
    (thrusters), row masks -> Sample

Everything is driven by the messages' times, never by a timer: the same messages with the same times of reception give
the same samples, live or from a bag. A tick is finished once the sensors' clock has passed it by `filter.latency`.
"""
from __future__ import annotations

import math
from collections import Counter
from typing import Any, Iterable

import numpy as np

from ..config import Config
from .checks.delay import DelayWatch
from .checks.frames import FrameChecks
from .gates.spikes import Judged, SpikeGate
from .filters.inertial import InertialFilter
from .decode.input_state import OK, TIMEOUTS, WARN, input_status
from .decode.intake import ClockJumped, Frozen, Intake
from .filters.joints import JointFilter
from ..model.robot import RobotModel
from ..model.sample import Sample
from .filters.series import Series
from .filters.thrusters import THRUST_FLOOR, ThrusterModel

DEPTH_FLOOR = 0.05   # [m] the smallest scale that the depth's gate believes
WRENCH_FLOOR = [THRUST_FLOOR] * 3 + [0.2 * THRUST_FLOOR] * 3   # [N, N m] likewise; thrusters act some 0.2 m from the origin
JOINTS_NOTED = 0.045   # [s] between joint readings in the frame checks
MOST_TICKS = 500   # at once: a burst after a pause must not stall the node


class SignalFrontEnd:
    """Turns messages into samples; bad input is counted and never raises."""

    def __init__(self, config: Config, robot: RobotModel):
        self.config, self.robot = config, robot
        self._intake = Intake(config)
        self.inputs = self._intake.inputs
        self.frames = FrameChecks(config, robot)
        self.delay = DelayWatch(config)
        self._inertial = InertialFilter(config, self._refuse, self.frames.add)
        self._joints = JointFilter(config, robot, self._refuse)
        self._thrusters = ThrusterModel(config, self._refuse, self.frames.saturated)
        self._depth_gate = SpikeGate([DEPTH_FLOOR], lookahead=0.25)
        self._wrench_gate = SpikeGate(WRENCH_FLOOR)
        self._depth, self._wrench = Series(1), Series(6)
        self._n = len(config.robot.joints)
        self._watch_delay = config.robot.vehicle and config.thrusters.source != "zero"
        self.resets: Counter = Counter()
        self.masked: dict[str, Counter] = {channel: Counter() for channel in robot.channels}
        self.samples_made = 0
        self._restart()

    @property
    def counters(self) -> dict[str, int]:
        """Messages not used, by `role: reason`, and resets of time."""
        found = {f"{state.role}: {reason}": count for state in self.inputs.values() for reason, count in state.rejected.items()}
        found.update({f"reset: {reason}": count for reason, count in self.resets.items()})
        return found

    def reset(self) -> None:
        """Forget all signals, as between bags; counters stay."""
        self._restart()

    def _restart(self) -> None:
        self._noted_joints = -math.inf
        self._next_tick: int | None = None
        for part in (self._intake, self._inertial, self._joints, self._thrusters, self._depth_gate, self._wrench_gate, self.frames, self.delay):
            part.reset()
        self._depth.clear()
        self._wrench.clear()

    # --- messages -----------------------------------------------------------------------------------------------

    def push(self, role: str, message: Any, receive_time: float) -> None:
        """Take in a message received at `receive_time` [s since the epoch]; what cannot be used is counted."""
        taken = self._intake.take(role, message, receive_time)
        if isinstance(taken, ClockJumped):
            self.resets["a clock jumped"] += 1
            self._restart()
            taken = self._intake.take(role, message, receive_time)
        if isinstance(taken, Frozen):
            self._drop_frozen(role, taken.since)
        elif taken is not None:
            self._take(role, taken.t, taken.reading)

    def _drop_frozen(self, role: str, since: float) -> None:
        """Take back what a frozen sensor said before it was found out."""
        if role == "imu":
            self._inertial.drop_after(since)
        elif role == "dvl":
            self._inertial.drop_dvl_after(since)
        elif role == "joint_states":
            self._joints.drop_after(since)
        elif role == "depth":
            self._depth.drop_after(since)

    def _take(self, role: str, t: float, reading: list[float]) -> None:
        if role == "imu":
            self._inertial.add_imu(t, reading)
        elif role == "dvl":
            self._inertial.add_dvl(t, reading)
        elif role == "joint_states":
            self._joints.add(t, reading)
            if t - self._noted_joints > JOINTS_NOTED:
                self._noted_joints = t
                self.frames.add("joints", t, reading)
        elif role == "thrusters":
            self._thrusters.command(t, reading)
        elif role == "battery":
            self._thrusters.voltage = reading[0]
        elif role == "depth":
            self._add_depth(self._depth_gate.push(t, reading))
        else:
            self._add_wrench(self._wrench_gate.push(t, reading))

    def _add_wrench(self, decided: Iterable[Judged]) -> None:
        for judged in decided:
            if judged.spikes is not None:
                self._refuse("wrench", "spike")
            self._wrench.append(judged.t, judged.row)

    def _add_depth(self, decided: Iterable[Judged]) -> None:
        for judged in decided:
            if judged.spikes is not None:
                self._refuse("depth", "spike")
            self._depth.append(judged.t, judged.row)
            self.frames.add("depth", judged.t, judged.row)

    def _refuse(self, role: str, reason: str) -> None:
        self.inputs[role].doubt(reason)

    @property
    def warnings(self) -> list[str]:
        """What an operator should know of the signals, in sentences; empty when all is well."""
        late = self.delay.warning
        # A delay alone makes thrusters look turned or exchanged; and it means nothing while other frames are wrong.
        findings = [f for f in self.frames.findings if not (late and f.setting in ("thrusters.signs", "thrusters.allocation"))]
        found = [f"{finding.setting}: {finding.sentence}" for finding in findings]
        if late and not found:
            found.append(late)
        if self._inertial.dvl_gate.reopened and not found:
            found.append(f"dvl: velocities were rejected for a second and more although they agree with each other "
                         f"({self._inertial.dvl_gate.reopened} times); they are accepted again. Does the bottom lock jump, or the attitude?")
        return found

    def status(self, now: float) -> list[tuple[int, str, str, dict[str, str]]]:
        """(level 0 ok, 1 warning, 2 error; name; sentence; figures) of each input, `now` on the clock of reception."""
        found = [input_status(state, now, TIMEOUTS.get(role, 2.0)) for role, state in self.inputs.items()]
        warnings = self.warnings
        figures = {f"warning {k + 1}": text for k, text in enumerate(warnings)}
        waiting = ", ".join(self.frames.waiting_for)
        told = (f"not yet judged for want of motion: {waiting}; move the robot on all axes" if waiting else "frames, signs and units agree")
        found.append((WARN if warnings else OK, "frames", warnings[0] if warnings else told, {**figures, "not yet judged": waiting or "nothing"}))
        return found

    # --- samples ------------------------------------------------------------------------------------------------

    def samples(self) -> list[Sample]:
        """The samples whose ticks have become due."""
        return self._due(self.config.filter.latency)

    def flush(self) -> list[Sample]:
        """The samples up to the last message, at the end of a recording."""
        for part in (self._inertial, self._joints, self._thrusters):
            part.finish()
        self._add_depth(self._depth_gate.drain())
        self._add_wrench(self._wrench_gate.drain())
        return self._due(0.0)

    def _due(self, latency: float) -> list[Sample]:
        if self._intake.origin is None or self._intake.time.last_receive is None:
            return []
        period = self.config.filter.period
        now = self._intake.time.stamp_clock(self._intake.time.last_receive)
        last = math.floor((now - latency) / period + 1e-6)
        if self._next_tick is None:
            self._next_tick = math.ceil(self._intake.origin / period)
        if last - self._next_tick >= MOST_TICKS and latency > 0:
            self.resets["a pause longer than can be caught up"] += 1
            self._next_tick = last - MOST_TICKS + 1
        found = []
        while self._next_tick <= last:
            sample = self._sample(self._next_tick * period)
            if sample is not None:
                found.append(sample)
                self.samples_made += 1
                if self._watch_delay:
                    self.delay.add(sample)
            self._next_tick += 1
        return found

    def _sample(self, t_absolute: float) -> Sample | None:
        """The sample at a tick; None while nothing at all is known of the robot's state."""
        t, robot = t_absolute - self._intake.origin, self.config.robot
        motion = self._inertial.motion(t) if robot.vehicle else None
        joints = self._joints.motion(t) if self._n else None
        if motion is None and (robot.vehicle or joints is None):
            self._mask_all("no imu" if robot.vehicle else "no joint state")
            return None
        wrench, trouble = self._wrench_at(t) if robot.vehicle else (np.zeros(6), "")
        reasons = []
        if robot.vehicle:
            reasons += [self._vehicle_reason(t, motion, joints, trouble)] * 6
        if self._n:
            reasons += joints.reasons if joints is not None else ["no joint state"] * self._n
        for channel, reason in zip(self.robot.channels, reasons):
            if reason:
                self.masked[channel][reason] += 1
        zero = np.zeros(self._n)
        mu, mu_dot, mu_ddot, effort = joints[:4] if joints is not None else (zero, zero, zero, zero)
        R_nb, nu, nu_dot = motion[:3] if motion is not None else (np.eye(3), np.zeros(6), np.zeros(6))
        return Sample(t_absolute, R_nb, nu, nu_dot, mu, mu_dot, mu_ddot, wrench, effort, np.array([not r for r in reasons]))

    def _mask_all(self, reason: str) -> None:
        for counter in self.masked.values():
            counter[reason] += 1

    def _wrench_at(self, t: float) -> tuple[np.ndarray, str]:
        source = self.config.thrusters.source
        if source == "zero":
            return np.zeros(6), ""
        if source == "thrusters":
            wrench = self._thrusters.wrench(t)
            if self._next_tick % 5 == 0:
                self.frames.add("thrust", t, self._thrusters.impulse)
            return wrench
        if self._wrench.gap_around(t) > self.config.thrusters.timeout:
            return np.zeros(6), "no wrench"
        return self._wrench.at(t), ""

    def _vehicle_reason(self, t: float, motion, joints, trouble: str) -> str:
        """Why the vehicle's rows do not count at t, '' where they do."""
        if not motion.velocity_known:
            return "no dvl" if self.config.dvl.enabled else "no source of velocity"
        if trouble:
            return trouble
        if self._n and self.robot.coupled and joints is None:
            return "arm never seen"
        depth = self._depth.before(t)
        if depth is not None and t - depth[0] <= self.config.depth.timeout:
            if depth[1][0] < self.config.depth.minimum:
                return "at the surface"
            if depth[1][0] > self.config.depth.maximum:
                return "on the floor"
        return ""
