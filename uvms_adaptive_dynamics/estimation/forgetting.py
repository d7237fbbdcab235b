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

"""Directional forgetting and marginalization, both as one linear map of old rows.

Old rows [Y tau] become [Y tau] M: regressors change to Y A^T about the old data's own solution
pi_0 and residuals stay. The minimizer stays pi_0, and the information H becomes A H A^T. The same
map applies to the rows of every channel, so channels stay separate (docs/mathematics.md,
"Forgetting").

Uniform forgetting multiplies all information by lambda at every tick, even in directions that
nothing excites: while the robot is calm, the information decays and what was learnt is lost.
Directional forgetting is restricted to directions that new data excite (Kulhavy, 1987; Cao and
Schwartz, 2000; Lai and Bernstein, "SIFt-RLS", 2024). Those methods take the full share from every
excited direction. Here a direction loses at most what the new data bring to it: no threshold
decides what is excited, and information never decreases.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh, solve_triangular

from ..model.parameters import ParameterTable

NEGLIGIBLE_GAIN = 1e-9  # share of a direction's information below which nothing is forgotten


@dataclass(frozen=True)
class RowMap:
    """rows: M (p + 1, p + 1), applied as [Y tau] @ M; gradient: T (p, p), applied as T B T^T to the
    covariance of the old gradient's noise. A H A^T = T H."""

    rows: np.ndarray
    gradient: np.ndarray

    def then(self, later: RowMap) -> RowMap:
        """This map followed by `later`."""
        return RowMap(self.rows @ later.rows, later.gradient @ self.gradient)


def directional_map(old: np.ndarray, new: np.ndarray, share: float) -> RowMap:
    """The map that removes the share min(mu, share) of the old information H in each direction x
    with B x = mu H x.

    old (p + 1, p + 1): [Y tau]^T [Y tau] of old rows including the prior, information H positive
    definite; new: the same for the block of new rows, information B; share: largest share that a
    direction may lose. Raises LinAlgError if H is not positive definite.
    """
    H, B, pi = old[:-1, :-1], new[:-1, :-1], solution(old)
    size = 1 / np.sqrt(np.diag(H))
    root = cholesky(H * np.outer(size, size), lower=True)
    across = solve_triangular(root, B * np.outer(size, size), lower=True)
    gained, V = eigh(solve_triangular(root, across.T, lower=True))
    taken = np.where(gained > NEGLIGIBLE_GAIN, np.minimum(gained, share), 0.0)
    left = (root @ V) / size[:, None]
    right = solve_triangular(root, V, lower=True, trans="T").T * size
    # With R^T = diag(1 / size) root: A = R^T V sqrt(1 - taken) V^T R^-T, whose square is T.
    A, T = (np.eye(len(H)) - (left * part) @ right for part in (1 - np.sqrt(1 - taken), taken))
    return RowMap(_about(A, pi), T)


class ParameterWander(NamedTuple):
    """Parameters that drift by themselves as first-order processes: places (k,), stationary
    variance (k,), and time constant in rows."""

    places: np.ndarray
    variance: np.ndarray
    rows: float

    @classmethod
    def of(cls, table: ParameterTable, stddev: np.ndarray, rows: float) -> ParameterWander | None:
        """The further parameters of a robot that drift about zero with this time constant in rows,
        if any; stddev (p,): the prior's."""
        places = np.concatenate([np.zeros(0, int), *(
            np.arange(place.start, place.stop) for name, place in table.term_slices.items()
            if table.term_sets[name].wanders)])
        return cls(places, stddev[places] ** 2, rows) if places.size else None

    def added(self, rows: int) -> np.ndarray:
        """(k,) variance gained over `rows` rows, such that the stationary variance is kept."""
        return self.variance * -np.expm1(-2 * rows / self.rows)

    def refreshed(self, rows: int) -> np.ndarray:
        """(k,) information to add so that, without data, the variance stays the stationary one."""
        return 1 / self.variance - 1 / (self.variance + self.added(rows))


def wander_map(old: np.ndarray, places: np.ndarray, variance: np.ndarray) -> RowMap:
    """The map of old rows whose parameters at `places` (k,) have since gained `variance` (k,).

    The covariance H^-1 becomes H^-1 + E Q E^T with Q = diag(variance), so the information H loses
    H E (E^T H E + Q^-1)^-1 E^T H (Woodbury); `directional_map` removes it. Raises LinAlgError if H
    is not positive definite.
    """
    H = old[:-1, :-1]
    factor = cho_factor(H[np.ix_(places, places)] + np.diag(1 / variance), lower=True)
    lost = np.zeros_like(old)
    lost[:-1, :-1] = H[:, places] @ cho_solve(factor, H[places])
    return directional_map(old, lost, 1.0)


def marginal_map(old: np.ndarray, places: np.ndarray) -> RowMap:
    """The map that marginalizes the parameters at `places` (k,): old rows keep all information
    about the other parameters, and none about these.

    A = [0 0; -H21 H11^-1 I] with the parameters of `places` first; A H A^T is the Schur complement.
    """
    H, p = old[:-1, :-1], len(old) - 1
    rest = np.setdiff1d(np.arange(p), places)
    A = np.eye(p)
    A[places] = 0.0
    factor = cho_factor(H[np.ix_(places, places)], lower=True)
    A[np.ix_(rest, places)] = -cho_solve(factor, H[np.ix_(places, rest)]).T
    return RowMap(_about(A, solution(old)), A)


def solution(quadratic: np.ndarray) -> np.ndarray:
    """(p,) minimizer of |tau - Y pi|^2, from [Y tau]^T [Y tau] (p + 1, p + 1)."""
    H, g = quadratic[:-1, :-1], quadratic[:-1, -1]
    size = 1 / np.sqrt(np.diag(H))
    return size * cho_solve(cho_factor(H * np.outer(size, size), lower=True), size * g)


def _about(A: np.ndarray, pi: np.ndarray) -> np.ndarray:
    """M (p + 1, p + 1): Y -> Y A^T, tau -> (tau - Y pi) + Y A^T pi."""
    p = len(pi)
    M = np.zeros((p + 1, p + 1))
    M[:p, :p] = A.T
    M[:p, p] = A.T @ pi - pi
    M[p, p] = 1.0
    return M
