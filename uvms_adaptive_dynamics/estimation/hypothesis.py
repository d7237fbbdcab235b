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

"""A hypothesis about what has changed (docs/mathematics.md, "Changes of the robot").

It states how the efforts differ from the present model's prediction, and computes its own evidence
and the `Change` to apply if it is accepted.
"""
from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, NamedTuple

import numpy as np

from .accepted_change import Change
from .change_evidence import Rival, Spans, Unchanged, log_likelihood_ratio
from .information import PastNoise
from .recent_rows import RecentRows

ALIKE_NATS = 4.6            # ln 100: hypotheses this close explain the data equally well


class Onset(NamedTuple):
    """Onset of a change: how many ticks ago; noise before it; rows since then, and the variance
    (C,) of one row that accounts for the correlation between rows; odds: the evidence, in words."""

    ticks: int
    noise: PastNoise
    rows: RecentRows
    variance: np.ndarray
    odds: str


@dataclass(frozen=True)
class Hypothesis(ABC):
    """What may have changed. stddev (k,): prior deviation of such a change, times one of `sizes`,
    each as likely.

    preference: among hypotheses that explain the data equally well, the lowest is accepted, and of
    several with it the one with the fewest unknowns; from_start: whether it holds for all rows
    since the start, and is judged by as many as are kept."""

    name: str
    stddev: np.ndarray

    preference: ClassVar[int]
    from_start: ClassVar[bool] = False
    sizes: ClassVar[tuple[float, ...]] = (1.0,)

    @property
    def is_conjunction(self) -> bool:
        """Whether it says that several parts failed at once."""
        return False

    @abstractmethod
    def columns(self, rows: RecentRows) -> np.ndarray:
        """(T, C, k) effect of one unit of the change on the efforts."""

    @abstractmethod
    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """The change to apply. alike: all hypotheses that explain the data about equally well; this
        is the simplest of those with the lowest preference."""

    def holds(self, other: Hypothesis) -> bool:
        """Whether this hypothesis contains the other one."""
        return False

    def evidence(self, rows: RecentRows,
                 rival: type[Rival] = Unchanged) -> tuple[float, np.ndarray]:
        """(ln Bayes factor against the rival, the change's posterior mean (k,) with the likelier
        size)."""
        return self._odds(rival.of(self.columns(rows), rows))

    def evidence_since(self, spans: Spans) -> list[tuple[float, np.ndarray]]:
        """`evidence` of each span, against no change."""
        return [self._odds(rival) for rival in spans.unchanged(self.columns(spans.longest))]

    def _odds(self, rival: Rival) -> tuple[float, np.ndarray]:
        """`evidence` against a rival that knows the rows."""
        if len(self.sizes) == 1:
            return rival.odds(self.sizes[0] * self.stddev)
        found = [rival.odds(size * self.stddev) for size in self.sizes]
        odds = [one for one, _ in found]
        mixed = float(reduce(np.logaddexp, odds)) - math.log(len(odds))
        return mixed, found[odds.index(max(odds))][1]

    def gain(self, change: np.ndarray, rows: RecentRows) -> float:
        """ln likelihood ratio of the rows with a given change (k,) against no change."""
        return log_likelihood_ratio(rows, rows.residual - self.columns(rows) @ change)


def names_of(alike: Sequence[Hypothesis]) -> str:
    """The names of hypotheses that explain the data equally well, as one."""
    return " or ".join(one.name for one in alike)
