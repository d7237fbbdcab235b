"""The solver of a machine without MOSEK: what the previous tick knows, then our interior point, then Clarabel.

1. The previous tick's active set, by Newton's method on the optimality conditions, verified (`active_set`).
2. Where that leads to no certified optimum: an interior-point method for this problem (`interior_point`), made exact by 1.
3. Where that breaks down (far from any previous estimate, hopeless scaling): Clarabel, called directly, as a Newton
   method on the smooth robust cost. A step minimises the cost's second-order model over P; the only cones are those
   of P. Where a step would raise the cost, shorter ones are tried and then the majorizing quadratic of reweighted
   least squares, which cannot raise it.
Each solution carries a bound of its relative suboptimality; `ticks` counts which method answered.
"""
from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property

import clarabel
import numpy as np
import scipy.sparse as sp

from ...errors import SolverError
from ..problem import HorizonProblem, Solution
from .active_set import ActiveSet, Answer, solve_active_set
from .cones import Cones
from .huber_groups import Stack, Window, groups_of
from .interior_point import solve_interior
from .parts import Part, PartOfCost, joined
from .robust_cost import Point, RobustCost, optimality_gap

STEPS = 50
GAP = 1e-9              # relative suboptimality at which Newton stops
ACCEPTED_GAP = 1e-7     # what is still an answer when the cost does not fall any more
NEARLY = 1e-8           # relative suboptimality of an interior-point answer that needs no refinement
ROUNDING = 1e-10        # relative accuracy of the inner solver's objective
USABLE = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations")
USABLE_VIOLATION = 1e-8


