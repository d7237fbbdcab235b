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

"""Square-root information of rows that have left the window, one factor per channel, in SI units.

The sum of |tau - Y pi|^2 over rows is |R [pi, -1]|^2 with a triangular R, to which rows are added
by orthogonal transformations (Bierman, "Factorization Methods for Discrete Sequential Estimation",
1977). Summed products [Y tau]^T [Y tau] would square the condition number: they lose the digits of
poorly determined directions and can become indefinite by rounding. R^T R cannot. Factors are kept
per channel, so that a channel's weight can be applied when a problem is formed.
docs/mathematics.md, "Information"."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg.lapack import dtpqrt

# rows of a channel buffered for one transformation: many cost little more than one
WAITING_ROWS = 60
BLOCK_COLUMNS = 8   # columns per block in dtpqrt
LEAST_FADED = 1e-6  # common factor at which it is applied to all rows, before they overflow


class ChannelInformation:
    """Factors R_c (p + 1, p + 1) of each channel's rows [Y tau]; the newest rows are buffered."""

    def __init__(self, channels: int, size: int):
        """channels: C; size: p."""
        self._roots = np.zeros((channels, size + 1, size + 1))
        # R^T R of each factor, for `weighted`
        self._products = np.zeros_like(self._roots)
        self._rows = np.zeros((channels, WAITING_ROWS, size + 1))
        self._waiting = np.zeros(channels, int)
        self._each = np.arange(channels)
        self._turn = 0
        self._share = 1.0   # what fading leaves of all weights, not yet applied to them

    def add_row(self, rows: np.ndarray, weight: float = 1.0) -> None:
        """Add one row [Y tau] (p + 1) to each channel, rows (C, p + 1)."""
        self._rows[self._each, self._waiting] = np.sqrt(weight / self._share) * rows
        self._waiting += 1
        # One channel per tick, so that no tick pays for all transformations.
        self._turn = (self._turn + 1) % WAITING_ROWS
        channel, due = divmod(self._turn, max(1, WAITING_ROWS // len(self._each)))
        if due == 0 and channel < len(self._each):
            self._fold(channel)
        for full in (self._waiting == WAITING_ROWS).nonzero()[0].tolist():
            self._fold(full)

    def fade(self, factor: float) -> None:
        """Multiply the weight of all rows so far by `factor`."""
        self._share *= factor
        if self._share < LEAST_FADED:
            self._roots *= np.sqrt(self._share)
            self._products *= self._share
            self._rows *= np.sqrt(self._share)
            self._share = 1.0

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """sum_c weights_c [Y tau]_c^T [Y tau]_c (p + 1, p + 1), weights (C,)."""
        longest = int(self._waiting.max(initial=0))
        rows = np.sqrt(weights)[:, None, None] * self._rows[:, :longest]
        rows = rows.reshape(-1, rows.shape[-1])
        return self._share * (np.tensordot(weights, self._products, 1) + rows.T @ rows)

    def mapped(self, matrix: np.ndarray, more: ChannelInformation) -> Iterator[None]:
        """Map every row so far to row @ matrix (p + 1, p + 1), then add those of `more` unmapped.

        Yields after each channel; `weighted` is inconsistent until the last one.
        """
        for channel in self._each.tolist():
            rows = np.concatenate([self.factor(channel) @ matrix, more.factor(channel)])
            self._roots[channel] = triangular(rows)
            self._products[channel] = self._roots[channel].T @ self._roots[channel]
            yield
        self._share = 1.0

    def factor(self, channel: int) -> np.ndarray:
        """R (p + 1, p + 1) of a channel's rows so far; the signs of R's rows are arbitrary."""
        self._fold(channel)
        return np.sqrt(self._share) * self._roots[channel]

    def _fold(self, channel: int) -> None:
        count = self._waiting[channel]
        if not count:
            return
        rows = np.asfortranarray(self._rows[channel, :count])
        root = np.asfortranarray(self._roots[channel])
        root, *_ = dtpqrt(0, min(BLOCK_COLUMNS, len(root)), root, rows, overwrite_a=1,
                          overwrite_b=1)
        self._roots[channel], self._products[channel] = root, root.T @ root
        self._rows[channel, :count] = 0.0
        self._waiting[channel] = 0


def triangular(rows: np.ndarray) -> np.ndarray:
    """R (q, q), upper triangular, with R^T R = rows^T rows for rows (k, q)."""
    k, q = rows.shape
    square = rows if k >= q else np.vstack([rows, np.zeros((q - k, q))])
    return np.asarray(np.linalg.qr(square, mode="r"))
