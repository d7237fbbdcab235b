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

"""Detection of joint velocities that are a clean multiple or a delayed copy of the positions' rate
(docs/signals.md, "Garbage and outages").

Both velocity and position are measured then, but one is published in another unit, with the wrong
sign, or late. If positions change 57 times as fast as the velocity says, the position is in
degrees, and the joint's place is unknown; otherwise the velocity is wrong, and that joint's motion
is derived from its positions alone. Without a clean relation, nothing tells which one is wrong.
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...model.normal import Z999
from ..checks.fits import integral, lag_of
from ..checks.thruster_windows import at_times
from .joint_consistency import JUMP_SPEED

SPEED_WINDOW = 0.2      # [s] over which mean speeds are computed
READINGS_SPACING = 0.045  # [s] between the readings that are kept
READINGS_MEMORY = 10.0  # [s] of readings that are kept
SHORTEST_FIT = 2.0      # [s] of readings from which they are judged
JUDGE_PERIOD = 1.0      # [s]
LEAST_SPEED = 0.04      # [rad/s or m/s] RMS of a joint that is judged
# Range of a correct velocity's factor on its position's derivative.
FACTOR = 0.6, 1.6
LATE_VELOCITY = 0.06    # [s] twice the delay of drivers' filters
MOST_UNEXPLAINED = 0.02  # share of a velocity's power up to which the relation is clean
DEGREES = math.degrees(1.0)
ALIKE = 0.1             # relative tolerance of a factor that indicates degrees


class Relation(NamedTuple):
    """Velocity = `factor` +- `error` times the position's derivative, `lag` +- `lag_error` [s]
    earlier."""

    factor: float
    error: float
    lag: float
    lag_error: float

    @property
    def is_scaled(self) -> bool:
        """Whether the velocity certainly has another unit or sign."""
        return (self.factor + Z999 * self.error < FACTOR[0]
                or self.factor - Z999 * self.error > FACTOR[1])

    @property
    def is_late(self) -> bool:
        """Whether the velocity is certainly later than drivers' filters make it."""
        return self.lag - Z999 * self.lag_error > LATE_VELOCITY

    @property
    def is_of_degrees(self) -> bool:
        """Whether the position is in degrees."""
        return abs(self.factor * DEGREES - 1.0) < ALIKE


def velocity_relation(t: np.ndarray, position: np.ndarray,
                      velocity: np.ndarray) -> Relation | None:
    """The relation of one joint's velocities (k,) to its positions (k,) at the times t (k,) [s];
    None if the joint hardly moves, or if there is no clean relation."""
    t, by_position, by_velocity = speeds(t, position, velocity)
    if len(t) < 2 or math.sqrt(np.mean(by_position ** 2)) < LEAST_SPEED:
        return None
    overlap = max(1.0, 2.0 * SPEED_WINDOW / float(np.median(np.diff(t))))
    lag, lag_error = lag_of(t, by_position[:, None], by_velocity[:, None], overlap)
    if not math.isfinite(lag_error):
        return None
    x = np.interp(t - lag, t, by_position)
    factor = float(x @ by_velocity) / max(float(x @ x), 1e-300)
    left = float(np.mean((by_velocity - factor * x) ** 2))
    if left > MOST_UNEXPLAINED * float(np.mean(by_velocity ** 2)):
        return None
    error = math.sqrt(left * overlap / float(x @ x))
    return Relation(factor, error, lag, lag_error)


def speeds(t: np.ndarray, position: np.ndarray,
           velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(times, mean speeds from positions, mean speeds from velocities) of one joint, without those
    across gaps and jumps: the change between the means over the SPEED_WINDOW before and after each
    time. Single readings would be smoother between the times than at them, which looks like a lag
    of half a period."""
    step = np.diff(t)
    path = integral(t, velocity[:, None])[:, 0]
    breaks = np.flatnonzero((step > SPEED_WINDOW)
                            | (np.abs(np.diff(position)) > DEGREES * JUMP_SPEED * step))
    inside = (t - t[0] >= SPEED_WINDOW) & (t[-1] - t >= SPEED_WINDOW)
    for k in breaks.tolist():
        inside &= (t <= t[k] - SPEED_WINDOW) | (t >= t[k + 1] + SPEED_WINDOW)
    times = t[inside]
    areas = integral(t, np.column_stack([position - position[0], path]))
    before, here, after = (at_times(times + shift, np.column_stack([t, areas]))
                           for shift in (-SPEED_WINDOW, 0.0, SPEED_WINDOW))
    by_position, by_velocity = ((after - 2.0 * here + before) / SPEED_WINDOW ** 2).T
    return times, by_position, by_velocity


class VelocityFit:
    """Follows all joints; `unused` (n,): joints whose velocity must not be used; `misplaced` (n,):
    joints whose position is in degrees."""

    def __init__(self, joints: int):
        self._joints = range(joints)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._rows: deque[tuple[float, Sequence[float], Sequence[float]]] = deque()
        self._judged_at = -math.inf
        self.unused = [False for _ in self._joints]
        self.misplaced = [False for _ in self._joints]

    def add(self, t: float, position: Sequence[float], velocity: Sequence[float]) -> None:
        """Add a reading, (n,) and (n,), at t [s]; judge the joints if it is due."""
        rows = self._rows
        if not rows:
            self._judged_at = t
        elif t - rows[-1][0] < READINGS_SPACING:
            return
        rows.append((t, position, velocity))
        while t - rows[0][0] > READINGS_MEMORY:
            rows.popleft()
        if t - self._judged_at >= JUDGE_PERIOD and t - rows[0][0] >= SHORTEST_FIT:
            self._judged_at = t
            self._judge()

    def _judge(self) -> None:
        times = np.array([t for t, _, _ in self._rows])
        positions = np.array([position for _, position, _ in self._rows])
        velocities = np.array([velocity for _, _, velocity in self._rows])
        for j in self._joints:
            if not np.isfinite(velocities[:, j]).all():
                continue
            found = velocity_relation(times, positions[:, j], velocities[:, j])
            if found is not None:       # (otherwise the last verdict holds)
                self.misplaced[j] = found.is_scaled and found.is_of_degrees
                self.unused[j] = ((found.is_scaled or found.is_late)
                                  and not self.misplaced[j])
