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

"""The optimality conditions of the robust cost over P's cones for a given active set:
residuals, and Newton's equations (docs/mathematics.md, "Optimality conditions").

Unknown are x (m,) and the multipliers of the active constraints. An inequality F >= 0 of rank
deficiency r is, in the eigenvectors of F where the factorization was made, the condition that
the Schur complement F11 - F12 F22^-1 F21 of its regular part F22 is zero (r x r); its
multiplier L >= 0 acts on x as Z = X L X^T with X = [I; -F22^-1 F21], so that Z F = 0 wherever
the condition holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .answer import ActiveSet
from .cones import SIDE, Cones, kronecker
from .faces import EYE, faces_of
from .robust_cost import Cost, Slope

SINGULAR = 1e-7  # eigenvalue below which a direction is too flat to divide by
NEARLY_ZERO = 1e-6  # eigenvalue that may count as zero where eigenvectors are sorted
# share of its eigenvalue at the factorization below which a direction is likely to become null
APPROACHED = 0.5


class State(NamedTuple):
    """Where the search stands: x (m,), multipliers (c,), slacks (b,), active conditions' values
    (c,), residual (m,) of the gradient balance; the inequalities' matrices F and multipliers
    L (K, 4, 4) in the bases of the conditions, and <Z, F>."""

    x: np.ndarray
    multipliers: np.ndarray
    slacks: np.ndarray
    values: np.ndarray
    residual: np.ndarray
    F: np.ndarray
    L: np.ndarray
    product: float = 0.0


def suboptimality(
    cost: Cost, cones: Cones, slope: Slope, z: np.ndarray, Z: np.ndarray
) -> float:
    """Bound of the cost at any x (m,) above its optimum over the cones, by any multipliers z
    (b,) and Z (K, 4, 4).

    <z, slacks> + <Z, F> + what the left-over gradient can be worth, for z >= 0 and Z positive
    semidefinite (what is negative in them is left out). See docs/solver.md.
    """
    z = np.maximum(z, 0.0)
    product = 0.0
    if cones.count:
        values, U = np.linalg.eigh(Z)
        Z = np.matmul(U * np.maximum(values, 0.0)[:, None, :], U.transpose(0, 2, 1))
        product = abs(float(Z.ravel() @ cones.matrices(slope.x).ravel()))
    residual = slope.gradient - cones.balance(z, Z)
    return (
        abs(float(z @ cones.slacks(slope.x))) + product + cost.residual_bound(slope, residual, 0.0)
    )


class Conditions:
    """Newton's equations, factorized at one point for one active set; `at` makes one, or None
    where they are singular.

    on_a_face: whether a multiplier has just lost directions, which stay null with the others for
    one step (see `at`)."""

    on_a_face = False

    @classmethod
    def at(
        cls,
        cones: Cones,
        x: np.ndarray,
        hessian: np.ndarray,
        active: ActiveSet,
        null: np.ndarray | None = None,
    ) -> Conditions | None:
        """hessian (m, m) is of the cost and is overwritten.

        null (K,): how many directions of each inequality are null at x, `active.rank` where None.
        Where these are more, some have just lost their multiplier, and the Schur complement has no
        derivative: F22 is zero along them. The face {F: F v = 0 for all v that have a multiplier}
        takes its place, on which F is linear; a step along it gives F22 its size.
        """
        made = cls(cones, active)
        hessian = made._turn_to(x, hessian, active, active.rank if null is None else null)
        return made if made._factorize(hessian) else None

    def __init__(self, cones: Cones, active: ActiveSet):
        self._cones = cones
        self.bounds = np.flatnonzero(active.bounds)
        self._sign, self._places = cones.sign[self.bounds], cones.places[self.bounds]
        self._start = active.multipliers[self.bounds]

    def _turn_to(
        self, x: np.ndarray, hessian: np.ndarray, active: ActiveSet, null: np.ndarray
    ) -> np.ndarray:
        """Bases of the inequalities and the active constraints' gradients; returns the Hessian
        of the Lagrangian."""
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
        # V^T M V of every basis matrix, of F and of Z: one product with the Kronecker squares of V
        flat = np.concatenate(
            [cones.flat_basis, matrices.reshape(K, 1, -1), active.Z.reshape(K, 1, -1)], axis=1
        )
        turned = np.matmul(flat, kronecker(V, V))
        self._T = T = turned[:, :-2]
        F, L = turned[:, -2].reshape(V.shape), turned[:, -1].reshape(V.shape)
        self._origin = F - np.matmul(x[cones.variables][:, None, :], T).reshape(F.shape)
        self._start = np.concatenate([self._start, L.ravel()[faces.entry] * faces.double])
        A = np.zeros((b + faces.entry.size, m + 1))  # last column: what belongs to no variable
        A[np.arange(b), self._places] = self._sign
        A[np.arange(b, len(A))[:, None], cones.padded[faces.inequality]] = T[
            faces.inequality, :, faces.column]
        self._A = A[:, :m]
        # Second derivative of the Schur complements, weighted with the multipliers.
        self._diagonal = diagonal = F.diagonal(axis1=1, axis2=2)
        divided = faces.regular_diagonal & (diagonal > SINGULAR)
        inverse = np.where(divided, 1 / np.maximum(diagonal, SINGULAR), 0.0)
        weighted = np.matmul(T, kronecker(L * faces.null, inverse[:, None, :] * EYE))
        curvature = np.matmul(weighted, T.transpose(0, 2, 1))
        hessian += cones.scattered(curvature + curvature.transpose(0, 2, 1))
        return hessian

    def _factorize(self, hessian: np.ndarray) -> bool:
        # The transpose of the symmetric matrix is in the order LAPACK works in place.
        self._factor, info = dpotrf(hessian.T, lower=1, clean=0, overwrite_a=1)
        if info:
            return False
        if not len(self._A):
            return True
        self._GA, _ = dpotrs(self._factor, self._A.T, lower=1)
        S = self._A @ self._GA
        self._size = 1 / np.sqrt(np.maximum(S.diagonal(), 1e-300))
        S *= self._size[:, None] * self._size
        S.flat[:: len(S) + 1] += 1e-14
        self._inner, info = dpotrf(S.T, lower=1, clean=0, overwrite_a=1)
        return not info

    def state(self, slope: Slope, multipliers: np.ndarray | None = None) -> State:
        """Everything at the slope's x, with multipliers (c,) or those of the active set that
        this was made from."""
        cones, x, b = self._cones, slope.x, self.bounds.size
        multipliers = self._start if multipliers is None else multipliers
        slacks = cones.slacks(x)
        residual = np.empty(x.size + 1)  # the last place takes what belongs to no variable
        residual[:-1] = slope.gradient
        residual[self._places] -= self._sign * multipliers[:b]
        if not cones.count:
            none = np.zeros((0, SIDE, SIDE))
            return State(x, multipliers, slacks, slacks[self.bounds], residual[:-1], none, none)
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
        return State(
            x,
            multipliers,
            slacks,
            np.concatenate([slacks[self.bounds], schur]),
            residual[:-1],
            F,
            L,
            float(Z.ravel() @ F.ravel()),
        )

    def step(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """(dx, change of the multipliers) that Newton's equations ask for."""
        dx, _ = dpotrs(self._factor, -state.residual, lower=1)
        if not len(self._A):
            return dx, np.zeros(0)
        change, _ = dpotrs(self._inner, self._size * (-state.values - self._A @ dx), lower=1)
        change *= self._size
        return dx + self._GA @ change, change

    def restoring(self, state: State) -> np.ndarray:
        """(m,) the shortest step, in the Hessian's metric, onto the active constraints."""
        if not len(self._A):
            return np.zeros(state.x.size)
        change, _ = dpotrs(self._inner, self._size * -state.values, lower=1)
        return self._GA @ (self._size * change)

    def multiplier_matrices(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """(Z (K, 4, 4), rank (K,)) of the inequalities' multipliers, what is negative in them
        left out."""
        # ones where nothing is active, so that only what is can be negative
        others = self._faces.others
        L, rank = state.L * self._faces.kept, self._rank
        if (np.linalg.eigvalsh(L + others) < 0).any():
            values, U = np.linalg.eigh(L + others)
            L = np.matmul(U * np.maximum(values, 0.0)[:, None, :], U.transpose(0, 2, 1)) - others
            rank = rank - (values < 0).sum(axis=1)
        return np.matmul(np.matmul(self._V, L), self._V.transpose(0, 2, 1)), rank

    def violated(self, state: State, tolerance: float) -> np.ndarray:
        """(K,) how many directions of each inequality are negative, of those that have no
        multiplier. Where the Schur complements are zero these are all that are (Haynsworth, 1968).
        """
        rest = state.F * self._faces.free + self._faces.kept_identity
        return (np.linalg.eigvalsh(rest) < -tolerance).sum(axis=1)

    def approached(self, state: State) -> np.ndarray:
        """(K,) how many directions of each inequality's regular part have come much nearer to zero
        than they were where this was factorized."""
        fallen = state.F.diagonal(axis1=1, axis2=2) < APPROACHED * self._diagonal
        return (fallen & self._faces.regular_diagonal).sum(axis=1)

    def doubtful(self, state: State, active_bounds: np.ndarray) -> bool:
        """Whether a multiplier or a constraint has the wrong sign, as far as it shows without
        eigenvalues."""
        if (state.multipliers[: self.bounds.size] < 0).any() or (
            state.slacks[~active_bounds] < 0
        ).any():
            return True
        if not self._cones.count:
            return False
        below = state.F.diagonal(axis1=1, axis2=2) < 0
        return bool(
            (state.L.diagonal(axis1=1, axis2=2) < 0).any()
            or (below & self._faces.regular_diagonal).any()
        )

    @staticmethod
    def violation(state: State) -> float:
        """Largest excess over bounds and active conditions, or what they leave unused; that of
        all is the caller's to see."""
        return max(
            -float(state.slacks.min(initial=0.0)), float(np.abs(state.values).max(initial=0.0))
        )

    def complementarity(self, state: State) -> float:
        """What the multipliers are worth on the constraints' slacks, which the cost may be
        above the optimum."""
        return abs(float(state.multipliers[: self.bounds.size] @ state.slacks[self.bounds])) + abs(
            state.product
        )


def _null_sorted(F: np.ndarray, active: ActiveSet, null: np.ndarray) -> np.ndarray:
    """(K, 4, 4) eigenvectors of matrices F, ascending; among directions that are all nearly null,
    or said to be null (K,), those with the largest multiplier come first."""
    values, V = np.linalg.eigh(F)
    flat = np.maximum((values < NEARLY_ZERO).sum(axis=1), null)
    for k in np.flatnonzero((flat > active.rank) & (active.rank > 0)):
        N = V[k][:, : flat[k]]
        N[:] = N @ np.linalg.eigh(N.T @ active.Z[k] @ N)[1][:, ::-1]
    return V
