"""Joint messages to positions, velocities, accelerations and efforts at a tick, and which rows count (DESIGN section 5)."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .config import Config
from .robot import RobotModel
from .sensors import JointReading
from .series import Series, position_velocity_weights

DEGREE = 4   # of the position; the velocity is a cubic


class JointMotion(NamedTuple):
    """mu, mu_dot, mu_ddot, effort (n,) at a tick; reasons (n,): why a joint's row does not count, '' where it does."""

    mu: np.ndarray
    mu_dot: np.ndarray
    mu_ddot: np.ndarray
    effort: np.ndarray
    reasons: list[str]


class JointFilter:
    """Local polynomial through positions and velocities together; efforts are interpolated."""

    def __init__(self, config: Config, robot: RobotModel):
        s = config.joint_states
        self._settings, self._half = s, config.filter.joint_window
        self._n = n = len(config.robot.joints)
        self._ratio = s.position_stddev / s.velocity_stddev
        arm = robot.arm
        self._low = np.array(s.limits_low) if s.limits_low else (arm.limits_low if arm else np.zeros(0))
        self._high = np.array(s.limits_high) if s.limits_high else (arm.limits_high if arm else np.zeros(0))
        self._masked = np.array([joint in s.effort_masked for joint in config.robot.joints], bool)
        self._series = Series(3 * n)
        self._blank = [""] * n

    def reset(self) -> None:
        """Forget all signals."""
        self._series.clear()

    @property
    def last(self) -> float:
        """Time of the newest reading."""
        return self._series.last

    def add(self, t: float, reading: JointReading) -> None:
        """Take in a reading later than the last."""
        self._series.append(t, np.concatenate(reading))

    def motion(self, t: float) -> JointMotion | None:
        """State at t; None where no position was ever received before t.

        A silent arm is taken to stand still where it was last seen: its own rows do not count, but the vehicle's may.
        """
        n = self._n
        newest = self._series.before(t)
        if newest is None:
            return None
        times, rows = self._series.window(t - self._half, t + self._half)
        weights, with_velocity = None, False
        if self._series.gap_around(t) <= self._settings.timeout and len(times) > 2:
            with_velocity = bool(np.isfinite(rows[:, n:2 * n]).all())
            degree = min(DEGREE, len(times) * (2 if with_velocity else 1) - 2)
            weights = position_velocity_weights(times, t, degree, self._ratio, with_velocity)
        if weights is None:
            zero = np.zeros(n)
            return JointMotion(newest[1][:n], zero, zero, zero, ["no joint state"] * n)
        stacked = np.vstack([rows[:, :n], rows[:, n:2 * n] if with_velocity else np.zeros((len(times), n))])
        mu, mu_dot, mu_ddot = weights @ stacked
        effort = self._series.at(t)[2 * n:]
        return JointMotion(mu, mu_dot, mu_ddot, np.where(np.isfinite(effort), effort, 0.0), self._reasons(mu, mu_dot, effort))

    def _reasons(self, mu, mu_dot, effort) -> list[str]:
        s = self._settings
        found = list(self._blank)
        for j in range(self._n):
            if self._masked[j]:
                found[j] = "effort masked by setting"
            elif not np.isfinite(effort[j]):
                found[j] = "no effort"
            elif mu[j] < self._low[j] + s.stop_margin or mu[j] > self._high[j] - s.stop_margin:
                found[j] = "joint at its stop"
            elif abs(mu_dot[j]) < s.rest_velocity:
                found[j] = "joint at rest"
        return found
