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

"""Learn from a dry run and test the estimate on another motion, second by second."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...estimation.estimator import Estimator
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from ...model.sample import Sample
from ...simulation.robot import SimulatedRobot
from ..closed_loop.truth import true_samples
from ..held_out import HeldOut

HELD_OUT_RUN, HELD_OUT_LENGTH = 1001, 40.0      # seed of the robot's own motion; [s]
TRUTH_EVERY = 5     # [filter periods] between truth rows
SOLVED_EVERY = 10   # samples between solves


def held_out(config: Config, robot: RobotModel, individual: int = 0) -> HeldOut:
    """Noise-free rows of the simulated robot's usual motion; joints at rest do not count."""
    simulated = SimulatedRobot(HELD_OUT_RUN, HELD_OUT_LENGTH, individual=individual,
                               truth_period=TRUTH_EVERY * config.filter.period)
    for _ in simulated:
        pass
    Y, tau = [], []
    for sample in true_samples(simulated.truth()):
        raw = robot.raw_rows(sample)
        moving = np.ones(raw.tau.size, bool)
        rest = config.joint_states.rest_velocity * robot.radian
        moving[robot.arm_rows] = np.abs(sample.mu_dot) >= rest
        Y.append(raw.Y)
        tau.append(np.where(moving, raw.tau - raw.tau_known, np.nan))
    return HeldOut(np.array(Y), np.array(tau))


class Learnt(NamedTuple):
    """parameters: the final estimate, with covariance, information and noise; times t (k,) [s] from
    the first sample, with held-out r2 (k, C); on_the_way: intermediate estimates as requested."""

    parameters: ParameterSet
    t: np.ndarray
    r2: np.ndarray
    on_the_way: tuple[ParameterSet, ...] = ()


def learn(config: Config, robot: RobotModel, samples: list[Sample], prior: ParameterSet,
          test: HeldOut | None = None, stops: Sequence[float] = ()) -> Learnt:
    """Run the estimator over samples from a prior or a saved estimate; stops [s]: times since the
    first sample at which to keep the estimate."""
    estimator = Estimator(config, prior, robot)
    times, found, kept = [], [], []
    waiting = sorted(stops)
    for k, sample in enumerate(samples):
        estimator.add(sample)
        if k % SOLVED_EVERY == SOLVED_EVERY - 1:
            estimator.solve()
            if test is not None and k % 50 == 49:
                times.append(sample.t - samples[0].t)
                found.append(test.r2(estimator.pi))
            if waiting and sample.t - samples[0].t >= waiting[0]:
                waiting.pop(0)
                kept.append(estimator.parameter_set())
    return Learnt(estimator.parameter_set(), np.array(times), np.array(found), tuple(kept))