class ClarabelSolver:
    """One instance per estimator; keeps the cones, which change only with the free set, and the last active set."""

    name = "clarabel"

    def __init__(self) -> None:
        self._settings = clarabel.DefaultSettings()
        self._settings.verbose = False
        self._settings.max_iter = 100
        self._settings.presolve_enable = False
        self._settings.tol_feas = self._settings.tol_gap_abs = self._settings.tol_gap_rel = 1e-9
        self._key: tuple | None = None
        self._cones: _ClarabelCones | None = None
        self._parts: list[Part] = []
        self._active: ActiveSet | None = None
        self._groups: Window | Stack | None = None
        # how many ticks each method has answered
        self.ticks = {"active set": 0, "interior point": 0, "clarabel": 0}

    def solve(self, problem: HorizonProblem) -> Solution:
        """See `solvers.Solver`."""
        begin = time.perf_counter()
        cones = self._cones_of(problem)
        self._groups = groups_of(problem, cones.coordinates, self._groups)
        cost = RobustCost(problem, cones.coordinates, self._groups)
        start = cones.coordinates.reduce(problem.pi)
        known, self._active = self._active, None     # forgotten where it does not help
        method, answer = self._answer(cost, cones, start, known) or self._apart(problem, cost, cones, start)
        self.ticks[method] += 1
        self._active = answer.active
        pi = cones.coordinates.expand(answer.x, problem.pi)
        return Solution(pi, answer.value, answer.steps, time.perf_counter() - begin, "optimal", answer.gap)

    def _answer(self, cost: RobustCost | PartOfCost, cones: "_ClarabelCones", start: np.ndarray,
                known: ActiveSet | None) -> tuple[str, Answer] | None:
        """(method, answer) by what the last tick knew, or by the interior point."""
        exact = None if known is None else solve_active_set(cost, cones, start, known)
        if exact is not None:
            return "active set", exact
        near = self._inside(solve_interior(cost, cones, start, NEARLY), cost, cones)
        if near is None:
            return None
        if known is None or near.gap >= NEARLY:
            # A start from nowhere has the time to become exact, and an answer that rounding ended early needs it.
            near = solve_active_set(cost, cones, near.x, near.active) or near
        return "interior point", near

    def _apart(self, problem: HorizonProblem, cost: RobustCost, cones: "_ClarabelCones", start: np.ndarray) -> tuple[str, Answer]:
        """(method, answer) where the whole broke down: vehicle and arm one after the other where nothing couples them, so that
        only the one that is the trouble needs Clarabel; else all by Clarabel."""
        parts = self._parts_of(problem, cost, cones)
        if not parts:
            return "clarabel", self._by_clarabel(cost, cones, start)
        x, methods, answers = start.copy(), set(), []
        for part in parts:
            mine, begin = PartOfCost(cost, part, x), x[part.variables]
            method, answer = self._answer(mine, part.cones, begin, None) or ("clarabel", self._by_clarabel(mine, part.cones, begin))
            x[part.variables] = answer.x
            methods.add(method)
            answers.append(answer)
        answer = joined(parts, answers, x)
        if answer.gap > GAP:     # one was solved while the other's cost was large
            answer = solve_active_set(cost, cones, x, answer.active) or answer
        if answer.gap > ACCEPTED_GAP:
            raise SolverError(f"clarabel: vehicle and arm, solved apart, are together {answer.gap:.1e} (relative) from the optimum", "inaccurate")
        return "clarabel" if "clarabel" in methods else "interior point", answer

    def _by_clarabel(self, cost: RobustCost | PartOfCost, cones: "_ClarabelCones", start: np.ndarray) -> Answer:
        near = self._inside(self._from_scratch(cost, cones, start), cost, cones)
        if near is None:
            raise SolverError("clarabel: the answer lies outside the constraints, and what lies inside costs more", "outside")
        exact = solve_active_set(cost, cones, near.x, near.active)
        return replace(exact, steps=near.steps) if exact is not None and exact.gap < max(near.gap, GAP) else near

    def _parts_of(self, problem: HorizonProblem, cost: RobustCost, cones: "_ClarabelCones") -> list[Part]:
        """Vehicle and arm where nothing couples them, else none."""
        if problem.grouping != "channel" and problem.quantile < 1.0:
            return []
        if not self._parts:
            self._parts = [Part(cones, _ClarabelCones(problem.physical, free, problem.pi)) for free in problem.physical.halves(problem.free)]
        first = self._parts[0].variables
        return [] if first.all() or cost.P[np.ix_(first, ~first)].any() else self._parts

    @staticmethod
    def _inside(answer: Answer | None, cost: RobustCost, cones: "_ClarabelCones") -> Answer | None:
        """The answer inside all cones, its gap with what the way there costs; None where that is more than an answer may be off."""
        x = None if answer is None else cones.pulled_inside(answer.x)
        if answer is None or x is answer.x:
            return answer
        cost.look(x)
        value = cost.slope(x).value
        gap = answer.gap + max(value - answer.value, 0.0) / max(abs(answer.value), 1e-12)
        return replace(answer, x=x, value=value, gap=gap) if gap < ACCEPTED_GAP else None

    def _cones_of(self, problem: HorizonProblem) -> "_ClarabelCones":
        key = (id(problem.physical), problem.free.tobytes(), problem.pi[~problem.free].tobytes())
        if key != self._key:
            self._key, self._cones, self._active = key, _ClarabelCones(problem.physical, problem.free, problem.pi), None
            self._groups, self._parts = None, []
        return self._cones

    def _from_scratch(self, cost: RobustCost, cones: "_ClarabelCones", start: np.ndarray) -> Answer:
        """By Newton steps with Clarabel."""
        point, iterations, gap = cost.at(cones.pulled_inside(start)), 0, np.inf
        for _ in range(STEPS):
            size = max(abs(point.value), 1e-12)
            step, short, used = self._step(cones, point, point.hessian)
            iterations += used
            new, gap = cost.at(point.x + step), np.inf
            if new.value <= point.value + ROUNDING * size:
                # The target is nearly optimal for the model's gradient; what the true one differs from it bounds the rest.
                gap = short + optimality_gap(new.gradient - point.gradient - point.hessian @ step, new.hessian)
            else:
                new = self._shorter(cost, point, step)
            if gap < GAP * size:
                return self._at(cones, new, gap / size, iterations)
            if new.value > point.value - ROUNDING * size:
                if gap < ACCEPTED_GAP * size:
                    return self._at(cones, new, gap / size, iterations)
                step, _, used = self._step(cones, point, point.majorizer())
                iterations += used
                new = cost.at(point.x + step)
                gap = abs(float(point.gradient @ step))
                if new.value > point.value - ROUNDING * size and gap < ACCEPTED_GAP * size:
                    return self._at(cones, point, gap / size, iterations)
            point = new
        raise SolverError(f"clarabel: Newton's method did not converge in {STEPS} steps", "stalled")

    @staticmethod
    def _at(cones: Cones, point: Point, gap: float, iterations: int) -> Answer:
        return Answer(point.x, point.value, ActiveSet.near(cones, point.x), gap, iterations)

    def _step(self, cones: "_ClarabelCones", point: Point, P: np.ndarray) -> tuple[np.ndarray, float, int]:
        """(step, how far the quadratic may be above its minimum there, iterations) to the minimum over P's cones of the quadratic
        with the point's gradient and Hessian P."""
        # Jacobi scaling of the Hessian, a unit gradient and the point as the origin keep Clarabel's tolerances meaningful.
        size = 1 / np.sqrt(np.maximum(np.diag(P), 1e-12 * np.max(np.diag(P))))
        scaled, q = P * np.outer(size, size), point.gradient * size
        unit = max(float(np.max(np.abs(q))), 1e-300)
        upper = sp.csc_matrix((scaled[cones.rows, cones.cols] / unit, cones.rows, cones.starts), shape=P.shape)
        result = clarabel.DefaultSolver(upper, q / unit, sp.csc_matrix(cones.A @ sp.diags(size)), cones.b - cones.A @ point.x, cones.kinds,
                                        self._settings).solve()
        status = str(result.status)
        step = size * np.array(result.x)
        if status not in USABLE or not np.isfinite(step).all():
            raise SolverError(f"clarabel ended with status '{status}'", status)
        x = cones.pulled_inside(point.x + step)
        if status != "Solved" and cones.violation(x) > USABLE_VIOLATION:
            raise SolverError(f"clarabel ended with status '{status}' outside the constraints", status)
        return x - point.x, unit * abs(float(result.obj_val - result.obj_val_dual)), result.iterations

    @staticmethod
    def _shorter(cost: RobustCost, point: Point, step: np.ndarray) -> Point:
        """The first of shorter steps that lowers the cost enough; the point itself where none does."""
        for length in 0.5 ** np.arange(1, 12):
            new = cost.at(point.x + length * step)
            if new.value < point.value + 0.1 * length * float(point.gradient @ step):
                return new
        return point


