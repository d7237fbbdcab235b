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

"""Motion and efforts of the joints at a tick, and the masks of their rows."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...model.robot import RobotModel
from ...model.sample import BY_SETTING, JOINT_AT_REST
from ..decode.sensor_clock import SensorClock
from ..decode.turns import within_turn
from ..gates.joint_gates import JOINT_NEIGHBOURS, JointGates, effort_masked
from ..gates.spikes import GatedRow
from .pace import half_window, longest_gap, window_wait
from .polynomials import motion_at, polynomial_at
from .series import Series
from .thinning import BlockAverage

JOINT_DEGREE = 4              # of the position; the velocity is a cubic
MIN_JOINT_READINGS = 3        # in the window of a fit
# Of the effort limit, from which a joint at rest is stalled: its motor gives what it can. With less
# it may simply hold a load: the Alpha's own weight in water takes half of the limit.
STALL_EFFORT = 0.9
MIN_EFFORTS = 3               # in a tick's period, from which they are averaged
# [s] at rest after which a silent arm is assumed to stay in place: drivers fall silent when their
# arm is switched off.
PARKED = 2.0
NO_EFFORT, ERRATIC = "no effort", "joint readings erratic"
NO_STATE, CONTRADICT = "no joint state", "joint readings contradict each other"
# A single misplaced joint masks all of them, since the load of each depends on its position.
MISPLACED = "position of a joint in another unit"
JOINT_LOG_PERIOD = 0.045      # [s] between rows for the frame checks


class JointMotion(NamedTuple):
    """mu, mu_dot, mu_ddot [rad or m; per s; per s^2], effort [N m or N] (n,) at a tick.

    `mask_reasons` (n,): why each joint's row is masked, '' if it is not. `lost`: why the arm's
    position and motion are unknown, '' if they are known.
    """

    mu: np.ndarray
    mu_dot: np.ndarray
    mu_ddot: np.ndarray
    effort: np.ndarray
    mask_reasons: list[str]
    lost: str = ""


class JointFilter:
    """Fits a local polynomial to positions and velocities together; efforts are averaged over a
    tick's period if several fall into it, else interpolated.

    Times [s] are relative to the front end's origin. Windows and gaps follow the rate of `clock` if
    it is slower than the settings assume. `on_reject(role, reason)` counts rejections,
    `log(name, t, *values)` feeds the frame checks.
    """

    def __init__(self, config: Config, robot: RobotModel, clock: SensorClock,
                 on_reject: Callable[[str, str], None] = lambda role, reason: None,
                 log: Callable[..., None] = lambda name, t, *values: None):
        self._log = log
        settings = config.joint_states
        self._settings, self._half_window = settings, config.filter.joint_window
        self._clock, self._half_tick = clock, 0.5 * config.filter.period
        self._n = n = len(config.robot.joints)
        self._ratio = settings.position_stddev / settings.velocity_stddev
        low, high = joint_limits(config, robot)
        self._low, self._high = low.tolist(), high.tolist()
        self._effort_masked = effort_masked(config)
        self._effort_limits, self._radian = robot.effort_limits.tolist(), robot.radian.tolist()
        self.gates = JointGates(config, robot, on_reject)
        self._thin = BlockAverage()
        # position, velocity, effort, and 1 if one of them is erratic
        self._series = Series(4 * n)
        self.reset()

    def change_settings(self, config: Config, gates_change: bool) -> None:
        """Use new settings from now on; gates_change: `filter.gates` has changed."""
        if gates_change:
            self.flush()
        self._settings, self._effort_masked = config.joint_states, effort_masked(config)
        self.gates.change_settings(config, gates_change)

    def reset(self) -> None:
        """Forget all signals."""
        self._series.clear()
        self.gates.reset()
        self._thin.reset()
        self._logged = -math.inf
        # Positions and time [s] of the last tick with a motion; last time [s] at which it moved.
        self._seen: list[float] | None = None
        self._seen_at = self._moved_at = -math.inf

    def add(self, t: float, reading: Sequence[float]) -> None:
        """Add a reading (3 n,) later than the last; it is used once the gates have decided."""
        possible = self.gates.possible(reading)
        used = self.gates.unrepeated(t, possible)
        for column, since in self.gates.unmeasured_since.items():
            self._series.forget(column, since)
        self._append(self.gates.gate(t, used))
        if t - self._logged > JOINT_LOG_PERIOD:
            self._logged = t
            # The checks get impossible efforts unchanged, since these reveal another unit.
            self._log("joints", t, [raw if math.isnan(one) else kept
                                    for raw, one, kept in zip(reading, possible, used)])

    def flush(self) -> None:
        """Add what the gate still holds, at the end of a recording."""
        self._append(self.gates.flush())

    def discard_after(self, t: float) -> None:
        """Remove the readings after t, from frozen joints."""
        self.gates.discard()
        self._series.discard_after(t)

    def _append(self, found: list[GatedRow]) -> None:
        for gated in found:
            row = self.gates.used(gated, self._series.last_time, self._longest_gap())
            if (thinned := self._thin.add(gated.t, row)) is not None:
                self._series.append(*thinned)

    def _longest_gap(self) -> float:
        return longest_gap(self._settings.timeout, self._clock.period)

    def motion(self, t: float) -> JointMotion | None:
        """State at t; None if no position was received before t.

        An arm that was parked when it fell silent is assumed to be still where it was last seen:
        its own rows are masked, but the vehicle's may be valid.
        """
        n, latest, fit = self._n, self._series.latest(t), None
        if latest is None:
            return None
        half = half_window(self._half_window, self._clock.period)
        if self.gates.misplaced:
            return self._unseen(MISPLACED, latest[1])._replace(lost=MISPLACED)
        if self.gates.contradictions.cover(t - half, t + half):
            return self._unseen(CONTRADICT, latest[1])
        if self._series.gap_around(t) <= self._longest_gap():
            fit = self._fit(t, half)
        effort = self._effort(t)
        if fit is None or effort is None:
            return self._unseen(NO_STATE, latest[1])
        mu, mu_dot, mu_ddot = fit
        self._seen, self._seen_at = mu, t
        rest = self._settings.rest_velocity
        if any(abs(speed) > rest * radian for speed, radian in zip(mu_dot, self._radian)):
            self._moved_at = t
        known = [e if math.isfinite(e) else 0.0 for e in effort[:n]]
        return JointMotion(np.array(mu), np.array(mu_dot), np.array(mu_ddot), np.array(known),
                           self._mask_reasons(mu, mu_dot, effort[:n], effort[n:]))

    def wait(self) -> float:
        """[s] of data after a tick until everything for its motion has arrived."""
        return window_wait(self._half_window, self._clock, JOINT_NEIGHBOURS)

    def _unseen(self, reason: str, latest: np.ndarray) -> JointMotion:
        """An arm at rest where it was last seen."""
        zero = np.zeros(self._n)
        mu = latest[:self._n] if self._seen is None else np.array(self._seen)
        # Contradictions are brief while messages come; a silent arm may do anything.
        parked = 0.0 if reason == CONTRADICT else PARKED
        moved = self._seen is None or self._seen_at - self._moved_at <= parked
        return JointMotion(mu, zero, zero, zero, [reason] * self._n, lost=reason if moved else "")

    def _effort(self, t: float) -> list[float] | None:
        """Efforts (n,) and marks of erratic readings (n,) at t, None outside the series."""
        first, last = 2 * self._n, 3 * self._n
        now = self._series.interpolate(t)
        if now is None:
            return None
        times, rows = self._series.window(t - self._half_tick, t + self._half_tick)
        if len(times) < MIN_EFFORTS:
            return [*self._bridged(t, now[first:last].tolist()), *now[last:].tolist()]
        # Fit a line, since the readings need not be centred on the tick.
        line = polynomial_at(times, rows[:, first:last], t, 1)
        return None if line is None else [*self._bridged(t, line[0]), *now[last:].tolist()]

    def _bridged(self, t: float, effort: Sequence[float]) -> list[float]:
        """Efforts (n,) at t; those that a message next to t lacks are interpolated between the
        nearest messages with one, as positions are where a message is missing."""
        found, missing = list(effort), [
            j for j, value in enumerate(effort)
            if not math.isfinite(value) and not self._effort_masked[j]]
        if missing:
            gap = self._longest_gap()
            times, rows = self._series.window(t - gap, t + gap)
            for j in missing:
                readings = rows[:, 2 * self._n + j]
                known = np.isfinite(readings)
                at = times[known]
                k = int(np.searchsorted(at, t))
                if 0 < k < at.size and at[k] - at[k - 1] <= gap:
                    found[j] = float(np.interp(t, at, readings[known]))
        return found

    def _fit(self, t: float, half: float) -> list[list[float]] | None:
        """[position, velocity, acceleration] at t; velocities may be missing, even for some joints
        only."""
        n = self._n
        times, rows = self._series.window(t - half, t + half)
        if len(times) < MIN_JOINT_READINGS:
            return None
        positions, velocities = rows[:, :n], rows[:, n:2 * n]
        degree = min(JOINT_DEGREE, 2 * len(times) - 2)
        fit = motion_at(times, positions, velocities, t, degree, self._ratio)
        if fit is None or not all(map(math.isfinite, fit[0])):
            degree = min(JOINT_DEGREE, len(times) - 2)
            by_positions = motion_at(times, positions, None, t, degree, self._ratio)
            if fit is None or by_positions is None:
                return by_positions
            fit = [[a if math.isfinite(a) else b for a, b in zip(both, alone)]
                   for both, alone in zip(fit, by_positions)]
        return fit

    def _mask_reasons(self, mu: Sequence[float], mu_dot: Sequence[float], effort: Sequence[float],
                      erratic: Sequence[float]) -> list[str]:
        """Why each joint's row is masked, '' if it is not.

        The model does not hold at rest, where Coulomb friction is set-valued, or at a stop, which
        carries load.
        """
        settings = self._settings
        reasons = [""] * self._n
        for j in range(self._n):
            margin = settings.stop_margin * self._radian[j]
            if self._effort_masked[j]:
                reasons[j] = BY_SETTING
            elif not math.isfinite(effort[j]):
                reasons[j] = NO_EFFORT
            elif erratic[j]:
                reasons[j] = ERRATIC
            elif not (self._low[j] + margin <= within_turn(mu[j], self._low[j], self._high[j])
                      <= self._high[j] - margin):
                reasons[j] = "joint at its stop"
            elif abs(mu_dot[j]) < settings.rest_velocity * self._radian[j]:
                stalled = abs(effort[j]) > STALL_EFFORT * self._effort_limits[j]
                reasons[j] = "joint stalled" if stalled else JOINT_AT_REST
        return reasons


def joint_limits(config: Config, robot: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Position limits (n,), (n,) [rad or m] from the settings, else from the URDF."""
    settings, arm = config.joint_states, robot.arm
    none = np.zeros(0)
    low = settings.limits_low or (arm.limits_low if arm else none)
    high = settings.limits_high or (arm.limits_high if arm else none)
    return np.array(low), np.array(high)
