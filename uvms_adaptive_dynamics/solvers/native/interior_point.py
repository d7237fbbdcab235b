"""A primal-dual interior-point method for the robust cost over P's cones, written for this problem's shape.

HKM direction with Mehrotra's predictor and corrector (Helmberg, Rendl, Vanderbei and Wolkowicz, 1996; Mehrotra, 1992). The
smooth robust cost enters with its own gradient and Hessian at every iterate, so that outliers need no cones and no
outer loop; all matrix inequalities are one batch of 4 x 4 matrices, and each touches few variables. The result is
near the optimum, with a bound of its distance, and knows its active set, with which `active_set` goes on at the next tick.
"""
from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .active_set import ActiveSet, Answer
from .cones import SIDE, Cones
from .robust_cost import RobustCost

ITERATIONS = 60
USABLE = 1e-7           # relative gap of an answer where rounding ends the iteration
TO_BOUNDARY = 0.99      # share of the way to the cones' boundary
_EYE = np.eye(SIDE)


def solve_interior(cost: RobustCost, cones: Cones, start: np.ndarray, tolerance: float) -> Answer | None:
    """Minimise from `start` (m,), which may lie anywhere; None where the iteration breaks down."""
    K = cones.count
    x = start
    cost.look(x)
    slope = cost.slope(x)
    unit = max(float(np.median(np.diag(cost.hessian(slope)))), 1e-12)     # multipliers in the cost's own size
    slack, F = cones.slacks(x), cones.matrices(x)
    s = np.maximum(slack, 0.1)
    D, V = np.linalg.eigh(F) if K else (np.zeros((0, SIDE)), np.zeros((0, SIDE, SIDE)))
    S = (V * np.maximum(D, 0.1)[:, None, :]) @ V.transpose(0, 2, 1)
    z, Z = np.full(s.size, 0.1 * unit), np.tile(0.1 * unit * _EYE, (K, 1, 1))
    degree = s.size + SIDE * K
    nearly = before = None
    for iteration in range(1, ITERATIONS + 1):
        mu = (float(z @ s) + float(np.sum(Z * S))) / max(degree, 1)
        rp, Rp = slack - s, F - S
        dual = slope.gradient - cones.balance(z, Z)
        S_inverse = np.linalg.inv(S) if K else S
        # tr(B_i Z B_j S^-1), symmetric in i and j
        ZBS = np.matmul(np.matmul(Z[:, None], cones.basis), S_inverse[:, None])
        curvature = np.matmul(cones.flat_basis, ZBS.reshape(cones.flat_basis.shape).transpose(0, 2, 1))
        matrix = cost.hessian(slope) + cones.scattered(curvature, z / s)
        factor, info = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        if info:
            return nearly        # too near the boundary for the arithmetic
        before = before or (s, S, mu)
        infeasible = max(float(np.max(np.abs(rp), initial=0)), float(np.max(np.abs(Rp), initial=0)))
        size = max(abs(slope.value), 1e-12)
        remaining = degree * mu + 0.5 * abs(float(dual @ dpotrs(factor, dual, lower=1)[0]))
        if remaining < USABLE * size and infeasible < 1e-8:
            nearly = Answer(x, slope.value, _active(cones, before, s, S, mu, z, Z), remaining / size, iteration)
            if remaining < tolerance * size:
                return nearly

        def direction(target: float, ds0, dS0, dz0, dZ0):
            """Newton direction to complementarity `target`, with the second-order terms of an earlier direction."""
            bounds = target / s - z - (z * rp + ds0 * dz0) / s
            blocks = target * S_inverse - Z - _sym(np.matmul(np.matmul(Z, Rp) + np.matmul(dZ0, dS0), S_inverse))
            dx, _ = dpotrs(factor, cones.balance(bounds, blocks) - dual, lower=1)
            ds = cones.sign * dx[cones.places] + rp
            moved = cones.along(dx)
            dz = bounds - z / s * (ds - rp)
            dZ = blocks - _sym(np.matmul(np.matmul(Z, moved), S_inverse))
            return dx, ds, moved + Rp, dz, dZ

        dx, ds, dS, dz, dZ = direction(0.0, 0.0 * s, 0.0 * S, 0.0 * z, 0.0 * Z)
        roots = _roots(S, Z)
        primal, dual_step = _longest(s, ds, z, dz, dS, dZ, roots, 1.0)
        ahead = (float((z + dual_step * dz) @ (s + primal * ds)) + float(np.sum((Z + dual_step * dZ) * (S + primal * dS)))) / max(degree, 1)
        centre = min(1.0, max((ahead / mu) ** 3, 1e-6)) if mu > 0 else 0.0
        dx, ds, dS, dz, dZ = direction(centre * mu, ds, dS, dz, dZ)
        # The cost is not quadratic, so primal and dual go the same length.
        length = min(_longest(s, ds, z, dz, dS, dZ, roots, TO_BOUNDARY))
        if length <= 0.0:
            return nearly
        before = s, S, mu
        x, s, S, z, Z = x + length * dx, s + length * ds, S + length * dS, z + length * dz, Z + length * dZ
        if not np.isfinite(x).all():
            return nearly
        cost.look(x)
        slope, slack, F = cost.slope(x), cones.slacks(x), cones.matrices(x)
    return nearly


def _sym(A: np.ndarray) -> np.ndarray:
    return 0.5 * (A + A.transpose(0, 2, 1))


def _roots(S: np.ndarray, Z: np.ndarray) -> np.ndarray | None:
    """(2K, 4, 4) inverse Cholesky factors of S and Z; None where one of them is not positive definite."""
    try:
        return np.linalg.inv(np.linalg.cholesky(np.concatenate([S, Z])))
    except np.linalg.LinAlgError:
        return None


def _longest(s, ds, z, dz, dS, dZ, roots: np.ndarray | None, share: float) -> tuple[float, float]:
    """The longest steps of (s, S) and of (z, Z), at most one, inside their cones, times `share` where the boundary limits them."""
    if roots is None:
        return 0.0, 0.0
    limits = [float(np.min(-v[dv < 0] / dv[dv < 0], initial=np.inf)) for v, dv in ((s, ds), (z, dz))]
    if len(roots):
        moved = np.matmul(np.matmul(roots, np.concatenate([dS, dZ])), roots.transpose(0, 2, 1))
        lowest = np.linalg.eigvalsh(moved)[:, 0].reshape(2, -1).min(axis=1)
        limits = [min(limit, -1.0 / low) if low < 0 else limit for limit, low in zip(limits, lowest.tolist())]
    return min(1.0, share * limits[0]), min(1.0, share * limits[1])


def _active(cones: Cones, before: tuple, s, S, mu: float, z, Z) -> ActiveSet:
    """A slack that falls like mu from one iteration to the next is active, one that stays is not (El-Bakry, Tapia and Zhang, "A study
    of indicators for identifying zero variables in interior-point methods", 1994); eigenvalues of S alike."""
    s_before, S_before, mu_before = before
    fallen = np.sqrt(mu / mu_before) if mu < mu_before else 0.0
    rank = np.zeros(0, int)
    if cones.count:
        old, new = np.linalg.eigvalsh(np.stack([S_before, S]))
        rank = (new < fallen * old).sum(axis=1)
    return ActiveSet(s < fallen * s_before, z.copy(), rank, Z.copy())
