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

"""`intervals`: share of unseen rows inside the 95 % intervals on simulated robots, under three
kinds of sensor noise (docs/uncertainty.md).

Each seed's recording is simulated once and used for all kinds. Every row is predicted before it is
used. For comparison, the ideal width is that of an interval with the best linear model of the
recording's truth and the 2.5 and 97.5 % quantiles of its residuals on the same rows. --held-out
also freezes the estimate and tests it on another motion, with the saved noise and with adapting
noise.
"""
from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import options
from ..config import Config
from ..disk.writing import output_folder
from ..estimation.estimator import Estimator
from ..evaluation.run_files import write_json
from ..model.prior import perturbed, prior_from_config
from ..model.robot import RobotModel
from .campaign import HELD_OUT_SEED_OFFSET, RELATIVE_WINDOW, SHORTEST_RECORDING
from .finished import finished
from .interval_table import (
    ADAPTED_NOISE,
    SAVED_NOISE,
    channel_figures,
    comparison,
    held_out_table,
    kind_table,
    pooled,
)
from .noise_kinds import NOISE_KINDS, nominal, recorded
from .prequential import PrequentialRows, paper_stddev, predicted
from .simulated_runs import best_linear, simulated, truth_file

INTERVALS_SCHEMA = 1
OWN_METHOD, PAPER_METHOD, PUBLISHED_METHOD = "this package", "paper", "paper, as published"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = ("Coverage, width and NLL of prequential 95 % intervals on simulated "
                          "robots, under three kinds of noise. An interrupted campaign resumes "
                          "where it stopped.")
    parser.add_argument("--seeds", type=options.seed, nargs="+", default=list(range(101, 121)),
                        metavar="N", help="default 101 to 120")
    parser.add_argument("--duration", type=options.seconds(SHORTEST_RECORDING), default=300.0,
                        metavar="S", help="length of each recording [s]; default 300")
    parser.add_argument("--kinds", nargs="+", choices=NOISE_KINDS, default=list(NOISE_KINDS),
                        metavar="KIND", help=f"any of {', '.join(NOISE_KINDS)}; default all")
    options.add_solve_every(parser, 10)
    parser.add_argument(
        "--held-out", type=options.seconds(SHORTEST_RECORDING), metavar="S",
        help="also freeze each estimate and test its intervals on S seconds of another motion, "
             "without adaptation")
    parser.add_argument(
        "--compare-paper", action="store_true",
        help="also run the paper's estimate, covariance and noise on the same rows "
             f"(estimation.arrival=relative, grouping=horizon, {RELATIVE_WINDOW:g} s, "
             "uncertainty.covariance=increments)")
    options.add_prior_factor(parser)
    options.add_output(parser, "intervals.json, the finished runs and the bags; finished runs with "
                               "the same settings are not repeated")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run the campaign and return 0; raises UvmsError for unusable input."""
    config, folder = options.config_of(args), output_folder(args.output)
    bags, done = output_folder(folder / "bags"), output_folder(folder / "runs")
    setup = {"schema": INTERVALS_SCHEMA, "duration_s": args.duration,
             "solve_every": args.solve_every, "prior_factor": args.prior_factor,
             "paper": args.compare_paper, "held_out_s": args.held_out,
             "settings": config.changed()}
    seeds, kinds = list(dict.fromkeys(args.seeds)), list(dict.fromkeys(args.kinds))
    tasks = [IntervalTask(seed, kind, args.duration, args.solve_every, args.prior_factor,
                          args.compare_paper, args.held_out, config, bags)
             for seed in seeds for kind in kinds]
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for number, task in enumerate(tasks, 1):
        outcome = finished(done / f"seed{task.seed}_{task.kind}.json", setup)
        said = "found"
        if outcome is None:
            outcome, said = {**setup, **run_task(task)}, "run"
            write_json(done / f"seed{task.seed}_{task.kind}.json", outcome)
        found[task.kind].append(outcome)
        coverage = [c["coverage95"] for c in outcome["rows"]["nominal"][OWN_METHOD].values()]
        print(f"[{number}/{len(tasks)}] seed {task.seed}, {task.kind}: {said}, coverage "
              f"{min(coverage):.1%} to {max(coverage):.1%}", flush=True)
    figures = {kind: pooled(outcomes) for kind, outcomes in found.items()}
    write_json(folder / "intervals.json", {**setup, "seeds": seeds, "kinds": figures})
    for kind, own in figures.items():
        print(f"\n{kind}, {len(seeds)} runs of {args.duration:g} s\n{kind_table(own, OWN_METHOD)}")
        if args.held_out:
            print(f"\nanother motion of {args.held_out:g} s, frozen\n{held_out_table(own)}")
        if args.compare_paper:
            print(f"\n{comparison(own, (OWN_METHOD, PAPER_METHOD, PUBLISHED_METHOD))}")
    print(f"\n{folder / 'intervals.json'}")
    return 0


@dataclass(frozen=True)
class IntervalTask:
    """One recording under one kind of noise; duration and held_out (None: no test) [s]; bags: the
    folder of recordings."""

    seed: int
    kind: str
    duration: float
    solve_every: int
    prior_factor: float
    compare_paper: bool
    held_out: float | None
    config: Config
    bags: Path


def run_task(task: IntervalTask) -> dict[str, Any]:
    """Figures of one run: {"seed", "kind", "rows": {"nominal", "all", "held_out": {method:
    {channel: figures}}}}."""
    config, robot = task.config, RobotModel.from_config(task.config)
    bag = simulated(task.bags, task.seed, task.duration)
    best = best_linear(truth_file(bag), config, robot).values
    prior = perturbed(prior_from_config(config, robot), task.prior_factor, task.seed)
    samples, hits = recorded(bag, task.kind, config, robot, task.seed)
    estimator = Estimator(config, prior, robot)
    own = predicted(samples, estimator, task.solve_every, best)
    methods = {OWN_METHOD: (own, own.stddev)}
    if task.compare_paper:
        theirs = predicted(samples, Estimator(_paper(config), prior, robot), task.solve_every, best)
        start = robot.default_noise(config)
        methods |= {
            PAPER_METHOD: (theirs, paper_stddev(theirs, start, causal=True)),
            PUBLISHED_METHOD: (theirs, paper_stddev(theirs, start, causal=False))
        }
    clean = nominal(own.t, hits, config, robot)
    rows = {
        which: {
            method: _figures(robot, found, stddev, found.valid & counted)
            for method, (found, stddev) in methods.items()
        }
        for which, counted in (("nominal", clean), ("all", np.ones_like(clean)))
    }
    if task.held_out is not None:
        rows["held_out"] = _held_out(task, estimator, best)
    return {"seed": task.seed, "kind": task.kind, "rows": rows}


def _held_out(task: IntervalTask, learnt: Estimator, best: np.ndarray) -> dict[str, Any]:
    """Figures on nominal rows of another motion, with saved and with adapting noise."""
    config, robot, seed = task.config, learnt.robot, task.seed + HELD_OUT_SEED_OFFSET
    assert task.held_out is not None
    bag, saved = simulated(task.bags, seed, task.held_out), learnt.parameter_set()
    samples, hits = recorded(bag, task.kind, config, robot, seed)
    found = {}
    for method, adapts in ((SAVED_NOISE, False), (ADAPTED_NOISE, True)):
        tested = predicted(samples, Estimator(config, saved, robot, learn=False,
                                              adapt_intervals=adapts), task.solve_every, best)
        clean = nominal(tested.t, hits, config, robot)
        found[method] = _figures(robot, tested, tested.stddev, tested.valid & clean)
    return found


def _paper(config: Config) -> Config:
    return config.with_values({
        "estimation.arrival": "relative", "estimation.grouping": "horizon",
        "uncertainty.covariance": "increments", "estimation.horizon": max(
            1, round(RELATIVE_WINDOW / config.filter.period))
    })


def _figures(robot: RobotModel, found: PrequentialRows, stddev: np.ndarray,
             counted: np.ndarray) -> dict[str, Any]:
    return {
        channel: channel_figures(found.residual[counted[:, c], c], stddev[counted[:, c], c],
                                 found.reference[counted[:, c], c])
        for c, channel in enumerate(robot.channels)
    }
