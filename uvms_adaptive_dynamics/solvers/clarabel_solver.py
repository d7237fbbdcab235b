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

"""Clarabel: the condensed problem (`condensed`) as one conic program with a quadratic cost, solved
from scratch at each tick."""

from __future__ import annotations

from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp

from ..errors import SolverError
from .condensed import NEAR_OPTIMAL_GAP, Condensed, Round, solve_in_rounds
from .native.answer import SolveClock
from .native.cones import NEARLY_FEASIBLE, Cones
from .native.interior_point import strictly_inside
from .problem import HorizonProblem, Solution, is_panic

CLARABEL_TOLERANCE = 1e-9  # of feasibility and relative gap, Clarabel's target
# largest relative gap of an optimal answer, the cost of moving it inside P included
OPTIMAL = 1e-7
CLARABEL_STATUSES = {
    "Solved": "optimal",
    "AlmostSolved": "near-optimal",
    "InsufficientProgress": "near-optimal",
    "MaxIterations": "near-optimal",
    "NumericalError": "near-optimal",
    "MaxTime": "deadline",
}
CLARABEL_SENTENCES = {
    "PrimalInfeasible": "no parameters satisfy all constraints: check frozen parameters outside P "
                        "and contradicting bounds",
    "DualInfeasible": "the cost has no minimum: the prior holds no information in some direction "
                      "(information_floor)",
    "NumericalError": "it failed numerically: check that all measurements are finite and of "
                      "sensible size",
    "InsufficientProgress": "it stopped making progress before it reached its tolerances",
    "MaxIterations": "it reached its limit of iterations",
    "MaxTime": "the deadline passed before a feasible point was found",
}


class ClarabelSolver:
    """Clarabel without warm starts; keeps the cones, which change only with the physical set and
    the frozen parameters."""

    name = "clarabel"

    def __init__(self) -> None:
        self._form: _ConicForm | None = None

    def solve(self, problem: HorizonProblem, deadline: float | None = None) -> Solution:
        """See `Solver`."""
        clock = SolveClock(deadline)
        fixed = problem.physical, problem.free, problem.pi
        if self._form is None or not self._form.cones.fit(*fixed):
            self._form = _ConicForm(Cones(*fixed, strictly_inside))
        form = self._form

        def solve_once(condensed: Condensed) -> Round:
            return form.solve(condensed, clock.left)

        pi, found = solve_in_rounds(problem, form.cones, solve_once, self.name)
        inside = form.cones.pulled_inside(found.x)
        value, gap = problem.objective(pi), found.gap
        if inside is not found.x:
            pi = form.cones.coordinates.expand(inside, problem.pi)
            moved = problem.objective(pi)
            gap += max(moved - value, 0.0) / problem.cost_size(value)
            value = moved
        if found.status != "deadline" and not gap < NEAR_OPTIMAL_GAP:
            raise SolverError(f"clarabel ended {gap:.1e} (relative) from the optimum", "inaccurate")
        status = "near-optimal" if found.status == "optimal" and gap > OPTIMAL else found.status
        return Solution(pi, value, found.iterations, clock.elapsed, status, gap, self.name)


