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

"""MOSEK through its Optimizer API: one conic task is kept and its numbers are updated at each tick.

The condensed problem (`condensed`) with its quadratic P = L L^T as one rotated quadratic cone:

    minimize    t + sum_k 2 w_k rho_k v_k
    subject to  t >= |L^T d - e|^2 + sum_k w_k u_k^2
                |r_k - R_k d| <= u_k + v_k,  v_k >= 0     (one quadratic cone per group)
                P's matrices positive semidefinite, bounds on d

Conic interior-point methods cannot use a previous solution, so nothing is warm-started.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..errors import SolverError
from .condensed import Condensed, Round, condense, near_groups, solve_in_rounds
from .mosek_licence import solver_error
from .mosek_task import MosekTask
from .native.answer import SolveClock
from .native.cones import Cones
from .problem import HorizonProblem, Solution

log = logging.getLogger(__name__)
# smallest number of cones for groups in a task; it doubles when more are needed
FEWEST_CONES = 8
ATTEMPTS = 2  # per solve, each with a new task, unless the licence or the time is the reason


@lru_cache(maxsize=1)
def environment():
    """(module mosek, this process's only environment); raises SolverError if MOSEK cannot be used.

    An environment holds a licence token, so a second environment would need a second token.
    """
    try:
        import mosek
    except ImportError:
        raise SolverError("the package 'mosek' is not installed; pip install mosek",
                          "missing") from None
    except OSError as error:
        raise SolverError(f"the package 'mosek' cannot be loaded ({error}); install it again",
                          "missing") from None
    try:
        env = mosek.Env()
        # Without a free token, raise an error at once instead of waiting for one.
        env.putlicensewait(0)
    except mosek.Error as error:
        raise solver_error(error) from None
    return mosek, env


class MosekSolver:
    """MOSEK; one instance per estimator. Needs the package `mosek` and, to solve, a licence."""

    name = "mosek"

    def __init__(self) -> None:
        self._mosek, self._env = environment()
        self._task: MosekTask | None = None
        self._cones: Cones | None = None

    def solve(self, problem: HorizonProblem, deadline: float | None = None) -> Solution:
        """See `Solver`."""
        clock = SolveClock(deadline)
        cones = self._cones_for(problem)

        def solve_once(condensed: Condensed) -> Round:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    return self._filled(condensed, cones).optimize(clock.left)
                except SolverError as error:
                    self._task = None
                    if attempt == ATTEMPTS or error.status in ("licence", "deadline"):
                        raise
                    log.debug("retrying mosek with a new task: %s", error)
            raise AssertionError("unreachable")

        pi, found = solve_in_rounds(problem, cones, solve_once, self.name)
        return Solution(pi, problem.objective(pi), found.iterations, clock.elapsed, found.status,
                        found.gap, self.name)

    def write_task(self, problem: HorizonProblem, path: str | Path) -> None:
        """Write the first round's task of `problem` to a .ptf, .cbf or .task.gz file, by the name's
        ending; needs no licence.

        Its optimum is that of the problem only if no condensed group ends beyond rho.
        """
        cones = self._cones_for(problem)
        condensed = condense(problem, cones, np.flatnonzero(near_groups(problem)))
        self._filled(condensed, cones).write(path)

    def _cones_for(self, problem: HorizonProblem) -> Cones:
        if self._cones is None or not self._cones.fit(problem.physical, problem.free, problem.pi):
            self._cones, self._task = Cones(problem.physical, problem.free, problem.pi), None
        return self._cones

    def _filled(self, condensed: Condensed, cones: Cones) -> MosekTask:
        """The task filled with these numbers; a new one if its shape does not fit."""
        groups, rows = condensed.rows.shape[:2]
        needed = max(FEWEST_CONES, 1 << (groups - 1).bit_length() if groups else 1)
        task = self._task
        if task is None or task.rows != rows or not needed <= task.slots <= 4 * needed:
            self._task = task = MosekTask(self._mosek, self._env, cones, needed, rows)
        task.fill(condensed)
        return task
