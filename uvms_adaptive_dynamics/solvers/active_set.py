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
GAP = 1e-10            # relative bound of suboptimality of an answer
FEASIBLE = 1e-10       # (scaled) violation that counts as rounding
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
    hessian = point.hessian.copy()
    bounds = np.flatnonzero(active.bounds)
    rows, right, places = [], [], []
    A = np.zeros((bounds.size, point.x.size))
    A[np.arange(bounds.size), cones.places[bounds]] = cones.sign[bounds]
    if bounds.size:
        rows.append(A)
        right.append(-cones.slacks(point.x)[bounds])
    if cones.count:
        D, V = vectors
        T = np.matmul(np.matmul(V.transpose(0, 2, 1)[:, None], cones.basis), V[:, None])   # basis in F's eigenvectors
        for k in np.flatnonzero(active.rank):
            r, variables = active.rank[k], cones.variables[k]
            i, j = _UPPER[r]
            block = np.zeros((i.size, point.x.size))
            np.add.at(block.T, variables, T[k][:, i, j])
            rows.append(block)
            right.append(-np.where(i == j, D[k][i], 0.0))
            places.append((k, r))
            if r < SIDE:
                V1 = V[k][:, :r]
                Lambda = V1.T @ active.Z[k] @ V1
                regular = D[k][r:] > SINGULAR
                C = T[k][:, :r, r:][:, :, regular]
                weighted = np.matmul(Lambda, C) / D[k][r:][regular]
                curvature = 2 * weighted.reshape(len(variables), -1) @ C.reshape(len(variables), -1).T
                np.add.at(hessian, (variables[:, None], variables[None, :]), 0.5 * (curvature + curvature.T))
    factor, info = dpotrf(hessian, lower=1, clean=0)
    if info:
        return None
    free_step, _ = dpotrs(factor, -point.gradient, lower=1)
    if not rows:
        return free_step, np.zeros(0), {}
    A = np.vstack(rows)
    GA, _ = dpotrs(factor, A.T, lower=1)
    S = A @ GA
    size = 1 / np.sqrt(np.maximum(np.diag(S), 1e-300))
    inner, info = dpotrf(S * np.outer(size, size) + 1e-14 * np.eye(len(S)), lower=1, clean=0)
    if info:
        return None
    scaled, _ = dpotrs(inner, size * (np.concatenate(right) - A @ free_step), lower=1)
    multipliers = size * scaled
    dx = free_step + GA @ multipliers
    if not np.isfinite(dx).all():
        return None
    return dx, multipliers[:bounds.size], _unpack(multipliers[bounds.size:], places)


def _unpack(values: np.ndarray, places) -> dict[int, np.ndarray]:
    found, at = {}, 0
    for k, r in places:
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
    entering = (slacks < -FEASIBLE) & ~active.bounds
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
        l, U = np.linalg.eigh(Lambda)
        keep = l > 0
        V1 = old_vectors[k][:, :active.rank[k]] @ U
        active.Z[k] = (V1[:, keep] * l[keep]) @ V1[:, keep].T
        if not keep.all():
            # Turn the (nearly null) eigenvectors so that the directions whose multiplier is positive come first.
            V_near = V[k][:, :active.rank[k]]
            order = np.linalg.eigh(V_near.T @ active.Z[k] @ V_near)[1][:, ::-1]
            V[k][:, :active.rank[k]] = V_near @ order
            active.rank[k] = int(keep.sum())
            changed = True
    negative = (D < -FEASIBLE).sum(axis=1)
    grown = negative > active.rank
    if grown.any():
        active.rank[grown] = negative[grown]
        changed = True
    return changed, (D, V)


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
