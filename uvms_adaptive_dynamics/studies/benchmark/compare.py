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

"""The CVXPY formulation on the same ticks: its time, compiled once or at each tick, and the
difference of our answer from its answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import SolverError
from ...model.robot import RobotModel
from ...solvers import Solver
from ...solvers.cvxpy_solver import CvxpySolver
from ...solvers.problem import HorizonProblem, Solution
from .cases import TimedCase
from .process_memory import peak_mb
from .times import Stopwatch, Times, spread

# Largest size of the window [numbers] for which CVXPY's program is compiled once: at five times as
# many, compiling takes 10 GB and 24 s.
COMPILED_ONCE_LIMIT = 100_000


class Baseline:
    """Times of CVXPY with Clarabel at its default tolerances: its solves, and our update with its
    solve in place of ours."""

    def __init__(self, compile_once: bool):
        self.solver = CvxpySolver("CLARABEL", compile_once, oracle=False)
        self._solve: list[Times] = []
        self._update: list[Times] = []
        self._ours: list[Times] = []

    def take(self, problem: HorizonProblem, update: Times, solve: Times) -> None:
        """Solve the tick's problem; update, solve: our times for it. A failed solve is not
        counted."""
        clock = Stopwatch()
        if isinstance(quietly(self.solver, problem), Solution):
            self._solve.append(took := clock.read())
            self._ours.append(update)
            self._update.append(Times(*(u - s + t for u, s, t in zip(update, solve, took))))

    def figures(self) -> dict[str, Any] | None:
        """Times of solve and complete update, and our speedup (medians over the same ticks, by
        either clock)."""
        if not self._solve:
            return None
        theirs, ours = np.median(self._update, axis=0), np.median(self._ours, axis=0)
        return {
            **spread("solve", self._solve),
            **spread("update", self._update),
            "speedup": float(theirs[0] / ours[0]),
            "speedup_cpu": float(theirs[1] / ours[1]),
        }


class Oracle:
    """The problem solved as exactly as Clarabel can: to 1e-10. If it does not converge to that, it
    solves again from its answer, and also with its default tolerances (1e-8).

    Many ticks of this problem end short of 1e-10 ('near-optimal'), a few of them far short; there
    another origin or the looser tolerance ends better. Returns the answer with the lowest cost and
    its status.
    """

    def __init__(self, compile_once: bool = True):
        self._exact, self._usual = (CvxpySolver("CLARABEL", compile_once),
                                    CvxpySolver("CLARABEL", compile_once, oracle=False))
        self.name = self._exact.name

    def solve(self, problem: HorizonProblem, deadline: float | None = None) -> Solution:
        """See `solvers.Solver`; an oracle has no deadline."""
        exact = quietly(self._exact, problem)
        if isinstance(exact, Solution) and exact.status == "optimal":
            return exact
        usual = quietly(self._usual, problem)
        if isinstance(exact, SolverError) and isinstance(usual, SolverError):
            raise usual
        answers = [answer for answer in (exact, usual) if isinstance(answer, Solution)]
        again = quietly(self._exact,
                        replace(problem, pi=min(answers, key=lambda answer: answer.objective).pi))
        answers += [again] if isinstance(again, Solution) else []
        return min(answers, key=lambda answer: answer.objective)


class CvxpyComparison:
    """CVXPY on the same problems: with Clarabel's default tolerances for time, with tight ones for
    accuracy."""

    def __init__(self, case: TimedCase, robot: RobotModel):
        self._once_allowed = (case.horizon * robot.table.channels * robot.table.size
                              <= COMPILED_ONCE_LIMIT)
        self._timed = case.timed
        self._once: Baseline | None = None
        self._recompiled: Baseline | None = None
        self._oracle: Oracle | None = None
        self._excess: list[float] = []
        self._prediction: list[float] = []
        self._statuses: dict[str, int] = {}
        self._oracle_violation = 0.0

    def take(self, problem: HorizonProblem, solution: Solution, update: Times, solve: Times,
             recompile: bool) -> None:
        """Compare one tick; update, solve: our times for it. `recompile`: also time the formulation
        compiled for this tick alone."""
        if self._oracle is None or self._recompiled is None:
            self._oracle = Oracle(self._once_allowed)
            self._recompiled = Baseline(compile_once=False)
            if self._once_allowed and self._timed:
                self._once = Baseline(compile_once=True)
                quietly(self._once.solver, problem)  # compiles; not timed
        if self._once is not None:
            self._once.take(problem, update, solve)
        if recompile:
            self._recompiled.take(problem, update, solve)
        self._check(problem, solution, self._oracle)

    def _check(self, problem: HorizonProblem, solution: Solution, oracle: Oracle) -> None:
        best = quietly(oracle, problem)
        self._statuses[best.status] = self._statuses.get(best.status, 0) + 1
        if isinstance(best, SolverError):
            return
        self._excess.append((solution.objective - best.objective) / max(abs(best.objective), 1e-12))
        Y = problem.normalized_Y().reshape(-1, problem.Y.shape[-1])
        self._prediction.append(float(np.linalg.norm(Y @ (solution.pi - best.pi))
                                      / max(np.linalg.norm(Y @ best.pi), 1e-12)))
        self._oracle_violation = max(self._oracle_violation, problem.physical.violation(best.pi))

    def figures(self) -> dict[str, Any]:
        """objective_excess: (ours - oracle) / oracle, lowest and highest (below zero, ours is
        better); prediction_difference: largest RMS of Y (pi - pi_oracle) over the window, relative
        to that of Y pi_oracle."""
        found = self._excess
        return {
            "compared": len(found),
            "cvxpy_compiled_once": self._once.figures() if self._once else None,
            "cvxpy_compiled_each_tick": self._recompiled.figures() if self._recompiled else None,
            "objective_excess": [min(found), max(found)] if found else None,
            "prediction_difference": max(self._prediction, default=None),
            "oracle_statuses": self._statuses,
            "oracle_violation": self._oracle_violation if found else None,
            "peak_with_cvxpy_mb": peak_mb() if self._oracle else None,
        }


def quietly(solver: Solver, problem: HorizonProblem) -> Solution | SolverError:
    """The solver's answer, or its error."""
    try:
        return solver.solve(problem)
    except SolverError as error:
        return error
