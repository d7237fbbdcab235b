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

"""Detection of two nodes on one topic: values that alternate between two smooth series.

A message does not tell who sent it. A single sensor's reading is close to the previous one. With
two contradicting publishers, nearly every reading is far from the previous one and close to an
older one, which noise on several values never achieves. A vibration at half a sensor's rate looks
the same, so the times must show two series too: uneven intervals, or a higher rate than before.
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence

# Distances from which compared values are far apart: an IMU's attitude (three components of a unit
# vector) and rates [rad/s], but not its vibrating force; velocities of a DVL [m/s]; positions of
# joints [rad or m]; the thrust of commands [N], since a controller that holds station changes a
# command across the dead band and back at once; wrenches [N, N m].
IMU_FAR = (0.05,) * 6
DVL_FAR = (0.1,) * 3
JOINT_FAR = 0.03
THRUST_FAR = 1.0
WRENCH_FAR = (1.0,) * 3 + (0.2,) * 3
OLDER = 4               # older readings that are searched for a close one
NEAR_SHARE = 0.25       # of the distance to the previous reading
RETURNING_SHARE = 0.5   # share of the readings judged that must alternate
LEAST_READINGS, JUDGED_SPAN = 20, 0.5   # that are judged, over at least this time [s]
UNEVEN, RATE_RATIO = 0.1, 1.4  # spread of the intervals over their mean; rate over the usual one
HOLD = 5.0              # [s] without alternation, after which there is one publisher again


class PublisherGate:
    """Watches the readings of some roles; times [s] increase.

    `far` (role -> (W,)): distances from which the first W values of two readings are far apart.
    """

    def __init__(self, far: Mapping[str, Sequence[float]]):
        self._series = {role: _Series(limits) for role, limits in far.items()}

    def reset(self) -> None:
        """Forget all readings."""
        for series in self._series.values():
            series.reset()

    def gate(self, role: str, t: float, values: Sequence[float],
             spread: bool = False) -> float | None:
        """Add a reading; returns the time [s] since which two nodes publish, None if one does.
        spread: its stamp came at an uneven interval, and t is where it belongs in a batch."""
        series = self._series.get(role)
        return None if series is None else series.add(t, values, spread)


class _Series:
    """The readings of one role."""

    def __init__(self, far: Sequence[float]):
        self._far = tuple(far)
        self.reset()

    def reset(self) -> None:
        """Forget all readings."""
        self._older: deque[Sequence[float]] = deque(maxlen=OLDER)
        self._marks: deque[tuple[float, bool]] = deque()     # time, whether it went back
        self._back = 0                                       # number of marks that went back
        self._usual = 0.0           # [s] mean interval of one publisher, zero while unknown
        self._since, self._last = math.inf, -math.inf        # [s] first, last sign of two

    def add(self, t: float, values: Sequence[float], spread: bool) -> float | None:
        """See `PublisherGate.gate`."""
        self._mark(t, self._goes_back(values))
        begin = self._marks[0][0]
        if len(self._marks) >= LEAST_READINGS and t - begin >= JUDGED_SPAN:
            interval = (t - begin) / (len(self._marks) - 1)
            if self._back < RETURNING_SHARE * len(self._marks):
                if t - self._last > HOLD:
                    self._since = math.inf
                    self._usual = interval
            elif spread or self._usual > RATE_RATIO * interval or self._is_uneven(interval):
                self._since = min(self._since, next(at for at, back in self._marks if back))
                self._last = t
        return None if math.isinf(self._since) else self._since

    def _goes_back(self, values: Sequence[float]) -> bool:
        """Whether a reading is far from the previous one and close to an older one."""
        older, far = self._older, self._far
        before = older[-1] if older else values
        older.append(values)
        # (zip stops at the compared values; NaN never compares as far)
        far_off = max((x for a, b, f in zip(values, before, far)
                       if (x := abs(a - b) / f) > 1.0), default=0.0)
        if not far_off:
            return False
        near = NEAR_SHARE * far_off
        return any(not any(abs(a - b) > near * f for a, b, f in zip(values, row, far))
                   for row in list(older)[:-2])

    def _mark(self, t: float, back: bool) -> None:
        marks = self._marks
        marks.append((t, back))
        self._back += back
        while len(marks) > LEAST_READINGS and t - marks[1][0] >= JUDGED_SPAN:
            self._back -= marks.popleft()[1]

    def _is_uneven(self, mean: float) -> bool:
        """Whether the intervals are too uneven for a single driver."""
        times = [t for t, _ in self._marks]
        return sum(abs(b - a - mean) for a, b in zip(times, times[1:])) > (
            UNEVEN * mean * (len(times) - 1))
