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

"""Run one case: time each tick of the estimator on consecutive samples, then solve some of the same
ticks with CVXPY."""

from __future__ import annotations

import cProfile
import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...config import Config
from ...errors import SolverError
from ...estimation.estimator import Estimator
from ...estimation.low_pass import gaussian_kernel
from ...model.prior import perturbed, prior_from_config
from ...model.robot import RobotModel
from ...model.sample import Sample
from ...solvers import Guarded, choose_solver
from ...solvers.problem import HorizonProblem, Solution
from .cases import TimedCase
from .chain import chain_robot, chain_samples
from .compare import CvxpyComparison
from .process_memory import peak_mb
from .samples import simulated_samples, with_outliers
from .times import Stopwatch, Times, spread

PRIOR_WRONG_BY, BENCHMARK_SEED = 2.0, 1


class Watched(Guarded):
    """A solver that keeps the tick's problem and answer for the benchmark.

    It replaces `solver` and continues its counts.
    """

    def __init__(self, solver: Guarded):
        super().__init__(solver.inner, solver.substitute)
        self.answered, self.statuses, self.notes = solver.answered, solver.statuses, solver.notes
        self.problem: HorizonProblem | None = None
        self.took = Times(0.0, 0.0)
        self.solution: Solution | None = None

    def solve(self, problem: HorizonProblem, deadline: float | None = None) -> Solution:
        """See `solvers.Solver`."""
        self.problem, self.solution = problem, None
        clock = Stopwatch()
        solution = super().solve(problem, deadline)
        self.took = clock.read()
        self.solution = solution
        return solution


def prepare(case: TimedCase, count: int) -> tuple[Config, RobotModel, list[Sample]]:
    """Settings, robot and at least `count` samples of the case, with outliers."""
    config = case.config()
    if case.joints is None:
        robot = RobotModel.from_config(config)
        # The first second has no acceleration yet; whole minutes let cases share one file.
        samples = simulated_samples(60.0 * np.ceil((count * config.filter.period + 1.0) / 60.0),
                                    BENCHMARK_SEED)
    else:
        config, robot = chain_robot(config, case.joints, BENCHMARK_SEED)
        samples = chain_samples(config, robot, Estimator(config, robot=robot).prior.values, count,
                                BENCHMARK_SEED)
    return (config, robot,
            with_outliers(samples[:count], case.outliers, robot.default_noise(config),
                          BENCHMARK_SEED))


