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

"""The grid of ticks: instants of data time at whole multiples of the period since the epoch."""
from __future__ import annotations

import math
from typing import NamedTuple

MAX_TICKS_AT_ONCE = 500    # a burst after a pause must not stall the node
TICK_ROUNDING = 1e-6            # of a period


class DueTicks(NamedTuple):
    """Numbers of the ticks that have become due, and whether older ones were skipped."""

    ticks: range
    skipped: bool


class TickGrid:
    """Counts ticks of `period` [s]; tick k is at k * period since the epoch."""

    def __init__(self, period: float):
        self.period = period
        self.reset()

    def reset(self) -> None:
        """Restart at the next origin."""
        self._next: int | None = None

    def waits(self, until: float) -> bool:
        """Whether all ticks up to `until` [s since the epoch] have been returned before."""
        return self._next is not None and self._last(until) < self._next

    def due(self, origin: float, now: float, latency: float) -> DueTicks:
        """The ticks from `origin` to `now` - `latency` [s since the epoch] not returned before.

        With a latency (live), at most the newest MAX_TICKS_AT_ONCE.
        """
        last = self._last(now - latency)
        first = math.ceil(origin / self.period) if self._next is None else self._next
        skipped = latency > 0 and last - first >= MAX_TICKS_AT_ONCE
        if skipped:
            first = last - MAX_TICKS_AT_ONCE + 1
        self._next = max(first, last + 1)
        return DueTicks(range(first, self._next), skipped)

    def _last(self, until: float) -> int:
        return math.floor(until / self.period + TICK_ROUNDING)
