"""One case: the estimator on consecutive samples, each tick timed, some of them solved by CVXPY as well."""
from __future__ import annotations

import cProfile
import gc
from typing import Any, Callable

import numpy as np

from ..config import Config
from ..errors import SolverError
from ..estimator import Estimator
from ..mhe import HorizonProblem, Solution
from ..prior import perturbed, prior_from_config
from ..robot import RobotModel
from ..rows import gaussian_kernel
from ..sample import Sample
from ..solvers import Solver, choose_solver
from .cases import Case
from .chain import chain_robot, chain_samples
from .compare import Comparison
from .memory import peak_mb
from .samples import simulated_samples, with_outliers
from .times import Stopwatch, Times, spread

PRIOR_WRONG_BY, SEED = 2.0, 1


class Watched:
    """The solver between estimator and benchmark: it keeps the tick's problem and answer, and survives no failure."""

    def __init__(self, solver: Solver):
        self.inner, self.name = solver, solver.name
        self.problem: HorizonProblem | None = None
        self.took = Times(0.0, 0.0)
        self.solution: Solution | None = None

    def solve(self, problem: HorizonProblem) -> Solution:
        """See `solvers.Solver`."""
        self.problem, self.solution = problem, None
        clock = Stopwatch()
        self.solution = self.inner.solve(problem)
        self.took = clock.read()
        return self.solution


def prepare(case: Case, count: int) -> tuple[Config, RobotModel, list[Sample]]:
    """Settings, robot and at least `count` samples of the case, outliers put in."""
    config = case.config()
    if case.joints is None:
        robot = RobotModel.from_config(config)
        # The first second has no acceleration yet; whole minutes share one file between cases.
        samples = simulated_samples(60.0 * np.ceil((count * config.filter.period + 1.0) / 60.0), SEED)
    else:
        config, robot = chain_robot(config, case.joints, SEED)
        samples = chain_samples(config, robot, Estimator(config, robot=robot).prior.values, count, SEED)
    return config, robot, with_outliers(samples[:count], case.outliers, robot.default_noise(config), SEED)


def measure(case: Case, progress: Callable[[float], None] = lambda share: None, profile: str | None = None) -> dict[str, Any]:
    """The case's figures (see `figures`), or {"skipped": reason} where its solver is not available here.

    profile: file that cProfile writes the timed ticks to (they are slower then).
    """
    begin = case.horizon + len(gaussian_kernel(case.config().filter)) + case.settle
    config, robot, samples = prepare(case, begin + case.ticks)
    estimator = Estimator(config, perturbed(prior_from_config(config, robot), PRIOR_WRONG_BY, SEED), robot)
    try:
        # Only now the wanted solver: while the horizon fills, CVXPY would compile a program for every tick.
        solver = estimator._solver if case.solver == "clarabel" else choose_solver(case.solver, robot.table)[0]
    except SolverError as error:
        return {"skipped": str(error)}
    for k, sample in enumerate(samples[:begin]):
        estimator.step(sample)
        progress(k / len(samples))
    estimator._solver = watched = Watched(solver)
    comparison, record = Comparison(case, robot), Record()
    record.peak_mb = peak_mb()
    profiler = cProfile.Profile() if profile else None
    due = _spread(case.ticks, case.compared)
    anew = set(list(due)[::max(1, len(due) // case.each_tick)]) if case.each_tick else set()
    failures = estimator.solver_failures
    gc.collect()
    for k, sample in enumerate(samples[begin:begin + case.ticks]):
        if profiler:
            profiler.enable()
        clock = Stopwatch()
        estimator.step(sample)
        update = clock.read()
        if profiler:
            profiler.disable()
        record.update.append(update)
        if watched.solution is not None:
            record.take(watched.solution, watched.took, estimator.physical.violation(watched.solution.pi))
            if k in due:
                comparison.take(watched.problem, watched.solution, update, watched.took, k in anew)
        progress((begin + k) / len(samples))
    if profiler:
        profiler.dump_stats(profile)
    return {"solver": solver.name, "ticks": case.ticks, "parameters": robot.table.size, "channels": robot.table.channels,
            "failures": estimator.solver_failures - failures, "inaccurate": solver.inaccurate, **record.figures(),
            "methods_since_start": solver.ticks or None, **comparison.figures()}


class Record:
    """Times and certificates of every tick."""

    def __init__(self) -> None:
        self.update: list[Times] = []
        self._solve: list[Times] = []
        self._gap: list[float] = []
        self._violation = 0.0
        self.peak_mb = 0.0

    def take(self, solution: Solution, took: Times, violation: float) -> None:
        """An answer, its time and how far outside P it is (scaled)."""
        self._solve.append(took)
        if solution.gap is not None:
            self._gap.append(solution.gap)
        self._violation = max(self._violation, violation)

    def figures(self) -> dict[str, Any]:
        """update_ms: sample to estimate, by the clock on the wall; update_cpu_ms: the same in processor time; solve alike."""
        return {**spread("update", self.update), **spread("solve", self._solve), "worst_own_gap": max(self._gap, default=None),
                "worst_violation": self._violation, "peak_mb": self.peak_mb}


def _spread(total: int, wanted: int) -> set[int]:
    """`wanted` ticks out of `total`, evenly."""
    return set(np.linspace(0, total - 1, min(wanted, total)).astype(int).tolist()) if wanted else set()
