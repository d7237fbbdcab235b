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

"""`terms`: find the parameter sets beyond the paper's that are worth it on a recording
(docs/terms.md)."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ... import options
from ...config import Config
from ...config.robot import JOINT_TERMS, VEHICLE_TERMS
from ...disk.writing import output_file
from ...errors import ConfigError
from ...evaluation.run_files import write_json
from ...model.metrics import channel_metrics
from ...model.robot import RobotModel
from .comparison import Comparison, Ratio
from .search import SearchResult, applicable, search
from .trial import HeldOutRows, read_recordings

TERMS_SCHEMA = 1
MOST_JSON = 1_000_000       # [bytes] upper bound of the file's size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = ("Try sets of parameters beyond the paper's on recordings, each alone and "
                          "then together, and report which are worth it: learn from the first "
                          "part, judge with frozen parameters on the held-out rest.")
    parser.add_argument("bags", nargs="+", metavar="BAG", type=options.bag,
                        help="rosbag2 folder, or one .mcap or .db3 file; the last of several is "
                             "held out")
    parser.add_argument("--hold-out", metavar="SHARE", default=0.3,
                        type=options.number(0.05, 0.9),
                        help="share held out at the end of a single recording; default 0.3")
    parser.add_argument("--sets", nargs="+", metavar="SET", choices=VEHICLE_TERMS + JOINT_TERMS,
                        help="sets to try; default: all that apply to the robot, of "
                             + ", ".join(VEHICLE_TERMS + JOINT_TERMS))
    parser.add_argument("--output", metavar="FILE", type=options.new_file,
                        help="also write all figures to this JSON file")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Try the sets, print the report and return 0; raises UvmsError for unusable input."""
    config = options.config_of(args)
    sets = tuple(dict.fromkeys(args.sets or applicable(config)))
    config.with_values({"robot.terms": sets})       # raises for sets that do not apply to the robot
    if not sets:
        raise ConfigError("no set applies to this robot; expected a vehicle or joints.")
    if args.output is not None:
        output_file(args.output, MOST_JSON)
    recordings = read_recordings(args.bags, config, args.hold_out)
    for sentence in recordings.warnings:
        print(f"terms: {sentence}", file=sys.stderr)
    found = search(config, recordings, sets,
                   lambda sentence: print(f"terms: {sentence}", file=sys.stderr, flush=True))
    robot = RobotModel.from_config(config)
    print(report(found, robot, config, sets))
    if args.output is not None:
        write_json(Path(args.output), document(found, robot, sets))
    return 0


def report(found: SearchResult, robot: RobotModel, config: Config, sets: Sequence[str]) -> str:
    """Report of sets, channels and the line for the configuration."""
    wide = max(len(name) for name in (*sets, *robot.channels)) + 2
    lines = [f"{'set alone':<{wide}}{'RMSE with / without, mean of channels':>39}  held out"]
    for step in found.alone:
        lines.append(f"{step.terms[-1]:<{wide}}{_shown(step.against.mean):>39}  "
                     f"{_verdict(step.against, robot.channels)}")
    for step in found.steps[1:]:
        lines.append(f"{'+ ' + step.terms[-1]:<{wide}}{_shown(step.against.mean):>39}  "
                     "worth it in addition to those above")
    for step, since in found.vetoed:
        worse = ", ".join(f"{robot.channels[c]} {_shown(since.channels[c])}" for c in since.harmed)
        lines.append(f"{', '.join(step.terms)}: worth it on the whole, but not chosen, since a "
                     f"channel becomes worse than without any set ({worse}); weigh it yourself")
    if found.against is not None:
        names = ", ".join(found.chosen)
        lines += ["", f"{'channel':<{wide}}{'R^2 without':>12}{'with':>8}"
                      f"{'RMSE with / without':>24}   with {names}"]
        before, after = (fits(outcome, robot) for outcome in (found.without, found.best))
        lines += [f"{name:<{wide}}{_r2(before[name]):>12}{_r2(after[name]):>8}{_shown(ratio):>24}"
                  for name, ratio in zip(robot.channels, found.against.channels)]
    kept = tuple(name for name in config.robot.terms if name not in sets)
    lines += ["", f"robot.terms: [{', '.join((*kept, *found.chosen))}]"
              + ("" if found.chosen else "    # none is worth it on these recordings")]
    if config.robot.estimate_rotor_inertia and "rotor" in sets:
        lines.append("robot.estimate_rotor_inertia: false    # replaced by robot.terms")
    return "\n".join(lines)


def fits(outcome: HeldOutRows, robot: RobotModel) -> Mapping[str, Mapping[str, Any]]:
    """`channel_metrics` of each channel by name."""
    return {name: channel_metrics(outcome.measured[:, c], outcome.predicted[:, c],
                                  np.full(len(outcome.t), np.nan), outcome.valid[:, c], unit)
            for c, (name, unit) in enumerate(zip(robot.channels, robot.units))}


def document(found: SearchResult, robot: RobotModel, sets: Sequence[str]) -> dict[str, Any]:
    """All figures, for tools."""
    def figures(comparison: Comparison) -> dict[str, Any]:
        return {"mean": _numbers(comparison.mean), "worth_it": bool(comparison.is_worth_it),
                "channels": {name: _numbers(ratio)
                             for name, ratio in zip(robot.channels, comparison.channels)}}

    def r2(outcome: HeldOutRows) -> dict[str, Any]:
        return {name: fit["r2"] for name, fit in fits(outcome, robot).items()}

    return {"schema": TERMS_SCHEMA, "sets": list(sets), "chosen": list(found.chosen),
            "without": {"r2": r2(found.without)},
            "with": {"r2": r2(found.best),
                     **({} if found.against is None else {"against": figures(found.against)})},
            "alone": {step.terms[-1]: {"r2": r2(step.outcome), "against": figures(step.against)}
                      for step in found.alone},
            "steps": [{"terms": list(step.terms), "r2": r2(step.outcome),
                       "against": figures(step.against)} for step in found.steps]}


def _verdict(comparison: Comparison, channels: Sequence[str]) -> str:
    worse = [name for name, ratio in zip(channels, comparison.channels) if ratio.low > 1.0]
    better = [name for name, ratio in zip(channels, comparison.channels) if ratio.high < 1.0]
    words = [f"better: {', '.join(better)}"] if better else []
    words += [f"worse: {', '.join(worse)}"] if worse else []
    return ("worth it; " if comparison.is_worth_it else "not worth it; ") + (
        "; ".join(words) or "no channel differs significantly")


def _shown(ratio: Ratio) -> str:
    return "-" if np.isnan(ratio.value) else (
        f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})")


def _r2(fit: Mapping[str, Any]) -> str:
    return "-" if fit["r2"] is None else f"{fit['r2']:.4f}"


def _numbers(ratio: Ratio) -> dict[str, float | None]:
    return {key: None if np.isnan(value) else float(value)
            for key, value in ratio._asdict().items()}
