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

"""When the data were taken that an estimate has learnt from: a recording that comes again tells
nothing new, but would count as if it did."""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

JOINED = 10.0       # [s] between stretches that are kept as one
MOST = 200          # stretches that are kept, the newest ones


class LearnedSpans:
    """Stretches of data time [s]."""

    def __init__(self, earlier: Any = None):
        """earlier: what `lists` gave, of a saved estimate; anything else is none."""
        self._spans = _merged(_usable(earlier))
        self._begin = self._end = float("nan")      # of the stretch that goes on

    def add(self, t: float) -> bool:
        """Add an instant; whether it was learnt from before."""
        if not 0.0 < t - self._end < JOINED:
            self._close()
            self._begin = t
        self._end = t
        place = bisect_right(self._spans, [t, float("inf")]) - 1
        return place >= 0 and t <= self._spans[place][1]

    def lists(self) -> list[list[float]]:
        """[begin, end] of every stretch, by time."""
        open_one = [[self._begin, self._end]] if self._end > self._begin else []
        return _merged([*self._spans, *open_one])[-MOST:]

    def _close(self) -> None:
        self._spans = self.lists()


def _usable(found: Any) -> list[list[float]]:
    if not isinstance(found, list):
        return []
    return [[float(span[0]), float(span[1])] for span in found
            if isinstance(span, list) and len(span) == 2
            and all(isinstance(end, (int, float)) for end in span) and span[0] < span[1]]


def _merged(spans: Iterable[list[float]]) -> list[list[float]]:
    merged: list[list[float]] = []
    for begin, end in sorted(spans):
        if merged and begin - merged[-1][1] < JOINED:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged
