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

"""Noise of low-passed rows assumed by a promise: from a saved estimate, from the settings, or
measured on a robot that holds its position."""
from __future__ import annotations

import numpy as np

from ...config import Config
from ...errors import ParameterError
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from .prior_knowledge import Knowledge

# Independent rows of a channel below which its assumed noise is kept; 10 give the noise to 22 %.
FEWEST_ROWS = 10
# Most iterations of expectation-maximization, and the relative change of the noise that ends them.
NOISE_ROUNDS, SETTLED_CHANGE = 100, 1e-3


def noise_of(known: ParameterSet, robot: RobotModel, config: Config) -> np.ndarray:
    """(C,) noise of rows [N, N m]: a saved estimate's, else the estimator's initial noise."""
    if known.row_noise_stddev is not None:
        return known.row_noise_stddev
    return known.noise_stddev if known.noise_stddev is not None else robot.default_noise(config)


def measured_noise(Y: np.ndarray, tau: np.ndarray, valid: np.ndarray, knowledge: Knowledge,
                   assumed: np.ndarray) -> np.ndarray:
    """(C,) maximum likelihood noise [N, N m] of rows Y (T, C, p), tau (T, C), valid (T, C), with
    the free parameters marginalized over their prior.

    tau: efforts without the known load, on the estimator's grid and behind its low-pass; only one
    of each group of correlated neighbours is used. A channel with too few rows keeps the assumed
    noise (C,). Expectation-maximization (Dempster, Laird and Rubin, 1977): constant parameter
    errors, which are far larger than the noise of a robot at rest, do not count as noise. Frozen
    parameters are assumed correct.

    Raises ParameterError if no channel has enough rows.
    """
    every = max(1, round(knowledge.overlap))
    Y, counts = Y[::every], np.asarray(valid[::every], float)
    rows = counts.sum(axis=0)
    measured = rows >= FEWEST_ROWS
    if not measured.any():
        raise ParameterError(
            f"{len(valid)} rows are too few to measure noise: {int(rows.max(initial=0))} of them "
            f"are independent; expected {FEWEST_ROWS} of a channel. Record ten seconds or more.")
    Z = knowledge.coordinates.columns(Y) @ knowledge.root                    # (T, C, m)
    residual = np.where(counts > 0, tau[::every] - Y @ knowledge.values, 0.0)
    noise = np.array(assumed, float)
    for _ in range(NOISE_ROUNDS):
        weighted = Z * (np.sqrt(counts) / noise)[:, :, None]
        flat = weighted.reshape(-1, Z.shape[2])
        C = np.linalg.inv(flat.T @ flat + np.eye(Z.shape[2]))
        x = C @ np.einsum("tcm,tc->m", weighted, residual / noise)
        doubt = np.einsum("tcm,tcm->tc", Z @ C, Z)
        square = (counts * ((residual - Z @ x) ** 2 + doubt)).sum(axis=0) / np.maximum(rows, 1.0)
        new = np.where(measured, np.sqrt(square), noise)
        settled = np.all(np.abs(new - noise) < SETTLED_CHANGE * noise)
        noise = new
        if settled:
            break
    return noise
