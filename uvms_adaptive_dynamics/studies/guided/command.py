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

"""`guided`: identify a new robot from a prior wrong by a factor, stage by stage and without an
operator, and judge it on unseen motions. Definitions and results: docs/guided.md.
"""
from __future__ import annotations

import argparse
import math
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ... import options
from ...config import Config
from ...control.stages import load_schedule
from ...disk.writing import output_folder, write_file
from ...evaluation.judged import statement_of
from ...evaluation.run import run as run_bags
from ...evaluation.run_files import write_json
from ...evaluation.run_record import Run, metrics_of
from ...model.metrics import all_channels
from ...model.parameter_file import save_parameters
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from ...simulation.bag import write_bag
from ...simulation.rough import ROUGH, Roughness
from ...simulation.true_robot import TrueRobot
from ...uncertainty.added_direction import RobustFit
from ...uncertainty.statement import Statement
from ..campaign import HELD_OUT_SEED_OFFSET
from ..closed_loop.truth import true_parameters, wrong_prior
from .loop import GuidedRun, guided_run
from .simulated import holding_still, simulated
from .table import markdown

GUIDED_SCHEMA = 1
LONGEST_RUN = 600.0     # [s] longest robot time of a run
GUIDED_HELD_OUT_S = 60.0
PRIOR_FACTOR = 3.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = ("Identify the simulated robot from a wrong prior by a schedule with "
                          "designed motions, and test the result on its usual motion.")
    parser.add_argument("--seeds", type=options.seed, nargs="+", default=[1], metavar="N",
                        help="seeds of prior, noise and motions; default 1")
    parser.add_argument("--schedule", default="guided",
                        help="name or file of the schedule; default guided")
    parser.add_argument("--rough", action="store_true",
                        help="tether, current, uneven thrusters, a worse DVL, as in simulate "
                             "--rough without pauses")
    parser.add_argument("--longest", type=options.seconds(10.0), default=LONGEST_RUN, metavar="S",
                        help=f"longest robot time of a run [s]; default {LONGEST_RUN:g}")
    parser.add_argument("--prior-factor", type=options.factor, default=PRIOR_FACTOR, metavar="K",
                        help="every non-zero parameter of the prior times K or 1/K; default "
                             f"{PRIOR_FACTOR:g}")
    options.add_output(parser, "guided.json, guided.md, parameters and statement of each seed")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run every seed; 1 if a run did not complete its schedule. Raises UvmsError for unusable
    input."""
    folder = output_folder(args.output)
    # Without pauses: they belong to the robot's own motion, and an axis that stands still
    # throughout the test has no variance to explain.
    rough = replace(ROUGH, pauses=False) if args.rough else Roughness()
    true_robot, config = simulated(options.config_of(args))
    model = RobotModel.from_config(config)
    schedule = load_schedule(args.schedule, model.table, config.estimation.frozen)
    true = true_parameters(config, model, true_robot=true_robot)
    seeds: dict[str, Any] = {}
    content = {"schema": GUIDED_SCHEMA, "schedule": schedule.name, "rough": args.rough,
               "prior_factor": args.prior_factor, "longest_s": args.longest,
               "settings": config.changed(), "seeds": seeds}
    for seed in dict.fromkeys(args.seeds):
        begin = time.monotonic()
        prior = wrong_prior(true, model, config, args.prior_factor, seed)
        robot = holding_still(seed, args.longest, true_robot, rough)
        print(f"seed {seed}{', rough' if args.rough else ''}:", flush=True)
        done = guided_run(config, model, prior, schedule, robot, args.longest,
                          lambda words: print(f"  {words}", flush=True))
        save_parameters(folder / f"parameters_{seed}.yaml", done.parameters)
        found, said = judged(config, true_robot, done, prior, seed, rough)
        seeds[str(seed)] = outcome(done) | found | {"took_s": time.monotonic() - begin}
        write_file(folder / f"statement_{seed}.md", said.text())
        # Written after every seed, so that an interrupted run keeps its results.
        write_json(folder / "guided.json", content)
        text = markdown(content)
        write_file(folder / "guided.md", text.encode())
        print(f"\n{said.first_lines()}\n\n{text}", flush=True)
    print(folder / "guided.md")
    return int(any(each["cause"] != "done" for each in seeds.values()))


def outcome(done: GuidedRun) -> dict[str, Any]:
    """The outcome of a run, for the file."""
    return {"seconds": done.seconds, "cause": done.cause.code, "sentence": done.cause.sentence,
            "motions": len(done.flown), "broken_off": done.broken_off, "uses": done.uses,
            "stages": [{"stage": end.stage, "why": end.why, "seconds": (end.end or math.nan)
                        - (end.begin or math.nan), "missing": list(end.missing)}
                       for end in done.ended]}


def attainable(done: Run) -> dict[str, Any]:
    """R^2 by channel of the parameters that fit a run's rows themselves best, all channels
    together: what is beyond it, the model lacks, and no motion could have taught it."""
    rows, names = done.log.rows(), done.robot.channels
    fit = RobustFit(done.log.regressors(np.arange(len(rows.t))), rows.measured - rows.tau_known,
                    rows.valid, rows.t)
    figures = all_channels(names, done.robot.units, rows.measured, fit.predicted + rows.tau_known,
                           rows.stddev, rows.valid)
    return {name: figures[name]["r2"] for name in names}


def judged(config: Config, true_robot: TrueRobot, done: GuidedRun, prior: ParameterSet,
           seed: int, rough: Roughness) -> tuple[dict[str, Any], Statement]:
    """(held-out metrics by channel of the estimate and of the prior, both frozen, on the usual
    motion of another seed, and `attainable` R^2; the statement on the estimate and its stages)."""
    folder = Path(tempfile.mkdtemp(prefix="guided_"))
    try:
        bag = folder / f"held_out_{seed}"
        write_bag(bag, seed=seed + HELD_OUT_SEED_OFFSET, duration=GUIDED_HELD_OUT_S,
                  true_robot=true_robot, rough=rough)
        ours, before = (run_bags([bag], config, each, frozen=True)
                        for each in (done.parameters, prior))
        said = statement_of(replace(ours, stages=tuple(done.ended),
                                    standing_change=done.standing_change))
        if done.cause.code != "done":
            stop = (f"the run did not complete its schedule: {done.cause.sentence}. What follows "
                    "describes an estimate that was still to be learnt")
            said = replace(said, next=(stop, *said.next))
        return {"held_out": metrics_of(ours)["channels"], "attainable": attainable(ours),
                "prior": metrics_of(before)["channels"]}, said
    finally:
        shutil.rmtree(folder)
