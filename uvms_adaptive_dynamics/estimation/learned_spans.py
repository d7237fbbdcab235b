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

"""Which data an estimate has learnt from, to notice a recording that is replayed: it has no new
information, but would count as if it had. Stamps alone do not suffice: a computer without a clock
battery begins every dive in 1970."""
from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..model.sample import Sample

JOINED = 10.0       # [s] stretches closer together than this are merged
MOST = 200          # newest stretches kept
STAMP_ERROR = 2e-3  # [s] rounding of a mark's stamp in a file; ticks are farther apart
MARK_PERIOD = 5.0   # [s] between marks, on whole multiples
MOST_MARKS = 2000   # newest marks kept: about three hours
# Readings are equal within this share of the marks' standard deviation. A replayed recording gives
# the same readings to the last digit, but a message too late for its tick changes some.
SAME = 1e-3
# Consecutive equal marks that count as a replay; each equals another by chance once in a thousand.
SAME_MARKS = 3


class LearnedSpans:
    """Stretches of data time [s], and marks: sums of the readings at regular instants in them."""

    def __init__(self, earlier: Any = None, marks: Any = None):
        """earlier, marks: results of `lists` and `mark_lists` from a saved estimate; anything else
        counts as none."""
        self._spans = _merged(_usable(earlier))
        # In order of arrival, since all dives of a robot without a clock have the same stamps;
        # rounded as in a file, so that a save has nothing to round.
        self._marks = deque(_usable_marks(marks), maxlen=MOST_MARKS)
        self._begin = self._end = math.nan      # of the present stretch
        self._last: np.ndarray | None = None    # readings of its newest mark
        self._same = 0                          # consecutive equal marks

    def add(self, sample: Sample) -> float | None:
        """Add a sample. Returns the time [s] from which on its stretch was already learnt from,
        because stamps and readings are the same; None if they differ."""
        t = sample.t
        if not 0.0 < t - self._end < JOINED:
            self._close()
            self._begin = t
        elif _place(self._end) < _place(t):
            self._mark(t, _readings(sample))
        self._end = t
        if self._same < SAME_MARKS:
            return None
        place = bisect_right(self._spans, [t, math.inf]) - 1
        return max(self._begin, self._spans[max(place, 0)][0]) if self._spans else self._begin

    def lists(self) -> list[list[float]]:
        """[begin, end] [s] of every stretch, sorted by time."""
        open_one = [[self._begin, self._end]] if self._end > self._begin else []
        return _merged([*self._spans, *open_one])[-MOST:]

    def mark_lists(self) -> list[list[float]]:
        """[t, velocities, efforts] of every mark, in order of arrival."""
        return list(self._marks)

    def _mark(self, t: float, readings: np.ndarray) -> None:
        """Keep a new mark, or count it if an equal one is stored."""
        last, self._last = self._last, readings
        before = [values for at, *values in self._marks if abs(at - t) < STAMP_ERROR]
        tolerance = np.zeros(2) if not before else SAME * np.std(self._marks, axis=0)[1:]
        if not any((np.abs(readings - values) <= tolerance).all() for values in before):
            self._same = 0
            self._marks.append([round(t, 3), *readings.tolist()])
        # A robot at rest has the same readings on any day.
        elif last is None or (np.abs(last - readings) > tolerance).any():
            self._same += 1

    def _close(self) -> None:
        self._spans, self._last, self._same = self.lists(), None, 0


def _place(t: float) -> int:
    """Index of the mark at or before t [s], with tolerance for rounding of the stamp."""
    return math.floor((t + 1e-6) / MARK_PERIOD)


def _readings(sample: Sample) -> np.ndarray:
    """(2,) sum of the measured velocities, and of the efforts, which any change of a reading
    changes; rounded to the digits of a file."""
    sums = np.nan_to_num([sample.nu.sum() + sample.mu_dot.sum(),
                          sample.wrench.sum() + sample.joint_torque.sum()])
    return np.array([float(f"{x:.9g}") for x in sums])


def _usable(found: Any) -> list[list[float]]:
    if not isinstance(found, list):
        return []
    return [[float(span[0]), float(span[1])] for span in found
            if isinstance(span, list) and len(span) == 2
            and all(isinstance(end, (int, float)) for end in span) and span[0] < span[1]]


def _usable_marks(found: Any) -> list[list[float]]:
    if not isinstance(found, list):
        return []
    return [[float(value) for value in mark] for mark in found
            if isinstance(mark, list) and len(mark) == 3
            and all(isinstance(value, (int, float)) and math.isfinite(value) for value in mark)]


def _merged(spans: Iterable[list[float]]) -> list[list[float]]:
    merged: list[list[float]] = []
    for begin, end in sorted(spans):
        if merged and begin - merged[-1][1] < JOINED:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged
