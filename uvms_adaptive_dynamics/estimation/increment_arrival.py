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

"""The paper's arrival cost ||pi - pi_previous||_Q^2, with Q relative to the parameters' size or set
by the user (docs/mathematics.md, "Arrival cost")."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..config import Estimation
from ..errors import ConfigError
from ..model.parameters import ParameterTable
from .prior_information import PriorInformation


class IncrementArrival:
    """||pi - pi_previous||_Q^2 plus a weak prior; old rows are dropped. An alternative to the costs
    in `arrival`.

    The paper's cost limits how far pi moves at a tick, not where it is: in a direction that the
    window's rows do not determine, noise drives an unbounded random walk, whose steps grow with the
    parameter if Q is relative. The weak prior bounds the walk: `estimation.information_floor` times
    the information at the start of the run, about the same values, negligible beside data."""

    decay = 1.0
    directional = False

    def __init__(self, settings: Estimation, table: ParameterTable, prior: PriorInformation,
                 parts: int):
        """parts: number of sums that `data` returns."""
        self._weight: Weight = (RelativeQ(settings, table) if settings.arrival == "relative"
                                else GeneralQ(settings.arrival_matrix, table.size))
        self._bound = settings.information_floor * prior.stddev ** -2.0
        self._about = prior.values
        self._zero = [np.zeros((table.size + 1,) * 2) for _ in range(parts)]
        self._none = np.zeros((table.size,) * 2)

    def tick(self) -> None:
        """Note a new sample."""

    def add_row(self, rows: np.ndarray, weight: float) -> None:
        """Add rows [Y tau] (C, p + 1) that leave the window, robust weight applied, times
        `weight`."""

    def reweigh(self, weights: np.ndarray) -> None:
        """Use these weights (C,) from now on."""

    def data(self) -> list[np.ndarray]:
        """[Y tau]^T [Y tau] of old weighted rows, one matrix per mask of the split."""
        return self._zero

    def prior(self, pi: np.ndarray) -> np.ndarray:
        """[Y tau]^T [Y tau] of the prior, given the previous estimate pi (p,)."""
        Q, bound = self._weight.Q(pi), self._bound
        g = Q @ pi + bound * self._about
        constant = float(pi @ Q @ pi + bound @ self._about ** 2)
        return np.block([[Q + np.diag(bound), g[:, None]], [g, constant]])

    def floor(self, pi: np.ndarray) -> np.ndarray:
        """(p,) diagonal matrix below the arrival's H."""
        return self._weight.floor(pi) + self._bound

    def gradient_covariance(self) -> np.ndarray:
        """(p, p) the prior's part of the covariance of half the cost's gradient at the true
        parameters."""
        return self._none


class Weight(Protocol):
    """Q of the cost."""

    def Q(self, pi: np.ndarray) -> np.ndarray:
        """(p, p) at the previous estimate pi (p,)."""

    def floor(self, pi: np.ndarray) -> np.ndarray:
        """(p,) diagonal matrix below Q."""


class RelativeQ:
    """Q = diag(q / max(|pi_previous|, eps)^2): steps are relative to the parameter's size."""

    def __init__(self, settings: Estimation, table: ParameterTable):
        self._smallest = settings.relative_epsilon * np.array(table.scale)
        self._q = settings.relative_weight

    def Q(self, pi: np.ndarray) -> np.ndarray:
        """See `Weight.Q`."""
        return np.diag(self.floor(pi))

    def floor(self, pi: np.ndarray) -> np.ndarray:
        """See `Weight.floor`."""
        return self._q / np.maximum(np.abs(pi), self._smallest) ** 2


class GeneralQ:
    """Constant Q from `estimation.arrival_matrix`."""

    def __init__(self, numbers: Sequence[float], p: int):
        """numbers: the diagonal (p,), or all rows (p * p,); raises ConfigError otherwise."""
        given = np.array(numbers, float)
        if given.size not in (p, p * p):
            raise ConfigError(
                f"setting 'estimation.arrival_matrix' has {given.size} numbers; expected {p} (the "
                f"diagonal of Q, one per parameter) or {p * p} (all its rows).")
        self._Q = np.diag(given) if given.size == p else given.reshape(p, p)
        size = np.sqrt(np.abs(np.diag(self._Q)))
        smallest = (np.linalg.eigvalsh(self._Q / np.outer(size, size))[0]
                    if (np.diag(self._Q) > 0).all() else -1.0)
        if smallest <= 0 or not np.allclose(self._Q, self._Q.T, rtol=1e-9, atol=0.0):
            raise ConfigError(
                "setting 'estimation.arrival_matrix' is not symmetric and positive definite; "
                "expected a symmetric matrix with positive eigenvalues.")
        self._floor = smallest * size ** 2

    def Q(self, pi: np.ndarray) -> np.ndarray:
        """See `Weight.Q`."""
        return self._Q

    def floor(self, pi: np.ndarray) -> np.ndarray:
        """See `Weight.floor`."""
        return self._floor
