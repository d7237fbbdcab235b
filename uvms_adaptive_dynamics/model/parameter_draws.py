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

"""Parameters drawn from an estimate's normal distribution; only those with a positive definite
inertia are kept."""
from __future__ import annotations

import numpy as np

from ..errors import ParameterError
from .dynamics import State, generalized_inertia, inertia_regressor
from .robot import RobotModel

DRAWN_AT_ONCE = 500
TRIES = 20  # rejected draws per accepted one before `draw_parameters` gives up


def has_inertia(robot: RobotModel, state: State, pi: np.ndarray) -> bool:
    """Whether parameters pi (p,) give a positive definite generalized inertia (C, C), so that
    forward dynamics has a solution."""
    M = generalized_inertia(robot, state, pi)
    return bool(np.linalg.eigvalsh(M + M.T)[0] > 0)


def draw_parameters(robot: RobotModel, state: State, pi: np.ndarray, covariance: np.ndarray,
                    count: int, seed: int) -> tuple[np.ndarray, int]:
    """(values (count, p), number of rejected draws): parameters from N(pi (p,), covariance (p, p))
    whose generalized inertia in this state is positive definite.

    A normal distribution ignores the physical set: the inertia of a joint dominated by friction is
    poorly known, and its distribution reaches below zero. Draws without a positive definite inertia
    are rejected and drawn again. Raises ParameterError if nearly all are rejected.
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
                f"{refused} of {refused + len(values)} parameter draws have no positive definite "
                "inertia; expected an estimate that knows the inertias of all joints. Move all "
                "joints and identify again.")
    return values, refused


def moving_covariance(robot: RobotModel, state: State, pi: np.ndarray, covariance: np.ndarray,
                      count: int = 10_000, seed: int = 0) -> np.ndarray:
    """(p, p) covariance of N(pi, covariance) restricted to parameters with a positive definite
    inertia in this state, from `count` draws.

    The full covariance contains directions that no robot can have, which distort its bands
    (docs/uncertainty.md, "Forward bands").
    """
    return np.cov(draw_parameters(robot, state, pi, covariance, count, seed)[0].T)
