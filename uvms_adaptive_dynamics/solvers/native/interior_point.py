"""A primal-dual interior-point method for the robust cost over P's cones, written for this
problem's shape.

HKM direction with Mehrotra's predictor and corrector (Helmberg, Rendl, Vanderbei and Wolkowicz,
1996; Mehrotra, 1992). The smooth robust cost enters with its own gradient and Hessian at every
iterate, so that outliers need no cones and no outer loop; all matrix inequalities are one batch
of 4 x 4 matrices, and each touches few variables. The answer has a bound of its distance from
the optimum, and its active set, with which `active_set` goes on at the next tick.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .answer import ActiveSet, Answer, Clock, Stopped
from .cones import SIDE, Cones
from .huber_groups import OutlierTerm
from .optimality import suboptimality
from .robust_cost import Cost, Slope

ITERATIONS = 60
# relative gap from which a point is an answer, with its certificate, where rounding ends the
# iteration
NEARLY = 1e-4
FEASIBLE = 1e-6  # (scaled) violation from which a point can be moved inside for little
SHIFTS = (
    0.0,
    1e-13,
    1e-11,
    1e-9,
)  # of the diagonal, tried in turn where rounding makes Newton's matrix indefinite
MARGINS = (0.1, 1e-2, 1e-3, 1e-5)  # (scaled) of a point inside all cones
SURPRISE = 1.5  # times the predicted length of the dual residual from which steps are cautious
NEGLIGIBLE = 1e-3  # dual residual, in units of the cost's curvature, that asks for no caution
TO_BOUNDARY = 0.99  # share of the way to the cones' boundary
_EYE = np.eye(SIDE)


def solve_interior(
    cost: Cost, cones: Cones, start: np.ndarray, tolerance: float, clock: Clock = Clock()
) -> Answer | Stopped:
    """Minimise from `start` (m,), which may lie anywhere, to a relative gap of about
    `tolerance`; where the iteration breaks down or ends too far from the optimum: where it
    stopped."""
    try:
        return _iterate(cost, cones, start, tolerance, clock)
    except np.linalg.LinAlgError:
        return Stopped(start, np.zeros(cones.places.size), np.zeros((cones.count, SIDE, SIDE)), 0)


def _iterate(
    cost: Cost, cones: Cones, start: np.ndarray, tolerance: float, clock: Clock
) -> Answer | Stopped:
    K = cones.count
    x = start
    slope = cost.at(x)
    unit = max(
        float(np.median(np.diag(cost.hessian(slope)))), 1e-12
    )  # multipliers in the cost's own size
    slack, F = cones.slacks(x), cones.matrices(x)
    s = np.maximum(slack, 0.1)
    D, V = np.linalg.eigh(F) if K else (np.zeros((0, SIDE)), np.zeros((0, SIDE, SIDE)))
    S = (V * np.maximum(D, 0.1)[:, None, :]) @ V.transpose(0, 2, 1)
    start_multiplier = max(0.1 * unit, 0.03 * float(np.max(np.abs(slope.gradient), initial=0.0)))
    z, Z = np.full(s.size, start_multiplier), np.tile(start_multiplier * _EYE, (K, 1, 1))
    degree = s.size + SIDE * K
    nearly = before = predicted = None
    for iteration in range(1, ITERATIONS + 1):
        mu = (float(z @ s) + float(np.sum(Z * S))) / max(degree, 1)
        rp, Rp = slack - s, F - S
        dual = slope.gradient - cones.balance(z, Z)
        S_inverse = np.linalg.inv(S) if K else S
        # Newton's step predicts what is left of the gradient. Where much more is, the groups beyond
        # rho have no curvature to stop the step: the quadratic of reweighted least squares has.
        length_of_dual = float(np.sqrt(dual @ dual))
        astray = predicted is not None and length_of_dual > max(
            SURPRISE * predicted, NEGLIGIBLE * unit
        )
        hessian = cost.majorizer(slope) if astray else cost.hessian(slope)
        # tr(B_i Z B_j S^-1), symmetric in i and j
        ZBS = np.matmul(np.matmul(Z[:, None], cones.basis), S_inverse[:, None])
        curvature = np.matmul(
            cones.flat_basis, ZBS.reshape(cones.flat_basis.shape).transpose(0, 2, 1)
        )
        matrix = hessian + cones.scattered(curvature, z / s)
        factor = _factor(matrix)
        if factor is None or clock.passed:
            break  # too near the boundary for the arithmetic
        before = before or (s, S, mu)
        infeasible = max(float(np.max(np.abs(rp), initial=0)), float(np.max(np.abs(Rp), initial=0)))
        size = cost.size(slope.value)
        remaining = degree * mu + 0.5 * abs(float(dual @ dpotrs(factor, dual, lower=1)[0]))
        if remaining < NEARLY * size and infeasible < FEASIBLE:
            nearly = slope, _active(cones, before, s, S, mu, z, Z), iteration
            if remaining < tolerance * size and infeasible < 1e-2 * FEASIBLE:
                break

        def direction(target: float, ds0, dS0, dz0, dZ0):
            """Newton direction to complementarity `target`, with the second-order terms of an
            earlier direction."""
            bounds = target / s - z - (z * rp + ds0 * dz0) / s
            blocks = (
                target * S_inverse
                - Z
                - _sym(np.matmul(np.matmul(Z, Rp) + np.matmul(dZ0, dS0), S_inverse))
            )
            dx, _ = dpotrs(factor, cones.balance(bounds, blocks) - dual, lower=1)
            ds = cones.sign * dx[cones.places] + rp
            moved = cones.along(dx)
            dz = bounds - z / s * (ds - rp)
            dZ = blocks - _sym(np.matmul(np.matmul(Z, moved), S_inverse))
            return dx, ds, moved + Rp, dz, dZ

        dx, ds, dS, dz, dZ = direction(0.0, 0.0 * s, 0.0 * S, 0.0 * z, 0.0 * Z)
        roots = _roots(S, Z)
        primal, dual_step = _longest(s, ds, z, dz, dS, dZ, roots, 1.0)
        ahead = (
            float((z + dual_step * dz) @ (s + primal * ds))
            + float(np.sum((Z + dual_step * dZ) * (S + primal * dS)))
        ) / max(degree, 1)
        centre = min(1.0, max((ahead / mu) ** 3, 1e-6)) if mu > 0 else 0.0
        dx, ds, dS, dz, dZ = direction(centre * mu, ds, dS, dz, dZ)
        # The cost is not quadratic, so primal and dual go the same length.
        length = min(_longest(s, ds, z, dz, dS, dZ, roots, TO_BOUNDARY))
        if length <= 0.0:
            break
        before, predicted = (s, S, mu), (1 - 0.9 * length) * length_of_dual
        if not np.isfinite(x + length * dx).all():
            break
        x, s, S, z, Z = (
            x + length * dx,
            s + length * ds,
            S + length * dS,
            z + length * dz,
            Z + length * dZ,
        )
        slope, slack, F = cost.at(x), cones.slacks(x), cones.matrices(x)
    return Stopped(x, z, Z, iteration) if nearly is None else _answer(cost, cones, *nearly)


def _answer(cost: Cost, cones: Cones, slope: Slope, active: ActiveSet, steps: int) -> Answer:
    """The point moved inside all cones, with its certificate."""
    bound = suboptimality(cost, cones, slope, active.multipliers, active.Z)
    inside = cost.at(cones.pulled_inside(slope.x))
    gap = bound + max(inside.value - slope.value, 0.0)
    return Answer(inside.x, inside.value, active, gap / cost.size(inside.value), steps)


class _Distance:
    """|x - centre|^2 as a cost of `solve_interior`."""

    NO_OUTLIERS = OutlierTerm(0.0, 0.0, 0.0, 0.0, 0.0)

    def __init__(self, centre: np.ndarray):
        self._centre = centre

    def at(self, x: np.ndarray) -> Slope:
        d = x - self._centre
        return Slope(x, float(d @ d), 2 * d, self.NO_OUTLIERS)

    def size(self, value: float) -> float:
        return max(value, 1.0)

    def hessian(self, slope: Slope) -> np.ndarray:
        return 2 * np.eye(self._centre.size)

    majorizer = hessian

    def residual_bound(self, slope: Slope, residual: np.ndarray, enough: float) -> float:
        return 0.25 * float(residual @ residual)


def strictly_inside(cones: Cones) -> tuple[np.ndarray, float]:
    """(x (m,), margin): a point as far inside the cones as one of a few margins allows; margin
    0 where none does."""
    for margin in MARGINS:
        tighter = cones.tightened(margin)
        found = solve_interior(
            _Distance(np.zeros(cones.coordinates.size)),
            tighter,
            np.zeros(cones.coordinates.size),
            1e-3,
        )
        x = found.x
        if cones.violation(x, margin / 2) == 0.0:
            return x, margin / 2
    return np.zeros(cones.coordinates.size), 0.0


def _factor(matrix: np.ndarray) -> np.ndarray | None:
    """Lower Cholesky factor, of a matrix slightly shifted where it must be; None where that
    does not help."""
    diagonal = matrix.diagonal().copy()
    for shift in SHIFTS:
        matrix.flat[:: len(matrix) + 1] = (1 + shift) * diagonal
        factor, info = dpotrf(matrix.T, lower=1, clean=0)
        if not info:
            return factor
    return None


def _sym(A: np.ndarray) -> np.ndarray:
    return 0.5 * (A + A.transpose(0, 2, 1))


def _roots(S: np.ndarray, Z: np.ndarray) -> np.ndarray | None:
    """(2K, 4, 4) inverse Cholesky factors of S and Z; None where one of them is not positive
    definite."""
    try:
        return np.linalg.inv(np.linalg.cholesky(np.concatenate([S, Z])))
    except np.linalg.LinAlgError:
        return None


def _longest(s, ds, z, dz, dS, dZ, roots: np.ndarray | None, share: float) -> tuple[float, float]:
    """The longest steps of (s, S) and of (z, Z), at most one, inside their cones, times `share`
    where the boundary limits them."""
    if roots is None:
        return 0.0, 0.0
    limits = [
        float(np.min(-v[dv < 0] / dv[dv < 0], initial=np.inf)) for v, dv in ((s, ds), (z, dz))
    ]
    if len(roots):
        moved = np.matmul(np.matmul(roots, np.concatenate([dS, dZ])), roots.transpose(0, 2, 1))
        lowest = np.linalg.eigvalsh(moved)[:, 0].reshape(2, -1).min(axis=1)
        limits = [
            min(limit, -1.0 / low) if low < 0 else limit
            for limit, low in zip(limits, lowest.tolist())
        ]
    return min(1.0, share * limits[0]), min(1.0, share * limits[1])


def _active(cones: Cones, before: tuple, s, S, mu: float, z, Z) -> ActiveSet:
    """A slack that falls like mu from one iteration to the next is active, one that stays is
    not (El-Bakry, Tapia and Zhang, "A study of indicators for identifying zero variables in
    interior-point methods", 1994); eigenvalues of S alike."""
    s_before, S_before, mu_before = before
    fallen = np.sqrt(mu / mu_before) if mu < mu_before else 0.0
    rank = np.zeros(0, int)
    if cones.count:
        old, new = np.linalg.eigvalsh(np.stack([S_before, S]))
        rank = (new < fallen * old).sum(axis=1)
    return ActiveSet(s < fallen * s_before, z.copy(), rank, Z.copy())
