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

"""`paper`: compare the defaults with the paper's exact formulation on the same recordings, with the
paper's table.

Held-out data are never learnt from: the last 30 % of a single recording, the next of several
recordings (the last is tested on the first), and another motion of simulated robots. Models are
scored on the rows that count for all of them.
"""
from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ... import options
from ...config import Config
from ...config.paper import COST, LETTER, WINDOW
from ...disk.writing import output_folder, write_file
from ...evaluation.run_files import write_json
from ...model.metrics import timing
from ...model.prior import perturbed, prior_from_config
from ...model.robot import RobotModel
from ..campaign import HELD_OUT_SEED_OFFSET, SHORTEST_RECORDING
from ..simulated_runs import simulated
from .table import mean_over, table
from .trials import CommonRows, PaperTrial, PreparedSamples, compared, figures, outcome, trials_of

PAPER_SCHEMA = 1
WRONG_PRIOR_FACTOR = 2.0  # factor by which the prior of a simulated robot is wrong
BASELINES = {"letter": ("paper", LETTER), "cost": ("paper's cost", COST)}
TABLE_PARTS = {"prequential": "prequential: each row predicted before it is used",
               "held_out": "held out: the last estimate frozen, on what was not learnt from"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = ("Compare this package with the paper's exact formulation "
                          "(config/paper.yaml), with the paper's table and overlays, on recordings "
                          "or on the simulated robot.")
    parser.add_argument("bags", nargs="*", metavar="BAG", type=options.bag,
                        help="one trial each; default: the simulated robot")
    parser.add_argument("--window", type=options.count, nargs="+", default=[WINDOW], metavar="ROWS",
                        help=f"window of the paper's estimate, one or several; default {WINDOW}, "
                             "as in its authors' online code")
    parser.add_argument("--baseline", nargs="+", choices=BASELINES, default=["letter"],
                        help="'letter': everything in config/paper.yaml (default); 'cost': only "
                             "the paper's arrival cost and window")
    parser.add_argument("--set-paper", action="append", type=options.setting, default=[],
                        metavar="NAME=VALUE", dest="paper_settings",
                        help="change one setting of the paper's models, such as estimation.rho=2 "
                             "or estimation.coupling=reaction (may be repeated)")
    parser.add_argument("--every", type=options.count, default=1, metavar="N",
                        help="solve only at every N-th row, while all rows are predicted and "
                             "learnt (paper's models: Q / N); default 1, as in the node")
    parser.add_argument("--prior-factor", type=options.factor, metavar="K",
                        help="every non-zero parameter of the prior times K or 1/K; default 1 with "
                             f"BAG, {WRONG_PRIOR_FACTOR:g} without")
    parser.add_argument("--seeds", type=options.seed, nargs="+", default=[1, 2, 3], metavar="N",
                        help="without BAG: simulated robots; default 1 2 3")
    parser.add_argument("--duration", type=options.seconds(SHORTEST_RECORDING), default=120.0,
                        metavar="S", help="without BAG: length of each of their two recordings "
                                          "[s]; default 120")
    options.add_output(parser, "paper.json, the overlays and simulated bags")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Compare and return 0; raises UvmsError for unusable input."""
    models, folder = models_of(args), output_folder(args.output)
    factor = args.prior_factor or (1.0 if args.bags else WRONG_PRIOR_FACTOR)
    content: dict[str, Any] = {
        "schema": PAPER_SCHEMA, "every": args.every, "prior_factor": factor,
        "settings": {name: config.changed() for name, config in models.items()}, "trials": {}}
    signals = PreparedSamples()
    for number, trial in enumerate(_trials(args, folder)):
        seed = args.seeds[number] if not args.bags else number
        content["trials"][trial.name] = run_trial(trial, models, signals, args.every, factor, seed,
                                                  folder)
        # Written after every trial, so that an interrupted comparison keeps its results.
        write_json(folder / "paper.json", content)
        print(f"trial {trial.name}: done", flush=True)
        if not args.bags:
            signals.clear()    # no later trial uses these recordings
    found = list(content["trials"].values())
    content["mean"] = {part: mean_over([trial[part] for trial in found]) for part in TABLE_PARTS}
    write_json(folder / "paper.json", content)
    for part, title in TABLE_PARTS.items():
        trials = f"{len(found)} trials" if len(found) > 1 else "one trial"
        print(f"\n{title}; mean over {trials}\n{table(content['mean'][part])}")
    print()
    for name in models:
        times = [trial["models"][name]["update_ms"]["median"] for trial in found]
        failures = sum(trial["models"][name]["failures"] for trial in found)
        print(f"{name}: {found[0]['models'][name]['solver']}, median {max(times):.1f} ms a solve, "
              f"{failures} failures")
    print(f"\n{folder / 'paper.json'}")
    return 0


def models_of(args: argparse.Namespace) -> dict[str, Config]:
    """Settings of each model, by its name in the tables."""
    base = options.config_of(args)
    models = {"default": base}
    for kind in dict.fromkeys(args.baseline):
        name, changes = BASELINES[kind]
        for window in dict.fromkeys(args.window):
            seconds = window * base.filter.period
            paper = base.with_values(changes | {"estimation.horizon": window}
                                     | dict(args.paper_settings))
            # One solve covers N steps of the random walk: with Q / N the estimate follows as fast
            # as with a solve at every row.
            models[f"{name}, {seconds:g} s"] = paper.with_values(
                {"estimation.relative_weight": paper.estimation.relative_weight / args.every})
    return models


def _trials(args: argparse.Namespace, folder: Path) -> Iterator[PaperTrial]:
    if args.bags:
        yield from trials_of(args.bags)
        return
    args.seeds = list(dict.fromkeys(args.seeds))
    bags = output_folder(folder / "bags")
    for seed in args.seeds:
        yield PaperTrial(f"seed{seed}", simulated(bags, seed, args.duration),
                         simulated(bags, seed + HELD_OUT_SEED_OFFSET, args.duration))


def run_trial(trial: PaperTrial, models: dict[str, Config], signals: PreparedSamples, every: int,
              factor: float, seed: int, folder: Path) -> dict[str, Any]:
    """Run all models in one trial, and draw overlays into the folder.

    Returns {"prequential", "held_out": {model: {channel: figures}}, "models": {model: solver,
    failures, update_ms}}.
    """
    outcomes = {}
    for name, config in models.items():
        robot = RobotModel.from_config(config)
        prior = perturbed(prior_from_config(config, robot), factor, seed)
        outcomes[name] = outcome(config, prior, robot, *trial.samples(signals, config), every)
    period = models["default"].filter.period
    found: dict[str, Any] = {"models": {
        name: {"solver": done.solver, "failures": done.failures,
               "update_ms": timing(done.update_ms)} for name, done in outcomes.items()}}
    for part in TABLE_PARTS:
        rows = compared({name: getattr(done, part) for name, done in outcomes.items()}, period)
        found[part] = figures(rows, robot)
        _draw(rows, robot, folder, f"{trial.name}_{part}")
    return found


def _draw(rows: CommonRows, robot: RobotModel, folder: Path, stem: str) -> None:
    # Imported here: matplotlib takes a second to load.
    from .overlays import overlays
    for group, figure in overlays(rows, robot):
        picture = io.BytesIO()
        figure.savefig(picture, format="png")
        write_file(folder / f"{stem}_{group}.png", picture.getvalue())
