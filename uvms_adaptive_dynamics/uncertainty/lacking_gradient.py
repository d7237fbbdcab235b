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

"""Shift of the estimate by effects that its model lacks: the consider covariance of estimation with
parameters that are known to exist but are not estimated (Schmidt 1966; Tapley, Schutz and Born,
Statistical Orbit Determination, 2004, ch. 6).

One deviation of an effect adds d_k to the efforts of row k, so half the cost's gradient moves by
J = sum_k w_k y_k d_k, and the estimate by G J (docs/mathematics.md, "What the model lacks").
"""
from __future__ import annotations

from collections import deque

import numpy as np

EVERY = 20      # ticks between two rows of the sums: motion is slower


class LackingGradient:
    """J of each effect, accumulated with the rows' forgetting and robust weights; sums in SI units
    and per channel, as in `SystematicGradient`.

    Of an effect's columns, which multiply low-passed rows, only the instant that the row belongs to
    is used: noise and quick motion average out in the sum.

    of_row (C, q): the columns of the row added last, None if it is none of those in the sums."""

    def __init__(self, effects: int, channels: int, size: int, delay: int, decay: float):
        """effects: q; channels: C; size: p; delay [ticks]: from an instant to its row; decay: a
        row's weight in the cost is decay^age [ticks]."""
        self._shape = (effects, channels, size)
        self._delay, self._decay = delay, decay ** EVERY
        self._new = np.zeros(self._shape)       # rows since the last map
        self._old = np.zeros(self._shape)
        self.break_off()

    def break_off(self) -> None:
        """Start again after a gap in time: rows of instants before it no longer come."""
        self._tick = 0
        self._columns: deque[tuple[int, np.ndarray]] = deque()
        self.of_row: np.ndarray | None = None

    def next_instant(self) -> bool:
        """Count an instant; whether its columns are needed."""
        self._tick += 1
        return self._tick % EVERY == 0

    def add_columns(self, columns: np.ndarray) -> None:
        """Set the columns (C, q) of the instant counted last: efforts by one deviation of each
        effect, zero where masked."""
        self._columns.append((self._tick, columns))

    def add_row(self, Y: np.ndarray) -> None:
        """Add the rows Y (C, p) that the instant counted last has completed, times their robust
        weights; zero where they do not count."""
        self.of_row = None
        instant = self._tick - self._delay
        while self._columns and self._columns[0][0] < instant:
            self._columns.popleft()
        if not self._columns or self._columns[0][0] != instant:
            return
        _, columns = self._columns.popleft()
        self.of_row = columns
        if self._decay < 1.0:
            self._new *= self._decay
            self._old *= self._decay
        self._new += EVERY * columns.T[:, :, None] * Y

    def mapped(self, T: np.ndarray, close: bool) -> None:
        """Map the old rows' gradient by T (p, p); close: then turn the new rows into old ones."""
        self._old = self._old @ T.T
        if close:
            self._old += self._new
            self._new = np.zeros(self._shape)

    def of_one_deviation(self, weights: np.ndarray) -> np.ndarray:
        """(q, p) J of each effect; weights (C,) of the rows in the cost."""
        return np.einsum("c,qcp->qp", weights, self._new + self._old)
