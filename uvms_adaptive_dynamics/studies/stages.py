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

"""`stages`: compare schedules on the same recordings, judged on held-out data.

Each schedule learns from the same recording and the same prior; its last estimate is then frozen
and predicts another recording (docs/identification.md, "Staged or all at once").
"""
from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import options
from ..config import Config
from ..disk.writing import output_folder
from ..errors import ConfigError
from ..evaluation.run import run as run_bags
from ..evaluation.run_files import write_json
from ..evaluation.run_record import metrics_of
from ..model.parameter_set import ParameterSet
from ..model.prior import perturbed, prior_from_config
from ..model.robot import RobotModel
from .campaign import HELD_OUT_SEED_OFFSET, SHORTEST_RECORDING
from .simulated_runs import simulated

STAGES_SCHEMA = 1
SCHEDULES = ("all_at_once", "guided", "paper")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = ("Learn in stages and all at once from the same recordings and the same "
                          "wrong prior, and compare the estimates on other recordings.")
    parser.add_argument("--schedules", nargs="+", default=list(SCHEDULES), metavar="NAME|YAML",
                        help=f"default {' '.join(SCHEDULES)}")
    parser.add_argument("--bags", nargs="+", type=options.bag, metavar="BAG",
                        help="learn from these instead of simulated recordings")
    parser.add_argument("--held-out", nargs="+", type=options.bag, metavar="BAG",
                        help="with --bags: test on these")
    parser.add_argument("--seeds", type=options.seed, nargs="+", default=[1, 2, 3], metavar="N",
                        help="seeds of the wrong prior, and of the simulated motion and noise; "
                             "default 1 2 3")
    parser.add_argument("--duration", type=options.seconds(SHORTEST_RECORDING), default=120.0,
                        metavar="S", help="length of simulated recordings [s]; default 120")
    parser.add_argument("--held-out-duration", type=options.seconds(SHORTEST_RECORDING),
                        default=60.0, metavar="S",
                        help="length of simulated test recordings [s]; default 60")
    options.add_prior_factor(parser)
    options.add_output(parser, "stages.json and simulated bags, which later runs reuse")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Compare and return 0; raises UvmsError for unusable input."""
    if (args.bags is None) != (args.held_out is None):
        raise ConfigError("--bags and --held-out: got one of them, expected both or none, since an "
                          "estimate cannot be tested on the recording that it learnt from.")
    config, folder = options.config_of(args), output_folder(args.output)
    runs: list[dict[str, Any]] = []
    content = {"schema": STAGES_SCHEMA, "prior_factor": args.prior_factor,
               "settings": config.changed(), "runs": runs}
    for seed in dict.fromkeys(args.seeds):
        if args.bags is None:
            bags = output_folder(folder / "bags")
            learn = [simulated(bags, seed, args.duration)]
            test = [simulated(bags, seed + HELD_OUT_SEED_OFFSET, args.held_out_duration)]
        else:
            learn, test = args.bags, args.held_out
        robot = RobotModel.from_config(config)
        prior = perturbed(prior_from_config(config, robot), args.prior_factor, seed)
        for schedule in args.schedules:
            runs.append({"seed": seed, "schedule": schedule,
                         **compare(learn, test, config, prior, schedule)})
            write_json(folder / "stages.json", content)
            print(f"seed {seed}, {schedule}: {_stages(runs[-1]['stages'])}", flush=True)
    print(f"\nheld out, mean (least) R^2 of {len(set(args.seeds))} seeds\n{table(runs)}")
    print(f"\n{folder / 'stages.json'}")
    return 0


def compare(learn: Sequence[Path], test: Sequence[Path], config: Config, prior: ParameterSet,
            schedule: str) -> dict[str, Any]:
    """Learn with a schedule, then test frozen: {"held_out": channels as in metrics.json, "stages",
    "rank", "stddev": of the last estimate}."""
    staged = config.with_values({"estimation.schedule": schedule})
    learnt = run_bags(learn, staged, prior)
    tested = run_bags(test, config, learnt.final, frozen=True)
    metrics = metrics_of(learnt)
    return {"held_out": metrics_of(tested)["channels"], "stages": metrics["stages"],
            "stddev": dict(zip(metrics["parameters"]["names"], metrics["parameters"]["stddev"]))}


def table(runs: Sequence[Mapping[str, Any]]) -> str:
    """Table of channels by schedules: mean and least R^2 over the seeds."""
    schedules = list(dict.fromkeys(str(one["schedule"]) for one in runs))
    channels = list(runs[0]["held_out"])
    wide = 2 + max(len("in 95 %"), *map(len, channels))
    columns = max(16, 2 + max(map(len, schedules)))
    lines = [f"{'channel':<{wide}}" + "".join(f"{name:>{columns}}" for name in schedules)]
    for what, key in ((None, "r2"), ("in 95 %", "coverage95")):
        for channel in channels if what is None else ("pooled",):
            line = f"{what or channel:<{wide}}"
            for name in schedules:
                found = [one["held_out"][c][key] for one in runs if one["schedule"] == name
                         for c in (channels if what else [channel])]
                known = [value for value in found if value is not None]
                cell = f"{np.mean(known):.3f} ({min(known):.3f})" if known else "-"
                line += f"{cell:>{columns}}"
            lines.append(line)
    return "\n".join(lines)


def _stages(stages: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{one['name']} {one['why_ended']} at {one['end_s']:.0f} s" for one in stages)
