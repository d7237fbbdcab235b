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

"""Huber weight of an instant's rows outside a solve: when they leave the window, and in the
gradient covariance (docs/mathematics.md, "Arrival cost")."""
from __future__ import annotations

import math

import numpy as np

from ..config import Estimation
from ..solvers.problem import HorizonProblem, huber_threshold, huber_weight


class RobustWeight:
    """Huber weight by the window's grouping."""

    def __init__(self, settings: Estimation):
        self._grouping = settings.grouping
        self._threshold = settings.rho_quantile, settings.rho
        self._of_stack = 1.0        # at the last solution; grouping 'horizon' only

    def note_solution(self, problem: HorizonProblem, pi: np.ndarray) -> None:
        """With grouping 'horizon', keep the stack's weight at the solution pi (p,), which its rows
        get when they leave the window."""
        if problem.grouping == "horizon":
            norms, rho, _ = problem.group_norms(problem.residuals(pi))
            self._of_stack = float(huber_weight(norms, rho)[0])

    def of_instant(self, valid: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """(C,) weights of an instant's rows by valid (C,) and normalized residuals (C,)."""
        if self._grouping == "channel":
            rho = huber_threshold(1, *self._threshold)
            return huber_weight(np.abs(residual), np.full(residual.size, rho))
        if self._grouping == "sample":
            rho = huber_threshold(int(np.count_nonzero(valid)), *self._threshold)
            norm = math.sqrt(residual @ residual)
            # nearly all instants are inliers: skip the division
            return np.full(residual.size, huber_weight(norm, rho) if norm > rho else 1.0)
        return np.full(residual.size, self._of_stack)


def weight_of_rows(problem: HorizonProblem, pi: np.ndarray) -> np.ndarray:
    """(N, C) weights of a problem's rows at pi (p,): Huber weight times lambda^age."""
    residuals = problem.residuals(pi)
    norms, rho, _ = problem.group_norms(residuals)
    shape = {"sample": (-1, 1), "channel": residuals.shape, "horizon": (1, 1)}
    weight = huber_weight(norms, rho).reshape(shape[problem.grouping]) * problem.weight[:, None]
    return np.broadcast_to(weight, residuals.shape)
