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

"""Samples that the linear model explains exactly: tau = Y pi + known + noise for a known pi in P,
on a smooth random motion.

To judge intervals of parameters, true parameters must exist. For a simulated robot with link drag
and lagging thrusters, most of the 75 parameters have no true value; for these samples they do.
Otherwise they are like samples from sensors.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..config import Config
from ..model.parameter_set import ParameterSet
from ..model.parameters import RIGID, ParameterTable
from ..model.prior import prior_from_config
from ..model.pseudo_inertia import TENSOR_PLACES
from ..model.robot import RobotModel
from ..model.rotations import from_rpy
from ..model.sample import Sample
from ..simulation.configured import top_speeds
from ..simulation.motion import ExcitingMotion, body_velocity
from ..simulation.true_robot import TrueRobot

START = 1_700_000_000.0                                # [s] since the epoch
# [N, N m, N m] standard deviation of raw rows
FORCE_NOISE, MOMENT_NOISE, TORQUE_NOISE = .5, .1, .05
# relative spread of true parameters around the default
SPREAD = .3
LINK_SPREAD = .15                                      # spread of a link's mass distribution
# [s] step of the finite difference for accelerations
ACCELERATION_STEP = 1e-4


def true_parameters(config: Config, robot: RobotModel, rng: np.random.Generator) -> ParameterSet:
    """Physically consistent parameters of a robot like the default one; moments that are zero there
    get random values.

    A link's pseudo-inertia J becomes T J T^T with T near the identity, which keeps it positive
    definite.
    """
    given, table = prior_from_config(config, robot), robot.table
    values = given.values * np.exp(SPREAD * rng.normal(size=table.size))
    if table.vehicle:
        values[table.places(
            ["W", "B"])] = given.values[table.places(["W", "B"])] * (1 + .02 * rng.normal(size=2))
        moments = table.places(["xgW_xbB", "ygW_ybB"])
        values[moments] = SPREAD * table.scale[moments] * rng.normal(size=2)
        for a, b in table.equal_pairs:
            values[b] = values[a]
    for j in range(table.n):
        T = np.eye(4) + LINK_SPREAD * rng.normal(size=(4, 4))
        S = np.diag([table.reference_length[j]] * 3 + [1.0])
        T = S @ T @ np.linalg.inv(S)
        values[table.link_slice(j)][RIGID] = _rigid(T @ table.pseudo_inertia(given.values, j) @ T.T)
    return ParameterSet(table.names, values, robot=given.robot)


def _rigid(J: np.ndarray) -> np.ndarray:
    """(10,) parameters m, ml, I from a pseudo-inertia (4, 4)."""
    I = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
    return np.array([J[3, 3], *J[:3, 3], *(I[a, b] for a, b in TENSOR_PLACES)])


def perfectly_measured(config: Config) -> Config:
    """The settings for these samples, whose efforts have neither delay nor scale error, nor a part
    that the model lacks."""
    return config.with_values({f"uncertainty.{name}": 0.0 for name in (
        "delay_stddev", "scale_stddev", "lacking_share")})


def noise_stddev(table: ParameterTable) -> np.ndarray:
    """(C,) standard deviation of the noise on raw rows [N, N m]."""
    return np.array(([FORCE_NOISE] * 3 + [MOMENT_NOISE] * 3 if table.vehicle else [])
                    + [TORQUE_NOISE] * table.n)


def linear_samples(config: Config, robot: RobotModel, pi: np.ndarray, seconds: float, seed: int,
                   colour: float = 0.0,
                   noise_seed: Sequence[int] | None = None) -> Iterator[Sample]:
    """Samples at the settings' period; noise is AR(1) with coefficient `colour` from one row of 20
    ms to the next (0: white).

    The same seed gives the same motion; noise_seed, if given, draws other noise for it.
    """
    rng = np.random.default_rng(seed)
    motion, table, period = _motion(rng, robot), robot.table, config.filter.period
    rng = rng if noise_seed is None else np.random.default_rng(noise_seed)
    sigma, a = noise_stddev(table), colour ** (period / 0.02)
    e = sigma * rng.normal(size=table.channels)
    for k in range(int(round(seconds / period))):
        sample = _still_unloaded(motion, k * period, robot)
        raw = robot.raw_rows(sample)
        tau = raw.Y @ pi + raw.tau_known + e
        e = a * e + np.sqrt(1 - a * a) * sigma * rng.normal(size=table.channels)
        moving = np.abs(sample.mu_dot) > config.joint_states.rest_velocity
        head = robot.vehicle_rows.stop
        yield replace(sample, t=START + k * period, wrench=tau[:6] if head else np.zeros(6),
                      joint_torque=tau[head:], valid=np.concatenate([np.ones(head, bool), moving]))


def _motion(rng: np.random.Generator, robot: RobotModel) -> ExcitingMotion:
    """The motion of the simulated robot, within this arm's limits and at its speeds."""
    arm, default = robot.arm, TrueRobot()
    if arm is None:
        return ExcitingMotion(rng, np.zeros(0), np.zeros(0), ())
    return ExcitingMotion(rng, arm.limits_low, arm.limits_high, top_speeds(arm.speed_limits),
                          default.posture if robot.joints == default.joints else ())


def _still_unloaded(motion: ExcitingMotion, t: float, robot: RobotModel) -> Sample:
    """The sample at t, with zero efforts."""
    def velocity(at: float):
        reference = motion.at(at)
        R = from_rpy(*reference.value[3:6])
        return reference, R, body_velocity(reference, R)

    reference, R, nu = velocity(t)
    before, after = (velocity(t + step)[2] for step in (-ACCELERATION_STEP, ACCELERATION_STEP))
    nu_dot = (after - before) / (2 * ACCELERATION_STEP)
    n = robot.table.n
    return Sample(t, R, nu, nu_dot, reference.value[6:], reference.rate[6:],
                  reference.acceleration[6:], np.zeros(6), np.zeros(n),
                  np.ones(robot.table.channels, bool))
