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

"""The evidence for a change: Bayes factors of the rows of the last seconds (docs/mathematics.md,
"Changes of the robot").

What a change would have to be is not known, so it is a random variable about zero with the
deviation that such a change may have, and the evidence is the marginal likelihood of the recent
residuals over their likelihood without a change (Willsky and Jones, "A generalized likelihood ratio
approach to the detection and estimation of jumps", 1976). A change of many parameters pays for them
(Occam factor), and model error counts as noise, as long as it lasts.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs


@dataclass(frozen=True)
class RecentRows:
    """Rows of the last seconds, oldest first, zero where they do not count.

    Y (T, C, p); predicted, residual (T, C) as they were before each row was used; weight (T, C):
    reciprocal variance that a row has as one of many like it, model error included; by_velocity
    (T, C, 2): what the predictions change by with the scale of the linear velocity; R_nb (T, 3, 3):
    attitudes; load (T, 12): the force from outside that each was predicted with; by_thruster
    (T, C, N): what each thruster adds to the efforts."""

    Y: np.ndarray
    predicted: np.ndarray
    residual: np.ndarray
    weight: np.ndarray
    by_velocity: np.ndarray | None = None
    R_nb: np.ndarray | None = None
    load: np.ndarray | None = None
    by_thruster: np.ndarray | None = None


class LoadSums(NamedTuple):
    """What rows say of all force from outside: A (12, 12), b (12,) of the normal equations, weight
    (6,) of a row by itself, stddev (12,) of what such a force may be."""

    A: np.ndarray
    b: np.ndarray
    weight: np.ndarray
    stddev: np.ndarray

    def solution(self) -> tuple[float, np.ndarray]:
        """(ln Bayes factor of such a force against none, its mean (12,))."""
        return bayes_factor(self.A, self.b, self.stddev)


def normal_equations(columns: np.ndarray, rows: RecentRows) -> tuple[np.ndarray, np.ndarray]:
    """A (k, k) and b (k,) of a change of which one unit adds columns (T, C, k) to the efforts."""
    columns = columns.reshape(rows.residual.size, -1)
    weighted = rows.weight.reshape(-1, 1) * columns
    return columns.T @ weighted, rows.residual.ravel() @ weighted


def bayes_factor(A: np.ndarray, b: np.ndarray, stddev: np.ndarray) -> tuple[float, np.ndarray]:
    """(ln Bayes factor, posterior mean (k,)) of what has the normal equations A (k, k) and b (k,)
    and a prior about zero with these deviations (k,), against zero."""
    D = stddev
    M = D[:, None] * A * D
    M.flat[::D.size + 1] += 1.0
    # The transpose of the symmetric matrix is in the order LAPACK works in place.
    L, info = dpotrf(M.T, lower=1, clean=0, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError("a change's information is not positive definite")
    u, _ = dtrtrs(L, D * b, lower=1)
    mean = D * dtrtrs(L, u, lower=1, trans=1)[0]
    return float(0.5 * u @ u - np.log(L.diagonal()).sum()), mean


def log_likelihood_ratio(rows: RecentRows, residual: np.ndarray) -> float:
    """ln likelihood ratio of rows that leave `residual` (T, C) against what they leave now."""
    return 0.5 * float(np.sum(rows.weight * (rows.residual ** 2 - residual ** 2)))
