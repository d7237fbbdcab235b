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

"""`excite`: design the most informative motion, inspect it, try it in simulation.

Limits, criterion and evidence: docs/excitation.md.
"""
from __future__ import annotations

import argparse
import io
import time
from pathlib import Path
from typing import Any

import numpy as np

from ... import options
from ...config import Config
from ...control.excitation.design import design
from ...control.excitation.limits import MotionLimits
from ...control.excitation.noise import noise_of
from ...control.excitation.trajectory import Trajectory
from ...control.excitation.trajectory_file import save_trajectory
from ...control.stage_entry import STAGE_KINDS
from ...control.stages import Stage, load_schedule
from ...disk.writing import output_folder, write_file
from ...errors import ConfigError
from ...evaluation.run_files import write_json
from ...model.parameter_file import load_parameters
from ...model.parameter_set import ParameterSet
from ...model.prior import prior_from_config
from ...model.robot import RobotModel
from ...model.thrust_curve import ThrustCurve
from ...simulation.true_robot import TrueRobot
from ..finished import finished
from ..guided.simulated import simulated
from .campaign import Campaign
from .compare import compare, kept_promises
from .dry_run import DryRun, dry_run
from .hover import hover, noise_of_recording, noise_of_samples
from .table import campaign_table, presumed, promise_table, use_table
from .under_way import under_way

