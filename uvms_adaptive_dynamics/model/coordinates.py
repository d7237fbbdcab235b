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

"""The solver's coordinates x of pi: frozen parameters removed, tied ones merged, all scaled."""
from __future__ import annotations

from itertools import combinations

import numpy as np

from .parameters import ParameterTable


class Coordinates:
    """pi = fixed + E x. E has at most one non-zero entry per row, so reductions only index."""

    def __init__(self, table: ParameterTable, free: np.ndarray, scale: np.ndarray):
        """free (p,) bool; freezing one parameter of a tied pair freezes both. scale (p,) > 0."""
        free = free.copy()
        for a, b in table.equal_pairs:
            free[a] = free[b] = free[a] and free[b]
        self.free = free
        leader = np.arange(table.size)
        for a, b in table.equal_pairs:
            leader[b] = a
        self.keep = np.flatnonzero(free & (leader == np.arange(table.size)))
        self.tied = [(a, b) for a, b in table.equal_pairs if free[a]]
        variable = np.full(table.size, -1)
        variable[self.keep] = np.arange(self.keep.size)
        for a, b in self.tied:
            variable[b] = variable[a]
        self.variable = variable                      # (p,) place in x, -1 where frozen
        self.scale = scale[self.keep]                 # (m,)
        self.size = self.keep.size
        # flat indices of the kept entries in a (p, p) matrix
        self._entries = self.keep[:, None] * table.size + self.keep
        self._scales = self.scale[:, None] * self.scale
        self._tied_at = [int(variable[a]) for a, _ in self.tied]
        self._tied_pairs = list(combinations(zip(self._tied_at, self.tied), 2))

    def expand(self, x: np.ndarray, pi_fixed: np.ndarray) -> np.ndarray:
        """pi (p,) from x (m,); frozen parameters are taken from pi_fixed (p,)."""
        pi = pi_fixed.copy()
        pi[self.keep] = x * self.scale
        for a, b in self.tied:
            pi[b] = pi[a]
        return pi

    def reduce(self, pi: np.ndarray) -> np.ndarray:
        """x (m,) from pi (p,); a tied pair becomes its mean."""
        pi = pi.copy()
        for a, b in self.tied:
            pi[a] = (pi[a] + pi[b]) / 2
        return pi[self.keep] / self.scale

    def columns(self, A: np.ndarray) -> np.ndarray:
        """A E (..., m), for A (..., p)."""
        reduced = A[..., self.keep]
        for a, b in self.tied:
            reduced[..., self.variable[a]] += A[..., b]
        return reduced * self.scale

    def condense(self, H: np.ndarray, g: np.ndarray, c: float,
                 pi_fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """(P (m, m), q (m,), d) with x^T P x - 2 q^T x + d = pi^T H pi - 2 g^T pi + c.

        H (p, p) symmetric, g (p,); frozen parameters are taken from pi_fixed (p,).
        """
        q = g
        fixed = np.where(self.free, 0.0, pi_fixed)
        if fixed.any():
            Hf = H @ fixed
            c += float(fixed @ (Hf - 2 * g))
            q = g - Hf
        P = H.take(self._entries)
        for i, (_, b) in zip(self._tied_at, self.tied):
            across = H[b, self.keep]
            P[i] += across
            P[:, i] += across
            P[i, i] += H[b, b]
        for (i, (_, b)), (j, (_, d)) in self._tied_pairs:
            P[i, j] += H[b, d]
            P[j, i] += H[b, d]
        P *= self._scales
        return P, self.columns(q), c

    def diagonal(self, entries: np.ndarray) -> np.ndarray:
        """(m,) diagonal of E^T diag(entries) E, for entries (p,)."""
        reduced = entries[self.keep]
        for i, (_, b) in zip(self._tied_at, self.tied):
            reduced[i] += entries[b]
        return reduced * self.scale ** 2
