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

"""Simulated recordings by seed, and the linear model that fits their truth best.

The best linear model is the benchmark for an estimate: parameters fitted by ordinary least squares
to a recording's noise-free true states and efforts. On rows of measured efforts it suffers from
sensor errors and the assumed battery voltage, which an estimate from measured rows partly absorbs:
an estimate can slightly exceed this reference, which is not a bound.
"""
from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from ..config import Config
from ..estimation.low_pass import RowFilter
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..simulation.bag import write_bag
from ..simulation.robot import Truth
from ..simulation.rough import Roughness
from ..simulation.true_robot import TrueRobot

# For columns scaled by the table and rows scaled by their channel: small against excited
# directions, large enough to keep unexcited directions at zero.
TRUTH_RIDGE = 1e-9


def simulated(folder: Path, seed: int, duration: float, individual: int = 0,
              rough: Roughness = Roughness()) -> Path:
    """The bag of a seed, with its truth in a file next to it; simulated unless it exists.

    individual and rough as in `write_bag`; use one roughness only for all bags of an individual."""
    robot = (f"_robot{individual}" if individual else "") + "_rough" * (rough != Roughness())
    bag = folder / f"seed{seed}_{duration:g}s{robot}"
    if not bag.exists():
        with tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished_") as unfinished:
            made = Path(unfinished) / bag.name
            write_bag(made, seed=seed, duration=duration, truth=truth_file(made), rough=rough,
                      individual=individual)
            # The bag is moved last: an existing bag always has its complete truth.
            truth_file(made).replace(truth_file(bag))
            made.replace(bag)
    return bag


def truth_file(bag: Path) -> Path:
    """Path of the truth log of a simulated bag."""
    return bag.with_name(f"{bag.name}.truth.npz")


def best_linear(truth: Path, config: Config, robot: RobotModel) -> ParameterSet:
    """Parameters of the linear model that fit the true states and efforts best, by unconstrained
    ordinary least squares.

    Rows pass the estimator's low-pass and mask of joints at rest, and are scaled by their channel's
    standard deviation: the fit minimizes the sum of 1 - R^2 over the channels.
    """
    Y, tau = true_rows(truth, config, robot)
    scale = np.array([np.nanstd(tau[:, c]) for c in range(tau.shape[1])])
    counted = np.isfinite(tau).ravel()
    A = ((Y / scale[:, None]) * robot.table.scale).reshape(-1, robot.table.size)[counted]
    b = (tau / scale).ravel()[counted]
    x = np.linalg.solve(A.T @ A / len(b) + TRUTH_RIDGE * np.eye(A.shape[1]), A.T @ b / len(b))
    return ParameterSet(robot.table.names, x * robot.table.scale)


def true_rows(truth: Path, config: Config, robot: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """(Y (T, C, p), tau - known (T, C)) of the truth log behind the low-pass; NaN in tau while a
    joint is at rest."""
    with np.load(truth) as columns:
        log = Truth(**columns)
    joints = [TrueRobot().joints.index(joint) for joint in robot.joints]
    rows = RowFilter(config.filter, robot.table.channels, robot.table.size)
    Y, tau = [], []
    for k, t in enumerate(log.t):
        moving = np.abs(log.mu_dot[k, joints]) >= config.joint_states.rest_velocity
        valid = np.concatenate([np.ones(robot.vehicle_rows.stop, bool), moving])
        sample = Sample(t, log.R_nb[k], log.nu[k], log.nu_dot[k], log.mu[k, joints],
                        log.mu_dot[k, joints], log.mu_ddot[k, joints], log.wrench[k],
                        log.joint_torque[k, joints], valid)
        row = rows.add_row(t, robot.raw_rows(sample), valid)
        if row is not None:
            Y.append(row.Y)
            tau.append(np.where(row.valid, row.tau - row.tau_known, np.nan))
    return np.array(Y), np.array(tau)
