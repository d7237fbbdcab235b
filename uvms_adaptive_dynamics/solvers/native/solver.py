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

"""The package's own solver: the previous active set, an interior point, then a fallback solver.

1. Newton's method on the optimality conditions from the previous tick's active set, with a
   certificate (`active_set`).
2. If that gives no certified optimum, the optimum is *deferred* to the next tick: the previous
   estimate stays, if there is a deadline or if it is certified to be near the optimum. So no tick
   pays for two methods.
3. Otherwise, and at the tick after a deferred one, an interior-point method (`interior_point`).
4. If that breaks down, the fallback solver `behind` (Clarabel), if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...errors import SolverError
from ..problem import HorizonProblem, Solution, Solver
from .active_set import solve_active_set
from .answer import ActiveSet, Certified, SolveClock, Stopped
from .cones import Cones
from .huber_groups import HuberGroups, groups_of
from .interior_point import solve_interior, strictly_inside
from .optimality import suboptimality
from .robust_cost import RobustCost
from .stack import Stack

TIGHT = 1e-8  # relative gap of an interior-point answer that needs no refinement
ACCEPTED_GAP = 1e-7  # relative gap up to which an answer is optimal
# relative gap up to which the best feasible point is accepted if no method has a better answer:
# cones without an interior, of parameters frozen at their bounds, stop all methods early
USABLE_GAP = 1e-4
COST_ROUNDING = 1e-13  # relative rounding error of the cost itself
INSIDE = 1e-12  # (scaled) violation attributed to rounding
# (scaled) violation accepted if the cones have no interior to move an answer to (two equal bounds,
# for instance)
ON_THE_EDGE = 1e-8
DEFERRED_GAP = 0.01  # relative gap up to which a failed active set defers the optimum
# absolute gap, likewise, in noise variances: no direction is off by more than one deviation
DEFERRED_COST = 1.0


@dataclass(frozen=True)
class WarmStart:
    """The state that a tick leaves for the next one: cones, the window's groups, active set (None:
    unknown), and whether its optimum was deferred."""

    cones: Cones
    groups: HuberGroups | Stack | None = None
    active: ActiveSet | None = None
    deferred: bool = False


class Stalled(SolverError):
    """The native methods ended short of the optimum before the deadline.

    best: the best feasible point known, with status 'deadline', or None."""

    def __init__(self, message: str, best: tuple[Solution, WarmStart] | None):
        super().__init__(message, "stalled")
        self.best = best


class NativeSolver:
    """One instance per estimator, for the warm start. behind: fallback solver if the native methods
    break down, or None."""

    name = "native"

    def __init__(self, behind: Solver | None = None) -> None:
        self._behind = behind
        self._warm: WarmStart | None = None

    @property
    def has_fallback(self) -> bool:
        """Whether another solver stands behind the native methods."""
        return self._behind is not None

    def solve(self, problem: HorizonProblem, deadline: float | None = None) -> Solution:
        """See `Solver`. If the deadline passes, the answer is the best feasible point; the previous
        estimate lies inside P, so there is one."""
        clock = SolveClock(deadline)
        warm = self._warm
        if warm is None or not warm.cones.fit(problem.physical, problem.free, problem.pi):
            warm = WarmStart(Cones(problem.physical, problem.free, problem.pi, strictly_inside))
        # until this solve succeeds: never start twice from a state that failed
        self._warm = WarmStart(warm.cones)
        try:
            solution, self._warm = solve_warm(problem, warm, clock)
        except (SolverError, np.linalg.LinAlgError) as error:
            solution, self._warm = self._rescued(problem, warm.cones, clock, error)
            return replace(solution, seconds=clock.elapsed)
        return solution

    def _rescued(self, problem: HorizonProblem, cones: Cones, clock: SolveClock,
                 error: Exception) -> tuple[Solution, WarmStart]:
        """The answer of the fallback solver, made exact if possible. If the deadline leaves it no
        time, the best feasible point known; if it fails too, that point if it is near the optimum.
        Otherwise raises the last error."""
        best = error.best if isinstance(error, Stalled) else None
        if self._behind is not None and not _late(error, clock):
            try:
                found = _polished(problem, self._behind.solve(problem, clock.left), cones, clock)
            except (SolverError, np.linalg.LinAlgError) as failure:
                error = failure
            else:
                if best is None or found[0].status != "deadline":
                    return found
                return min(found, best, key=lambda answer: answer[0].objective)
        if best is not None and _late(error, clock):
            return best
        if best is None or best[0].gap is None or not best[0].gap < USABLE_GAP:
            raise error
        return replace(best[0], status="near-optimal"), best[1]

    def warm_up(self, problem: HorizonProblem) -> None:
        """Run every method once, the fallback solver included, to get imports and first allocations
        done."""
        cones = Cones(problem.physical, problem.free, problem.pi, strictly_inside)
        guess = ActiveSet.near(cones, cones.coordinates.reduce(problem.pi))
        self._warm = WarmStart(cones)
        for active in (None, guess):
            solve_warm(problem, WarmStart(cones, None, active), SolveClock())
        if self._behind is not None:
            self._behind.solve(problem)


def solve_warm(problem: HorizonProblem, warm: WarmStart,
               clock: SolveClock) -> tuple[Solution, WarmStart]:
    """(The answer, the warm start of the next tick), from the last tick's warm start, whose cones
    fit the problem.

    Raises SolverError 'deadline' if the time is over without a feasible point, and `Stalled` if the
    interior point ends too far from the optimum.
    """
    tick = _Tick(problem, warm, clock)
    return tick.by_active_set() or tick.by_interior_point()


class _Tick:
    """One solve: problem, warm start and clock."""

    def __init__(self, problem: HorizonProblem, warm: WarmStart, clock: SolveClock):
        self.problem, self.warm, self.clock, self.cones = problem, warm, clock, warm.cones
        self.groups = groups_of(problem, self.cones.coordinates, warm.groups)
        self.cost = RobustCost(problem, self.cones.coordinates, self.groups)
        self.start = self.cones.coordinates.reduce(problem.pi)

    def by_active_set(self) -> tuple[Solution, WarmStart] | None:
        """The answer from the last active set, or else the previous estimate, 'deferred'. None
        without an active set, after a deferred tick, and if both are too far from the optimum."""
        active, cost = self.warm.active, self.cost
        if active is None or self.warm.deferred:
            return None
        found = solve_active_set(cost, self.cones, self.start, active, self.clock)
        if isinstance(found, Certified):
            return self._finish(found, "active set", "optimal")
        if self.clock.passed:
            return self._at_the_deadline(found, "active set")
        stopped = Stopped(self.start, active.multipliers, active.Z, found.steps)
        kept = best_feasible(cost, self.cones, self.start, stopped)
        if kept is None:
            return None
        # With a deadline no tick pays for two methods: the next one, a period later, begins with
        # the interior point. Without one the next solve may be the last, or far away.
        near = kept.gap < DEFERRED_GAP and kept.gap * cost.size(kept.value) < DEFERRED_COST
        if not (near or self.clock.limited):
            return None
        return self._finish(kept, "active set", "deferred")

    def by_interior_point(self) -> tuple[Solution, WarmStart]:
        """The answer from the last estimate, without an active set. Raises as `solve_warm`."""
        cost, cones, clock = self.cost, self.cones, self.clock
        near = solve_interior(cost, cones, self.start, TIGHT, clock)
        first = self.warm.active is None
        if isinstance(near, Certified) and (first or not near.gap < ACCEPTED_GAP):
            # A first solve can afford to be made exact; one ended early by rounding needs it.
            exact = solve_active_set(cost, cones, near.x, near.active, clock)
            if isinstance(exact, Certified) and exact.gap < near.gap:
                near = replace(exact, steps=near.steps + exact.steps)
        if isinstance(near, Certified):
            if near.gap < ACCEPTED_GAP:
                return self._finish(near, "interior point", "optimal")
            end = f"ended {near.gap:.1e} (relative) from the optimum"
            near = Stopped(near.x, near.active.multipliers, near.active.Z, near.steps)
        else:
            end = "broke down"
        if clock.passed:
            return self._at_the_deadline(near, "interior point")
        raise Stalled(f"native: the interior-point method {end}",
                      self._best_known(near, "interior point"))

    def _finish(self, answer: Certified, method: str, status: str) -> tuple[Solution, WarmStart]:
        pi = self.cones.coordinates.expand(answer.x, self.problem.pi)
        solution = Solution(pi, answer.value, answer.steps, self.clock.elapsed, status,
                            answer.gap + COST_ROUNDING, method)
        if status == "optimal":
            return solution, WarmStart(self.cones, self.groups, answer.active)
        return solution, WarmStart(self.cones, self.groups, self.warm.active,
                                   method == "active set")

    def _best_known(self, stopped: Stopped, method: str) -> tuple[Solution, WarmStart] | None:
        answer = best_feasible(self.cost, self.cones, self.start, stopped)
        return None if answer is None else self._finish(answer, method, "deadline")

    def _at_the_deadline(self, stopped: Stopped, method: str) -> tuple[Solution, WarmStart]:
        best = self._best_known(stopped, method)
        if best is None:
            raise SolverError("native: the deadline passed before a feasible point was found",
                              "deadline")
        return best


def _late(error: Exception, clock: SolveClock) -> bool:
    """Whether the deadline caused the error or has passed since."""
    return clock.passed or (isinstance(error, SolverError) and error.status == "deadline")


def _polished(problem: HorizonProblem, solution: Solution, cones: Cones,
              clock: SolveClock) -> tuple[Solution, WarmStart]:
    """(another solver's answer, made exact if the active set near it leads to the optimum; the
    warm start from it)."""
    groups = groups_of(problem, cones.coordinates)
    x = cones.coordinates.reduce(solution.pi)
    cost = RobustCost(problem, cones.coordinates, groups)
    cost.refresh(x)
    exact = solve_active_set(cost, cones, x, ActiveSet.near(cones, x), clock)
    if isinstance(exact, Stopped):
        return solution, WarmStart(cones, groups)
    pi = cones.coordinates.expand(exact.x, problem.pi)
    polished = replace(solution, pi=pi, objective=exact.value, status="optimal",
                       gap=exact.gap + COST_ROUNDING)
    return polished, WarmStart(cones, groups, exact.active)


def best_feasible(cost: RobustCost, cones: Cones, start: np.ndarray,
                  stopped: Stopped) -> Certified | None:
    """The better of `start` (m,) and the point where a method stopped, moved inside all cones and
    certified by the multipliers known there; None if neither can be moved inside."""
    slope = cost.at(stopped.x)
    bound = suboptimality(cost, cones, slope, stopped.z, stopped.Z)
    inside = [cost.at(x) for x in map(cones.pulled_inside, (start, stopped.x))
              if (violation := cones.violation(x)) < INSIDE
              or (violation < ON_THE_EDGE and cones.interior[1] == 0.0)]
    if not inside:
        return None
    best = min(inside, key=lambda point: point.value)
    excess = bound + max(best.value - slope.value, 0.0)
    if not excess < best.value:  # the cost is a sum of squares and norms, so never negative
        excess = max(best.value, 0.0)
    gap = excess / cost.size(best.value)
    return Certified(best.x, best.value, ActiveSet.near(cones, best.x), gap, stopped.steps)
