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

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .run_log import Rows

# Of masked rows whose own sample is not masked.
NO_REASON = "next to masked samples, implausible, or attitude unknown"


class Span(NamedTuple):
    """Samples of a bag from `start` to `end` [s since the epoch], masked for one reason."""

    bag: int
    start: float
    end: float
    reason: str


class MaskSpans:
    """Collects the mask reasons of a front end's samples; `spans[c]`: those of channel c, in order.
    """

    def __init__(self, channels: int, period: float):
        """period [s] of samples; a reason that returns within two of them continues its span."""
        self.spans: list[list[Span]] = [[] for _ in range(channels)]
        self._longest = 2.5 * period
        self._bag = 0

    def begin(self, bag: int) -> None:
        """Begin the bag of this index."""
        self._bag = bag

    def add(self, t: float, reasons: Sequence[str]) -> None:
        """Add the reasons (C,) of the sample at t [s since the epoch]; '' for rows that count."""
        for spans, reason in zip(self.spans, reasons):
            if not reason:
                continue
            last = spans[-1] if spans else None
            if (last is not None and last.reason == reason and last.bag == self._bag
                    and 0.0 <= t - last.end <= self._longest):
                spans[-1] = last._replace(end=t)
            else:
                spans.append(Span(self._bag, t, t, reason))


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
    borders = np.searchsorted(rows.bag, np.arange(rows.bag.max(initial=-1) + 2))
    found = []
    for of_channel, valid in zip(spans, rows.valid.T, strict=True):
        before = np.concatenate([[0], np.cumsum(~valid)])       # masked rows before each row
        counts: Counter[str] = Counter()
        for span in of_channel:
            if span.bag + 1 < borders.size:
                begin, end = borders[span.bag:span.bag + 2]
                t = rows.t[begin:end]
                first = begin + np.searchsorted(t, span.start)
                last = begin + np.searchsorted(t, span.end, side="right")
                counts[span.reason] += int(before[last] - before[first])
        counts[NO_REASON] = int(before[-1]) - counts.total()
        found.append({reason: count for reason, count in counts.most_common() if count})
    return found
