"""Joint messages to positions, velocities, accelerations and efforts at a tick, and which rows count (DESIGN section 5)."""
from __future__ import annotations

import math
from typing import Callable, NamedTuple, Sequence

import numpy as np

from ...config import Config
from ..gates.spikes import Judged, SpikeGate
from ...model.robot import RobotModel
from .series import Series, motion_at

DEGREE = 4   # of the position; the velocity is a cubic
EFFORT_FLOOR = 0.005    # of the effort limit: the smallest scale that the gate believes
STALL_EFFORT = 0.5      # of the effort limit, with which a joint that does not move is stalled


class JointMotion(NamedTuple):
    """mu, mu_dot, mu_ddot, effort (n,) at a tick; reasons (n,): why a joint's row does not count, '' where it does."""

    mu: np.ndarray
    mu_dot: np.ndarray
    mu_ddot: np.ndarray
    effort: np.ndarray
    reasons: list[str]


class JointFilter:
    """Local polynomial through positions and velocities together; efforts are interpolated.

    `refuse(role, reason)` counts rejections.
    """

    def __init__(self, config: Config, robot: RobotModel, refuse: Callable[[str, str], None] = lambda role, reason: None):
        self._refuse = refuse
        s = config.joint_states
        self._settings, self._half = s, config.filter.joint_window
        self._n = n = len(config.robot.joints)
        self._ratio = s.position_stddev / s.velocity_stddev
        arm = robot.arm
        self._low = np.array(s.limits_low) if s.limits_low else (arm.limits_low if arm else np.zeros(0))
        self._high = np.array(s.limits_high) if s.limits_high else (arm.limits_high if arm else np.zeros(0))
        self._low, self._high = self._low.tolist(), self._high.tolist()
        self._masked = [joint in s.effort_masked for joint in config.robot.joints]
        self._effort_limits = robot.effort_limits.tolist()
        effort_floor = [EFFORT_FLOOR * (limit if math.isfinite(limit) else 1.0) for limit in self._effort_limits]
        self._gate = SpikeGate([s.position_stddev] * n + [s.velocity_stddev] * n + effort_floor)
        self._series = Series(4 * n)     # position, velocity, effort, and 1 where one of them is garbage
        self._good = [0.0] * n

    def reset(self) -> None:
        """Forget all signals."""
        self._series.clear()
        self._gate.reset()

    def add(self, t: float, reading: Sequence[float]) -> None:
        """Take in a reading later than the last; it counts as soon as its neighbours have shown that it is no spike."""
        for judged in self._gate.push(t, reading):
            self._append(judged)

    def finish(self) -> None:
        """Take in what the gate still holds, at the end of a recording."""
        for judged in self._gate.drain():
            self._append(judged)

    def drop_after(self, t: float) -> None:
        """Forget what the joints said after t (they were frozen)."""
        self._gate.reset()
        self._series.drop_after(t)

    def _append(self, judged: Judged) -> None:
        n, garbage = self._n, self._good
        if judged.spikes is not None:
            for k, field in enumerate(("position", "velocity", "effort")):
                if judged.spikes[k * n:(k + 1) * n].any():
                    self._refuse("joint_states", f"{field} spike")
        if judged.garbage is not None:
            garbage = judged.garbage.reshape(3, n).any(axis=0).tolist()
            self._refuse("joint_states", "garbage")
        self._series.append(judged.t, [*judged.row, *garbage])

    def motion(self, t: float) -> JointMotion | None:
        """State at t; None where no position was ever received before t.

        A silent arm is taken to stand still where it was last seen: its own rows do not count, but the vehicle's may.
        """
        n, newest, state = self._n, self._series.before(t), None
        if newest is None:
            return None
        if self._series.gap_around(t) <= self._settings.timeout:
            state = self._fit(t)
        if state is None:
            zero = np.zeros(n)
            return JointMotion(newest[1][:n], zero, zero, zero, ["no joint state"] * n)
        mu, mu_dot, mu_ddot = state
        now = self._series.at(t).tolist()
        effort, garbage = now[2 * n:3 * n], now[3 * n:]
        known = [e if math.isfinite(e) else 0.0 for e in effort]
        return JointMotion(np.array(mu), np.array(mu_dot), np.array(mu_ddot), np.array(known), self._reasons(mu, mu_dot, effort, garbage))

    def _fit(self, t: float) -> list[list[float]] | None:
        """Position, velocity and acceleration at t; without the velocities where some message of the window had none."""
        n = self._n
        times, rows = self._series.window(t - self._half, t + self._half)
        if len(times) < 3:
            return None
        positions, velocities = rows[:, :n], rows[:, n:2 * n]
        state = motion_at(times, positions, velocities, t, min(DEGREE, 2 * len(times) - 2), self._ratio)
        if state is None or not math.isfinite(state[0][0]):
            state = motion_at(times, positions, None, t, min(DEGREE, len(times) - 2), self._ratio)
        return state

    def _reasons(self, mu, mu_dot, effort, garbage) -> list[str]:
        s = self._settings
        found = [""] * self._n
        for j in range(self._n):
            if self._masked[j]:
                found[j] = "effort masked by setting"
            elif not math.isfinite(effort[j]):
                found[j] = "no effort"
            elif garbage[j]:
                found[j] = "joint readings are garbage"
            elif not self._low[j] + s.stop_margin <= mu[j] <= self._high[j] - s.stop_margin:
                found[j] = "joint at its stop"
            elif abs(mu_dot[j]) < s.rest_velocity:
                found[j] = "joint stalled" if abs(effort[j]) > STALL_EFFORT * self._effort_limits[j] else "joint at rest"
        return found
