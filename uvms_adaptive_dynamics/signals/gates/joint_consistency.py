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

"""Consistency of joint readings: positions change as the velocities say (docs/signals.md, "Garbage
and outages")."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from .resolution import Resolution
from .scale import CONTRADICTION_SCALES, SCALE_STEP, RunningScale, judged

COMPARED_SPAN = 0.1       # [s] over which positions and velocities are compared
# Standard deviation of the difference by noise alone, in those of a position: two positions, and
# velocities that a driver derives from positions over some time.
NOISE_FACTOR = 2.0
# Tolerated errors of drivers: velocity delayed by a filter [s], relative error of its scale (and a
# reading that is one period older than its stamp).
DRIVER_LAG, DRIVER_SCALE_ERROR = 0.03, 0.1
# [rad/s or m/s] Apparent speed between two readings, beyond the published velocity, that no arm's
# joint reaches: the position has jumped.
JUMP_SPEED = 5.0
# [rad or m] Step, beyond what a late velocity explains, that is a jump at any speed: an encoder's
# slip.
SLIP = 0.05
# A jump is over once the positions are back where the velocities lead: within this distance
# [rad or m], plus the drift by a velocity's bias [rad/s or m/s], and within a share of the jump.
RETURNED, DRIFT, UNDONE_SHARE = 0.02, 0.01, 0.5
REHOMED = 15.0            # [s] after which positions that have not returned are accepted


class _Reading(NamedTuple):
    """Positions, velocities and integrated velocities, all (n,), at t [s]."""

    t: float
    position: Sequence[float]
    velocity: Sequence[float]
    integral: Sequence[float]


class JointConsistency:
    """Judges readings by each joint's change of position less the integral of its velocity.

    `slips`: jump [rad or m] of each joint whose position has jumped and stayed; `wrong_since` [s]:
    start of readings that were wrong although they were consistent, infinite if there are none;
    `worst`: the joint with the largest error in the last inconsistent reading.
    """

    def __init__(self, joints: int, position_stddev: float):
        self._n, self._floor = joints, NOISE_FACTOR * position_stddev
        self.slips: dict[int, float] = {}
        self.worst = 0
        self.reset()

    def reset(self) -> None:
        """Forget all readings and the scale."""
        self._scale = RunningScale([self._floor] * self._n, SCALE_STEP)
        self._resolution = Resolution(self._n)
        self._past: deque[_Reading] = deque()
        self._judged: Sequence[bool] = ()       # (n,) joints with a velocity
        self.restart()

    def restart(self) -> None:
        """Forget the readings, as across a gap, except the joints' last positions; the scale stays.
        """
        self._before_gap = self._past[-1] if self._past else None
        self._after_gap, self.wrong_since = math.inf, math.inf    # [s]
        self._past = deque()
        self._before_jump: _Reading | None = None      # last reading before a jump, until it ends
        self._jump: Sequence[float] = ()               # (n,) [rad or m] size of the jump

    def fits(self, t: float, position: Sequence[float], velocity: Sequence[float]) -> bool:
        """Whether a reading, (n,) and (n,), is consistent with those before it; joints without a
        velocity (NaN) always are."""
        judged_joints = list(map(math.isfinite, velocity))
        if judged_joints != self._judged:
            self.restart()
            self._judged, self._before_gap = judged_joints, None
        if not any(judged_joints):
            return True
        if not all(judged_joints):
            position = [q if known else 0.0 for q, known in zip(position, judged_joints)]
            velocity = [v if known else 0.0 for v, known in zip(velocity, judged_joints)]
        if self._resolution.add(position):
            self._scale.set_resolution([NOISE_FACTOR * s for s in self._resolution.stddev])
        integral: Sequence[float] = [0.0] * self._n
        if self._past:
            last = self._past[-1]
            integral = [i + 0.5 * (t - last.t) * (u + v)
                        for i, u, v in zip(last.integral, last.velocity, velocity)]
        self._past.append(_Reading(t, position, velocity, integral))
        self._after_gap, self.wrong_since = min(self._after_gap, t), math.inf
        if self._displaced():
            return False
        while len(self._past) > 2 and self._past[1].t <= t - COMPARED_SPAN:
            self._past.popleft()
        if len(self._past) < 2:
            return True
        old, now = self._past[0], self._past[-1]
        period = t - self._past[-2].t
        allowed = [DRIVER_LAG * abs(v - u) + DRIVER_SCALE_ERROR * abs(p - q)
                   + period * max(abs(u), abs(v))
                   for v, u, p, q in zip(now.velocity, old.velocity, now.position, old.position)]
        error = [max(abs(e) - a, 0.0) for e, a in zip(_difference(old, now), allowed)]
        fits = judged(self._scale, error, period, judged_joints)
        if not fits:
            self.worst = _largest([e / usual for e, usual in zip(error, self._scale.value)])
        return fits

    def _displaced(self) -> bool:
        """Whether the positions have jumped and not yet returned to where the velocities lead."""
        if len(self._past) < 2:
            return False
        last, now = self._past[-2], self._past[-1]
        if self._before_jump is None:
            self._jump = _difference(last, now)
            if not self._has_jumped(last, now):
                return False
            self.worst = _largest(list(map(abs, self._jump)))
            if self._returns_over_gap(last, now):
                self.wrong_since, self._past = self._after_gap, deque([now])
                return True
            self._before_jump = last
        since = now.t - self._before_jump.t
        jump = _difference(self._before_jump, now)
        drifted = RETURNED + DRIFT * since
        undone = max(RETURNED, UNDONE_SHARE * max(map(abs, self._jump)))
        back = max(map(abs, jump)) <= min(drifted, undone)
        if since > REHOMED:     # a slip keeps its initial size
            self.slips |= {j: round(self.slips.get(j, 0.0) + first, 3)
                           for j, (first, size) in enumerate(zip(self._jump, jump))
                           if abs(first) > RETURNED and abs(size - first) <= drifted}
        if back or since > REHOMED:
            self._before_jump = None
            self._past = deque([now])
        return not back

    def _returns_over_gap(self, last: _Reading, now: _Reading) -> bool:
        """Whether a jump returns to the positions before a gap. Then the readings in between were
        invalid: a driver that starts publishes zeros until it gets its first data."""
        before, self._before_gap = self._before_gap, None
        if before is None or now.t > self._after_gap + REHOMED:
            return False
        way, jump = (max(abs(p - q) for p, q in zip(now.position, other.position))
                     for other in (before, last))
        return way < UNDONE_SHARE * jump

    def _has_jumped(self, last: _Reading, now: _Reading) -> bool:
        """Whether `_jump` exceeds what a joint can move between two readings."""
        step = now.t - last.t
        for jump, usual, u, v in zip(self._jump, self._scale.value, last.velocity, now.velocity):
            most = JUMP_SPEED * step
            if step <= COMPARED_SPAN:
                # a slip exceeds the usual difference and what a late velocity explains
                most = min(most, max(SLIP, CONTRADICTION_SCALES * usual)
                           + step * max(abs(u), abs(v)))
            # (stamps may be so close together that a speed is meaningless)
            if abs(jump) > max(RETURNED, most):
                return True
        return False


def _largest(values: Sequence[float]) -> int:
    """The index of the largest value."""
    return max(range(len(values)), key=values.__getitem__)


def _difference(a: _Reading, b: _Reading) -> list[float]:
    """Change of each joint's position less that of its integrated velocity."""
    return [p - q - (i - j)
            for p, q, i, j in zip(b.position, a.position, b.integral, a.integral)]
