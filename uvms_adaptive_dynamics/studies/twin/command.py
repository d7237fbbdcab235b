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

"""`twin`: forecast from many instants of a recording, or of simulated robots, with parameters from
an earlier part, and compare the bands with what happened (docs/twin.md)."""
from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ... import options
from ...config import Config
from ...control.commands import Commands, held, holding
from ...control.commands import recorded as as_recorded
from ...control.twin import Twin
from ...control.unexplained import Residuals
from ...disk.writing import output_folder
from ...errors import BagError, ConfigError, ParameterError
from ...estimation.estimator import Estimator
from ...evaluation.run_files import write_json
from ...model.parameter_file import load_parameters
from ...model.parameter_set import ParameterSet
from ...model.prior import perturbed, prior_from_config
from ...model.robot import RobotModel
from ...model.sample import Sample
from ...simulation.robot import Truth
from ..noise_kinds import recorded
from ..simulated_runs import simulated, truth_file
from .judge import Forecasts, coasting, figures, judge, pooled, starts, thirds
from .reality import Reality, measured_reality, true_reality
from .table import table

TWIN_SCHEMA = 1
TWIN_SOLVE_EVERY = 5  # samples between solves while learning: parameters move slowly
# [s] gap after the part to learn from, so that no row's low-pass reaches across.
PAUSE_BEHIND_LEARNT = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = (
        "Learn from the first part of a recording, forecast from many instants of the rest with "
        "the recorded commands, and count how often the bands contain what happened.")
    parser.add_argument("bag", metavar="BAG", type=options.bag, nargs="?",
                        help="folder of a bag, or one .mcap or .db3 file")
    parser.add_argument("--simulate", type=options.seed, nargs="+", metavar="SEED",
                        help="use simulated robots of these seeds instead of a recording, judged "
                             "by their true motion")
    parser.add_argument("--duration", type=options.seconds(20.0), default=300.0, metavar="S",
                        help="length of a simulated run [s]; default 300")
    parser.add_argument("--parameters", type=options.file, metavar="YAML",
                        help="estimate with covariance and noise, instead of learning one from the "
                             "first part, which then only gives the unexplained residual")
    parser.add_argument("--learn", type=options.seconds(10.0), default=90.0, metavar="S",
                        help="length of the first part [s]; default 90")
    parser.add_argument("--horizon", type=options.seconds(0.5, 30.0), metavar="S",
                        help="forecast horizon [s]; default: setting twin.horizon")
    parser.add_argument("--every", type=options.seconds(), default=3.0, metavar="S",
                        help="time between two forecasts [s]; default 3")
    parser.add_argument("--arm", choices=("efforts", "positions"), default="efforts",
                        help="input of the arm: its measured efforts, so that joints are judged as "
                             "well, or its recorded positions; default efforts")
    parser.add_argument("--hold", action="store_true",
                        help="hold the commands at the start, instead of the recorded ones")
    options.add_prior_factor(parser)
    options.add_output(parser, "twin.json, twin.png and simulated recordings")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Forecast, judge, write and return 0; raises UvmsError for unusable input."""
    if (args.bag is None) == (args.simulate is None):
        raise ConfigError("twin: expected a BAG or --simulate SEED, one of the two. See --help.")
    config, folder = options.config_of(args), output_folder(args.output)
    task = TwinTask(config, RobotModel.from_config(config), args.learn,
                    args.horizon or config.twin.horizon, args.every, args.arm, args.hold,
                    args.prior_factor, args.parameters)
    runs: dict[str, Any] = {}
    judged: dict[str, list[Forecasts]] = {}
    content: dict[str, Any] = {"schema": TWIN_SCHEMA, "learn_s": task.learn,
                               "horizon_s": task.horizon, "every_s": task.every,
                               "arm": task.arm, "hold": task.hold, "settings": config.changed(),
                               "runs": runs, "pooled": {}, "thirds": []}
    for seed in args.simulate or [None]:
        bag = args.bag or simulated(output_folder(folder / "bags"), seed, args.duration)
        done = forecast_run(bag, task, seed)
        runs[bag.name] = {name: figures(found, task.robot, task.arm)
                          for name, found in done.models.items()}
        runs[bag.name]["forecasts"], runs[bag.name]["ms"] = len(done.places), done.ms
        for name, found in done.models.items():
            # Pooling does not need the forecasts themselves.
            judged.setdefault(name, []).append(found._replace(forecasts=()))
        if len(runs) == 1:
            _draw(folder / "twin.png", done, task)
        print(f"{bag.name}: {len(done.places)} forecasts of {task.horizon:g} s, median "
              f"{done.ms:.0f} ms each", flush=True)
        content["pooled"] = {name: pooled(found, task.robot, task.arm)
                             for name, found in judged.items()}
        content["thirds"] = [pooled(part, task.robot, task.arm)
                             for part in thirds(judged["estimate"]) if part]
        write_json(folder / "twin.json", content)
    for name, by_ahead in content["pooled"].items():
        print(f"\n{name}\n{table(by_ahead, whole=name == 'estimate')}")
    for k, by_ahead in enumerate(content["thirds"]):
        print(f"\nestimate, third {k + 1} of the time after learning\n{table(by_ahead)}")
    print(f"\n{folder / 'twin.json'}, {folder / 'twin.png'}")
    return 0


@dataclass(frozen=True)
class TwinTask:
    """What to do with each recording; times in s."""

    config: Config
    robot: RobotModel
    learn: float
    horizon: float
    every: float
    arm: str
    hold: bool
    prior_factor: float
    parameters: Path | None


@dataclass(frozen=True)
class Done:
    """models: judged forecasts by model name; ms: median time of a forecast."""

    models: dict[str, Forecasts]
    samples: Sequence[Sample]
    places: list[int]
    reality: Reality
    ms: float


def forecast_run(bag: Path, task: TwinTask, seed: int | None) -> Done:
    """Learn from the first part of a recording, forecast in the rest; seed: of a simulated
    recording, also used for the prior's error. Raises UvmsError."""
    samples = list(recorded(bag, "gaussian", task.config, task.robot, 0).samples)
    reality = measured_reality(samples, task.robot, task.config)
    if seed is not None:
        with np.load(truth_file(bag)) as columns:
            reality = true_reality(samples, Truth(**columns), task.robot)
        samples = samples[:len(reality.states)]
    period = task.config.filter.period
    places = starts(samples, task.robot, task.learn + PAUSE_BEHIND_LEARNT, task.every, task.horizon,
                    period)
    if not places:
        raise BagError(f"{bag}: after {task.learn:g} s of --learn there is no piece of "
                       f"{task.horizon:g} s without a gap; expected a longer recording.")
    learnt = [sample for sample in samples if sample.t - samples[0].t < task.learn]
    estimate, prior, factor = _parameters(task, learnt, seed or 0)
    residuals = Residuals(task.config, task.robot)
    for sample in learnt:
        residuals.add(sample, estimate.values, factor)
    if estimate.noise_stddev is None:
        raise ParameterError(f"--parameters '{task.parameters}': got no noise of the channels, "
                             "expected an estimate with it.")
    unexplained = residuals.process(estimate.noise_stddev)

    def commands(piece: Sequence[Sample]) -> Commands:
        given = as_recorded(piece, task.robot.vehicle, task.arm, factor)
        if not task.hold:
            return given
        first = piece[0]
        arm = None if given.arm is None else holding(first.mu, first.mu_dot)
        return Commands(held(given.efforts(0.0)), arm, given.measured)

    models, elapsed = {}, [0.0]
    for name, values in (("estimate", estimate.values), ("prior with the estimate's bands", prior)):
        begin = time.perf_counter()
        twin = Twin(task.robot, task.config, replace(estimate, values=values), unexplained)
        models[name] = judge(twin, samples, places, reality, task.robot, commands, task.horizon,
                             period)
        elapsed.append(1e3 * (time.perf_counter() - begin) / len(places))
    models["constant velocities with the estimate's bands"] = coasting(
        models["estimate"], reality, task.robot, period)
    return Done(models, samples, places, reality, elapsed[1])


def _parameters(task: TwinTask, learnt: Sequence[Sample],
                seed: int) -> tuple[ParameterSet, np.ndarray, np.ndarray]:
    """(the estimate, values (p,) of the wrong prior for comparison, effort_factor (C,))."""
    prior = perturbed(prior_from_config(task.config, task.robot), task.prior_factor, seed)
    estimator = Estimator(task.config, prior, robot=task.robot)
    wrong = estimator.pi.copy()
    if task.parameters is not None:
        source = f"--parameters '{task.parameters}'"
        saved = load_parameters(task.parameters).for_table(task.robot.table, source)
        return saved, wrong, np.ones(task.robot.table.channels)
    for k, sample in enumerate(learnt):
        if estimator.add(sample) is not None and k % TWIN_SOLVE_EVERY == 0:
            estimator.solve()
    estimator.solve()
    return estimator.parameter_set(), wrong, estimator.scales.effort


def _draw(path: Path, done: Done, task: TwinTask) -> None:
    from .picture import picture  # matplotlib is needed only here

    picture(done.models["estimate"], done.samples, done.reality, task.robot,
            task.horizon).savefig(path)
