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

"""The problem in readable form (CVXPY), for any solver that CVXPY supports; the oracle for all
faster methods."""

from __future__ import annotations

import time
import warnings

import numpy as np

from ..errors import SolverError
from .mosek_licence import NO_LICENCE, licence_sentence
from .problem import HorizonProblem, Solution, is_panic


class CvxpySolver:
    """Compiles one parametrized program per shape of problem and solves it with `solver`.

    compile_once=False: CVXPY canonicalizes each tick's numbers again, as without parameters. Long
    horizons need this, since a program compiled once takes 0.5 GB at 100 samples and 10 GB at 500.
    oracle=False: keep the solver's own tolerances.
    """

    def __init__(self, solver: str, compile_once: bool = True, oracle: bool = True):
        try:
            import cvxpy
        except ImportError:
            raise SolverError("cvxpy is not installed; pip install cvxpy", "missing") from None
        self._cp = cvxpy
        self._solver = solver.upper()
        if self._solver not in cvxpy.installed_solvers():
            raise SolverError(
                f"cvxpy has no solver '{self._solver}'; expected one that is installed: "
                f"{', '.join(cvxpy.installed_solvers())}", "missing")
        self.name = f"cvxpy:{self._solver}"
        self._options = {"ignore_dpp": not compile_once,
                         **(OPTIONS.get(self._solver, {}) if oracle else {})}
        self._programs: dict = {}

    def solve(self, problem: HorizonProblem, deadline: float | None = None) -> Solution:
        """See `Solver`. Only the solvers in TIME_LIMITS keep the deadline, which excludes the time
        to compile."""
        begin = time.perf_counter()
        program = self._program(problem)
        program.fill(problem)
        limits = ({} if deadline is None or self._solver not in TIME_LIMITS
                  else TIME_LIMITS[self._solver](deadline))
        try:
            with warnings.catch_warnings():
                # the status reports it and is counted
                warnings.filterwarnings("ignore", "Solution may be inaccurate")
                program.problem.solve(solver=self._solver, **self._options, **limits)
        except (self._cp.error.SolverError, ValueError, ArithmeticError) as error:
            raise SolverError(_plain(self._solver, error), "error") from None
        except BaseException as error:
            if is_panic(error):
                raise SolverError(f"{self._solver} ended in a panic ({error})",
                                  "breakdown") from None
            # A commercial solver raises its own class, such as mosek.Error without a licence; treat
            # it like any failed solve.
            if type(error).__module__.split(".")[0] != "mosek":
                raise
            sentence = licence_sentence(getattr(error, "errno", ""))
            raise SolverError(sentence or _plain(self._solver, error),
                              "licence" if sentence else "error") from None
        status = CVXPY_STATUSES.get(program.problem.status)
        if status is None or program.pi.value is None:
            word = program.problem.status
            raise SolverError(f"{self.name} ended with status '{word}'",
                              "deadline" if word == "user_limit" else word)
        pi = program.expand(problem)
        iterations = int(program.problem.solver_stats.num_iters or 0)
        return Solution(pi, problem.objective(pi), iterations, time.perf_counter() - begin, status,
                        method=self.name)

    def _program(self, problem: HorizonProblem) -> _Program:
        key = (problem.Y.shape, problem.grouping, problem.is_quadratic, problem.free.tobytes(),
               problem.physical)
        if key not in self._programs:
            if len(self._programs) > 4:
                self._programs.clear()
            self._programs[key] = _Program(self._cp, problem)
        return self._programs[key]


CVXPY_STATUSES = {"optimal": "optimal", "optimal_inaccurate": "near-optimal"}
TIME_LIMITS = {
    "CLARABEL": lambda seconds: {"time_limit": seconds},
    "SCS": lambda seconds: {"time_limit_secs": seconds},
    "MOSEK": lambda seconds: {"mosek_params": {"MSK_DPAR_OPTIMIZER_MAX_TIME": seconds}},
}
# Tight enough to serve as an oracle.
OPTIONS = {
    "CLARABEL": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10, "max_iter": 400},
    "SCS": {"eps_abs": 1e-7, "eps_rel": 1e-7, "max_iters": 50000},
}


