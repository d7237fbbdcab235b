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

"""Start and result of a native method: an active set; a certified answer, or the point where the
method stopped; and the clock of a solve."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from .cones import SIDE, Cones

# slack or eigenvalue (scaled) below which a constraint is guessed to be active
NEARLY_ACTIVE = 1e-4


@dataclass
class ActiveSet:
    """Guess of the active constraints: bounds (b,) bool with multipliers (b,); rank (K,) of each
    matrix inequality's multiplier Z (K, 4, 4)."""

    bounds: np.ndarray
    multipliers: np.ndarray
    rank: np.ndarray
    Z: np.ndarray

    @classmethod
    def near(cls, cones: Cones, x: np.ndarray) -> ActiveSet:
        """Constraints that are nearly active at x (m,), multipliers zero."""
        rank = ((np.linalg.eigvalsh(cones.matrices(x)) < NEARLY_ACTIVE).sum(axis=1) if cones.count
                else np.zeros(0, int))
        bounds = cones.slacks(x) < NEARLY_ACTIVE
        return cls(bounds, np.zeros(bounds.size), rank, np.zeros((cones.count, SIDE, SIDE)))

    def copy(self) -> ActiveSet:
        """An independent copy."""
        return ActiveSet(self.bounds.copy(), self.multipliers.copy(), self.rank.copy(),
                         self.Z.copy())


@dataclass(frozen=True)
class Certified:
    """A certified point inside all cones.

    x (m,); value: the cost at x; active: the active set with multipliers; gap: bound on
    (value - optimum) / cost size; steps: number of iterations."""

    x: np.ndarray
    value: float
    active: ActiveSet
    gap: float
    steps: int


@dataclass(frozen=True)
class Stopped:
    """Where a method ended without a certified answer: x (m,), possibly infeasible; multipliers
    z (b,) and Z (K, 4, 4), of any sign."""

    x: np.ndarray
    z: np.ndarray
    Z: np.ndarray
    steps: int


class SolveClock:
    """The time limit of a solve [s]; None: unlimited."""

    def __init__(self, seconds: float | None = None):
        self._begin = time.perf_counter()
        self._end = np.inf if seconds is None else self._begin + seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._begin

    @property
    def limited(self) -> bool:
        """Whether there is a deadline."""
        return self._end < np.inf

    @property
    def left(self) -> float | None:
        """Seconds until the deadline, at least zero; None without a deadline."""
        return max(self._end - time.perf_counter(), 0.0) if self.limited else None

    @property
    def passed(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self._end