EXCITATION_SCHEMA = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = ("Design the motion that is most informative about the free parameters, "
                          "given present knowledge, within the limits of the settings "
                          "excitation.*.")
    parser.add_argument("--parameters", type=options.file, metavar="YAML",
                        help="present knowledge: a parameter file with covariance; default the "
                             "prior")
    parser.add_argument("--schedule", metavar="NAME",
                        help="a schedule of stages by name or path, with --stage instead of "
                             "--free, --move and --kind")
    parser.add_argument("--stage", metavar="NAME", help="stage to design the motion for")
    parser.add_argument("--free", nargs="+", metavar="NAME",
                        help="parameters to learn, names or patterns such as 'axis_b.*'; default "
                             "all")
    parser.add_argument("--move", nargs="+", metavar="CHANNEL",
                        help="channels to move: surge to yaw, joints, or patterns; default all")
    parser.add_argument("--kind", choices=STAGE_KINDS,
                        help="'tilt': quasi-static, for weight and buoyancy; default motion")
    parser.add_argument("--duration", type=options.seconds(10.0, 600.0), metavar="S",
                        help="length [s]; default excitation.duration")
    parser.add_argument("--seed", type=options.seed, default=0, metavar="N",
                        help="seed of the random motions that start the search; default 0")
    parser.add_argument("--seconds", type=options.seconds(), metavar="S",
                        help="processor time after which the best motion so far is taken [s]; "
                             "default: as long as excitation.iterations take")
    parser.add_argument("--hover", type=options.bag, metavar="RECORDING",
                        help="recording of this robot holding its position for ten seconds or "
                             "more, its arm moving slowly: gives the noise for the promise of a "
                             "first motion")
    parser.add_argument("--dry-run", action="store_true",
                        help="also fly it on the simulated robot that the settings describe, and "
                             "print what it uses of each limit")
    parser.add_argument("--under-way", type=options.file, metavar="TRAJECTORY",
                        help="instead: restate the promise of this motion, which is under way, "
                             "from the present estimate (--parameters, saved by the node --at so "
                             "many seconds after the motion's start)")
    parser.add_argument("--at", type=options.seconds(0.0), metavar="S",
                        help="with --under-way: [s] since the motion's start; default 0")
    parser.add_argument("--compare", action="store_true",
                        help="instead, in simulation: compare with a hand-made multisine, and "
                             "compare promised with achieved deviations of three motions in a row")
    parser.add_argument("--campaign", type=options.whole(0), default=0, metavar="N",
                        help="instead: check whether N simulated robots with random limits touch "
                             "any limit, each from a prior wrong by --prior-factor")
    parser.add_argument("--again", type=options.seconds(), metavar="S",
                        help="with --campaign: also design a second motion from what the first "
                             "taught, in at most S seconds of processor time")
    options.add_prior_factor(parser)
    options.add_output(parser, "trajectory.yaml, excite.md, excite.json and trajectory.png")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Design and write a motion; returns 1 if a dry run touched a limit, else 0; raises UvmsError.
    """
    for option, needed in (("at", "under_way"), ("again", "campaign")):
        if getattr(args, option) is not None and not getattr(args, needed):
            raise ConfigError(f"--{option} belongs to --{needed.replace('_', '-')}; expected both, "
                              "or neither.")
    folder = output_folder(args.output)
    config = options.config_of(args)
    robot = RobotModel.from_config(config)
    duration = args.duration or config.excitation.duration
    if args.campaign:
        return _campaign(args, in_simulation(config, robot), robot, duration, folder)
    known = (load_parameters(args.parameters).for_table(robot.table) if args.parameters
             else prior_from_config(config, robot))
    if args.under_way:
        return under_way(args, config, robot, known, folder)
    limits = limits_of(config, robot)
    if args.compare:
        return _compare(in_simulation(config, robot), robot, known, limits, duration, args.seed,
                        folder)
    in_dry_run = simulated(config) if args.dry_run else None
    stage = stage_of(args, config, robot)
    noise = noise_of(known, robot, config)
    at_rest = noise_of_recording(args.hover, known, robot, config) if args.hover else None
    begun = time.process_time()
    trajectory = design(robot, known, noise,
                        robot.table.match((*stage.free, *stage.kept)), stage.move, limits,
                        duration, args.seed, args.seconds or float("inf"), config=config,
                        kind=stage.kind, at_rest=at_rest)
    text = (f"Designed in {time.process_time() - begun:.1f} s of processor time, "
            f"{trajectory.made['evaluations']} motions tried.\n\n"
            f"{presumed(robot, noise, known.noise_stddev is not None, at_rest)}\n\n"
            f"{promise_table(trajectory)}")
    tried = None
    if in_dry_run is not None:
        true_robot, as_published = in_dry_run
        tried = dry_run(as_published, robot, trajectory, limits, known, args.seed, holds_back=True,
                        true_robot=true_robot)
        text += f"\n{use_table(tried)}"
    save_trajectory(folder / "trajectory.yaml", trajectory)
    write_file(folder / "excite.md", text)
    write_json(folder / "excite.json", {
        "schema": EXCITATION_SCHEMA, "settings": config.changed(), "made": dict(trajectory.made),
        "uses": None if tried is None else tried.largest})
    _draw(trajectory, robot, limits, known, None if tried is None or tried.held_back else tried,
          folder)
    print(f"{text}\n{folder / 'trajectory.yaml'}")
    return int(tried is not None and bool(tried.touched or tried.held_back))


def stage_of(args: argparse.Namespace, config: Config, robot: RobotModel) -> Stage:
    """The stage of --schedule and --stage, or a stage made of --free, --move and --kind; raises
    ConfigError for one that does not exist or needs no motion."""
    if args.schedule is None and args.stage is None:
        return Stage("", "", tuple(args.free or ["*"]), tuple(args.move or ["*"]),
                     kind=args.kind or "motion")
    if args.schedule is None or args.stage is None or args.free or args.move or args.kind:
        raise ConfigError("--schedule and --stage belong together, and replace --free, --move and "
                          "--kind; expected both of the former, or neither.")
    schedule = load_schedule(args.schedule, robot.table, config.estimation.frozen)
    found = [stage for stage in schedule.stages if stage.name == args.stage]
    if not found:
        raise ConfigError(f"schedule '{schedule.name}' has no stage '{args.stage}' for this robot; "
                          f"expected one of {', '.join(s.name for s in schedule.stages)}.")
    if not found[0].move:
        raise ConfigError(f"stage '{args.stage}' needs no motion of this robot; expected one "
                          "that moves a channel. Choose another stage, or give --move and --free.")
    return found[0]


def limits_of(config: Config, robot: RobotModel) -> MotionLimits:
    """Limits from the settings and the thrust curve."""
    curve = ThrustCurve.of_settings(config.thrusters) if robot.vehicle else None
    return MotionLimits.from_config(config, robot, curve)


def in_simulation(config: Config, robot: RobotModel) -> Config:
    """The settings with the simulated surface pressure; raises ConfigError for another robot than
    the one that these studies are about."""
    true = TrueRobot()
    if not robot.vehicle or robot.joints != true.joints:
        raise ConfigError(f"robot.joints is {list(robot.joints)}; expected a vehicle with "
                          f"{list(true.joints)}, the only robot that --compare and --campaign "
                          "simulate; --dry-run simulates any vehicle.")
    return config.with_values({"robot.surface_pressure": true.surface_pressure})


def _campaign(args: argparse.Namespace, config: Config, robot: RobotModel, duration: float,
              folder: Path) -> int:
    """Skips robots that are already in the folder with the same settings, so that an interrupted
    campaign continues and processes with other seeds can share the folder."""
    setup = {"schema": EXCITATION_SCHEMA, "settings": config.changed(), "duration_s": duration,
             "prior_factor": args.prior_factor, "again_s": args.again}
    done = output_folder(folder / "robots")
    robots = Campaign(config, robot, duration, args.prior_factor, args.again)
    for k in range(args.seed + 1, args.seed + 1 + args.campaign):
        file = done / f"robot{k}.json"
        result = finished(file, setup)
        if result is None:
            result = {**setup, **robots.tried(k)}
            write_json(file, result)
        print(f"robot {k}: {_said(result)}" + (
            f"; again {_said(result['again'])}" if "again" in result else ""), flush=True)
    there = [finished(file, setup) for file in done.glob("robot*.json")]
    results = sorted((each for each in there if each is not None), key=lambda each: each["robot"])
    write_json(folder / "excite.json", {"schema": EXCITATION_SCHEMA, "settings": config.changed(),
                                        "robots": results})
    text = campaign_table(results)
    write_file(folder / "excite.md", text)
    print(f"\n{text}")
    return int(any(each.get("touched") for result in results
                   for each in (result, result.get("again", {}))))


def _said(result: dict[str, Any]) -> str:
    return result.get("refused") or (
        f"designed in {result['design_s']:.1f} s, touched: "
        f"{', '.join(result['touched']) or 'nothing'}, most used: {result['most used']}"
        + (f", held back before it: {result['held_back']}" if result.get("held_back") else ""))


def _compare(config: Config, robot: RobotModel, known: ParameterSet, limits: MotionLimits,
             duration: float, seed: int, folder: Path) -> int:
    at_rest = noise_of_samples(hover(config, robot, limits, known, seed), known, robot, config)
    content: dict[str, Any] = {"schema": EXCITATION_SCHEMA, "settings": config.changed(),
                               "noise_at_rest": dict(zip(robot.channels, at_rest.tolist()))}
    content["multisine"] = compare(config, robot, known, at_rest, limits, duration, seed)
    write_json(folder / "excite.json", content)
    print({key: value for key, value in content["multisine"].items()
           if key not in ("r2", "on_the_way")}, flush=True)
    content["promises"] = kept_promises(config, robot, known, at_rest, limits, duration, seed)
    write_json(folder / "excite.json", content)
    for name, found in content["promises"].items():
        print(name, {key: value for key, value in found.items() if key != "each"}, flush=True)
    return 0


def _draw(trajectory: Trajectory, robot: RobotModel, limits: MotionLimits, known: ParameterSet,
          tried: DryRun | None, folder: Path) -> None:
    # Imported here: matplotlib takes a second to load.
    from .picture import picture
    drawn = io.BytesIO()
    picture(trajectory, robot, limits, np.asarray(known.values), tried).savefig(drawn,
                                                                                format="png")
    write_file(folder / "trajectory.png", drawn.getvalue())
