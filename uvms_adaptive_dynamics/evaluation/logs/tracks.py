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

"""A log in memory: a table of numbers for each topic, turned into messages on reading."""
from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BagError
from ..recording import RecordedTopic

# Makes a message from its stamp [s since the epoch] and a row of values; raises ValueError if a
# value is missing.
Make = Callable[[float, np.ndarray], Any]


@dataclass(frozen=True)
class Track:
    """The messages of one topic: times of reception and stamps (k,) [s since the epoch], and values
    (k, m) that `make` turns into messages."""

    topic: str
    type: str
    received: np.ndarray
    stamps: np.ndarray
    values: np.ndarray
    make: Make

    def sorted(self) -> Track:
        """The same messages, sorted by time of reception."""
        order = np.argsort(self.received, kind="stable")
        return Track(self.topic, self.type, self.received[order], self.stamps[order],
                     self.values[order], self.make)

    def moved(self, seconds: float) -> Track:
        """The same messages, `seconds` later."""
        return Track(self.topic, self.type, self.received + seconds, self.stamps + seconds,
                     self.values, self.make)


class TrackLog:
    """A log in memory; implements `recording.Recording`. `path` is for error messages."""

    def __init__(self, path: Path, tracks: Sequence[Track], warnings: Sequence[str] = ()):
        self.tracks = [track.sorted() for track in tracks if len(track.received)]
        self.warnings = list(warnings)
        if not self.tracks:
            said = "".join(f" {warning}" for warning in self.warnings)
            raise BagError(f"log '{path}' holds nothing that the estimator can use.{said}")
        self.start = float(min(track.received[0] for track in self.tracks))
        self.end = float(max(track.received[-1] for track in self.tracks))

    @cached_property
    def topics(self) -> dict[str, RecordedTopic]:
        """Topics by name, with the leading '/'."""
        return {track.topic: RecordedTopic((track.type,), len(track.received))
                for track in sorted(self.tracks, key=lambda track: track.topic)}

    def messages(self, topics: Collection[str], begin: float,
                 end: float) -> Iterator[tuple[str, Any, float]]:
        """See `recording.Recording`."""
        chosen = [track for track in self.tracks if track.topic in topics]
        for t, k, row in heapq.merge(*(_rows(k, track, begin, end)
                                       for k, track in enumerate(chosen))):
            track = chosen[k]
            try:
                message = track.make(float(track.stamps[row]), track.values[row])
            except ValueError:       # the row lacks a value that the message needs
                message = None
            yield track.topic, message, t


def _rows(k: int, track: Track, begin: float, end: float) -> Iterator[tuple[float, int, int]]:
    first, last = np.searchsorted(track.received, [begin, end])
    return ((float(track.received[row]), k, row) for row in range(first, int(last)))
