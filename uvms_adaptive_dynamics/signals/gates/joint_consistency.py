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
# [s] without a contradiction after which a joint counts again wherever its velocities during the
# contradictions may have led it.
RECONCILED = 0.3


class _Reading(NamedTuple):
    """Positions, velocities and integrated velocities, all (n,), at t [s]."""

    t: float
    position: Sequence[float]
    velocity: Sequence[float]
    integral: Sequence[float]


class _Displacement:
    """A jump of the positions that has not ended.

    `before`: the last reading before it; `size` (n,) [rad or m]: of the jump; `doubt` (n,) [rad or
    m]: how far the velocities may have led while they contradicted the positions, the last time at
    `contradicted` [s]: which of the two was right is unknown, so their integral is in error by as
    much."""

    def __init__(self, before: _Reading, size: Sequence[float]):
        self.before, self.size = before, size
        self.doubt, self.contradicted = [0.0] * len(size), before.t

    def add_contradiction(self, last: _Reading, now: _Reading) -> None:
        """The newest reading contradicts those before it."""
        step, self.contradicted = now.t - last.t, now.t
        self.doubt = [d + step * max(abs(u), abs(v))
                      for d, u, v in zip(self.doubt, last.velocity, now.velocity)]

    def is_undone(self, now: _Reading) -> bool:
        """Whether the positions are back where the velocities lead."""
        left = list(map(abs, _difference(self.before, now)))
        near = min(self._drift(now), max(RETURNED, UNDONE_SHARE * max(map(abs, self.size))))
        agrees = now.t - self.contradicted > RECONCILED
        return all(way <= near or (agrees and way <= doubt)
                   for way, doubt in zip(left, self.doubt))

    def slips(self, now: _Reading) -> dict[int, float]:
        """Size of the jump of each joint that has stayed where it jumped to."""
        return {j: first for j, (first, size)
                in enumerate(zip(self.size, _difference(self.before, now)))
                if abs(first) > RETURNED and abs(size - first) <= self._drift(now)}

    def _drift(self, now: _Reading) -> float:
        """Distance [rad or m] from where the velocities lead that is no displacement."""
        return RETURNED + DRIFT * (now.t - self.before.t)


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
        self._displacement: _Displacement | None = None

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
        now = _Reading(t, position, velocity, [0.0] * self._n)
        self._after_gap, self.wrong_since = min(self._after_gap, t), math.inf
        if not self._past:
            self._past.append(now)
            return True
        last = self._past[-1]
        now = now._replace(integral=[
            i + 0.5 * (t - last.t) * (u + v)
            for i, u, v in zip(last.integral, last.velocity, velocity)])
        jump = _difference(last, now)
        most = self._most(last, now)
        far = [abs(size) > allowed for size, allowed in zip(jump, most)]
        if any(far):
            self.worst = _largest(list(map(abs, jump)))
        moved = any(yes and not self._is_explained(j, now, most[j]) for j, yes in enumerate(far))
        if moved:
            if self._displacement is None and self._returns_over_gap(now):
                self.wrong_since, self._past = self._after_gap, deque([now])
                return False
            self._displacement = self._displacement or _Displacement(last, jump)
            self._past.clear()
        self._past.append(now)
        fits = not any(far) and self._window_fits(judged_joints)
        if self._displacement is None:
            return fits
        if not fits:
            self._displacement.add_contradiction(last, now)
        return self._is_over(self._displacement, now)

    def _window_fits(self, judged_joints: Sequence[bool]) -> bool:
        """Whether the positions of the last COMPARED_SPAN have changed as the velocities say."""
        now, before = self._past[-1], self._past[-2]
        while len(self._past) > 2 and self._past[1].t <= now.t - COMPARED_SPAN:
            self._past.popleft()
        old, period = self._past[0], now.t - before.t
        allowed = [DRIVER_LAG * abs(v - u) + DRIVER_SCALE_ERROR * abs(p - q)
                   + period * max(abs(u), abs(v))
                   for v, u, p, q in zip(now.velocity, old.velocity, now.position, old.position)]
        error = [max(abs(e) - a, 0.0) for e, a in zip(_difference(old, now), allowed)]
        fits = judged(self._scale, error, period, judged_joints)
        if not fits:
            self.worst = _largest([e / usual for e, usual in zip(error, self._scale.value)])
        return fits

    def _is_over(self, displacement: _Displacement, now: _Reading) -> bool:
        """Whether the positions are back; those that have not returned for long are accepted."""
        back, accepted = displacement.is_undone(now), now.t - displacement.before.t > REHOMED
        if accepted:            # a slip keeps its initial size
            self.slips |= {j: round(self.slips.get(j, 0.0) + size, 3)
                           for j, size in displacement.slips(now).items()}
        if back or accepted:
            self._displacement, self._past = None, deque([now])
        return back

    def _returns_over_gap(self, now: _Reading) -> bool:
        """Whether a jump returns to the positions before a gap. Then the readings in between were
        invalid: a driver that starts publishes zeros until it gets its first data."""
        before, self._before_gap = self._before_gap, None
        if before is None or now.t > self._after_gap + REHOMED:
            return False
        way, jump = (max(abs(p - q) for p, q in zip(now.position, other.position))
                     for other in (before, self._past[-1]))
        return way < UNDONE_SHARE * jump

    def _most(self, last: _Reading, now: _Reading) -> list[float]:
        """(n,) [rad or m] Largest difference between positions and velocities within one step."""
        step = now.t - last.t
        most = [JUMP_SPEED * step] * self._n
        if step <= COMPARED_SPAN:
            # a slip exceeds the usual difference and what a late velocity explains
            most = [min(fast, max(SLIP, CONTRADICTION_SCALES * usual) + step * max(abs(u), abs(v)))
                    for fast, usual, u, v in zip(most, self._scale.value, last.velocity,
                                                 now.velocity)]
        return [max(RETURNED, one) for one in most]  # (a speed over almost no time is meaningless)

    def _is_explained(self, j: int, now: _Reading, most: float) -> bool:
        """Whether joint j has not moved apart from its velocity, although they differ: the position
        goes on, within `most`, as it did until now (a velocity is wrong), or it is where the
        velocities lead from an earlier one (only the last position, or its stamp, was wrong)."""
        *earlier, last = self._past
        if not earlier:
            return False
        old = earlier[0]
        speed = (last.position[j] - old.position[j]) / (last.t - old.t)
        step = now.position[j] - last.position[j] - speed * (now.t - last.t)
        return abs(step) <= most or any(abs(_difference(other, now)[j]) <= RETURNED
                                        for other in earlier)


def _largest(values: Sequence[float]) -> int:
    """The index of the largest value."""
    return max(range(len(values)), key=values.__getitem__)


def _difference(a: _Reading, b: _Reading) -> list[float]:
    """Change of each joint's position less that of its integrated velocity."""
    return [p - q - (i - j)
            for p, q, i, j in zip(b.position, a.position, b.integral, a.integral)]
