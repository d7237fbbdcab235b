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

"""Optimality conditions of the robust cost over P's cones for a given active set: residuals and
Newton's equations (docs/mathematics.md, "Optimality conditions").

The unknowns are x (m,) and the multipliers of the active constraints. Take F in its eigenvectors at
the point of factorization, with r null directions first: F >= 0 is then the condition that the
r x r Schur complement F11 - F12 F22^-1 F21 of the regular part F22 vanishes. Its multiplier L >= 0
acts on x as Z = X L X^T with X = [I; -F22^-1 F21], so that Z F = 0 wherever the condition holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .answer import ActiveSet
from .cones import SIDE, Cones, kronecker
from .faces import EYE, faces_of
from .robust_cost import Cost, Slope

SINGULAR = 1e-7  # eigenvalue below which F22 is not inverted along a direction
NEARLY_ZERO = 1e-6  # eigenvalue below which a direction may be sorted among the null ones
# ratio of a diagonal entry to its value at the factorization below which the direction is likely to
# become null
APPROACHED = 0.5


class Iterate(NamedTuple):
    """The conditions at a point.

    x (m,); multipliers (c,); slacks (b,) of all bounds; values (c,) of the active conditions;
    residual (m,): gradient left by the multipliers; F, L (K, 4, 4): matrices and multipliers in the
    bases of the conditions; product: <Z, F>."""

    x: np.ndarray
    multipliers: np.ndarray
    slacks: np.ndarray
    values: np.ndarray
    residual: np.ndarray
    F: np.ndarray
    L: np.ndarray
    product: float = 0.0


def suboptimality(cost: Cost, cones: Cones, slope: Slope, z: np.ndarray, Z: np.ndarray) -> float:
    """Bound on f(x) - optimum at the slope's x (m,), from any multipliers z (b,) and Z (K, 4, 4).

    <z, slacks> + <Z, F> + the bound on the remaining gradient's worth. Multipliers are first
    projected onto z >= 0 and Z positive semidefinite. docs/solver.md, "The certificate".
    """
    z = np.maximum(z, 0.0)
    product = 0.0
    if cones.count:
        values, U = np.linalg.eigh(Z)
        Z = np.matmul(U * np.maximum(values, 0.0)[:, None, :], U.transpose(0, 2, 1))
        product = abs(float(Z.ravel() @ cones.matrices(slope.x).ravel()))
    residual = slope.gradient - cones.balance(z, Z)
    return (abs(float(z @ cones.slacks(slope.x))) + product
            + cost.residual_bound(slope, residual, 0.0))


class Conditions:
    """Newton's equations, factorized at one point for one active set; made by `at`.

    on_a_face: whether some null directions have just lost their multiplier (see `at`)."""

    on_a_face = False

    @classmethod
    def at(cls, cones: Cones, x: np.ndarray, hessian: np.ndarray, active: ActiveSet,
           null: np.ndarray | None = None) -> Conditions | None:
        """The conditions at x (m,), or None if singular. Overwrites the cost's hessian (m, m).

        null (K,): number of null directions of each inequality at x; `active.rank` if None. If it
        exceeds the rank, some directions have just lost their multiplier and F22 is zero along
        them, so the Schur complement has no derivative. The step then goes along the face
        {F: F v = 0 for every v with a multiplier}, on which F is linear, and makes F22 regular.
        """
        made = cls(cones, active)
        hessian = made._turn_to(x, hessian, active, active.rank if null is None else null)
        return made if made._factorize(hessian) else None

    def __init__(self, cones: Cones, active: ActiveSet):
        self._cones = cones
        self.bounds, = active.bounds.nonzero()
        self._sign, self._places = cones.sign[self.bounds], cones.places[self.bounds]
        self._start = active.multipliers[self.bounds]

    def _turn_to(self, x: np.ndarray, hessian: np.ndarray, active: ActiveSet,
                 null: np.ndarray) -> np.ndarray:
        """Set the bases of the inequalities and the gradients of the active constraints; return the
        Lagrangian's Hessian (m, m)."""
        cones, m, b, K = self._cones, x.size, self.bounds.size, self._cones.count
        if not K:
            self._A = np.zeros((b, m))
            self._A[np.arange(b), self._places] = self._sign
            return hessian
        matrices = cones.matrices(x)
        null = np.where(active.rank > 0, null, 0)
        self._V = V = _null_sorted(matrices, active, null)
        self._rank, self._faces = active.rank, faces_of(active.rank, null)
        faces = self._faces
        self.on_a_face = faces.on_a_face
        # V^T M V of all basis matrices, F and Z, by one product with the Kronecker squares of V
        flat = np.concatenate([cones.flat_basis, matrices.reshape(K, 1, -1),
                               active.Z.reshape(K, 1, -1)], axis=1)
        turned = np.matmul(flat, kronecker(V, V))
        self._T = T = turned[:, :-2]
        F, L = turned[:, -2].reshape(V.shape), turned[:, -1].reshape(V.shape)
        self._origin = F - np.matmul(x[cones.variables][:, None, :], T).reshape(F.shape)
        self._start = np.concatenate([self._start, L.ravel()[faces.entry] * faces.double])
        A = np.zeros((b + faces.entry.size, m + 1))  # the last column collects the padding
        A[np.arange(b), self._places] = self._sign
        conditions = np.arange(b, len(A))[:, None]
        A[conditions, cones.padded[faces.inequality]] = T[faces.inequality, :, faces.column]
        self._A = A[:, :m]
        # second derivative of the Schur complements, weighted by the multipliers
        self._diagonal = diagonal = F.diagonal(axis1=1, axis2=2)
        divided = faces.regular_diagonal & (diagonal > SINGULAR)
        inverse = np.where(divided, 1 / np.maximum(diagonal, SINGULAR), 0.0)
        weighted = np.matmul(T, kronecker(L * faces.null, inverse[:, None, :] * EYE))
        curvature = np.matmul(weighted, T.transpose(0, 2, 1))
        hessian += cones.scattered(curvature + curvature.transpose(0, 2, 1))
        return hessian

    def _factorize(self, hessian: np.ndarray) -> bool:
        # The transpose of the symmetric matrix has the memory order that LAPACK overwrites.
        self._factor, info = dpotrf(hessian.T, lower=1, clean=0, overwrite_a=1)
        if info:
            return False
        if not len(self._A):
            return True
        self._GA, _ = dpotrs(self._factor, self._A.T, lower=1)
        S = self._A @ self._GA
        self._size = 1 / np.sqrt(np.maximum(S.diagonal(), 1e-300))
        S *= self._size[:, None] * self._size
        S.flat[::len(S) + 1] += 1e-14
        self._inner, info = dpotrf(S.T, lower=1, clean=0, overwrite_a=1)
        return not info

    def state(self, slope: Slope, multipliers: np.ndarray | None = None) -> Iterate:
        """The state at the slope's x, with multipliers (c,) or, if None, those of the active set.
        """
        cones, x, b = self._cones, slope.x, self.bounds.size
        multipliers = self._start if multipliers is None else multipliers
        slacks = cones.slacks(x)
        residual = np.empty(x.size + 1)  # the last place takes what belongs to no variable
        residual[:-1] = slope.gradient
        residual[self._places] -= self._sign * multipliers[:b]
        if not cones.count:
            none = np.zeros((0, SIDE, SIDE))
            return Iterate(x, multipliers, slacks, slacks[self.bounds], residual[:-1], none, none)
        faces, shape = self._faces, self._origin.shape
        F = self._origin + np.matmul(x[cones.variables][:, None, :], self._T).reshape(shape)
        # F22^-1 F21, zero elsewhere
        pulled = np.linalg.solve(F * faces.regular + faces.added, F * faces.across)
        X = faces.identity - pulled
        schur = np.matmul(F, X).ravel()[faces.entry]
        L = np.zeros(F.size)
        L[faces.entry] = L[faces.mirrored] = multipliers[b:] / faces.double
        L = L.reshape(shape)
        Z = np.matmul(np.matmul(X, L), X.transpose(0, 2, 1))
        residual[cones.padded] -= np.matmul(self._T, Z.reshape(len(Z), -1, 1))[..., 0]
        return Iterate(x, multipliers, slacks, np.concatenate([slacks[self.bounds], schur]),
                     residual[:-1], F, L, float(Z.ravel() @ F.ravel()))

    def step(self, state: Iterate) -> tuple[np.ndarray, np.ndarray]:
        """Newton's step: (dx (m,), change of the multipliers (c,))."""
        dx, _ = dpotrs(self._factor, -state.residual, lower=1)
        if not len(self._A):
            return dx, np.zeros(0)
        change, _ = dpotrs(self._inner, self._size * (-state.values - self._A @ dx), lower=1)
        change *= self._size
        return dx + self._GA @ change, change

    def restoring(self, state: Iterate) -> np.ndarray:
        """(m,) the shortest step, in the Hessian's metric, onto the active constraints to first
        order."""
        if not len(self._A):
            return np.zeros(state.x.size)
        change, _ = dpotrs(self._inner, self._size * -state.values, lower=1)
        return self._GA @ (self._size * change)

    def multiplier_matrices(self, state: Iterate) -> tuple[np.ndarray, np.ndarray]:
        """(Z (K, 4, 4), rank (K,)): the inequalities' multipliers, projected onto Z >= 0."""
        # ones on the inactive diagonal, so that only active directions can be negative
        others = self._faces.others
        L, rank = state.L * self._faces.kept, self._rank
        if not _definite(L + others):
            values, U = np.linalg.eigh(L + others)
            if (values < 0).any():
                L = np.matmul(U * np.maximum(values, 0.0)[:, None, :],
                              U.transpose(0, 2, 1)) - others
                rank = rank - (values < 0).sum(axis=1)
        return np.matmul(np.matmul(self._V, L), self._V.transpose(0, 2, 1)), rank

    def violated(self, state: Iterate, tolerance: float) -> np.ndarray:
        """(K,) number of negative directions of each inequality, among those without a multiplier.
        If the Schur complements are zero there are no others (Haynsworth, 1968)."""
        rest = state.F * self._faces.free + self._faces.kept_identity
        if _definite(rest + tolerance * EYE):
            return np.zeros(len(rest), int)
        return (np.linalg.eigvalsh(rest) < -tolerance).sum(axis=1)

    def approached(self, state: Iterate) -> np.ndarray:
        """(K,) number of directions of each regular part that have come much closer to zero since
        the factorization."""
        fallen = state.F.diagonal(axis1=1, axis2=2) < APPROACHED * self._diagonal
        return (fallen & self._faces.regular_diagonal).sum(axis=1)

    def doubtful(self, state: Iterate, active_bounds: np.ndarray) -> bool:
        """Whether a multiplier or a constraint has the wrong sign, as far as diagonals show."""
        if (state.slacks[~active_bounds] < 0).any():
            return True
        signed = state.multipliers
        if self._cones.count:
            faces, b = self._faces, self.bounds.size
            signed = np.concatenate([signed[:b], signed[b:][faces.diagonal],
                                     state.F.ravel()[faces.regular_places]])
        return bool((signed < 0).any())

    @staticmethod
    def violation(state: Iterate) -> float:
        """Largest violation of a bound or residual of an active condition. It does not cover the
        inactive matrix inequalities."""
        return max(-float(state.slacks.min(initial=0.0)),
                   float(np.abs(state.values).max(initial=0.0)))

    def complementarity(self, state: Iterate) -> float:
        """|<z, slacks>| + |<Z, F>|, the multipliers' part of `suboptimality`."""
        of_bounds = float(state.multipliers[:self.bounds.size] @ state.slacks[self.bounds])
        return abs(of_bounds) + abs(state.product)


def _definite(matrices: np.ndarray) -> bool:
    """Whether all matrices (K, 4, 4) are positive definite. Cheaper than their eigenvalues."""
    try:
        np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return False
    return True


def _null_sorted(F: np.ndarray, active: ActiveSet, null: np.ndarray) -> np.ndarray:
    """(K, 4, 4) eigenvectors of matrices F, ascending; among the nearly null directions, or the
    first null (K,) ones, those with the largest multiplier come first."""
    values, V = np.linalg.eigh(F)
    flat = np.maximum((values < NEARLY_ZERO).sum(axis=1), null)
    for k in ((flat > active.rank) & (active.rank > 0)).nonzero()[0]:
        N = V[k][:, : flat[k]]
        N[:] = N @ np.linalg.eigh(N.T @ active.Z[k] @ N)[1][:, ::-1]
    return V
