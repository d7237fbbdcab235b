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

"""Design one motion in a separate process, so that seconds of computing do not block a control
loop: `python -m uvms_adaptive_dynamics.ros.design_process FOLDER [--under-way SECONDS]`.

FOLDER contains settings.yaml, parameters.yaml and request.yaml (`write_request`). The result is
trajectory.yaml, or refused.txt with the reason. With --under-way FOLDER contains the trajectory
that has been flown for SECONDS, and its promise is updated (`write_question`)."""
from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

# Before numpy is imported: for our 75 x 75 matrices BLAS threads cost more than they gain.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import yaml

from ..config import Config, load_config
from ..config.template import settings_file
from ..control.excitation.limits import MotionLimits
from ..control.excitation.motion_information import promise_of
from ..control.excitation.noise import noise_of
from ..control.excitation.prior_knowledge import Knowledge
from ..control.excitation.trajectory import Trajectory
from ..control.excitation.trajectory_file import load_trajectory, save_trajectory
from ..control.guide import Request, StageView
from ..control.guided_design import designed
from ..disk.kinds import reason_of
from ..disk.reading import read_text
from ..disk.writing import write_file
from ..disk.yaml_text import parse_yaml
from ..errors import ParameterError, UvmsError
from ..model.parameter_file import load_parameters, save_parameters
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from ..model.thrust_curve import ThrustCurve

# [bytes] of a request; a robot description may be long.
LARGEST_REQUEST = 10_000_000
SETTINGS, PARAMETERS, REQUEST, DESCRIPTION = (
    "settings.yaml", "parameters.yaml", "request.yaml", "description.urdf")
TRAJECTORY_FILE, REFUSED_FILE = "trajectory.yaml", "refused.txt"
UNDER_WAY = "--under-way"


def write_request(folder: Path, config: Config, description: str | None, known: ParameterSet,
                  free: Sequence[str], request: Request, depth: float) -> None:
    """Write the input of `main`; depth [m] of the robot."""
    _write_robot(folder, config, description)
    save_parameters(folder / PARAMETERS, known)
    write_file(folder / REQUEST, yaml.safe_dump({
        "free": list(free), "depth": float(depth), "number": request.number, "size": request.size,
        "doubt": float(request.doubt), "posture": list(request.posture),
        "stage": {**request.stage._asdict(), "move": list(request.stage.move)}}))


def write_question(folder: Path, config: Config, description: str | None, trajectory: Trajectory,
                   known: str) -> None:
    """Write the input of `main` with --under-way; known: text of a parameter file."""
    _write_robot(folder, config, description)
    write_file(folder / PARAMETERS, known)
    save_trajectory(folder / TRAJECTORY_FILE, trajectory)


def _write_robot(folder: Path, config: Config, description: str | None) -> None:
    for name in (TRAJECTORY_FILE, REFUSED_FILE):
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise ParameterError(f"'{folder / name}' cannot be replaced: {reason_of(error)}. "
                                 "Correct output.directory or its permissions.") from None
    write_file(folder / SETTINGS, settings_file(config))
    if description is not None:
        write_file(folder / DESCRIPTION, description)


def read_answer(folder: Path) -> Trajectory:
    """Read the result of `main`; raises UvmsError, with the reason if it refused."""
    refused = folder / REFUSED_FILE
    if refused.exists():
        raise ParameterError(read_text(refused, "the answer of the design", LARGEST_REQUEST,
                                       ParameterError, "a sentence").strip())
    return load_trajectory(folder / TRAJECTORY_FILE)


def answer(folder: Path) -> None:
    """Design the requested motion and write it to the folder."""
    config, robot = _read_robot(folder)
    asked = parse_yaml(read_text(folder / REQUEST, "request", LARGEST_REQUEST, ParameterError,
                                 "a mapping"), "request", ParameterError)
    stage = asked["stage"]
    request = Request(StageView(**{**stage, "move": tuple(stage["move"])}), asked["number"],
                      asked["size"], asked["doubt"], tuple(asked["posture"]))
    free = np.zeros(robot.table.size, bool)
    free[robot.table.places(asked["free"])] = True
    curve = ThrustCurve.of_settings(config.thrusters)
    limits = MotionLimits.from_config(config, robot, curve).at_depth(asked["depth"], config)
    known = load_parameters(folder / PARAMETERS).for_table(robot.table, "parameters")
    save_trajectory(folder / TRAJECTORY_FILE, designed(config, robot, limits, known, free, request,
                                                       config.identification.design_time))


def answer_under_way(folder: Path, at: float) -> None:
    """Update the promise of the folder's trajectory, flown for `at` [s].

    `present` stays at what was known before the motion.
    """
    config, robot = _read_robot(folder)
    trajectory = load_trajectory(folder / TRAJECTORY_FILE)
    known = load_parameters(folder / PARAMETERS).for_table(robot.table, "parameters")
    before = trajectory.promise
    if before is None:
        raise ParameterError("the current motion has no promise; expected a motion that was "
                             "designed by this node.")
    now = promise_of(trajectory, robot, noise_of(known, robot, config), config,
                     Knowledge(robot, known, before.free, config), at)
    save_trajectory(folder / TRAJECTORY_FILE, replace(trajectory, promise=now._replace(
        present=before.present)))


def _read_robot(folder: Path) -> tuple[Config, RobotModel]:
    config, description = load_config(folder / SETTINGS), folder / DESCRIPTION
    return config, RobotModel.from_config(config, read_text(
        description, "robot description", LARGEST_REQUEST, ParameterError, "a URDF")
        if description.exists() else None)


def main(arguments: Sequence[str]) -> int:
    """Returns 0 even if no motion is found; the reason is then in the folder."""
    folder = Path(arguments[0])
    try:
        if UNDER_WAY in arguments:
            answer_under_way(folder, float(arguments[-1]))
        else:
            answer(folder)
    except UvmsError as error:
        write_file(folder / REFUSED_FILE, str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
