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

"""Newton's equations of the interior-point method at a point, and Mehrotra's step
(docs/mathematics.md, "Optimality conditions")."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .cones import SIDE, Cones, kronecker
from .robust_cost import Slope

# relative, tried in turn if rounding makes Newton's matrix indefinite
DIAGONAL_SHIFTS = (0.0, 1e-13, 1e-11, 1e-9)
TO_BOUNDARY = 0.99  # share of the way to the cones' boundary


class Point(NamedTuple):
    """An iterate: slope at x (m,); slack (b,), F (K, 4, 4): bounds' slacks and matrices there;
    s (b,), S (K, 4, 4): their primal variables, inside the cones; z (b,), Z (K, 4, 4): multipliers.
    """

    slope: Slope
    slack: np.ndarray
    F: np.ndarray
    s: np.ndarray
    S: np.ndarray
    z: np.ndarray
    Z: np.ndarray


class NewtonStep(NamedTuple):
    """Changes of the parts of a `Point`."""

    dx: np.ndarray
    ds: np.ndarray
    dS: np.ndarray
    dz: np.ndarray
    dZ: np.ndarray


class Newton(NamedTuple):
    """Newton's equations at a point.

    dual (m,): dual residual, the gradient left by the multipliers; factor (m, m): Cholesky factor
    of the matrix; S_inverse (K, 4, 4); rp (b,), Rp (K, 4, 4): primal residuals slack - s, F - S;
    mu: mean complementarity."""

    cones: Cones
    at: Point
    dual: np.ndarray
    factor: np.ndarray
    S_inverse: np.ndarray
    rp: np.ndarray
    Rp: np.ndarray
    mu: float

    @property
    def degree(self) -> int:
        """Number of complementarity conditions."""
        return self.at.s.size + SIDE * self.cones.count

    def infeasible(self) -> float:
        """Largest entry of the primal residuals."""
        return max(float(np.max(np.abs(self.rp), initial=0)),
                   float(np.max(np.abs(self.Rp), initial=0)))

    def remaining(self) -> float:
        """Estimate of the cost's distance from its minimum."""
        ahead = dpotrs(self.factor, self.dual, lower=1)[0]
        return self.degree * self.mu + 0.5 * abs(float(self.dual @ ahead))

    def step(self) -> tuple[NewtonStep, float]:
        """(Mehrotra's direction; step length that stays inside the cones)."""
        at, mu = self.at, self.mu
        still = NewtonStep(at.slope.x, 0.0 * at.s, 0.0 * at.S, 0.0 * at.z, 0.0 * at.Z)
        affine = self._direction(0.0, still)
        roots = _roots(at.S, at.Z)
        primal, dual = _longest(at, affine, roots, 1.0)
        ahead = (
            float((at.z + dual * affine.dz) @ (at.s + primal * affine.ds))
            + float(np.sum((at.Z + dual * affine.dZ) * (at.S + primal * affine.dS)))
        ) / max(self.degree, 1)
        centre = min(1.0, max((ahead / mu) ** 3, 1e-6)) if mu > 0 else 0.0
        step = self._direction(centre * mu, affine)
        # The cost is not quadratic, so primal and dual steps have the same length.
        return step, min(_longest(at, step, roots, TO_BOUNDARY))

    def _direction(self, target: float, earlier: NewtonStep) -> NewtonStep:
        """Newton's direction towards complementarity `target`, with the second-order terms of an
        earlier direction."""
        cones, (_, _, _, s, _, z, Z), rp, Rp = self.cones, self.at, self.rp, self.Rp
        bounds = target / s - z - (z * rp + earlier.ds * earlier.dz) / s
        blocks = (target * self.S_inverse - Z
                  - _sym(np.matmul(np.matmul(Z, Rp) + np.matmul(earlier.dZ, earlier.dS),
                                   self.S_inverse)))
        dx, _ = dpotrs(self.factor, cones.balance(bounds, blocks) - self.dual, lower=1)
        ds = cones.sign * dx[cones.places] + rp
        moved = cones.along(dx)
        dz = bounds - z / s * (ds - rp)
        dZ = blocks - _sym(np.matmul(np.matmul(Z, moved), self.S_inverse))
        return NewtonStep(dx, ds, moved + Rp, dz, dZ)


def newton_at(cones: Cones, at: Point, hessian: np.ndarray, dual: np.ndarray) -> Newton | None:
    """Newton's equations with the cost's hessian (m, m); None if rounding makes them indefinite."""
    S_inverse = np.linalg.inv(at.S) if cones.count else at.S
    # tr(B_i Z B_j S^-1), symmetric in i and j
    ZBS = np.matmul(cones.flat_basis, kronecker(at.Z, S_inverse))
    curvature = np.matmul(cones.flat_basis, ZBS.transpose(0, 2, 1))
    factor = _factor(hessian + cones.scattered(curvature, at.z / at.s))
    if factor is None:
        return None
    degree = at.s.size + SIDE * cones.count
    mu = (float(at.z @ at.s) + float(np.sum(at.Z * at.S))) / max(degree, 1)
    return Newton(cones, at, dual, factor, S_inverse, at.slack - at.s, at.F - at.S, mu)


def _factor(matrix: np.ndarray) -> np.ndarray | None:
    """Lower Cholesky factor of a matrix, with the smallest diagonal shift that it needs; None if
    none is enough. Overwrites the diagonal."""
    diagonal = matrix.diagonal().copy()
    for shift in DIAGONAL_SHIFTS:
        matrix.flat[::len(matrix) + 1] = (1 + shift) * diagonal
        factor, info = dpotrf(matrix.T, lower=1, clean=0)
        if not info:
            return factor
    return None


def _sym(A: np.ndarray) -> np.ndarray:
    return 0.5 * (A + A.transpose(0, 2, 1))


def _roots(S: np.ndarray, Z: np.ndarray) -> np.ndarray | None:
    """(2K, 4, 4) inverse Cholesky factors of S and Z; None if one is not positive definite."""
    try:
        return np.linalg.inv(np.linalg.cholesky(np.concatenate([S, Z])))
    except np.linalg.LinAlgError:
        return None


def _longest(at: Point, step: NewtonStep, roots: np.ndarray | None,
             share: float) -> tuple[float, float]:
    """The longest steps of (s, S) and of (z, Z): `share` of the way to their cones' boundary, at
    most one."""
    if roots is None:
        return 0.0, 0.0
    limits = [float(np.min(-v[dv < 0] / dv[dv < 0], initial=np.inf))
              for v, dv in ((at.s, step.ds), (at.z, step.dz))]
    if len(roots):
        moved = np.concatenate([step.dS, step.dZ])
        moved = np.matmul(np.matmul(roots, moved), roots.transpose(0, 2, 1))
        lowest = np.linalg.eigvalsh(moved)[:, 0].reshape(2, -1).min(axis=1)
        limits = [min(limit, -1.0 / low) if low < 0 else limit
                  for limit, low in zip(limits, lowest.tolist())]
    return min(1.0, share * limits[0]), min(1.0, share * limits[1])