class _ClarabelCones(Cones):
    """The cones in Clarabel's form s = b - A x, with the pattern of a dense upper-triangular Hessian."""

    def __init__(self, physical, free, pi):
        super().__init__(physical, free, pi)
        m = self.coordinates.size
        bounds = np.zeros((self.places.size, m))
        bounds[np.arange(self.places.size), self.places] = self.sign
        blocks, offsets = [-bounds], [-self.offset]
        self.kinds = [clarabel.NonnegativeConeT(self.places.size)] if self.places.size else []
        for k, d in enumerate(self.side):
            block = np.zeros((d * (d + 1) // 2, m))
            np.add.at(block.T, self.variables[k], -_svec(self.basis[k][:, :d, :d]))
            blocks.append(block)
            offsets.append(_svec(self.constant[k][None, :d, :d])[0])
            self.kinds.append(clarabel.PSDTriangleConeT(int(d)))
        self.A, self.b = sp.csc_matrix(np.vstack(blocks)), np.concatenate(offsets)
        self.cols, self.rows = np.tril_indices(m)
        self.starts = np.concatenate([[0], np.cumsum(np.arange(1, m + 1))])

    @cached_property
    def interior(self) -> tuple[np.ndarray, float]:
        """(x, margin): a point as far inside the cones as they allow, up to a margin of 0.1."""
        identity = np.concatenate([np.ones(self.places.size)] + [_svec(np.eye(int(d))[None])[0] for d in self.side])
        m = self.A.shape[1]
        A = sp.vstack([sp.hstack([self.A, sp.csc_matrix(identity[:, None])]), sp.csc_matrix(([1.0], ([0], [m])), shape=(1, m + 1))])
        P = sp.diags([1e-8] * m + [0.0], format="csc")
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        kinds = self.kinds + [clarabel.NonnegativeConeT(1)]
        result = clarabel.DefaultSolver(P, np.r_[np.zeros(m), -1.0], sp.csc_matrix(A), np.r_[self.b, 0.1], kinds, settings).solve()
        x = np.array(result.x)
        return x[:m], float(x[m]) - 1e-6


def _svec(matrices: np.ndarray) -> np.ndarray:
    """(k, d(d+1)/2): upper triangles column by column, off-diagonals times sqrt 2 (Clarabel's order)."""
    d = matrices.shape[1]
    cols, rows = np.tril_indices(d)   # row-major lower triangle is column-major upper triangle
    return matrices[:, rows, cols] * np.where(rows == cols, 1.0, np.sqrt(2.0))
