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

"""Where the arm's wrench on the vehicle enters: in the regressor, or on the left-hand side with the
previous estimate (`estimation.coupling`; docs/mathematics.md, "Coupling")."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..config import Estimation
from ..model.parameters import ParameterTable
from ..solvers.problem import Quadratic


class Coupling:
    """Applies the setting to rows and to their sums.

    uses_estimate: whether the arm's share of the vehicle's rows is computed with the previous
    estimate (coupling 'reaction'), so that rows change from tick to tick; split: masks (C,) of the
    channels whose full rows are summed separately for that reason."""

    uses_estimate: bool
    split: tuple[np.ndarray, ...]

    def __init__(self, settings: Estimation, table: ParameterTable):
        self._table = table
        self.uses_estimate = settings.coupling == "reaction" and table.vehicle and table.n > 0
        vehicle = np.arange(table.channels) < 6
        apart = (vehicle, ~vehicle) if self.uses_estimate else (np.ones(table.channels),)
        self.split = tuple(mask.astype(float) for mask in apart)

    def rows(self, Y: np.ndarray, tau: np.ndarray,
             pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows Y (..., C, p) and tau (..., C) of a problem with previous estimate pi (p,)."""
        if not self.uses_estimate:
            return Y, tau
        Y, tau, m = Y.copy(), tau.copy(), self._table.arm_slice
        tau[..., :6] -= Y[..., :6, m] @ pi[m]
        Y[..., :6, m] = 0.0
        return Y, tau

    def combined(self, sums: Sequence[np.ndarray], pi: np.ndarray) -> Quadratic:
        """The sums (p + 1, p + 1) of the split combined into one quadratic, with previous estimate
        pi (p,)."""
        if not self.uses_estimate:
            return quadratic(sums[0])
        v, m = self._table.vehicle_slice, self._table.arm_slice
        vehicle, arm = (quadratic(one) for one in sums)
        H, g = np.zeros_like(vehicle.H), np.zeros_like(vehicle.g)
        H[v, v], g[v] = vehicle.H[v, v], vehicle.g[v] - vehicle.H[v, m] @ pi[m]
        constant = vehicle.c - 2 * float(vehicle.g[m] @ pi[m]) + float(
            pi[m] @ vehicle.H[m, m] @ pi[m])
        return Quadratic(H, g, constant) + arm


def quadratic(matrix: np.ndarray) -> Quadratic:
    """[Y tau]^T [Y tau] (p + 1, p + 1) as a quadratic in pi; H and g are views of the matrix."""
    return Quadratic(matrix[:-1, :-1], matrix[:-1, -1], float(matrix[-1, -1]))
