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

"""`closed_loop`: a simulated robot under computed torque and PID, with a payload during the run.

The feedforward's parameters are a fixed prior wrong by a factor, the running estimate from the same
sensors, the true ones, or none at all. Definitions and results: docs/closed_loop.md.
"""
from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

from ... import options
from ...config import Config
from ...control.motion_controller import gains_for
from ...disk.writing import output_folder, write_file
from ...evaluation.run_files import write_json
from ...model.parameter_set import ParameterSet
from ...model.prior import prior_from_config
from ...model.robot import RobotModel
from ...simulation.true_robot import TrueRobot
from .runs import RunTimes, Truths, back_after, errors_of, run_variants
from .stress import STRESS_SEED, stress, stress_table
from .table import markdown, summary
from .truth import TRUTH_LENGTH, true_parameters
from .tuning import tuning, tuning_table

CLOSED_LOOP_SCHEMA = 1
SHORTEST_PAYLOAD_RUN = 4.0  # [s] shortest run in which a payload can be picked up and dropped
LEAST_TRUTH = 20.0  # [s] shortest true motion from which parameters can be fitted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = ("Compare tracking errors of the simulated robot under one PID with four "
                          "feedforwards: none, a wrong prior, the estimate, the true parameters.")
    parser.add_argument("--seeds", type=options.count, default=5, metavar="N",
                        help="number of seeds of motion, noise and prior; default 5")
    parser.add_argument("--duration", type=options.seconds(SHORTEST_PAYLOAD_RUN),
                        default=RunTimes.end, metavar="S",
                        help="length of a run [s]; the payload's schedule scales with it; default "
                             f"{RunTimes.end:g}")
    parser.add_argument("--payload", type=options.number(0.0, 2.0, "kg"), default=RunTimes.mass,
                        metavar="KG", help=f"mass picked up [kg]; default {RunTimes.mass:g}")
    options.add_prior_factor(parser)
    parser.add_argument("--bandwidth", type=options.number(0.1, 100.0, "rad/s"), nargs=3,
                        metavar=("V", "W", "Q"),
                        help="bandwidth of the PID for translation, rotation and joints [rad/s]; "
                             "default as tuned")
    parser.add_argument("--tune", action="store_true",
                        help="first scan the PID's bandwidth without feedforward")
    parser.add_argument("--stress", type=options.whole(0), default=0, metavar="UPDATES",
                        help="also run UPDATES updates that are withheld, stale, not a number or "
                             "jumping within P, and as many that all jump; default 0")
    options.add_output(parser, "closed_loop.json, closed_loop.md and closed_loop.png")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run everything and return 0; raises UvmsError for unusable input."""
    folder = output_folder(args.output)
    config = zeroed(options.config_of(args))
    model = RobotModel.from_config(config)
    nominal = prior_from_config(config, model)
    gains = gains_for(nominal, model.joints, *([tuple(args.bandwidth)] if args.bandwidth else []))
    schedule = RunTimes(mass=args.payload).shortened(args.duration)
    content: dict[str, Any] = {
        "schema": CLOSED_LOOP_SCHEMA, "prior_factor": args.prior_factor,
        "settings": config.changed(),
        "schedule": {**schedule.__dict__, "windows": schedule.windows},
        "gains": {name: values.tolist() for name, values in gains._asdict().items()},
        "seeds": {}}
    if args.tune:
        found = list(tuning(config, model, nominal))
        content["tuning"] = [{"bandwidth": bandwidth, "errors": errors}
                             for bandwidth, errors in found]
        print(tuning_table(found), flush=True)
    length = min(TRUTH_LENGTH, max(args.duration, LEAST_TRUTH))
    truths = Truths(true_parameters(config, model, 0.0, length),
                    true_parameters(config, model, args.payload, length))
    for seed in range(1, args.seeds + 1):
        tracks = run_variants(config, model, truths, gains, seed, args.prior_factor, schedule,
                              said=lambda words: print(words, flush=True))
        content["seeds"][str(seed)] = {
            "errors": {name: errors_of(track, schedule) for name, track in tracks.items()},
            "limited_share": {name: float(track.limited.mean())
                              for name, track in tracks.items()},
            "back_s": back_after(tracks["adapted"], tracks["true"], schedule)}
        # Written after every seed, so that an interrupted run keeps its results.
        write_json(folder / "closed_loop.json", content)
        if seed == 1:
            _draw(tracks, schedule, folder)
    content["summary"] = summary(content["seeds"])
    text = markdown(content["seeds"])
    if args.stress:
        text += _stress(content, config, model, truths.empty, gains, args.stress)
    write_json(folder / "closed_loop.json", content)
    write_file(folder / "closed_loop.md", text.encode())
    print(f"\n{text}\n{folder / 'closed_loop.md'}")
    return 0


def zeroed(config: Config) -> Config:
    """The settings with the simulated surface pressure, as a driver zeroes depth at the surface."""
    return config.with_values({"robot.surface_pressure": TrueRobot().surface_pressure})


def _stress(content: dict[str, Any], config: Config, model: RobotModel, true: ParameterSet,
            gains: Any, updates: int) -> str:
    text = ""
    for name, kinds in (("all kinds", {}), ("jumping alone", {"kinds": ("jumping",)})):
        found = stress(config, model, true, gains, updates, seed=STRESS_SEED, **kinds)
        content.setdefault("stress", {})[name] = found
        text += f"\nStress, {name}:\n\n{stress_table(found, model.channels)}"
    return text


def _draw(tracks: dict[str, Any], schedule: RunTimes, folder: Path) -> None:
    # Imported here: matplotlib takes a second to load.
    from .picture import picture
    drawn = io.BytesIO()
    picture(tracks, schedule).savefig(drawn, format="png")
    write_file(folder / "closed_loop.png", drawn.getvalue())