class _Program:
    """minimize arrival cost + Huber cost subject to P, with all numbers of a tick as CVXPY
    parameters."""

    def __init__(self, cp, problem: HorizonProblem):
        self.physical = problem.physical
        table, (N, C, p) = problem.physical.table, problem.Y.shape
        # The unknown is the step from the previous estimate: about the origin the cost would be a
        # small difference of large numbers, and solvers stop at a relative accuracy of those.
        self.scale = table.scale
        self.step, self.origin = cp.Variable(p, name="step_scaled"), cp.Parameter(p)
        self.x = self.origin + self.step
        self.pi = cp.multiply(self.scale, self.x)
        self.root = cp.Parameter((p, p))
        self.goal = cp.Parameter(p)
        self.rows = cp.Parameter((N * C, p)) if N else None
        self.measured = cp.Parameter(N * C) if N else None
        self.rho = cp.Parameter(nonneg=True)
        cost, constraints = cp.sum_squares(self.root @ self.step - self.goal), []
        if N:
            robust, constraints = self._robust(cp, problem)
            cost += robust
        constraints += self._in_physical_set(np.flatnonzero(~problem.free))
        self.problem = cp.Problem(cp.Minimize(cost), constraints)

    def _robust(self, cp, problem: HorizonProblem):
        """(Huber cost of the rows, constraints on its variables)."""
        N, C, _ = problem.Y.shape
        r = self.measured - self.rows @ self.step  # rows carry the square root of their weight
        if problem.is_quadratic:
            return cp.sum_squares(r), []
        # |r| <= u + v with cost u^2 + 2 rho v is the norm-Huber. r contains the square root of the
        # weight, so rho is scaled by it too.
        groups = {"sample": N, "channel": N * C, "horizon": 1}[problem.grouping]
        self.thresholds = cp.Parameter(groups, nonneg=True)
        u, v = cp.Variable(groups), cp.Variable(groups, nonneg=True)
        if problem.grouping == "sample":
            norms = cp.norm(cp.reshape(r, (N, C), order="C"), axis=1)
        elif problem.grouping == "channel":
            norms = cp.abs(r)
        else:
            norms = cp.reshape(cp.norm(r), (1,), order="C")
        return cp.sum_squares(u) + 2 * self.thresholds @ v, [norms <= u + v]

    def _in_physical_set(self, frozen: np.ndarray) -> list:
        """P's constraints, with the parameters at `frozen` (f,) at their values."""
        physical, pi, constraints = self.physical, self.pi, []
        below, above = (np.flatnonzero(np.isfinite(physical.lower)),
                        np.flatnonzero(np.isfinite(physical.upper)))
        if below.size:
            constraints.append(self.x[below] >= physical.lower[below] / self.scale[below])
        if above.size:
            constraints.append(self.x[above] <= physical.upper[above] / self.scale[above])
        constraints += [pi[a] == pi[b] for a, b in physical.table.equal_pairs]
        for lmi in physical.inequalities:
            d = lmi.basis.shape[1]
            matrix = sum(pi[place] * basis for place, basis in zip(lmi.places, lmi.basis))
            constraints.append(matrix - physical.epsilon * np.eye(d) >> 0)
        if frozen.size:
            constraints.append(self.step[frozen] == 0)
        return constraints

    def fill(self, problem: HorizonProblem) -> None:
        """Fill in the tick's numbers."""
        N, C, p = problem.Y.shape
        s = self.scale
        self.origin.value = problem.pi / s
        values, vectors = np.linalg.eigh(problem.arrival.H * np.outer(s, s))
        root = np.sqrt(np.maximum(values, 0))
        self.root.value = root[:, None] * vectors.T
        keep = root > 1e-12 * max(root.max(), 1e-300)
        pull = problem.arrival.g - problem.arrival.H @ problem.pi
        self.goal.value = np.where(keep, (vectors.T @ (pull * s)) / np.where(keep, root, 1.0), 0.0)
        if self.rows is None or self.measured is None:
            return
        w = np.sqrt(np.repeat(problem.weight, C))
        self.rows.value = w[:, None] * problem.normalized_Y().reshape(N * C, p) * s
        self.measured.value = w * problem.residuals(problem.pi).ravel()
        if not problem.is_quadratic:
            _, rho, weight = problem.group_norms(problem.residuals(problem.pi))
            # A group without valid rows has no threshold; its residual is zero, so any finite
            # threshold will do.
            rho = np.where(np.isfinite(rho), rho, problem.threshold(C))
            self.thresholds.value = np.sqrt(weight) * rho

    def expand(self, problem: HorizonProblem) -> np.ndarray:
        """pi (p,), with frozen parameters exactly at their values."""
        return np.where(problem.free, self.x.value * self.scale, problem.pi)


def _plain(solver: str, error: BaseException) -> str:
    text = str(error)
    if "1008" in text or "license" in text.lower():
        return NO_LICENCE
    return f"{solver} failed: {text.splitlines()[0] if text else type(error).__name__}"