class _ConicForm:
    """P in Clarabel's form s = b - A x, combined with a condensed problem."""

    def __init__(self, cones: Cones):
        self.cones = cones
        m = cones.coordinates.size
        bounds = np.zeros((cones.places.size, m))
        bounds[np.arange(cones.places.size), cones.places] = cones.sign
        blocks = [-bounds]
        self._kinds = [clarabel.NonnegativeConeT(cones.places.size)] if cones.places.size else []
        for k, d in enumerate(cones.side):
            block = np.zeros((d * (d + 1) // 2, m))
            np.add.at(block.T, cones.variables[k], -_svec(cones.basis[k][:, :d, :d]))
            blocks.append(block)
            self._kinds.append(clarabel.PSDTriangleConeT(int(d)))
        self._A = np.vstack(blocks)

    def _slack(self, x: np.ndarray) -> np.ndarray:
        """Slacks s at x (m,)."""
        cones = self.cones
        F = cones.matrices(x)
        return np.concatenate([cones.slacks(x)]
                              + [_svec(F[k, :d, :d][None])[0] for k, d in enumerate(cones.side)])

    def solve(self, c: Condensed, seconds: float | None) -> Round:
        """Clarabel's answer; raises SolverError with its status if it is not usable."""
        if seconds is not None and seconds <= 0:
            raise SolverError(f"clarabel: {CLARABEL_SENTENCES['MaxTime']}", "deadline")
        (k, rows, m) = c.rows.shape
        # Jacobi scaling and a unit gradient keep Clarabel's tolerances meaningful.
        diagonal = np.diag(c.P) + np.einsum("k,krm,krm->m", c.weight, c.rows, c.rows)
        size = 1 / np.sqrt(np.maximum(diagonal, 1e-300))
        g = c.g * size
        pull = np.einsum("k,krm,kr->m", c.weight, c.rows, c.residual) * size
        # d = stretch size d', u = stretch u', v = stretch v', cost in units of stretch^2. stretch
        # is the length that the step may need: for the gradient, or to reach feasibility.
        outside = self.cones.violation(c.x0) / float(np.median(size))
        stretch = max(float(np.max(np.abs(g - pull), initial=0.0)), outside,
                      1e-6 * np.sqrt(abs(c.c)), 1e-150)
        H = sp.block_diag([2 * c.P * np.outer(size, size), sp.diags(2 * c.weight),
                           sp.csc_matrix((k, k))], format="csc")
        q = np.concatenate([2 * g / stretch, np.zeros(k), 2 * c.weight * c.rho / stretch])
        A = [np.hstack([self._A * size, np.zeros((len(self._A), 2 * k))])]
        b = [self._slack(c.x0) / stretch]
        kinds = list(self._kinds)
        if k:
            A.append(np.hstack([np.zeros((k, m + k)), -np.eye(k)]))
            b.append(np.zeros(k))
            kinds.append(clarabel.NonnegativeConeT(k))
            norm = np.zeros((k, rows + 1, m + 2 * k))
            each = np.arange(k)
            norm[each, 0, m + each] = norm[each, 0, m + k + each] = -1.0
            norm[:, 1:, :m] = c.rows * size
            A.append(norm.reshape(k * (rows + 1), -1))
            b.append(np.concatenate([np.zeros((k, 1)), c.residual / stretch], axis=1).ravel())
            kinds += [clarabel.SecondOrderConeT(rows + 1)] * k
        solver = clarabel.DefaultSolver(sp.triu(H, format="csc"), q, sp.csc_matrix(np.vstack(A)),
                                        np.concatenate(b), kinds, _settings(seconds))
        return self._read(_run(solver), c, size * stretch, stretch ** 2)

    def _read(self, result, c: Condensed, size: np.ndarray, unit: float) -> Round:
        word = str(result.status)
        x = c.x0 + size * np.array(result.x)[:len(size)]
        status = CLARABEL_STATUSES.get(word)
        if status is None or not np.isfinite(x).all():
            raise SolverError(f"clarabel ended with status '{word}': "
                              f"{CLARABEL_SENTENCES.get(word, 'no usable answer')}", word)
        outside = self.cones.violation(x)
        if outside > NEARLY_FEASIBLE:
            reason = "deadline" if status == "deadline" else word
            raise SolverError(
                f"clarabel ended with status '{word}', outside the constraints by {outside:.1e} "
                f"(scaled): {CLARABEL_SENTENCES.get(word, 'no usable answer')}", reason)
        value = c.c + unit * float(result.obj_val)
        gap = unit * abs(float(result.obj_val - result.obj_val_dual)) / c.size(value)
        return Round(x, gap, int(result.iterations), status)


def _run(solver: clarabel.DefaultSolver) -> Any:
    """Clarabel's result. Raises SolverError where its Rust code panics."""
    try:
        return solver.solve()
    except BaseException as error:
        if not is_panic(error):
            raise
        raise SolverError(
            f"clarabel ended in a panic ({error}): {CLARABEL_SENTENCES['NumericalError']}",
            "breakdown") from None


def _settings(seconds: float | None) -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 100
    settings.presolve_enable = False
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = CLARABEL_TOLERANCE
    if seconds is not None:
        settings.time_limit = seconds
    return settings


def _svec(matrices: np.ndarray) -> np.ndarray:
    """(k, d(d+1)/2) upper triangles of (k, d, d), column by column, off-diagonals times sqrt 2
    (Clarabel's order)."""
    d = matrices.shape[1]
    cols, rows = np.tril_indices(d)  # row-major lower triangle is column-major upper triangle
    return matrices[:, rows, cols] * np.where(rows == cols, 1.0, np.sqrt(2.0))
