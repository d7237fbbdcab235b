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

"""`campaign`: identify simulated robots from a wrong prior and test them on another motion.

Per seed: bag A, a prior wrong by a factor, and prequential estimation. With --held-out the estimate
is frozen and tested on bag B, another motion, and compared with the best linear model of bag A
(`simulated_runs`).
"""
from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import options
from ..config import Config
from ..disk.writing import output_folder
from ..errors import UvmsError
from ..evaluation.batch.executors import in_processes
from ..evaluation.run import run as run_bags
from ..evaluation.run_files import write_json
from ..evaluation.run_record import Run, metrics_of
from ..model.metrics import all_channels
from ..model.parameter_set import ParameterSet
from ..model.prior import perturbed, prior_from_config
from ..model.robot import RobotModel
from .campaign_table import table, worst
from .simulated_runs import best_linear, simulated, truth_file

CAMPAIGN_SCHEMA = 1
HELD_OUT_SEED_OFFSET = 1000  # bag B of seed s is the simulated run of seed s + 1000
RELATIVE_WINDOW = 2.0  # [s] window of the paper's arrival cost
SHORTEST_RECORDING = 10.0  # [s] shortest recording with a meaningful result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = (
        "Simulate, identify from a wrong prior, and test on held-out data: R^2 and calibration for "
        "several seeds.")
    parser.add_argument("--seeds", type=options.seed, nargs="+", default=[1, 2, 3], metavar="N",
                        help="seeds of motion, noise and prior; default 1 2 3")
    parser.add_argument("--duration", type=options.seconds(SHORTEST_RECORDING), default=120.0,
                        metavar="S", help="length of the identification [s]; default 120")
    options.add_prior_factor(parser)
    parser.add_argument("--held-out", action="store_true",
                        help="also test the frozen estimate on another motion")
    parser.add_argument("--held-out-duration", type=options.seconds(SHORTEST_RECORDING),
                        metavar="S", help="length of that test [s]; default as --duration")
    parser.add_argument(
        "--compare-relative", action="store_true",
        help="also run the paper's arrival cost, estimation.arrival=relative with a window of "
             f"{RELATIVE_WINDOW:g} s")
    parser.add_argument("--jobs", type=options.count, default=1, metavar="N",
                        help="number of seeds that run in parallel; default 1")
    options.add_output(parser, "campaign.json and the bags, which later campaigns reuse")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run the campaign and return 0; raises UvmsError for unusable input."""
    config, folder = options.config_of(args), output_folder(args.output)
    held_out = (args.held_out_duration or args.duration) if args.held_out else None
    bags = output_folder(folder / "bags")
    tasks = [SeedTask(seed, args.duration, held_out, args.prior_factor, config,
                      args.compare_relative, bags) for seed in dict.fromkeys(args.seeds)]
    # Keeps the order of the seeds, whichever ends first.
    seeds: dict[str, Any] = {str(task.seed): None for task in tasks}
    content = {"schema": CAMPAIGN_SCHEMA, "duration_s": args.duration, "held_out_s": held_out,
               "prior_factor": args.prior_factor, "settings": config.changed()}
    for task, outcome in _outcomes(tasks, args.jobs):
        seeds[str(task.seed)] = outcome
        # Written after every seed, so that an interrupted campaign keeps its results.
        write_json(folder / "campaign.json", {**content, "seeds": {
            seed: found for seed, found in seeds.items() if found is not None}})
        for arrival, found in outcome["arrival"].items():
            print(f"\nseed {task.seed}, arrival '{arrival}', {found['solver']['name']}, "
                  f"median {found['update_ms']['median']:.1f} ms a tick, "
                  f"{found['solver']['failures']} failures, {found['physical']['violations']} "
                  f"violations, rank {found['identifiable_rank']}")
            print(table(found, outcome["best_linear"]), flush=True)
    for arrival in seeds[str(args.seeds[0])]["arrival"] if len(tasks) > 1 else ():
        print(f"\nworst of {len(tasks)} seeds, arrival '{arrival}'")
        print(worst([outcome["arrival"][arrival] for outcome in seeds.values()]))
    print(f"\n{folder / 'campaign.json'}")
    return 0


@dataclass(frozen=True)
class SeedTask:
    """One seed: lengths [s] of identification and held-out test (None: no test), and the folder for
    the bags."""

    seed: int
    duration: float
    held_out: float | None
    prior_factor: float
    config: Config
    compare_relative: bool
    bags: Path

    def variants(self) -> dict[str, Config]:
        """Settings to compare, by arrival cost."""
        own = {self.config.estimation.arrival: self.config}
        if not self.compare_relative:
            return own
        window = max(1, round(RELATIVE_WINDOW / self.config.filter.period))
        return own | {
            "relative": self.config.with_values(
                {"estimation.arrival": "relative", "estimation.horizon": window})
        }


def _outcomes(tasks: Sequence[SeedTask], jobs: int) -> Iterator[tuple[SeedTask, dict[str, Any]]]:
    """Yields each task with its outcome as it ends."""
    for ended in in_processes(run_seed, tasks, jobs):
        if ended.error:
            raise UvmsError(f"seed {tasks[ended.place].seed}: {ended.error}")
        yield tasks[ended.place], ended.value


def run_seed(task: SeedTask) -> dict[str, Any]:
    """Identify and test one simulated robot.

    Returns {"arrival": {name: {"second_half", "prequential", "held_out": channels or None,
    "solver", "update_ms", "physical", "identifiable_rank", "parameters"}}, "best_linear": channels
    or None}, channels as in metrics.json.
    """
    robot = RobotModel.from_config(task.config)
    prior = perturbed(prior_from_config(task.config, robot), task.prior_factor, task.seed)
    bag_a = simulated(task.bags, task.seed, task.duration)
    bag_b = None
    if task.held_out is not None:
        bag_b = simulated(task.bags, task.seed + HELD_OUT_SEED_OFFSET, task.held_out)
    outcome: dict[str, Any] = {"arrival": {}, "best_linear": None}
    for arrival, config in task.variants().items():
        learnt = run_bags([bag_a], config, prior)
        metrics = metrics_of(learnt)
        found = {"second_half": second_half(learnt), "prequential": metrics["channels"],
                 "held_out": None,
                 **{key: metrics[key] for key in ("solver", "update_ms", "physical")},
                 "identifiable_rank": learnt.identifiable_rank,
                 "parameters": dict(zip(learnt.final.names, learnt.final.values))}
        if bag_b is not None:
            tested = run_bags([bag_b], config, learnt.final, frozen=True)
            found["held_out"] = metrics_of(tested)["channels"]
            if outcome["best_linear"] is None:
                best = best_linear(truth_file(bag_a), config, robot)
                outcome["best_linear"] = channels_of(tested, best)
        outcome["arrival"][arrival] = found
    return outcome


def second_half(done: Run) -> dict[str, dict[str, Any]]:
    """Metrics of the rows in the second half of the recording, after the estimate has settled."""
    rows = done.log.rows()
    late = rows.t > (rows.t[0] + rows.t[-1]) / 2
    return all_channels(done.robot.channels, done.robot.units, rows.measured[late],
                        rows.predicted[late], rows.stddev[late], rows.valid[late])


def channels_of(done: Run, parameters: ParameterSet) -> dict[str, dict[str, Any]]:
    """Metrics of other parameters on the rows of a run."""
    rows = done.log.rows()
    return all_channels(done.robot.channels, done.robot.units, rows.measured,
                        *done.log.predict(parameters.values, parameters.covariance), rows.valid)
