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

"""`excite --under-way`: restate the promise of a motion under way from the present estimate."""
from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ...config import Config
from ...control.excitation.motion_information import promise_of
from ...control.excitation.noise import noise_of
from ...control.excitation.prior_knowledge import Knowledge
from ...control.excitation.trajectory_file import load_trajectory
from ...disk.writing import write_file
from ...errors import ConfigError
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from .table import presumed, promise_table


def under_way(args: argparse.Namespace, config: Config, robot: RobotModel, known: ParameterSet,
              folder: Path) -> int:
    """Write the promise of a motion from the present estimate, with the noise measured so far;
    returns 0."""
    trajectory, at = load_trajectory(args.under_way), args.at or 0.0
    promised = trajectory.promise
    if known.noise_stddev is None:
        raise ConfigError("--under-way needs an estimate with covariance and noise; expected its "
                          "file with --parameters. Save it with the node's service ~/save while "
                          "the motion is under way.")
    if trajectory.joints != robot.joints or (
            promised is not None and promised.names != robot.table.names):
        raise ConfigError(f"'{args.under_way}' is for a robot with the joints "
                          f"{list(trajectory.joints)} and other parameters; expected one for "
                          f"{list(robot.joints)}. Give the settings that it was designed with.")
    if at >= trajectory.duration:
        raise ConfigError(f"--at is {at:g} s; expected a time before the motion ends, at "
                          f"{trajectory.duration:g} s.")
    free = robot.table.match(args.free or ["*"]) if promised is None else promised.free
    noise = noise_of(known, robot, config)
    trajectory = replace(trajectory, promise=promise_of(
        trajectory, robot, noise, config, Knowledge(robot, known, free, config), at))
    text = (f"{at:g} s after the start, {trajectory.duration - at:g} s before the end.\n\n"
            f"{presumed(robot, noise, True, None)}\n\n{promise_table(trajectory)}")
    write_file(folder / "excite.md", text)
    print(text)
    return 0
