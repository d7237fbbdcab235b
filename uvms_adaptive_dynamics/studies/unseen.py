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

"""`unseen`: coverage of held-out rows by saved intervals, and false changes and findings, on robots
that no rule was tuned on, half of them rough (docs/uncertainty.md).

Robot k is the individual k (`simulation/individual.py`); every second one is rough as well. The
estimator learns one motion with the defaults; the frozen estimate is tested on another motion,
without adaptation and with adapting intervals. No robot changes and no sensor is wrong: every
change accepted while learning both motions is false, and so is every finding at a recording's end.
Given recordings are learnt one after the other for the same counts.
"""
from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .. import options
from ..config import Config
from ..disk.writing import output_folder
from ..errors import UvmsError
from ..estimation.estimator import Estimator
from ..evaluation.bags import read_messages
from ..evaluation.run_files import write_json
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..signals.front_end import SignalFrontEnd
from ..signals.samples import samples_of
from ..signals.topics import inputs
from ..simulation.rough import ROUGH_PARTS, Roughness, roughness
from .campaign import HELD_OUT_SEED_OFFSET, SHORTEST_RECORDING
from .finished import finished
from .interval_table import ADAPTED_NOISE, SAVED_NOISE, channel_figures, held_out_table, pooled
from .prequential import PrequentialRows, predicted
from .simulated_runs import best_linear, simulated, truth_file

