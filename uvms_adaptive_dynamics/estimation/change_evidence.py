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

"""Evidence for a change of the robot: Bayes factors of the rows of the last seconds
(docs/mathematics.md, "Changes of the robot").

The size of a change is unknown, so it is a normal random variable about zero, with a plausible
deviation. The evidence is the marginal likelihood of the recent residuals over their likelihood
without a change (Willsky and Jones, "A generalized likelihood ratio approach to the detection and
estimation of jumps", 1976). A change of many parameters pays for them (Occam factor); model error
counts as noise, with its own correlation time.
"""
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from .recent_rows import RecentRows


class LoadSums(NamedTuple):
    """Normal equations A (12, 12), b (12,) of the total external force; weight (6,) of a single
    row; stddev (12,): prior deviations of such a force."""

    A: np.ndarray
    b: np.ndarray
    weight: np.ndarray
    stddev: np.ndarray

    def solution(self) -> tuple[float, np.ndarray]:
        """(ln Bayes factor of such a force against none, its posterior mean (12,))."""
        return bayes_factor(self.A, self.b, self.stddev)


def normal_equations(columns: np.ndarray, rows: RecentRows) -> tuple[np.ndarray, np.ndarray]:
    """A (k, k) and b (k,) of a change that adds columns (T, C, k) times its size to the efforts."""
    columns = columns.reshape(rows.residual.size, -1)
    weighted = rows.weight.reshape(-1, 1) * columns
    return columns.T @ weighted, rows.residual.ravel() @ weighted


def bayes_factor(A: np.ndarray, b: np.ndarray, stddev: np.ndarray) -> tuple[float, np.ndarray]:
    """(ln Bayes factor against zero, posterior mean (k,)) of an unknown with normal equations
    A (k, k), b (k,) and a normal prior about zero with stddev (k,). Raises LinAlgError."""
    D = stddev
    M = D[:, None] * A * D
    M.flat[::D.size + 1] += 1.0
    if D.size == 1 and M[0, 0] > 0:     # most hypotheses are scales: numbers need no LAPACK
        m = float(M[0, 0])
        evidence = 0.5 * (float(D[0] * b[0]) ** 2 / m - math.log(m))
        return evidence, D * (D * b) / m
    # M is symmetric; its transpose has the memory order in which LAPACK factorizes in place.
    L, info = dpotrf(M.T, lower=1, clean=0, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError("a change's information is not positive definite")
    u, _ = dtrtrs(L, D * b, lower=1)
    mean = D * dtrtrs(L, u, lower=1, trans=1)[0]
    return float(0.5 * u @ u - np.log(L.diagonal()).sum()), mean


def log_likelihood_ratio(rows: RecentRows, residual: np.ndarray) -> float:
    """ln likelihood ratio of rows with `residual` (T, C) instead of their own residuals."""
    return 0.5 * float(np.sum(rows.weight * (rows.residual ** 2 - residual ** 2)))
