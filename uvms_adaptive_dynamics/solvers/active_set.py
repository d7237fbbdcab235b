"""Newton's method on the optimality conditions with a guessed active set: what the previous tick knows, verified.

At the optimum some bounds hold with equality and some matrix inequalities are singular, and from one tick to the next
these are nearly always the same ones. Given them, F_k >= 0 is locally the smooth condition that the Schur complement
of its regular part vanishes, and Newton's method on the Lagrangian converges quadratically (Overton and Womersley,
"Second derivatives for optimizing eigenvalues of symmetric matrices", 1995). Nothing is assumed: multipliers of the
wrong sign leave the set, violated constraints enter it, and an answer is returned only with its certificate, a bound
of its cost above the optimum; else None, and the caller solves from scratch.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .cones import SIDE, Cones
from .robust_cost import Point, RobustCost, optimality_gap

STEPS = 8
DIVERGING = 4.0        # a step this much longer than the one before: the guess is not near an optimum
GAP = 1e-9             # relative bound of suboptimality of an answer
FEASIBLE = 1e-8        # (scaled) violation of an answer; the caller takes it out
ROUNDING = 1e-10       # (scaled) violation that does not make a constraint active
SINGULAR = 1e-7        # eigenvalue below which a direction is too flat to divide by
_UPPER = {r: np.triu_indices(r) for r in range(1, SIDE + 1)}
_ROOT2 = {r: np.where(_UPPER[r][0] == _UPPER[r][1], 1.0, 2.0) for r in range(1, SIDE + 1)}


@dataclass
class ActiveSet:
    """Guess of what is active: bounds (b,) bool, rank (K,) of each multiplier and the multipliers Z (K, 4, 4)."""

    bounds: np.ndarray
    rank: np.ndarray
    Z: np.ndarray

    @classmethod
    def near(cls, cones: Cones, x: np.ndarray, tolerance: float = 1e-4) -> "ActiveSet":
        """What holds within `tolerance` (scaled) at x, without knowledge of multipliers."""
        rank = (np.linalg.eigvalsh(cones.matrices(x)) < tolerance).sum(axis=1) if cones.count else np.zeros(0, int)
        return cls(cones.slacks(x) < tolerance, rank, np.zeros((cones.count, SIDE, SIDE)))


@dataclass(frozen=True)
class Certified:
    """An answer with its point, the active set it ended with, the relative gap and the number of steps."""

    point: Point
    active: ActiveSet
    gap: float
    steps: int


def solve_active_set(cost: RobustCost, cones: Cones, start: np.ndarray, active: ActiveSet) -> Certified | None:
    """The optimum near `start` (m,), or None where the guess does not lead to a certified one."""
    point = cost.at(start)
    active = ActiveSet(active.bounds.copy(), active.rank.copy(), active.Z.copy())
    vectors = _eigenvectors(cones, start) if cones.count else None
    longest = np.inf
    for step_number in range(1, STEPS + 1):
        step = _newton_step(cones, point, active, vectors)
        if step is None:
            return None
        dx, bound_multipliers, values = step
        length = float(np.linalg.norm(dx))
        if step_number > 2 and length > DIVERGING * longest:
            return None
        longest = length
        x = point.x + dx
        changed, vectors = _update(cones, x, active, bound_multipliers, values, vectors)
        point = cost.at(x)
        if changed:
            continue
        gap = _gap(cones, point, active, bound_multipliers) / max(abs(point.value), 1e-12)
        if gap < GAP and cones.violation(x) < FEASIBLE:
            return Certified(point, active, gap, step_number)
    return None


def _eigenvectors(cones: Cones, x: np.ndarray):
    return np.linalg.eigh(cones.matrices(x))


def _newton_step(cones: Cones, point: Point, active: ActiveSet, vectors):
    """(dx, multipliers of the active bounds, {k: Lambda_k}) of the linearized conditions; None where they are singular."""
    hessian, m = point.hessian.copy(), point.x.size
    bounds = np.flatnonzero(active.bounds)
    blocks = [(k, active.rank[k]) for k in np.flatnonzero(active.rank)]
    count = bounds.size + sum(r * (r + 1) // 2 for _, r in blocks)
    A, right, at = np.zeros((count, m)), np.zeros(count), bounds.size
    A[np.arange(at), cones.places[bounds]] = cones.sign[bounds]
    right[:at] = -cones.slacks(point.x)[bounds]
    if blocks:
        D, V = vectors
        T = np.matmul(np.matmul(V.transpose(0, 2, 1)[:, None], cones.basis), V[:, None])   # basis in F's eigenvectors
        for k, r in blocks:
            width = cones.width[k]
            variables, t = cones.variables[k, :width], T[k, :width]
            i, j = _UPPER[r]
            A[at:at + i.size, variables] = t[:, i, j].T
            right[at:at + i.size] = -np.where(i == j, D[k, i], 0.0)
            at += i.size
            if r < SIDE:
                V1 = V[k, :, :r]
                Lambda = V1.T @ active.Z[k] @ V1
                inverse = np.where(D[k, r:] > SINGULAR, 1 / np.maximum(D[k, r:], SINGULAR), 0.0)
                C = t[:, :r, r:]
                curvature = (np.matmul(Lambda, C) * inverse).reshape(width, -1) @ C.reshape(width, -1).T
                hessian[variables[:, None], variables] += curvature + curvature.T
    # The transpose of the symmetric matrix is in the order LAPACK works in place.
    factor, info = dpotrf(hessian.T, lower=1, clean=0, overwrite_a=1)
    if info:
        return None
    free_step, _ = dpotrs(factor, -point.gradient, lower=1)
    if not count:
        return free_step, np.zeros(0), {}
    GA, _ = dpotrs(factor, A.T, lower=1)
    S = A @ GA
    size = 1 / np.sqrt(np.maximum(np.diag(S), 1e-300))
    S *= size[:, None] * size
    S.flat[::count + 1] += 1e-14
    inner, info = dpotrf(S.T, lower=1, clean=0, overwrite_a=1)
    if info:
        return None
    scaled, _ = dpotrs(inner, size * (right - A @ free_step), lower=1)
    multipliers = size * scaled
    dx = free_step + GA @ multipliers
    if not np.isfinite(dx).all():
        return None
    return dx, multipliers[:bounds.size], _unpack(multipliers[bounds.size:], blocks)


def _unpack(values: np.ndarray, blocks) -> dict[int, np.ndarray]:
    found, at = {}, 0
    for k, r in blocks:
        i, j = _UPPER[r]
        Lambda = np.zeros((r, r))
        # An off-diagonal equation stands for two entries of the symmetric multiplier.
        Lambda[i, j] = values[at:at + i.size] / _ROOT2[r]
        Lambda[j, i] = Lambda[i, j]
        found[k] = Lambda
        at += i.size
    return found


def _update(cones: Cones, x: np.ndarray, active: ActiveSet, bound_multipliers: np.ndarray, values, vectors):
    """Take what has the wrong sign out of the set and what is violated in; returns (changed, eigenvectors at x)."""
    changed = False
    bounds = np.flatnonzero(active.bounds)
    wrong = bounds[bound_multipliers < 0]
    slacks = cones.slacks(x)
    entering = (slacks < -ROUNDING) & ~active.bounds
    if wrong.size or entering.any():
        active.bounds[wrong] = False
        active.bounds |= entering
        changed = True
    if not cones.count:
        return changed, None
    old_vectors = vectors[1]
    D, V = _eigenvectors(cones, x)
    active.Z[:] = 0.0
    for k, Lambda in values.items():
        V1 = old_vectors[k][:, :active.rank[k]]
        if _is_positive(Lambda):
            active.Z[k] = V1 @ Lambda @ V1.T
            continue
        l, U = np.linalg.eigh(Lambda)
        keep = l > 0
        V1 = V1 @ U
        active.Z[k] = (V1[:, keep] * l[keep]) @ V1[:, keep].T
        # Turn the (nearly null) eigenvectors so that the directions whose multiplier is positive come first.
        V_near = V[k][:, :active.rank[k]]
        order = np.linalg.eigh(V_near.T @ active.Z[k] @ V_near)[1][:, ::-1]
        V[k][:, :active.rank[k]] = V_near @ order
        active.rank[k] = int(keep.sum())
        changed = True
    negative = (D < -ROUNDING).sum(axis=1)
    grown = negative > active.rank
    if grown.any():
        active.rank[grown] = negative[grown]
        changed = True
    return changed, (D, V)


def _is_positive(Lambda: np.ndarray) -> bool:
    """Whether a small symmetric matrix is positive definite."""
    if len(Lambda) == 1:
        return Lambda[0, 0] > 0
    if len(Lambda) == 2:
        return Lambda[0, 0] > 0 and Lambda[0, 0] * Lambda[1, 1] > Lambda[0, 1] ** 2
    return dpotrf(Lambda, lower=1)[1] == 0


def _gap(cones: Cones, point: Point, active: ActiveSet, bound_multipliers: np.ndarray) -> float:
    """Bound of the cost above the optimum: complementarity, and what the left-over gradient can be worth."""
    bounds = np.flatnonzero(active.bounds)
    residual = point.gradient.copy()
    np.subtract.at(residual, cones.places[bounds], cones.sign[bounds] * bound_multipliers)
    complementarity = float(np.abs(bound_multipliers @ cones.slacks(point.x)[bounds]))
    if cones.count:
        np.subtract.at(residual, cones.variables, cones.pull(active.Z))
        complementarity += abs(float(np.sum(active.Z * cones.matrices(point.x))))
    return complementarity + optimality_gap(residual, point.hessian)
