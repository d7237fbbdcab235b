"""Vehicle and arm solved apart or as one, where nothing couples them: python docs/measure_parts.py [--ticks 300].

Prints the time of a solve as one and, the other's parameters frozen, of each alone; and of a solve in which the interior point
breaks down, so that Clarabel is needed, as one and apart.
"""
from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
import sys
import time

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from uvms_adaptive_dynamics.studies.benchmark.samples import simulated_samples  # noqa: E402
from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.estimation.estimator import Estimator  # noqa: E402
from uvms_adaptive_dynamics.solvers.problem import HorizonProblem  # noqa: E402
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.solvers.native import solver as clarabel_direct  # noqa: E402

FILLING = 200        # ticks before the first that counts
BROKEN = 30          # problems given to Clarabel
VEHICLE, ARM = ("m*", "I*", "[XYZKMNWB]*", "[xyz]g*"), ("axis_*",)


def main() -> int:
    """Run, print, and return 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ticks", type=int, default=300, help="solves timed of each kind; default 300")
    ticks = parser.parse_args().ticks
    samples = simulated_samples((FILLING + ticks) / 50 + 5.0)[:FILLING + ticks]
    together, problems = _run(samples, ())
    apart = [_run(samples, frozen)[0] for frozen in (ARM, VEHICLE)]
    print(f"as one {together:.2f} ms; vehicle alone {apart[0]:.2f} ms, arm alone {apart[1]:.2f} ms (medians of {ticks})")
    solve_interior = clarabel_direct.solve_interior
    whole = clarabel_direct.Cones(problems[0].physical, problems[0].free, problems[0].pi).coordinates.size
    for what, sizes in (("as one", {whole}), ("apart, the arm by Clarabel", {whole, 48}), ("apart, the vehicle by Clarabel", {whole, whole - 48})):
        clarabel_direct.solve_interior = lambda cost, cones, *others: (None if cones.coordinates.size in sizes
                                                                       else solve_interior(cost, cones, *others))
        print(f"interior point broken, {what}: {_by_clarabel(problems, apart=what != 'as one'):.1f} ms")
    return 0


def _run(samples: list, frozen: tuple[str, ...]) -> tuple[float, list[HorizonProblem]]:
    """(median time of a solve [ms], problems with data of their own)."""
    config = Config().with_values({"estimation.coupling": "none", "estimation.grouping": "channel", "estimation.frozen": list(frozen)})
    robot = RobotModel.from_config(config)
    estimator = Estimator(config, perturbed(prior_from_config(config, robot), 2, 1), robot)
    solver, times, problems = estimator._solver.inner, [], []
    solve = solver.solve

    def timed(problem: HorizonProblem):
        begin = time.perf_counter()
        solution = solve(problem)
        times.append(1e3 * (time.perf_counter() - begin))
        if len(problems) < BROKEN and len(times) > FILLING // 2:
            problems.append(replace(problem, Y=problem.Y.copy(), tau=problem.tau.copy(), valid=problem.valid.copy(), source=None, born=None))
        return solution

    solver.solve = timed
    for sample in samples:
        estimator.step(sample)
    return float(np.median(times[-(len(samples) - FILLING):])), problems


def _by_clarabel(problems: list[HorizonProblem], apart: bool) -> float:
    """Median time [ms] of solves from nowhere."""
    times = []
    for problem in problems:
        solver = clarabel_direct.ClarabelSolver()
        if not apart:
            solver._parts_of = lambda *_: []
        begin = time.perf_counter()
        solver.solve(problem)
        times.append(1e3 * (time.perf_counter() - begin))
    return float(np.median(times))


if __name__ == "__main__":
    sys.exit(main())
