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

"""`check`: report what settings mean for a robot, and what is wrong with them, without a recording.
"""
from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any

from .. import options
from ..config import Config
from ..errors import UvmsError
from ..terminal import coloured


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = ("Check settings and all files that they name, and print the robot that "
                          "they describe; no recording is needed.")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Print the robot; returns 0, or 2 with every problem on stderr."""
    config = options.config_of(args)
    said, problems = described(config)
    print("\n".join(said))
    for problem in problems:
        print(f"check: {problem}", file=sys.stderr)
    if problems:
        return 2
    given = f" --config {args.config}" if args.config else ""
    print(coloured(f"all can be used; next: inspect BAG{given}", "bold green"))
    return 0


def described(config: Config) -> tuple[list[str], list[str]]:
    """(lines that describe the robot, problems) of settings. Each file is read by the function that
    the node and `evaluate` use."""
    # Imported here: solvers and the arm's model take a second to load, and wrong settings are
    # reported first.
    from ..control.stages import load_schedule
    from ..model.physical_set import PhysicalSet
    from ..model.prior import prior_from_config
    from ..model.robot import RobotModel
    from ..model.thrust_curve import ThrustCurve
    from ..signals.topics import inputs
    from ..solvers import choose_solver
    problems: list[str] = []

    def attempt(make: Callable[[], Any]) -> Any:
        try:
            return make()
        except UvmsError as error:
            problems.append(str(error))
            return None

    lines = _changed(config)
    robot = attempt(lambda: RobotModel.from_config(config))
    curve = (attempt(lambda: ThrustCurve.of_settings(config.thrusters))
             if config.robot.vehicle else None)
    lines += ["", *(f"{one.role:<13}{one.topic:<36} {one.type}" for one in inputs(config))]
    if robot is None:
        return lines, problems
    settings = config.estimation
    attempt(lambda: PhysicalSet(robot.table, settings))
    attempt(lambda: prior_from_config(config, robot))
    if settings.schedule:
        attempt(lambda: load_schedule(settings.schedule, robot.table, settings.frozen))
    chosen = attempt(lambda: choose_solver(settings.solver, robot.table))
    lines += ["", f"{len(robot.channels)} channels: {' '.join(robot.channels)}",
              f"{robot.table.size} parameters"
              + (f", {frozen} of them held" if (frozen := _held(config, robot)) else "")]
    if chosen is not None:
        lines.append(f"solver: {chosen[0].name}")
    if robot.vehicle and curve is not None:
        lines += _vehicle(config)
    lines += _joints(config, robot)
    return lines, problems


def _changed(config: Config) -> list[str]:
    return [config.counted_changes(),
            *(f"  {name}: {_shown(value)}   (default {_shown(default)})"
              for name, (default, value) in config.changed_settings().items())]


def _shown(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else repr(value)


def _held(config: Config, robot) -> int:
    return int(robot.table.match(config.estimation.frozen).sum())


def _vehicle(config: Config) -> list[str]:
    """What the vehicle can exert along each axis alone."""
    from ..control.allocation import wrench_limits
    limits = wrench_limits(config)
    each = ", ".join(f"{axis} {most:.3g}" for axis, most in zip("XYZKMN", limits))
    lines = [f"largest wrench along each axis alone [N, N m]: {each}"]
    if none := [axis for axis, most in zip("XYZKMN", limits) if not most > 0]:
        lines.append(f"no thruster acts on {', '.join(none)}")
    return lines


def _joints(config: Config, robot) -> list[str]:
    """The joints' limits, and which of them guided runs and the feedforward need but lack."""
    if robot.arm is None:
        return []
    arm, lines = robot.arm, [f"{'joint':<24}{'range':>22}{'speed':>12}{'effort':>12}"]
    efforts = config.feedforward.joint_limits or robot.effort_limits
    speeds = config.excitation.joint_speed or arm.speed_limits
    for j, name in enumerate(robot.joints):
        unit = "m" if robot.table.prismatic[j] else "rad"
        reach = f"{arm.limits_low[j]:.3g} to {arm.limits_high[j]:.3g} {unit}"
        lines.append(f"{name:<24}{reach:>22}{speeds[j]:>8.3g} {unit + '/s':<5}"
                     f"{efforts[j]:>7.3g} {robot.units[robot.arm_rows][j]}")
    for what, values, setting in (("effort", efforts, "feedforward.joint_limits"),
                                  ("speed", speeds, "excitation.joint_speed")):
        if lacking := [name for name, value in zip(robot.joints, values)
                       if not (math.isfinite(value) and value > 0)]:
            lines.append(f"{coloured('note', 'bold')} {', '.join(lacking)}: the URDF has no limit "
                         f"of {what}; the feedforward and guided runs need {setting}")
    return lines
