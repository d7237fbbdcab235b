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

"""Detection of gyro axes that keep one value while the attitude turns about them.

A coarse gyro at rest keeps its value too, and a vehicle may not turn about an axis for long. The
attitude proves an axis dead: its turns about it, less those of the value, vary by far more than
they do about the axes that work."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from statistics import median

from ...model.normal import NORMAL_MEDIAN
from ...model.rotations import from_down, to_rotation_vector, turned_back

PROOF_SPAN = 0.25          # [s] over which turns are compared
LONGEST_PAIR = 0.25   # [s] between readings; over longer ones the gyro's turn is unknown
SPANS_REMEMBERED = 60     # of each axis, from which its scatter is estimated
LEAST_WORKING = 4        # of all axes that work
# [rad] Smallest scatter: attitude noise of .1 degrees at both ends.
SMALLEST_ERROR = 0.0025
DEAD_SIGMAS, PROOFS = 5.0, 2   # of the scatter, and spans beyond it that prove an axis dead
SAME_RATE = 1e-12          # relative, of rates turned to the body and back


class DeadAxes:
    """`since` [s] of each of the gyro's axes: since when its turns have been missing, None for one
    that works. axes (9,): takes the gyro's axes to the body's. Times [s] increase."""

    def __init__(self, axes: Sequence[float]):
        self._axes = axes
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.since: list[float | None] = [None, None, None]
        self._errors = [deque[float](maxlen=SPANS_REMEMBERED) for _ in range(3)]
        self._kept = [deque[tuple[float, float]](maxlen=SPANS_REMEMBERED) for _ in range(3)]
        self._rates: Sequence[float] = ()
        self._changed = [-math.inf] * 3         # [s] when each axis last had another value
        self._t = -math.inf
        self._down: Sequence[float] = ()        # down vector and heading where the span begins

    def add(self, t: float, values: Sequence[float]) -> bool:
        """Add an IMU reading, as listed in `decoder`; returns whether an axis has been found dead.
        """
        rates, before, last = turned_back(self._axes, values[3:6]), self._rates, self._t
        self._rates, self._t = rates, t
        if not before or t - last > LONGEST_PAIR:
            self._begin(t, values)
            return False
        step, rounding = 0.5 * (t - last), SAME_RATE * max(map(abs, rates))
        for k, (old, new) in enumerate(zip(before, rates)):
            self._turn[k] += step * (old + new)
            if abs(new - old) > rounding:
                self._is_kept[k] = False
                self.since[k] = None
                self._kept[k].clear()
                self._changed[k] = t
        if t - self._from < PROOF_SPAN:
            return False
        found = self._judge(values)
        self._begin(t, values)
        return found

    def _begin(self, t: float, values: Sequence[float]) -> None:
        self._from, self._down = t, [*values[:3], values[9]]
        self._turn, self._is_kept = [0.0, 0.0, 0.0], [True, True, True]

    def _judge(self, values: Sequence[float]) -> bool:
        """Compare the turns of a span that ends with these values."""
        *down, heading = self._down
        if math.isnan(down[0]) or math.isnan(values[0]):
            return False
        turn = to_rotation_vector(from_down(down, heading).T @ from_down(values[:3], values[9]))
        errors = [a - b for a, b in zip(turned_back(self._axes, turn.tolist()), self._turn)]
        for k, error in enumerate(errors):
            if self._is_kept[k]:
                self._kept[k].append((self._from, error))
            else:
                self._errors[k].append(error)
        working = [x - median(errors) for errors in self._errors if errors for x in errors]
        if len(working) < LEAST_WORKING:
            return False
        limit = DEAD_SIGMAS * max(median(map(abs, working)) / NORMAL_MEDIAN, SMALLEST_ERROR)
        return any([self._find(k, limit) for k in range(3) if self.since[k] is None])

    def _find(self, k: int, limit: float) -> bool:
        """Whether the turns about axis k show that it is dead."""
        usual = median([error for _, error in self._kept[k]] or [0.0])
        missed = [n for n, (_, error) in enumerate(self._kept[k]) if abs(error - usual) > limit]
        if len(missed) < PROOFS:
            return False
        # (a turn may have begun in the span before, too small to be seen there)
        self.since[k] = self._kept[k][missed[0] - 1][0] if missed[0] else self._changed[k]
        return True
