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

"""A growing series of timestamped rows, with search, interpolation and windows by time."""
from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

CAPACITY = 2048    # rows; when it is full, the older half is dropped


class Series:
    """Rows of `width` numbers with increasing times [s]; keeps at least the newest 1024."""

    def __init__(self, width: int):
        self._t = np.zeros(CAPACITY)
        self._x = np.zeros((CAPACITY, width))
        self._times: list[float] = []      # _t as a list, five times faster to search

    def __len__(self) -> int:
        return len(self._times)

    @property
    def last_time(self) -> float:
        """Time of the newest row, minus infinity if empty."""
        return self._times[-1] if self._times else -math.inf

    @property
    def last_row(self) -> np.ndarray:
        """The newest row (width,)."""
        return self._x[len(self._times) - 1]

    def append(self, t: float, row: Sequence[float]) -> None:
        """Add a row; `t` must be later than `last_time` (not checked)."""
        n = len(self._times)
        if n == CAPACITY:
            n = CAPACITY // 2
            self._t[:n], self._x[:n] = self._t[n:], self._x[n:]
            del self._times[:n]
        self._t[n], self._x[n] = t, row
        self._times.append(t)

    def clear(self) -> None:
        """Remove all rows."""
        self._times.clear()

    def discard_after(self, t: float) -> None:
        """Remove the rows later than t."""
        del self._times[bisect_right(self._times, t):]

    def forget(self, column: int, since: float) -> None:
        """Set a column's numbers from `since` [s] on to NaN."""
        self._x[bisect_left(self._times, since):len(self._times), column] = math.nan

    def window(self, begin: float, end: float) -> tuple[np.ndarray, np.ndarray]:
        """(times (K,), rows (K, width)) from begin to end, both included; views, not copies."""
        a, b = bisect_left(self._times, begin), bisect_right(self._times, end)
        return self._t[a:b], self._x[a:b]

    def interpolate(self, t: float) -> np.ndarray | None:
        """Linear interpolation (width,) at t; None outside the series."""
        times = self._times
        b = bisect_left(times, t)
        if b < len(times) and times[b] == t:
            return self._x[b]
        if b == 0 or b == len(times):
            return None
        share = (t - times[b - 1]) / (times[b] - times[b - 1])
        return (1 - share) * self._x[b - 1] + share * self._x[b]

    def latest(self, t: float) -> tuple[float, np.ndarray] | None:
        """(time, row) of the newest row not after t; None if there is none."""
        b = bisect_right(self._times, t)
        return (self._times[b - 1], self._x[b - 1]) if b else None

    def gap_around(self, t: float) -> float:
        """The larger distance [s] to the rows before and after t; infinite if one is missing."""
        times = self._times
        b = bisect_right(times, t)
        before = t - times[b - 1] if b else math.inf
        if before == 0.0:
            return 0.0
        after = times[b] - t if b < len(times) else math.inf
        return max(before, after)
