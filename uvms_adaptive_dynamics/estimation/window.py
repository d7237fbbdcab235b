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

"""The window: the newest rows in SI units, and their weighted sum (docs/mathematics.md, "Horizon
problem")."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arrival import ChannelMasks, add_weighted

REFORM = 2000   # ticks after which the running sum is recomputed, against rounding drift


class Leaving(NamedTuple):
    """The oldest instant: rows [Y tau] (C, p + 1), valid (C,), age [ticks]."""

    rows: np.ndarray
    valid: np.ndarray
    age: int


class Window:
    """A ring of N instants; each keeps its place while it is in the window."""

    def __init__(self, length: int, channels: int, size: int, decay: float, split: ChannelMasks):
        """length: N; channels: C; size: p; decay: a row's weight is decay^age; split: masks (C,) of
        channels that are summed separately."""
        self._rows = np.zeros((length, channels, size + 1))
        self._valid, self._born = np.zeros((length, channels), bool), np.zeros(length, int)
        self._decay, self._split = decay, split
        self._weights = np.ones(channels)
        # never reset, so that `born` identifies a row uniquely
        self._tick = 0
        self.clear()

    def clear(self) -> None:
        """Drop all rows."""
        self._sums = [np.zeros((self._rows.shape[-1],) * 2) for _ in self._split]
        self._next = self.filled = 0

    def tick(self) -> None:
        """Age all rows by one tick."""
        self._tick += 1
        if self._decay < 1.0:
            for one in self._sums:
                one *= self._decay
        elif self._tick % REFORM == 0:
            self.reweigh(self._weights)

    def oldest(self) -> Leaving | None:
        """The instant that the next one replaces; None while the window fills."""
        return self._leaving(self._next) if self.filled == len(self._rows) else None

    def all(self) -> list[Leaving]:
        """Every instant, oldest first."""
        return [self._leaving((self._next - self.filled + k) % len(self._rows))
                for k in range(self.filled)]

    def _leaving(self, place: int) -> Leaving:
        return Leaving(self._rows[place], self._valid[place], self._tick - self._born[place])

    def add_row(self, rows: np.ndarray, valid: np.ndarray, age: int = 0) -> None:
        """Add an instant's rows [Y tau] (C, p + 1), zero where not valid (C,); drop the oldest.
        age [ticks]: of rows that were in the window before."""
        gone = self.oldest()
        if gone is not None:
            add_weighted(self._sums, self._split, gone.rows,
                         -self._decay ** gone.age * self._weights)
        self._rows[self._next], self._valid[self._next] = rows, valid
        self._born[self._next] = self._tick - age
        add_weighted(self._sums, self._split, rows, self._decay ** age * self._weights)
        self._next = (self._next + 1) % len(self._rows)
        self.filled = min(self.filled + 1, len(self._rows))

    def reweigh(self, weights: np.ndarray) -> None:
        """Use these weights (C,) from now on."""
        self._weights = weights
        rows = self._rows[:self.filled]
        aged = self.age_weight()[:, None] * weights
        self._sums = []
        for mask in self._split:
            scaled = (np.sqrt(aged * mask)[..., None] * rows).reshape(-1, rows.shape[-1])
            self._sums.append(scaled.T @ scaled)

    def age_weight(self) -> np.ndarray:
        """(filled,) decay^age."""
        return self._decay ** (self._tick - self._born[:self.filled]).astype(float)

    def sums(self) -> list[np.ndarray]:
        """Weighted sums of [Y tau]^T [Y tau] (p + 1, p + 1), one per mask of the split."""
        return self._sums

    @property
    def Y(self) -> np.ndarray:
        """(filled, C, p) regressors."""
        return self._rows[:self.filled, :, :-1]

    @property
    def tau(self) -> np.ndarray:
        """(filled, C) efforts."""
        return self._rows[:self.filled, :, -1]

    @property
    def valid(self) -> np.ndarray:
        """(filled, C)."""
        return self._valid[:self.filled]

    @property
    def born(self) -> np.ndarray:
        """(filled,) tick at which each place got its rows."""
        return self._born[:self.filled]
