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

"""What the own methods start from and end with: an active set, a certified answer, or where a
method stopped."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from .cones import SIDE, Cones


@dataclass
class ActiveSet:
    """Guess of what is active: bounds (b,) bool with their multipliers (b,); rank (K,) of each
    inequality's multiplier Z (K, 4, 4)."""

    bounds: np.ndarray
    multipliers: np.ndarray
    rank: np.ndarray
    Z: np.ndarray

    @classmethod
    def near(cls, cones: Cones, x: np.ndarray, tolerance: float = 1e-4) -> ActiveSet:
        """What holds within `tolerance` (scaled) at x, without knowledge of multipliers."""
        rank = (
            (np.linalg.eigvalsh(cones.matrices(x)) < tolerance).sum(axis=1)
            if cones.count
            else np.zeros(0, int)
        )
        bounds = cones.slacks(x) < tolerance
        return cls(bounds, np.zeros(bounds.size), rank, np.zeros((cones.count, SIDE, SIDE)))

    def copy(self) -> ActiveSet:
        """A set of its own."""
        return ActiveSet(
            self.bounds.copy(), self.multipliers.copy(), self.rank.copy(), self.Z.copy()
        )


@dataclass(frozen=True)
class Answer:
    """A point inside all cones: x (m,), the cost there, the active set with its multipliers, a
    bound of the relative distance of the cost from the optimum, and the number of steps."""

    x: np.ndarray
    value: float
    active: ActiveSet
    gap: float
    steps: int


@dataclass(frozen=True)
class Stopped:
    """Where a method ended without a certified answer: x (m,), anywhere; multipliers z (b,) and
    Z (K, 4, 4) of any sign."""

    x: np.ndarray
    z: np.ndarray
    Z: np.ndarray
    steps: int


class Clock:
    """The time that a solve may take; None: as long as it needs."""

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
        """Seconds until the deadline, not below zero; None without one."""
        return max(self._end - time.perf_counter(), 0.0) if self.limited else None

    @property
    def passed(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self._end
