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

"""How well a stage's parameters are known, direction by direction, and what its motion can still
reveal (docs/identification.md, "When a stage is done")."""
from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..config import Config
from ..model.parameters import ParameterTable
from .stages import Stage

KNOWLEDGE_PERIOD = 1.0  # [s] of rows between two updates
# [s] in motion over which the pace of learning is measured: some periods of slow motion
PACE_OVER = 10.0
LEAST_VARIANCE = 1e-300  # avoids division by a zero variance


class Learner(Protocol):
    """The part of an `Estimator` that stages use."""

    config: Config
    table: ParameterTable
    prediction: Any
    excited: Any        # learnt, in_motion (C,) bool: of the newest row
    learn: bool

    @property
    def left_out(self) -> Sequence[str]:
        """(C,) why each channel is neither judged nor mentioned in advice; '' if it is."""

    @property
    def covariance(self) -> np.ndarray:
        """(p, p)."""

    @property
    def fresh_stddev(self) -> np.ndarray:
        """(p,)."""

    def set_free(self, free: np.ndarray) -> None:
        """Estimate these parameters (p,) bool and freeze the others."""

    def watch_changes(self, watches: bool) -> None:
        """Look for changes of the robot, or do not."""


class StageDirections(NamedTuple):
    """Eigendirections of a stage's parameters, scaled by the standard deviations of a fresh prior.
    left (k,): remaining share of the deviation; names (k,): dominant parameter of each;
    out_of_reach (k,) bool: the recent motion would not measure it before the stage's limit."""

    left: np.ndarray
    names: tuple[str, ...]
    out_of_reach: np.ndarray


class StageKnowledge:
    """directions: of the stage's parameters, as of the last update; pace_is_known: all channels
    have moved for long enough to show what this motion does not excite."""

    def __init__(self, stage: Stage, estimator: Learner, moved: Mapping[str, float]):
        """moved: as in `update`, all zero."""
        self._stage, self._estimator = stage, estimator
        self._places = estimator.table.places(stage.free)
        self._past: deque[np.ndarray] = deque(maxlen=1 + round(PACE_OVER / KNOWLEDGE_PERIOD))
        self._moved: Mapping[str, float] | None = None
        self.pace_is_known = False
        self.update(moved, 0.0)

    def update(self, moved: Mapping[str, float], elapsed: float, flown: bool = True) -> None:
        """Update `directions`: how well each is known, and which the motion reveals too slowly.

        moved: [s] in motion by channel; elapsed [s] of the stage; flown: the stage's own motion was
        flown since the last update."""
        covariance = self._estimator.covariance[np.ix_(self._places, self._places)]
        fresh = self._estimator.fresh_stddev[self._places]
        scaled = covariance / np.outer(fresh, fresh)
        # The pace counts neither pauses nor what was learnt before the motion began.
        if flown and (not moved or moved != self._moved):
            self._past.append(scaled)
        elif len(self._past) == 1:
            self._past[0] = scaled      # the motion has not begun
        self._moved = dict(moved)
        self.pace_is_known = len(self._past) == self._past.maxlen and all(
            seconds >= self._stage.at_least for seconds in moved.values())
        variance, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
        names = tuple(self._stage.free[k] for k in np.argmax(np.abs(vectors), axis=0))
        slow = self._out_of_reach(vectors, np.maximum(variance, LEAST_VARIANCE), elapsed)
        self.directions = StageDirections(np.sqrt(np.maximum(variance, 0.0)), names, slow)

    def deviations(self) -> list[float]:
        """Standard deviations of the stage's parameters, in SI units."""
        diagonal = np.diagonal(self._estimator.covariance)[self._places]
        return np.sqrt(np.maximum(diagonal, 0.0)).tolist()

    def _out_of_reach(self, vectors: np.ndarray, variance: np.ndarray,
                      elapsed: float) -> np.ndarray:
        """(k,) bool: at the present pace, information (linear in time in motion) will not suffice
        by the time the stage must end."""
        if not self.pace_is_known:
            return np.zeros(variance.size, bool)
        before = np.einsum("pk,pq,qk->k", vectors, self._past[0], vectors)
        pace = (1 / variance - 1 / np.maximum(before, LEAST_VARIANCE)) / PACE_OVER
        then = 1 / variance + pace * max(self._stage.at_most - elapsed, 0.0)
        return (variance > self._stage.left ** 2) & (then < self._stage.left ** -2.0)
