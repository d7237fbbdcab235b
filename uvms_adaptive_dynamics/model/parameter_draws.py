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

"""Parameters drawn from an estimate's normal distribution, as far as they have a motion."""
from __future__ import annotations

import numpy as np

from ..errors import ParameterError
from .dynamics import State, generalized_inertia, inertia_regressor
from .robot import RobotModel

DRAWN_AT_ONCE = 500
TRIES = 20  # refused draws for each that has a motion, before that is a finding of its own


def has_inertia(robot: RobotModel, state: State, pi: np.ndarray) -> bool:
    """Whether the generalized inertia (C, C) is positive definite: without that, efforts have no
    motion."""
    M = generalized_inertia(robot, state, pi)
    return bool(np.linalg.eigvalsh(M + M.T)[0] > 0)


def draw_parameters(robot: RobotModel, state: State, pi: np.ndarray, covariance: np.ndarray,
                    count: int, seed: int) -> tuple[np.ndarray, int]:
    """(values (count, p), how many more were refused): parameters from N(pi, covariance) that have
    a motion in this state.

    A normal distribution knows no physical set: the inertia of a joint that friction rules is
    poorly known, and the distribution reaches below zero. Draws whose generalized inertia is not
    positive definite have no motion; they are refused and drawn again. Raises ParameterError where
    nearly all are.
    """
    rng, (N, K) = np.random.default_rng(seed), inertia_regressor(robot, state)
    variances, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(variances, 0.0))
    values, refused = np.zeros((0, pi.size)), 0
    while len(values) < count:
        drawn = pi + rng.standard_normal((DRAWN_AT_ONCE, pi.size)) @ root.T
        M = np.tensordot(drawn, N, (1, 2)) + K
        fit = np.linalg.eigvalsh(M + M.transpose(0, 2, 1))[:, 0] > 0
        taken = np.flatnonzero(fit)[:count - len(values)]
        looked_at = taken[-1] + 1 if len(values) + taken.size == count else DRAWN_AT_ONCE
        values = np.concatenate([values, drawn[taken]])
        refused += int(looked_at - taken.size)
        if refused > TRIES * (len(values) + 1):
            raise ParameterError(
                f"{refused} of {refused + len(values)} drawn parameters have no positive definite "
                "inertia; expected an estimate that knows the inertias of all joints. Move them, "
                "and identify again.")
    return values, refused


def moving_covariance(robot: RobotModel, state: State, pi: np.ndarray, covariance: np.ndarray,
                      count: int = 10_000, seed: int = 0) -> np.ndarray:
    """(p, p) covariance of what N(pi, covariance) holds of parameters that have a motion in this
    state, from `count` draws.

    That of all holds directions which no robot can take, and bands of it are off by them
    (docs/uncertainty.md, "Forward bands").
    """
    return np.cov(draw_parameters(robot, state, pi, covariance, count, seed)[0].T)