def measure(case: TimedCase, progress: Callable[[float], None] = lambda share: None,
            profile: str | None = None) -> dict[str, Any]:
    """The case's figures (see `figures`), or {"skipped": reason} if its solver is not available.

    profile: file for cProfile's profile of the timed ticks, which profiling slows down.
    """
    begin = case.horizon + len(gaussian_kernel(case.config().filter)) + case.settle
    config, robot, samples = prepare(case, begin + case.ticks)
    count = _counted(progress, len(samples), 2 if case.compared else 1)
    try:
        timed = _Pass(case, config, robot, samples, begin, count)
    except SolverError as error:
        return {"skipped": str(error)}
    record = Record(peak_mb())
    profiler = cProfile.Profile() if profile else None
    gc.collect()
    for k, update in timed.ticks(profiler):
        record.update.append(update)
        if timed.solver.solution is not None:
            record.take(k, timed.solver.solution, timed.solver.took,
                        timed.estimator.physical.violation(timed.solver.solution.pi))
    if profiler and profile:
        profiler.dump_stats(profile)
    comparison = CvxpyComparison(case, robot)
    if case.compared:
        # A second pass on the same samples: between timed ticks CVXPY would evict their caches.
        due = _spread(case.ticks, case.compared)
        recompiled = (set(list(due)[::max(1, len(due) // case.each_tick)])
                      if case.each_tick else set())
        again = _Pass(case, config, robot, samples, begin, count)
        for k, _ in again.ticks():
            exact = again.exact
            if k in due and k in record.solve and exact is not None:
                comparison.take(*exact, record.update[k], record.solve[k], k in recompiled)
    solver = timed.solver
    return {
        "solver": solver.name,
        "ticks": case.ticks,
        "parameters": robot.table.size,
        "channels": robot.table.channels,
        "failures": timed.failures,
        "inaccurate": solver.statuses["near-optimal"],
        "deferred": solver.statuses["deferred"],
        **record.figures(),
        "methods_since_start": dict(solver.answered) or None,
        **comparison.figures(),
    }


class _Pass:
    """An estimator with a full horizon, ready for the case's ticks. Raises SolverError if the
    case's solver is not available."""

    def __init__(self, case: TimedCase, config: Config, robot: RobotModel, samples: list[Sample],
                 begin: int, progress: Callable[[int], None]):
        self.estimator = Estimator(config,
                                   perturbed(prior_from_config(config, robot), PRIOR_WRONG_BY,
                                             BENCHMARK_SEED), robot)
        # The case's solver comes in after the horizon has filled, since until then CVXPY would
        # compile a program for every tick.
        solver = (self.estimator.solver if case.solver == "native"
                  else choose_solver(case.solver, robot.table)[0])
        for sample in samples[:begin]:
            self.estimator.step(sample)
            progress(1)
        self.solver = Watched(solver)
        self.estimator.use_solver(self.solver)
        self._samples, self._progress = samples[begin : begin + case.ticks], progress
        self._failed_before = self.estimator.solver_failures

    @property
    def failures(self) -> int:
        """Number of the case's ticks without an answer."""
        return self.estimator.solver_failures - self._failed_before

    @property
    def exact(self) -> tuple[HorizonProblem, Solution] | None:
        """The last tick's problem and answer, None if the optimum was deferred."""
        problem, solution = self.solver.problem, self.solver.solution
        if problem is None or solution is None or solution.status == "deferred":
            return None
        return problem, solution

    def ticks(self, profiler: cProfile.Profile | None = None) -> Iterator[tuple[int, Times]]:
        """Yields (number, time of the complete update) of each tick."""
        for k, sample in enumerate(self._samples):
            if profiler:
                profiler.enable()
            clock = Stopwatch()
            self.estimator.step(sample)
            update = clock.read()
            if profiler:
                profiler.disable()
            yield k, update
            self._progress(1)


def _counted(progress: Callable[[float], None], samples: int, passes: int) -> Callable[[int], None]:
    """A callback that counts samples and reports their share of all passes."""
    done = 0

    def step(count: int) -> None:
        nonlocal done
        done += count
        progress(min(1.0, done / (passes * samples)))

    return step


class Record:
    """Times and certificates of every tick."""

    def __init__(self, peak_mb: float):
        """peak_mb: peak memory [MB] before the timed ticks."""
        self.peak_mb = peak_mb
        self.update: list[Times] = []
        self.solve: dict[int, Times] = {}  # by tick number; none for a tick without an answer
        self._gap: list[float] = []
        self._violation = 0.0

    def take(self, tick: int, solution: Solution, took: Times, violation: float) -> None:
        """Record a tick's answer, its time and its violation of P (scaled)."""
        self.solve[tick] = took
        if solution.gap is not None:
            self._gap.append(solution.gap)
        self._violation = max(self._violation, violation)

    def figures(self) -> dict[str, Any]:
        """update_ms: wall-clock time from sample to estimate; update_cpu_ms: the same in processor
        time; likewise for solve."""
        return {
            **spread("update", self.update),
            **spread("solve", list(self.solve.values())),
            "worst_own_gap": max(self._gap, default=None),
            "worst_violation": self._violation,
            "peak_mb": self.peak_mb,
        }


def _spread(total: int, wanted: int) -> set[int]:
    """`wanted` tick numbers out of `total`, evenly spread."""
    return (set(np.linspace(0, total - 1, min(wanted, total)).astype(int).tolist()) if wanted
            else set())