UNSEEN_SCHEMA = 1
# Rough parts without pauses, which leave little to predict, and motion capture, which is no DVL.
UNSEEN_PARTS = tuple(part for part in ROUGH_PARTS if part not in ("pauses", "mocap"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = ("Test robots that no rule was tuned on: coverage of another motion by "
                          "saved intervals, and false changes and findings. An interrupted "
                          "campaign resumes where it stopped.")
    parser.add_argument("--robots", type=options.count, nargs="*", metavar="N",
                        default=list(range(1, 21)),
                        help="individuals, each with its own motion; the even ones are rough; "
                             "default 1 to 20")
    parser.add_argument("--duration", type=options.seconds(SHORTEST_RECORDING), default=300.0,
                        metavar="S", help="length of the motion to learn from [s]; default 300")
    parser.add_argument("--held-out", type=options.seconds(SHORTEST_RECORDING), default=300.0,
                        metavar="S", help="length of the test motion [s]; default 300")
    parser.add_argument("--bags", type=options.bag, nargs="+", default=[], metavar="BAG",
                        help="instead of --robots: learn from these recordings of an unchanged "
                             "robot, and count false changes and findings")
    options.add_solve_every(parser, 5)
    options.add_output(parser, "unseen.json, the finished runs and the bags; finished runs with "
                               "the same settings are not repeated")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run the campaign and return 0; raises UvmsError for unusable input."""
    config, folder = options.config_of(args), output_folder(args.output)
    bags, done = output_folder(folder / "bags"), output_folder(folder / "runs")
    if args.bags:
        print(constancy_report(_given(args.bags, config, args.solve_every)))
        return 0
    setup = {"schema": UNSEEN_SCHEMA, "duration_s": args.duration, "held_out_s": args.held_out,
             "solve_every": args.solve_every, "settings": config.changed()}
    outcomes, robots = [], list(dict.fromkeys(args.robots))
    if not robots:
        raise UvmsError("--robots: got none; expected at least one number.")
    for place, number in enumerate(robots, 1):
        file = done / f"robot{number}.json"
        outcome = finished(file, setup)
        if outcome is None:
            outcome = {**setup, **run_robot(UnseenTask(number, args.duration, args.held_out,
                                                       args.solve_every, config, bags))}
            write_json(file, outcome)
        outcomes.append(outcome)
        coverage = {channel: figures["coverage95"] for channel, figures
                    in outcome["rows"]["held_out"][SAVED_NOISE].items() if figures["n"]}
        worst = min(coverage, key=lambda channel: coverage[channel])
        print(f"[{place}/{len(robots)}] robot {number}{', rough' * outcome['rough']}: worst "
              f"channel {worst} {coverage[worst]:.1%}, changes {len(outcome['changes'])}, findings "
              f"{len(outcome['findings'])}", flush=True)
    kinds = {"all": outcomes, "rough": [one for one in outcomes if one["rough"]],
             "smooth": [one for one in outcomes if not one["rough"]]}
    figures = {kind: pooled(found) for kind, found in kinds.items() if found}
    write_json(folder / "unseen.json", {**setup, "robots": robots, "kinds": figures})
    for kind, found in figures.items():
        print(f"\n{kind}: {len(kinds[kind])} robots, {args.duration:g} s learnt, frozen, "
              f"{args.held_out:g} s of another motion\n{held_out_table(found)}")
    print("\n" + constancy_report([Constancy(**{
        key: one[key] for key in Constancy._fields}) for one in outcomes]))
    print(f"\n{folder / 'unseen.json'}")
    return 0


class Constancy(NamedTuple):
    """False alarms on recordings in which nothing changes: `seconds` of data, accepted changes and
    findings at the end as sentences, and `nearest`: the highest ln Bayes factor for a change."""

    name: str
    seconds: float
    changes: list[str]
    findings: list[str]
    nearest: float


def constancy_report(found: Sequence[Constancy]) -> str:
    """Report of hours, false changes and findings, and the highest evidence for a change."""
    hours = sum(one.seconds for one in found) / 3600
    changes = [f"{one.name}: {said}" for one in found for said in one.changes]
    findings = [f"{one.name}: {said}" for one in found for said in one.findings]
    near = sorted(found, key=lambda one: -one.nearest)[:3]
    return "\n".join([
        f"{hours:.2f} h without a change: {len(changes)} false changes, {len(findings)} false "
        "findings at the end", *changes, *findings,
        "highest evidence for a change, ln: "
        + ", ".join(f"{one.nearest:.1f} ({one.name})" for one in near)])


@dataclass(frozen=True)
class UnseenTask:
    """A robot by number, lengths [s] of the motions to learn and to test, and the folder of bags.
    """

    number: int
    duration: float
    held_out: float
    solve_every: int
    config: Config
    bags: Path

    @property
    def rough(self) -> Roughness:
        """Roughness of every second robot; none for the others."""
        return roughness(UNSEEN_PARTS) if self.number % 2 == 0 else Roughness()


def run_robot(task: UnseenTask) -> dict[str, Any]:
    """Figures of one robot: {"rough", "rows": {"held_out": {method: {channel: figures}}}} and the
    fields of `Constancy`."""
    config, robot, number = task.config, RobotModel.from_config(task.config), task.number
    learnt_bag, tested_bag = (
        simulated(task.bags, seed, duration, number, task.rough)
        for seed, duration in ((number, task.duration),
                               (number + HELD_OUT_SEED_OFFSET, task.held_out)))
    learnt, said = _samples(learnt_bag, config, robot)
    tested, said_of_other = _samples(tested_bag, config, robot)
    best = best_linear(truth_file(learnt_bag), config, robot).values
    estimator = Estimator(config, robot=robot)
    changes = _learn(learnt, estimator, task.solve_every)
    saved = estimator.parameter_set()
    rows = {}
    for method, adapts in ((SAVED_NOISE, False), (ADAPTED_NOISE, True)):
        frozen = Estimator(config, saved, robot, learn=False, adapt_intervals=adapts)
        rows[method] = _figures(robot, predicted(tested, frozen, task.solve_every, best))
    # The other motion is learnt as well, only to count changes.
    changes += _learn(tested, estimator, task.solve_every)
    constancy = Constancy(f"robot {number}", task.duration + task.held_out, changes,
                          [*said, *said_of_other], estimator.nearest_change)
    return {"rough": task.rough != Roughness(), "rows": {"held_out": rows},
            **constancy._asdict()}


def _given(bags: Iterable[Path], config: Config, solve_every: int) -> list[Constancy]:
    """Learn the recordings one after the other with one estimator."""
    robot = RobotModel.from_config(config)
    found, estimator = [], Estimator(config, robot=robot)
    for bag in bags:
        samples, said = _samples(bag, config, robot)
        if not samples:
            raise UvmsError(f"bag '{bag}' gave no usable sample; run `evaluate` to see why.")
        found.append(Constancy(bag.name, samples[-1].t - samples[0].t,
                               _learn(samples, estimator, solve_every), said,
                               estimator.nearest_change))
    return found


def _samples(bag: Path, config: Config, robot: RobotModel) -> tuple[list[Sample], list[str]]:
    """(samples of a recording, warnings of the front end at its end)."""
    front = SignalFrontEnd(config, robot)
    samples = samples_of(front, read_messages(bag, inputs(config)))
    return samples, front.warnings


def _learn(samples: Iterable[Sample], estimator: Estimator, solve_every: int) -> list[str]:
    """Learn from another recording; returns the changes accepted meanwhile."""
    estimator.break_off()
    changes = []
    for k, sample in enumerate(samples):
        before = estimator.changes
        if estimator.add(sample) is not None and k % solve_every == 0:
            estimator.solve()
        if estimator.changes > before:
            changes.append(estimator.last_change)
    return changes


def _figures(robot: RobotModel, found: PrequentialRows) -> dict[str, Any]:
    return {channel: channel_figures(*(values[found.valid[:, c], c] for values in
                                       (found.residual, found.stddev, found.reference)))
            for c, channel in enumerate(robot.channels)}
