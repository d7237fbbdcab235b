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

"""Spans of time in which a sensor contradicted itself and rows that rely on it are masked."""
from __future__ import annotations

import math

SPANS_KEPT = 20  # older spans lie before all ticks that are still to come


class Contradictions:
    """Spans that begin with a contradiction and stay open until `close`; times [s] increase."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []
        self.is_open = False
        self.last = -math.inf      # [s] of the last contradiction

    @property
    def begin(self) -> float:
        """Start [s] of the newest span."""
        return self._spans[-1][0]

    def add(self, begin: float, t: float) -> None:
        """Note a contradiction at t due to a fault that began no earlier than `begin`."""
        if not self.is_open:
            self._spans = [*self._spans[1 - SPANS_KEPT:], (begin, math.inf)]
        self.is_open, self.last = True, t

    def close(self) -> None:
        """End the open span at its last contradiction."""
        self._spans[-1] = self._spans[-1][0], self.last
        self.is_open = False

    def cover(self, begin: float, end: float) -> bool:
        """Whether a span overlaps `begin` to `end` [s]."""
        return any(first <= end and begin <= last for first, last in self._spans)
