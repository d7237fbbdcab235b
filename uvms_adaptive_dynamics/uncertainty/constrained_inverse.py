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

"""Inverse of the information on the directions that the constraints leave free, by solves with its
factor.

The full matrix is formed on demand. docs/mathematics.md, "Covariance"."""
from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dgeqp3, dorgqr, dpotrf, dpotrs, dtrtrs
from scipy.special import erfcx

from ..errors import SolverError

# length of a unit normal's part orthogonal to the earlier ones below which it is dependent on them
DEPENDENT = 1e-6
EQUALITY_PUSH = 1e3  # push assigned to an equality, relative to the strongest inequality's
FAR_OUTSIDE = 30.0  # deviations from which the series of `share_inside` is exact to 1e-6


class ConstrainedInverse:
    """G (p, p), zero where frozen; the estimate's covariance is G B G.

    Along the normal of an active inequality the deviation shrinks with the multiplier
    (`share_inside`): not at all if the data hardly push against it, since the truth may then lie
    well inside, and towards zero if they push hard. Normals are orthogonalized one after the other,
    the strongest first.

    G = A^-1 - N diag(1 - c) N^T, with directions N (p, k) orthonormal in the metric of A = L L^T,
    and c (k,) the share of the deviation that is left along each."""

    def __init__(self, information: np.ndarray, gradient_covariance: np.ndarray,
                 normals: np.ndarray, equalities: int, gradient: np.ndarray, free: np.ndarray):
        """information A (p, p): half the Hessian of the cost, prior included; gradient_covariance B
        (p, p): of half its gradient, with all that may move it; normals (k, p): gradients of the
        active constraints, of which the first `equalities` are equalities; gradient (p,): half the
        cost's gradient at the estimate, which balances the constraints' multipliers; free (p,)
        bool. Raises SolverError if A is singular."""
        self._free = None if free.all() else np.flatnonzero(free)
        self._size = free.size
        A, B = self._part(information), self._part(gradient_covariance)
        if self._free is not None:
            normals, gradient = normals[:, self._free], gradient[self._free]
        self._scale = 1 / np.sqrt(A.diagonal())[:, None]    # scales A to a unit diagonal
        scaled = self._scale * self._scale.T
        scaled *= A
        self._factor = _factor(scaled)
        self._narrowed = np.zeros((len(A), 0))
        if len(normals) and len(A):
            self._narrowed, share = self._directions(normals, gradient, B, equalities)
            self._removed = (1 - share)[:, None]

    def times(self, columns: np.ndarray) -> np.ndarray:
        """G times columns (p, k)."""
        if self._free is None:
            return self._times(columns)
        found = np.zeros(columns.shape)
        if self._free.size:
            found[self._free] = self._times(columns[self._free])
        return found

    @cached_property
    def matrix(self) -> np.ndarray:
        """G (p, p), symmetric."""
        found = self.times(np.eye(self._size))
        return 0.5 * (found + found.T)

    def _part(self, matrix: np.ndarray) -> np.ndarray:
        return matrix if self._free is None else matrix[np.ix_(self._free, self._free)]

    def _times(self, columns: np.ndarray) -> np.ndarray:
        found, _ = dpotrs(self._factor, self._scale * columns, lower=1, overwrite_b=1)
        found *= self._scale
        if self._narrowed.shape[1]:
            found -= self._narrowed @ (self._removed * (self._narrowed.T @ columns))
        return found

    def _directions(self, N: np.ndarray, gradient: np.ndarray, B: np.ndarray,
                    equalities: int) -> tuple[np.ndarray, np.ndarray]:
        """(directions (p, k), orthonormal in the metric of A; share (k,) of the deviation left
        along each)."""
        def pushed(directions: np.ndarray) -> np.ndarray:
            variance = np.einsum("pk,pk->k", directions, B @ directions)
            return np.abs(gradient @ directions) / np.sqrt(np.maximum(variance, 1e-300))

        whitened, _ = dtrtrs(self._factor, self._scale * N.T, lower=1, overwrite_b=1)
        length = np.sqrt(np.einsum("pk,pk->k", whitened, whitened))
        whitened /= np.maximum(length, 1e-300)
        push = pushed(self._unwhitened(whitened))
        push[:equalities] = EQUALITY_PUSH * (1 + push.max())
        # Pivoting picks at each step the normal with the largest part orthogonal to earlier ones.
        triangle, order, reflectors, _, _ = dgeqp3(whitened * push, overwrite_a=1)
        count = len(reflectors)     # at most as many independent normals as directions
        order = order[:count] - 1
        left = np.abs(triangle.diagonal()) > DEPENDENT * push[order]
        Q, _, _ = dorgqr(triangle[:, :count], reflectors)
        narrowed = self._unwhitened(Q)
        share = share_inside(pushed(narrowed))
        share[order < equalities] = 0.0
        share[~left] = 1.0
        return narrowed, share

    def _unwhitened(self, whitened: np.ndarray) -> np.ndarray:
        found, _ = dtrtrs(self._factor, whitened, lower=1, trans=1)
        return self._scale * found


def _factor(A: np.ndarray) -> np.ndarray:
    """L (p, p) with L L^T = A (p, p), which has a unit diagonal. Raises SolverError if A is
    singular."""
    if not len(A):
        return A
    A.flat[::len(A) + 1] += 1e-13
    factor, info = dpotrf(A.T, lower=1, clean=1, overwrite_a=1)
    if info or not np.isfinite(factor.diagonal()).all():     # LAPACK does not reject NaN
        raise SolverError(
            "the information matrix is not positive definite, so the estimate has no covariance",
            "singular")
    return factor


def share_inside(z: np.ndarray) -> np.ndarray:
    """Share (k,) of the deviation left at a bound against which the data push by z (k,) deviations.

    Without the bound x would be normal about -z with unit deviation; with the bound x >= 0 that
    density is truncated at zero. The root mean square of x is the deviation about the bound, where
    the estimate is. Its square is 1 + z^2 - z h(z) with the hazard h of the standard normal
    distribution, about 2 / z^2 for large z. Intervals of this width cover any true x >= 0 at least
    as often as without the bound, since z + 1.96 share_inside(z) >= 1.96."""
    z = np.minimum(z, 1e6)
    hazard = math.sqrt(2 / math.pi) / erfcx(z / math.sqrt(2))
    far = np.maximum(z, FAR_OUTSIDE)
    return np.sqrt(np.where(z > FAR_OUTSIDE, 2 / far ** 2 - 10 / far ** 4, 1 + z ** 2 - z * hazard))
