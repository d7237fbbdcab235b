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

"""When rows were masked, and why: spans of time per channel."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .run_log import Rows

# Of masked rows whose own sample is not masked.
NO_REASON = "next to masked samples, implausible, held in contact, or attitude unknown"


class Span(NamedTuple):
    """Samples of a bag from `start` to `end` [s since the epoch], masked for one reason; turn: how
    often its clock had been set back before."""

    bag: int
    start: float
    end: float
    reason: str
    turn: int = 0


class MaskSpans:
    """Collects the mask reasons of a front end's samples; `spans[c]`: those of channel c, in order.
    """

    def __init__(self, channels: int, period: float):
        """period [s] of samples; a reason that returns within two of them continues its span."""
        self.spans: list[list[Span]] = [[] for _ in range(channels)]
        self._longest = 2.5 * period
        self._bag = self._turn = 0
        self._t = -math.inf

    def begin(self, bag: int) -> None:
        """Begin the bag of this index."""
        self._bag, self._turn, self._t = bag, 0, -math.inf

    def add(self, t: float, reasons: Sequence[str]) -> None:
        """Add the reasons (C,) of the sample at t [s since the epoch]; '' for rows that count."""
        self._turn, self._t = self._turn + (t < self._t), t
        for spans, reason in zip(self.spans, reasons):
            if not reason:
                continue
            last = spans[-1] if spans else None
            if (last is not None and last.reason == reason and last.bag == self._bag
                    and 0.0 <= t - last.end <= self._longest):
                spans[-1] = last._replace(end=t)
            else:
                spans.append(Span(self._bag, t, t, reason, self._turn))


def runs(flags: np.ndarray, bag: np.ndarray) -> list[tuple[int, int]]:
    """(first, last) row of each run of set `flags` (T,), split where `bag` (T,) changes."""
    places = np.flatnonzero(flags)
    if not places.size:
        return []
    ends = np.flatnonzero((np.diff(places) > 1) | (np.diff(bag[places]) != 0))
    first, last = np.r_[0, ends + 1], np.r_[ends, places.size - 1]
    return [(int(places[a]), int(places[b])) for a, b in zip(first, last)]


def reasons_between(spans: Sequence[Span], bag: int, start: float, end: float) -> list[str]:
    """The reasons of all spans that overlap this piece of a bag, each once, in order."""
    return list(dict.fromkeys(span.reason for span in spans if span.bag == bag
                              and span.start <= end and span.end >= start))


def reasons_of_rows(spans: Sequence[Sequence[Span]], rows: Rows) -> list[dict[str, int]]:
    """Per channel: mask reason -> masked rows, the most frequent first. spans (C,): of samples."""
    set_back = (np.diff(rows.t, prepend=rows.t[:1]) < 0) & (np.diff(rows.bag, prepend=0) == 0)
    turns = np.cumsum(set_back)
    turns -= turns[np.searchsorted(rows.bag, rows.bag)]     # since each bag's beginning
    borders: dict[tuple[int, int], np.ndarray] = {}
    for key in dict.fromkeys(zip(rows.bag.tolist(), turns.tolist())):
        borders[key] = np.flatnonzero((rows.bag == key[0]) & (turns == key[1]))[[0, -1]] + [0, 1]
    found = []
    for of_channel, valid in zip(spans, rows.valid.T, strict=True):
        before = np.concatenate([[0], np.cumsum(~valid)])       # masked rows before each row
        counts: Counter[str] = Counter()
        for span in of_channel:
            if (span.bag, span.turn) in borders:
                begin, end = borders[span.bag, span.turn]
                t = rows.t[begin:end]
                first = begin + np.searchsorted(t, span.start)
                last = begin + np.searchsorted(t, span.end, side="right")
                counts[span.reason] += int(before[last] - before[first])
        counts[NO_REASON] = int(before[-1]) - counts.total()
        found.append({reason: count for reason, count in counts.most_common() if count})
    return found
