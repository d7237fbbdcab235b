"""MOSEK through its Optimizer API: one conic task, kept from tick to tick, its numbers updated in place.

In d = x - x_previous, with the groups within rho condensed in one quadratic P = L L^T:

    minimise  t + sum_k 2 w_k rho_k v_k    t >= |L^T d - e|^2 + sum_k w_k u_k^2      (one rotated quadratic cone)
                                           |r_k - Y_k d| <= u_k + v_k,  v_k >= 0     (one quadratic cone per group)
                                           P's matrices positive semidefinite, bounds on d

Only groups near rho or beyond get a cone; a condensed one that ends beyond rho gets one too and the task is solved again,
so the answer is that of the whole problem. Conic interior points take no previous solution: nothing is warm-started.
"""
from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from ..errors import SolverError
from .problem import HorizonProblem, Solution
from .native.cones import Cones
from .mosek_task import Condensed, Task

NEAR = 0.7              # share of rho from which a group gets a cone: rarely more than one solve per tick
ROUNDS = 10             # solves until no condensed group is beyond rho
SMALLEST = 8            # cones for groups that a task has at least; their number doubles where it does not suffice
USABLE_VIOLATION = 1e-8
SHIFT = 1e-13           # of a unit diagonal, where rounding has made the quadratic indefinite


class MosekSolver:
    """One instance per estimator; needs the package `mosek` and, to solve, a licence."""

    name = "mosek"

    def __init__(self) -> None:
        try:
            import mosek
        except ImportError:
            raise SolverError("the package 'mosek' is not installed; pip install mosek", "missing") from None
        self._mosek = mosek
        self._env = mosek.Env()
        self._task: Task | None = None
        self._key: tuple | None = None

    def solve(self, problem: HorizonProblem) -> Solution:
        """See `solvers.Solver`."""
        begin = time.perf_counter()
        cones = self._cones_of(problem)
        norms, rho, _ = problem.group_norms(problem.residuals(problem.pi))
        chosen, iterations = norms > NEAR * rho, 0
        for _ in range(ROUNDS):
            task = self._filled(problem, cones, np.flatnonzero(chosen))
            x, gap, used = task.optimize()
            iterations += used
            pi = cones.coordinates.expand(x, problem.pi)
            norms, rho, _ = problem.group_norms(problem.residuals(pi))
            missed = (norms > rho) & ~chosen
            if not missed.any():
                break
            chosen |= missed
        else:
            raise SolverError(f"mosek: the set of outlying groups did not settle in {ROUNDS} solves", "stalled")
        outside = cones.violation(x)
        if outside > USABLE_VIOLATION:
            raise SolverError(f"mosek: the answer is outside the constraints by {outside:.1e} (scaled)", "inaccurate")
        return Solution(pi, problem.objective(pi), iterations, time.perf_counter() - begin, "optimal", gap)

    def write_task(self, problem: HorizonProblem, path: str | Path) -> None:
        """Write the first round's task of `problem` to .ptf, .cbf or .task.gz (MOSEK decides by the name); needs no licence.

        Its optimum is the problem's only if no condensed group ends beyond rho.
        """
        norms, rho, _ = problem.group_norms(problem.residuals(problem.pi))
        self._filled(problem, self._cones_of(problem), np.flatnonzero(norms > NEAR * rho)).write(path)

    def _cones_of(self, problem: HorizonProblem) -> Cones:
        key = (id(problem.physical), problem.free.tobytes(), problem.pi[~problem.free].tobytes())
        if key != self._key:
            # The physical set is kept with its id, which another object could get once it is gone.
            self._key, self._physical, self._task = key, problem.physical, None
            self._cones = Cones(problem.physical, problem.free, problem.pi)
        return self._cones

    def _filled(self, problem: HorizonProblem, cones: Cones, groups: np.ndarray) -> Task:
        """The task with this problem's numbers, `groups` with cones of their own; a new one where its shape does not fit."""
        condensed = _condense(problem, cones, groups)
        needed, rows = max(SMALLEST, 1 << (len(groups) - 1).bit_length()), condensed.rows.shape[1]
        task = self._task
        if task is None or task.rows != rows or not needed <= task.slots <= 4 * needed:
            self._task = task = Task(self._mosek, self._env, cones, needed, rows)
        task.fill(condensed)
        return task


def _condense(problem: HorizonProblem, cones: Cones, groups: np.ndarray) -> Condensed:
    """Everything but `groups` in one quadratic about the previous estimate."""
    at = cones.coordinates
    pi = at.expand(at.reduce(problem.pi), problem.pi)
    residuals = problem.residuals(pi)
    _, rho, weight = problem.group_norms(residuals)
    N, C, p = problem.Y.shape
    if problem.grouping == "horizon":
        root = np.sqrt(problem.weight)
        Y, r = (root[:, None, None] * problem.Y).reshape(1, N * C, p), (root[:, None] * residuals).reshape(1, N * C)
    elif problem.grouping == "channel":
        Y, r = problem.Y.reshape(N * C, 1, p), residuals.reshape(N * C, 1)
    else:
        Y, r = problem.Y, residuals
    rows, r, rho, weight = at.columns(Y[groups]), r[groups], rho[groups], weight[groups]
    quadratic = problem.arrival if problem.grouping == "horizon" and groups.size else problem.total
    P, gradient = at.columns(at.columns(quadratic.H).T), at.columns(quadratic.H @ pi - quadratic.g)
    value = quadratic(pi)
    if problem.grouping == "horizon":
        # One norm over the whole stack: its QR factor has the same norm, whatever the horizon.
        R = np.zeros((1, at.size + 1, at.size + 1))
        if groups.size:
            factor = np.linalg.qr(np.column_stack([rows[0], r[0]]), mode="r")
            R[0, :len(factor)] = factor
        rows, r = R[:groups.size, :, :-1], R[:groups.size, :, -1]
    elif groups.size:
        weighted = weight[:, None, None] * rows
        P -= np.einsum("kcm,kcn->mn", weighted, rows, optimize=True)
        gradient += np.einsum("kcm,kc->m", weighted, r)
        value -= float(weight @ np.einsum("kc,kc->k", r, r))
    root = _root(P)
    goal = -solve_triangular(root, gradient, trans="T", check_finite=False)
    return Condensed(at.reduce(problem.pi), root, goal, value - float(goal @ goal), rows, r, rho, weight)


def _root(P: np.ndarray) -> np.ndarray:
    """Upper triangular R with R^T R = P."""
    size = np.sqrt(np.maximum(np.diag(P), 1e-300))
    scaled = P / np.outer(size, size)
    for shift in (0.0, SHIFT, 100 * SHIFT):
        try:
            return cholesky(scaled + shift * np.eye(len(P)), check_finite=False) * size
        except LinAlgError:
            continue
    raise SolverError("mosek: the arrival cost is not convex; has the prior standard deviations that are not finite?", "indefinite")
