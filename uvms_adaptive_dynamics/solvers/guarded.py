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

"""Wrapper around any solver: turns failures into SolverErrors and counts answers."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

import numpy as np

from ..errors import SolverError
from ..model.physical_set import PhysicalSet
from .native.answer import SolveClock
from .problem import HorizonProblem, Solution, Solver
from .warm_up import warm_up_problem

log = logging.getLogger(__name__)


class Guarded:
    """A solver whose failures all raise SolverError, answers that are not finite included.

    substitute: makes the solver that permanently takes over when `inner` loses its licence, or
    None; answered: number of problems that each method has answered; statuses: number of answers
    with each status.
    """

    def __init__(self, inner: Solver, substitute: Callable[[], Solver] | None = None):
        self.inner, self.substitute = inner, substitute
        self.answered: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.notes: list[str] = []

    @property
    def name(self) -> str:
        """The present solver's name."""
        return self.inner.name

    def counts(self) -> dict[str, int]:
        """Numbers of near-optimal answers, and of answers by each method, by what they count."""
        by_method = {f"answered by {method}": count for method, count in self.answered.items()}
        return {"inaccurate answers": self.statuses["near-optimal"], **by_method}

    def solve(self, problem: HorizonProblem, deadline: float | None = None) -> Solution:
        """See `Solver`."""
        clock = SolveClock(deadline)
        if problem.is_frozen:
            return self._counted(Solution(problem.pi.copy(), problem.objective(problem.pi), 0, 0.0,
                                          gap=0.0, method="none free"))
        try:
            return self._counted(self._solve(problem, deadline))
        except SolverError as error:
            if error.status != "licence" or self.substitute is None:
                raise
            self._replace(error, self.substitute)
        return self._counted(self._solve(problem, clock.left))

    def warm_up(self, physical: PhysicalSet, free: np.ndarray, pi: np.ndarray) -> None:
        """Solve a small artificial problem of this robot with every method, so that the first tick
        is not late.

        free (p,) bool, pi (p,): as in the first ticks. A failure here is only logged; a method that
        cannot solve will report it at a tick.
        """
        problem = warm_up_problem(physical, free, pi)
        if problem.is_frozen:
            return
        try:
            getattr(self.inner, "warm_up", self.inner.solve)(problem)
        except (SolverError, np.linalg.LinAlgError, ArithmeticError) as error:
            log.debug("warm-up of %s: %s", self.name, error)

    def _solve(self, problem: HorizonProblem, deadline: float | None) -> Solution:
        try:
            solution = self.inner.solve(problem, deadline)
        except (np.linalg.LinAlgError, ArithmeticError) as error:
            raise SolverError(
                f"{self.name} failed numerically ({error}); check that all measurements are finite "
                "and of sensible size", "breakdown") from None
        if not np.isfinite(solution.pi).all():
            raise SolverError(f"{self.name} returned parameters that are not finite", "not finite")
        return solution

    def _counted(self, solution: Solution) -> Solution:
        self.answered[solution.method or self.name] += 1
        self.statuses[solution.status] += 1
        solution.pi.setflags(write=False)
        return solution

    def _replace(self, error: SolverError, substitute: Callable[[], Solver]) -> None:
        lost = self.name
        self.inner, self.substitute = substitute(), None
        note = (f"{lost} has lost its licence: {error}. '{self.name}' solves from now on; "
                f"restart to use {lost} again")
        self.notes.append(note)
        log.warning("%s", note)
