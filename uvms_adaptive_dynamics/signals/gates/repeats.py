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

"""Detection of values that suddenly repeat bit by bit: they are saturated, or no longer measured.

A coarse sensor repeats values often, and keeps repeating while its signal is slow; a noisy one
hardly ever does. The usual frequency is learnt by counting repeats among all pairs of neighbours,
and among those that follow a repeat.
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from statistics import median_high

from ..decode.input_state import NormalReason
from ..decode.stamp_intervals import PERIOD_INTERVALS

CHANCE = 1e-6       # probability below which a run of repeats is a fault
PAIRS_REMEMBERED = 1000.0  # number of pairs of neighbours counted; older ones fade
MOSTLY_REPEATED = 1.5   # messages for each new value from which this is reported
PRIOR_PAIRS = 2.0   # pseudo-counts of the prior
REPEATED = NormalReason("repeats the last message")     # as at rest, or from a fast bridge


class RepeatGate:
    """Follows values (W floats) that should change, each independently."""

    def __init__(self, width: int):
        self._width = width
        self.reset()

    def reset(self) -> None:
        """Forget all values."""
        self._counts = [_Repeats() for _ in range(self._width)]
        self._first: list[float | None] = [None] * self._width      # None once it has changed
        self._begun = False

    def constant(self, values: Sequence[float]) -> list[bool]:
        """Whether each value repeats the first one and has never changed, so that it may not be
        measured at all; NaN, a missing value, neither repeats nor changes."""
        if not self._begun:
            self._first, self._begun = list(values), True
            return [False] * self._width
        for j, (first, value) in enumerate(zip(self._first, values)):
            if first is not None and math.isfinite(value) and value != first:
                self._first[j] = None if math.isfinite(first) else value
        return [first is not None and math.isfinite(value)
                for first, value in zip(self._first, values)]

    def repeated(self, values: Sequence[float], changes: Sequence[bool]) -> list[bool]:
        """Whether each value ends a run of repeats too long for chance; values that need not change
        (changes: false) are not counted."""
        return [counts.add(value, moves)
                for counts, value, moves in zip(self._counts, values, changes)]


class NewValues:
    """Tells measurements from messages that repeat the last one: a driver or a bridge may publish
    more often than its sensor measures. since [s]: time of the last new values. Intervals beyond
    `slowest` [s], in which the sensor was frozen or at rest, do not count."""

    def __init__(self, slowest: float):
        self._slowest = slowest
        self._last: Sequence[float] = ()
        self.since = math.nan
        self._intervals: deque[float] = deque(maxlen=PERIOD_INTERVALS)
        self._repeated = 0      # messages since the last new values
        self._messages: deque[int] = deque(maxlen=PERIOD_INTERVALS)     # for each new value

    @property
    def period(self) -> float | None:
        """[s] Median interval between new values; None until there are enough."""
        return median_high(self._intervals) if len(self._intervals) > 1 else None

    def is_due(self, t: float, periods: float) -> bool:
        """Whether so many usual intervals, or the slowest one while none is known, have passed at
        t [s] since the last new values."""
        return t - self.since > (self._slowest if self.period is None else periods * self.period)

    def repeats(self, t: float, values: Sequence[float]) -> bool:
        """Whether values at t [s] are those of the last message, bit by bit."""
        if values == self._last:
            self._repeated += 1
            return True
        if t - self.since < self._slowest:
            self._intervals.append(t - self.since)
            self._messages.append(1 + self._repeated)
        self._last, self.since, self._repeated = values, t, 0
        return False

    def sentences(self, role: str, rate: float | None, value: str = "value",
                  use: str = "the others are not used") -> list[str]:
        """A warning if most messages, which come at `rate` [Hz], repeat the last one's `value`;
        use: what becomes of those that do."""
        if len(self._messages) < PERIOD_INTERVALS // 2 or rate is None:
            return []
        messages = median_high(self._messages)
        if messages < MOSTLY_REPEATED:
            return []
        return [f"{role}.topic: its messages come at {rate:.1f} Hz, but only one in {messages} has "
                f"a new {value}; {use}. Publish each measurement once, when it is taken"]


def _kept(pairs: int) -> float:
    """Share of the counts that is left after this many pairs."""
    return (1.0 - 1.0 / PAIRS_REMEMBERED) ** pairs


class _Level:
    """Repeats of one number, and of repeats after a repeat, as counted when there had been `pairs`
    pairs; `sides`: from and to which its runs have come and gone, -1 below and 1 above."""

    def __init__(self) -> None:
        self.repeats = self.again = 0.0
        self.pairs, self.sides = 0, set[int]()

    def fade(self, pairs: int) -> None:
        """Let the counts fade until there have been `pairs` pairs."""
        kept = _kept(pairs - self.pairs)
        self.repeats, self.again, self.pairs = kept * self.repeats, kept * self.again, pairs


class _Repeats:
    """Repeat counts of one value.

    Repeats of a number that is only ever reached and left on one side are those of a limit, which a
    noisy value reaches many times for a moment: they do not say that the sensor repeats itself, so
    a run at that number is judged by all others."""

    def __init__(self) -> None:
        self._last, self._came = math.nan, 0
        self._run = 0
        self._pairs = self._repeats = self._again = 0.0     # repeats, and those after a repeat
        self._counted = 0                                   # pairs, without fading
        self._levels: dict[float, _Level] = {}
        self._found = False                     # whether the present run is a fault

    def add(self, value: float, moves: bool) -> bool:
        """Whether the run that a value starts or continues is too long for chance. A run that is a
        fault ends with another value, not with a rest."""
        same, side = value == self._last, 1 if value > self._last else -1
        if self._found and same:
            return True
        if moves and same:
            self._run += 1
            self._found = self._log_chance() < math.log(CHANCE)
            return self._found
        if moves and not self._found:     # (a fault tells nothing about the sensor's usual repeats)
            self._count(side)
        if not same:
            self._last, self._came = value, -side
        self._run, self._found = 0, False
        return False

    def _count(self, side: int) -> None:
        """Count the run that ends with a value on this side of it."""
        run, kept = self._run, _kept(self._run + 1)
        self._counted += run + 1
        self._pairs = kept * self._pairs + run + 1
        self._repeats = kept * self._repeats + run
        self._again = kept * self._again + max(run - 1, 0)
        if run:
            level = self._levels.setdefault(self._last, _Level())
            level.fade(self._counted)
            level.repeats += run
            level.again += run - 1
            level.sides |= {side, self._came}
            if len(self._levels) > PAIRS_REMEMBERED:
                del self._levels[next(iter(self._levels))]

    def _log_chance(self) -> float:
        """Log probability of a run this long: a first repeat, then repeats after a repeat."""
        repeats, again = self._repeats, self._again
        level = self._levels.get(self._last)
        if level is not None and level.sides == {self._came}:
            level.fade(self._counted)
            repeats, again = max(repeats - level.repeats, 0.0), max(again - level.again, 0.0)
        first = (repeats + 0.5 * PRIOR_PAIRS) / (self._pairs + PRIOR_PAIRS)
        after = (again + first * PRIOR_PAIRS) / (repeats + PRIOR_PAIRS)
        return math.log(first) + (self._run - 1) * math.log(after)
