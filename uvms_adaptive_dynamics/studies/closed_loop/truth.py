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

"""The simulated robot's true parameters, and a prior wrong by a factor.

The robot has link drag, Stribeck friction, rotor inertia and off-axis damping, for which the model
has no columns. Its *true parameters* are the model's best fit within P to the noise-free truth;
unexcited directions keep the robot's own values.
"""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...config import Config
from ...estimation.estimator import Estimator
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from ...model.sample import Sample
from ...simulation.paper_parameters import paper_parameters
from ...simulation.robot import SimulatedRobot, Truth
from ...simulation.true_robot import TrueRobot

TRUTH_MOTION_SEED, TRUTH_LENGTH = 1000, 120.0  # a motion that no run uses; [s]


def true_parameters(config: Config, model: RobotModel, payload: float = 0.0,
                    duration: float = TRUTH_LENGTH,
                    true_robot: TrueRobot = TrueRobot()) -> ParameterSet:
    """The parameters of a simulated robot with a payload [kg] in its gripper.

    `duration` [s] of true states and efforts go through the estimator, which solves once at the
    end. Optional terms start at zero, since the robot's own effects have another form.
    """
    true_robot = replace(true_robot, payload_mass=payload)
    robot = SimulatedRobot(TRUTH_MOTION_SEED, duration, true_robot)
    for _ in robot:
        pass
    own = paper_parameters(true_robot)
    figures = np.array([own.get(name, 0.0) for name in model.table.names])
    start = ParameterSet(model.table.names, figures,
                         robot={"joints": list(model.table.joints), "vehicle": True})
    estimator = Estimator(config.with_values({"estimation.follow_changes": False}), start, model)
    for sample in true_samples(robot.truth()):
        estimator.add(sample)
    estimator.solve()
    return ParameterSet(model.table.names, estimator.pi.copy(), robot=start.robot)


def true_samples(log: Truth):
    """Samples of a truth log; rows of joints at rest count as well, but have little weight."""
    valid = np.ones(6 + log.mu.shape[1], bool)
    for k, t in enumerate(log.t):
        yield Sample(float(t), log.R_nb[k], log.nu[k], log.nu_dot[k], log.mu[k], log.mu_dot[k],
                     log.mu_ddot[k], log.wrench[k], log.joint_torque[k], valid)


def wrong_prior(true: ParameterSet, model: RobotModel, config: Config, factor: float,
                seed: int) -> ParameterSet:
    """Every parameter times `factor` or 1 / `factor` at random, projected onto P.

    For W and B the factor applies to their difference, the vehicle's weight in water, by changing
    W. Both at random would make a vehicle that is 100 N too heavy, with which nobody dives.
    """
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=true.values.size)
    # The two entries of each equal pair are one parameter.
    for a, b in model.table.equal_pairs:
        signs[b] = signs[a]
    values = true.values * factor ** signs
    weight, buoyancy = model.table.index["W"], model.table.index["B"]
    values[buoyancy] = true.values[buoyancy]
    net = true.values[weight] - true.values[buoyancy]
    values[weight] = true.values[buoyancy] + net * factor ** signs[weight]
    wrong = ParameterSet(true.names, values, robot=true.robot)
    return Estimator(config, wrong, model, learn=False).prior
