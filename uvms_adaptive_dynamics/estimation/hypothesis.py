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
from .change_evidence import Rival, Spans, Unchanged
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


class _IdleSums(NamedTuple):
    """Normal equations A (axes, k, k), b (axes, k) of the axes that do not count, if any. They
    bound a change, as does a prior, but are no evidence of it."""

    A: np.ndarray | None = None
    b: np.ndarray = np.zeros(0)

    def beside(self, rival: Rival) -> Rival:
        """The rival that knows these axes, too."""
        return rival if self.A is None else rival.beside(self.A.sum(axis=0), self.b.sum(axis=0))

    def favour(self, change: np.ndarray) -> float:
        """What these axes add to the evidence of a change (k,) [nats]."""
        if self.A is None:
            return 0.0
        gains = self.b @ change - 0.5 * (self.A @ change) @ change
        return float(np.maximum(gains, 0.0).sum())


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
        idle = self._of_idle(rows)
        return self._without_idle(self._odds(idle.beside(rival.of(self.columns(rows), rows))), idle)

    def evidence_since(self, spans: Spans) -> list[tuple[float, np.ndarray]]:
        """`evidence` of each span, against no change."""
        idle = map(self._of_idle, spans.each)
        return [self._without_idle(self._odds(one.beside(rival)), one)
                for rival, one in zip(spans.unchanged(self.columns(spans.longest)), idle)]

    def _odds(self, rival: Rival) -> tuple[float, np.ndarray]:
        """`evidence` against a rival that knows the rows."""
        if len(self.sizes) == 1:
            return rival.odds(self.sizes[0] * self.stddev)
        found = [rival.odds(size * self.stddev) for size in self.sizes]
        odds = [one for one, _ in found]
        mixed = float(reduce(np.logaddexp, odds)) - math.log(len(odds))
        return mixed, found[odds.index(max(odds))][1]

    def effect(self, change: np.ndarray, rows: RecentRows) -> np.ndarray:
        """(T, C) effect of a change (k,) on the efforts."""
        return self.columns(rows) @ change

    def objection(self, change: np.ndarray, rows: RecentRows) -> float:
        """What speaks against a change (k,) on the axes that do not count, in nats, 0 at most: rest
        proves no change, but one that would have moved an axis is unlikely."""
        idle = rows.idle
        if idle is None or not idle.weight.any():
            return 0.0
        effect = self.effect(change, idle)
        gains = (idle.weight * effect * (idle.residual - 0.5 * effect)).sum(axis=0)
        return float(np.minimum(gains, 0.0).sum())

    def _of_idle(self, rows: RecentRows) -> _IdleSums:
        idle = rows.idle
        if idle is None or not (axes := idle.weight.any(axis=0)).any():
            return _IdleSums()
        columns = self.columns(idle)[:, axes].transpose(1, 2, 0)        # (axes, k, T)
        weighted = columns * idle.weight.T[axes, None]
        return _IdleSums(weighted @ columns.transpose(0, 2, 1),
                         (weighted @ idle.residual.T[axes, :, None])[..., 0])

    @staticmethod
    def _without_idle(found: tuple[float, np.ndarray],
                      idle: _IdleSums) -> tuple[float, np.ndarray]:
        """Evidence with a change's posterior mean, less what axes that do not count add to it."""
        odds, change = found
        return odds - idle.favour(change), change


def names_of(alike: Sequence[Hypothesis]) -> str:
    """The names of hypotheses that explain the data equally well, as one."""
    return " or ".join(one.name for one in alike)
