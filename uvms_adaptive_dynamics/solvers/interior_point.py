"""A primal-dual interior-point method for the robust cost over P's cones, written for this problem's shape.

HKM direction with Mehrotra's predictor and corrector (Helmberg, Rendl, Vanderbei and Wolkowicz, 1996; Mehrotra, 1992). The
smooth robust cost enters with its own gradient and Hessian at every iterate, so that outliers need no cones and no
outer loop; all matrix inequalities are one batch of 4 x 4 matrices, and each touches few variables. The result is
near the optimum and knows its active set; `active_set` then makes it exact and certifies it.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .active_set import ActiveSet
from .cones import SIDE, Cones
from .robust_cost import Point, RobustCost

ITERATIONS = 60
USABLE = 1e-7           # relative gap of an answer where rounding ends the iteration
TO_BOUNDARY = 0.95      # share of the way to the cones' boundary
_EYE = np.eye(SIDE)


@dataclass(frozen=True)
class Interior:
    """Where the method ended: point, active set read off slacks and multipliers, relative gap, iterations."""

    point: Point
    active: ActiveSet
    gap: float
    iterations: int


def solve_interior(cost: RobustCost, cones: Cones, start: np.ndarray, tolerance: float = 1e-8) -> Interior | None:
    """Minimise from `start` (m,), which may lie anywhere; None where the iteration breaks down."""
    K = cones.count
    x, point = start, cost.at(start)
    unit = max(float(np.median(np.diag(point.hessian))), 1e-12)     # multipliers in the cost's own size
    slack, F = cones.slacks(x), cones.matrices(x)
    s = np.maximum(slack, 0.1)
    D, V = np.linalg.eigh(F) if K else (np.zeros((0, SIDE)), np.zeros((0, SIDE, SIDE)))
    S = (V * np.maximum(D, 0.1)[:, None, :]) @ V.transpose(0, 2, 1)
    z, Z = np.full(s.size, 0.1 * unit), np.tile(0.1 * unit * _EYE, (K, 1, 1))
    degree = s.size + SIDE * K
    rows, cols = cones.variables[:, :, None], cones.variables[:, None, :]
    nearly = None
    for iteration in range(1, ITERATIONS + 1):
        mu = (float(z @ s) + float(np.sum(Z * S))) / max(degree, 1)
        rp, Rp = slack - s, F - S
        dual = point.gradient.copy()
        np.subtract.at(dual, cones.places, cones.sign * z)
        np.subtract.at(dual, cones.variables, cones.pull(Z))
        S_inverse = np.linalg.inv(S) if K else S
        matrix = point.hessian.copy()
        np.add.at(matrix, (cones.places, cones.places), z / s)
        # tr(B_i Z B_j S^-1), symmetric in i and j
        ZBS = np.matmul(np.matmul(Z[:, None], cones.basis), S_inverse[:, None])
        np.add.at(matrix, (rows, cols), np.matmul(cones.flat_basis, ZBS.reshape(cones.flat_basis.shape).transpose(0, 2, 1)))
        factor, info = dpotrf(matrix, lower=1, clean=0)
        if info:
            return nearly        # too near the boundary for the arithmetic
        infeasible = max(float(np.max(np.abs(rp), initial=0)), float(np.max(np.abs(Rp), initial=0)))
        size = max(abs(point.value), 1e-12)
        remaining = degree * mu + 0.5 * abs(float(dual @ dpotrs(factor, dual, lower=1)[0]))
        if remaining < USABLE * size and infeasible < 1e-8:
            nearly = Interior(point, _active(cones, s, z, S, Z), remaining / size, iteration)
            if remaining < tolerance * size:
                return nearly

        def direction(target: float, ds0, dS0, dz0, dZ0):
            """Newton direction to complementarity `target`, with the second-order terms of an earlier direction."""
            bounds = target / s - z - (z * rp + ds0 * dz0) / s
            blocks = target * S_inverse - Z - _sym(np.matmul(np.matmul(Z, Rp) + np.matmul(dZ0, dS0), S_inverse))
            right = -dual
            np.add.at(right, cones.places, cones.sign * bounds)
            np.add.at(right, cones.variables, cones.pull(blocks))
            dx, _ = dpotrs(factor, right, lower=1)
            ds = cones.sign * dx[cones.places] + rp
            moved = cones.along(dx)
            dz = bounds - z / s * (ds - rp)
            dZ = blocks - _sym(np.matmul(np.matmul(Z, moved), S_inverse))
            return dx, ds, moved + Rp, dz, dZ

        dx, ds, dS, dz, dZ = direction(0.0, 0.0 * s, 0.0 * S, 0.0 * z, 0.0 * Z)
        primal, dual_step = _longest(s, ds, S, dS, 1.0), _longest(z, dz, Z, dZ, 1.0)
        ahead = (float((z + dual_step * dz) @ (s + primal * ds)) + float(np.sum((Z + dual_step * dZ) * (S + primal * dS)))) / max(degree, 1)
        centre = min(1.0, max((ahead / mu) ** 3, 1e-6)) if mu > 0 else 0.0
        dx, ds, dS, dz, dZ = direction(centre * mu, ds, dS, dz, dZ)
        primal, dual_step = _longest(s, ds, S, dS, TO_BOUNDARY), _longest(z, dz, Z, dZ, TO_BOUNDARY)
        # The cost is not quadratic, so primal and dual go the same length.
        length = min(primal, dual_step)
        if length <= 0.0:
            return nearly
        x, s, S, z, Z = x + length * dx, s + length * ds, S + length * dS, z + length * dz, Z + length * dZ
        if not np.isfinite(x).all():
            return nearly
        point, slack, F = cost.at(x), cones.slacks(x), cones.matrices(x)
    return nearly


def _sym(A: np.ndarray) -> np.ndarray:
    return 0.5 * (A + A.transpose(0, 2, 1))


def _longest(s, ds, S, dS, share: float) -> float:
    """The longest step, at most one, that keeps s and S inside their cones, times `share` where the boundary limits it."""
    limit = np.inf
    falling = ds < 0
    if falling.any():
        limit = float(np.min(-s[falling] / ds[falling]))
    if len(S):
        try:
            L_inverse = np.linalg.inv(np.linalg.cholesky(S))
        except np.linalg.LinAlgError:
            return 0.0
        lowest = float(np.linalg.eigvalsh(np.matmul(np.matmul(L_inverse, dS), L_inverse.transpose(0, 2, 1)))[:, 0].min())
        if lowest < 0:
            limit = min(limit, -1.0 / lowest)
    return min(1.0, share * limit)


def _active(cones: Cones, s, z, S, Z) -> ActiveSet:
    """Strict complementarity decides: a bound is active where its multiplier outweighs its slack, in a direction alike."""
    unit = max(float(np.max(z, initial=0)), float(np.max(np.abs(Z), initial=0)), 1e-300)
    rank = (np.linalg.eigvalsh(S - Z / unit) < 0).sum(axis=1) if cones.count else np.zeros(0, int)
    return ActiveSet(z / unit > s, rank, Z.copy())
