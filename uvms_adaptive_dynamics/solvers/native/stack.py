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

"""The whole window as one Huber group (grouping 'horizon'; docs/mathematics.md, "Huber groups").
"""

from __future__ import annotations

import numpy as np

from ...model.coordinates import Coordinates
from ..problem import HorizonProblem
from .outlier_set import OutlierTerm


class Stack:
    """One norm over the whole window (grouping 'horizon', as the paper has it), computed from the
    condensed rows alone.

    lambda^age is inside the norm, as it is inside the condensed quadratic.
    """

    revision = 0

    def __init__(self, problem: HorizonProblem, coordinates: Coordinates):
        window = problem.total - problem.arrival
        self._P, self._q, self._c = coordinates.condense(window.H, window.g, window.c, problem.pi)
        self._rho = problem.threshold(int(problem.valid.sum()))

    def refresh(self, x: np.ndarray, P: np.ndarray) -> None:
        """See `HuberGroups.refresh`: the one group is always in the set."""

    def outlier_term(self, x: np.ndarray) -> OutlierTerm:
        """See `HuberGroups.outlier_term`."""
        Px = self._P @ x
        norm = np.sqrt(max(float(x @ (Px - 2 * self._q)) + self._c, 0.0))
        pull, excess = self._q - Px, max(norm - self._rho, 0.0)
        isotropic = 2 * excess / max(norm, 1e-300)
        return OutlierTerm(-(excess ** 2), isotropic * pull, norm, isotropic, pull)

    def curvature(self, at: OutlierTerm, exact: bool = False) -> np.ndarray:
        """See `HuberGroups.curvature`."""
        if at.isotropic == 0:
            return at.isotropic * self._P
        pull = np.sqrt(2 * self._rho / at.norm ** 3) * at.residual
        return at.isotropic * self._P + np.outer(pull, pull)

    def reweighting(self, at: OutlierTerm) -> np.ndarray:
        """See `HuberGroups.reweighting`."""
        return at.isotropic * self._P

    def inlier_quadratic(self, x: np.ndarray, P: np.ndarray,
                         at: OutlierTerm) -> tuple[np.ndarray, float]:
        """See `HuberGroups.inlier_quadratic`."""
        below = self._rho - at.norm
        return (P, float(below)) if below > 0 else (P - self._P, np.inf)
