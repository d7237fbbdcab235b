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

"""Information of a motion's rows, formed and weighted as the estimator would."""
from __future__ import annotations

import numpy as np

from ...config import Config
from ...model.kernel import gaussian_kernel
from ...model.robot import RobotModel
from .prior_knowledge import Knowledge
from .rows import regressors
from .trajectory import Promise, Trajectory


def promise_of(trajectory: Trajectory, robot: RobotModel, noise: np.ndarray, config: Config,
               knowledge: Knowledge, begin: float = 0.0) -> Promise:
    """Standard deviations that the estimator will state after the motion if its rows have noise
    (C,).

    begin [s]: for a motion under way, the time since its start to which `knowledge` belongs.
    """
    return knowledge.promise(*information(trajectory, robot, noise, config, knowledge, begin))


def information(trajectory: Trajectory, robot: RobotModel, noise: np.ndarray, config: Config,
                knowledge: Knowledge, begin: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """(A (p, p), B (p, p)) of the rows that the estimator would form from `begin` [s] on: their
    information in the cost, forgetting included, and their part of the gradient's covariance.

    noise (C,) of low-passed rows: white before the low-pass, apart from correlations that residuals
    have shown so far (`Knowledge.correlation`).
    """
    period, kernel = config.filter.period, gaussian_kernel(config.filter)
    t = np.arange(begin, trajectory.duration, period)
    motion = trajectory.motions(t)
    Y, _ = regressors(robot, motion)
    valid = np.ones(Y.shape[:2])
    rest = config.joint_states.rest_velocity * robot.radian
    valid[:, robot.arm_rows] = np.abs(motion.mu_dot) >= rest
    half = len(kernel) // 2
    share = np.zeros_like(valid)
    rows = np.zeros_like(Y)
    for k, h in enumerate(kernel):
        a, b = max(0, k - half), min(len(t), len(t) + k - half)
        part, there = slice(a - (k - half), b - (k - half)), slice(a, b)
        share[part] += h * valid[there]
        rows[part] += (h * valid[there])[:, :, None] * Y[there]
    counts = (share >= config.filter.minimum_share) & (valid > 0)
    rows *= (counts / np.maximum(share, 1e-12))[:, :, None] / noise[:, None]
    decay = config.estimation.forgetting ** np.arange(len(t))[::-1]
    def summed(weights: np.ndarray) -> np.ndarray:
        weighted = (np.sqrt(weights)[:, None, None] * rows).reshape(-1, rows.shape[2])
        return weighted.T @ weighted
    return summed(decay), knowledge.overlap * knowledge.correlation * summed(decay ** 2)
