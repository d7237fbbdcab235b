"""Motion and efforts of the joints at a tick, and which of their rows count."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...model.robot import RobotModel
from ..gates.choose import spike_gate
from ..gates.spikes import GatedRow
from .polynomials import motion_at
from .series import Series

JOINT_DEGREE = 4              # of the position; the velocity is a cubic
MIN_JOINT_READINGS = 3        # in the window of a fit
RELATIVE_EFFORT_FLOOR = 0.005   # of the effort limit: the smallest scale of the gate
STALL_EFFORT = 0.5            # of the effort limit, at which a joint that does not move is stalled
JOINT_LOG_PERIOD = 0.045      # [s] between rows in the frame checks


class JointMotion(NamedTuple):
    """mu, mu_dot, mu_ddot [rad or m; per s; per s^2], effort [N m or N] (n,) at a tick.

    `mask_reasons` (n,): why a joint's row does not count, '' where it does.
    """

    mu: np.ndarray
    mu_dot: np.ndarray
    mu_ddot: np.ndarray
    effort: np.ndarray
    mask_reasons: list[str]


class JointFilter:
    """A local polynomial through positions and velocities together; efforts are interpolated.

    Times [s] are relative to the front end's origin. `on_reject(role, reason)` counts rejections,
    `log(name, t, *values)` keeps what the frame checks need.
    """

    def __init__(self, config: Config, robot: RobotModel,
                 on_reject: Callable[[str, str], None] = lambda role, reason: None,
                 log: Callable[..., None] = lambda name, t, *values: None):
        self._on_reject, self._log = on_reject, log
        settings = config.joint_states
        self._settings, self._half_window = settings, config.filter.joint_window
        self._n = n = len(config.robot.joints)
        self._ratio = settings.position_stddev / settings.velocity_stddev
        low, high = joint_limits(config, robot)
        self._low, self._high = low.tolist(), high.tolist()
        self._effort_masked = [joint in settings.effort_masked for joint in config.robot.joints]
        self._effort_limits = robot.effort_limits.tolist()
        effort_floor = [RELATIVE_EFFORT_FLOOR * (limit if math.isfinite(limit) else 1.0)
                        for limit in self._effort_limits]
        self._gate = spike_gate(config.filter.gates, [settings.position_stddev] * n
                                + [settings.velocity_stddev] * n + effort_floor)
        # position, velocity, effort, and 1 where one of them is erratic
        self._series = Series(4 * n)
        self._none_erratic = [0.0] * n
        self._logged = -math.inf

    def reset(self) -> None:
        """Forget all signals."""
        self._series.clear()
        self._gate.reset()
        self._logged = -math.inf

    def add(self, t: float, reading: Sequence[float]) -> None:
        """Add a reading (3 n,) later than the last; it counts once the gate has decided on it."""
        for gated in self._gate.gate(t, reading):
            self._append(gated)
        if t - self._logged > JOINT_LOG_PERIOD:
            self._logged = t
            self._log("joints", t, reading)

    def flush(self) -> None:
        """Add what the gate still holds, at the end of a recording."""
        for gated in self._gate.flush():
            self._append(gated)

    def discard_after(self, t: float) -> None:
        """Remove the readings after t, since the joints were frozen."""
        self._gate.reset()
        self._series.discard_after(t)

    def _append(self, gated: GatedRow) -> None:
        n, erratic = self._n, self._none_erratic
        if gated.spikes is not None:
            for k, field in enumerate(("position", "velocity", "effort")):
                if gated.spikes[k * n:(k + 1) * n].any():
                    self._on_reject("joint_states", f"{field} spike")
        if gated.erratic is not None:
            erratic = gated.erratic.reshape(3, n).any(axis=0).astype(float).tolist()
            self._on_reject("joint_states", "erratic")
        self._series.append(gated.t, [*gated.row, *erratic])

    def motion(self, t: float) -> JointMotion | None:
        """State at t; None where no position was ever received before t.

        A silent arm is assumed to stand still where it was last seen: its own rows do not count,
        but the vehicle's may.
        """
        n, latest, fit = self._n, self._series.latest(t), None
        if latest is None:
            return None
        if self._series.gap_around(t) <= self._settings.timeout:
            fit = self._fit(t)
        now = self._series.interpolate(t)
        if fit is None or now is None:
            zero = np.zeros(n)
            return JointMotion(latest[1][:n], zero, zero, zero, ["no joint state"] * n)
        mu, mu_dot, mu_ddot = fit
        values = now.tolist()
        effort, erratic = values[2 * n:3 * n], values[3 * n:]
        known = [e if math.isfinite(e) else 0.0 for e in effort]
        return JointMotion(np.array(mu), np.array(mu_dot), np.array(mu_ddot), np.array(known),
                           self._mask_reasons(mu, mu_dot, effort, erratic))

    def _fit(self, t: float) -> list[list[float]] | None:
        """[position, velocity, acceleration] at t; velocities may be missing."""
        n = self._n
        times, rows = self._series.window(t - self._half_window, t + self._half_window)
        if len(times) < MIN_JOINT_READINGS:
            return None
        positions, velocities = rows[:, :n], rows[:, n:2 * n]
        degree = min(JOINT_DEGREE, 2 * len(times) - 2)
        fit = motion_at(times, positions, velocities, t, degree, self._ratio)
        if fit is None or not math.isfinite(fit[0][0]):
            degree = min(JOINT_DEGREE, len(times) - 2)
            fit = motion_at(times, positions, None, t, degree, self._ratio)
        return fit

    def _mask_reasons(self, mu: Sequence[float], mu_dot: Sequence[float], effort: Sequence[float],
                      erratic: Sequence[float]) -> list[str]:
        """Why each joint's row does not count, '' where it does.

        Coulomb friction is set-valued at rest, and a stop carries load: the model cannot hold.
        """
        margin, rest_velocity = self._settings.stop_margin, self._settings.rest_velocity
        reasons = [""] * self._n
        for j in range(self._n):
            if self._effort_masked[j]:
                reasons[j] = "effort masked by setting"
            elif not math.isfinite(effort[j]):
                reasons[j] = "no effort"
            elif erratic[j]:
                reasons[j] = "joint readings erratic"
            elif not self._low[j] + margin <= mu[j] <= self._high[j] - margin:
                reasons[j] = "joint at its stop"
            elif abs(mu_dot[j]) < rest_velocity:
                stalled = abs(effort[j]) > STALL_EFFORT * self._effort_limits[j]
                reasons[j] = "joint stalled" if stalled else "joint at rest"
        return reasons


def joint_limits(config: Config, robot: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Position limits (n,), (n,) [rad or m]: the settings', else the URDF's."""
    settings, arm = config.joint_states, robot.arm
    none = np.zeros(0)
    low = settings.limits_low or (arm.limits_low if arm else none)
    high = settings.limits_high or (arm.limits_high if arm else none)
    return np.array(low), np.array(high)
