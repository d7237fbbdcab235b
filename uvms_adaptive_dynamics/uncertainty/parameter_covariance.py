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

"""Covariance of the parameters: the sandwich of the robust, constrained fit, and the paper's
covariance of increments.

docs/mathematics.md, "Covariance"; paper, "Uncertainty Quantification".
"""
from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from ..config import Uncertainty
from ..model.arguments import read_only
from ..model.covariance import deviations
from .constrained_inverse import ConstrainedInverse


class ParameterCovariance(Protocol):
    """A covariance of the parameters, computed on demand."""

    @property
    def matrix(self) -> np.ndarray:
        """(p, p), read-only."""

    @property
    def stddev(self) -> np.ndarray:
        """(p,), read-only."""

    def of_rows(self, Y: np.ndarray) -> np.ndarray:
        """Y Sigma Y^T (C, C) for rows Y (C, p)."""

    def by_noise(self, Y: np.ndarray) -> np.ndarray:
        """(C,) part of the diagonal of `of_rows` that the noise of the rows learnt causes; the rest
        is what has not been learnt yet."""


class MatrixCovariance:
    """A covariance given as a matrix."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = read_only(matrix.copy())

    @cached_property
    def stddev(self) -> np.ndarray:
        """See `ParameterCovariance`."""
        return read_only(deviations(self.matrix))

    def of_rows(self, Y: np.ndarray) -> np.ndarray:
        """See `ParameterCovariance`."""
        return Y @ self.matrix @ Y.T

    def by_noise(self, Y: np.ndarray) -> np.ndarray:
        """See `ParameterCovariance`."""
        return np.zeros(len(Y))


class SandwichCovariance:
    """G B G of the free parameters plus the contribution of uncertain frozen ones.

    With A the information, u free and f frozen: an error e of the frozen values moves the estimate
    by K e, K = -G A_uf, so Sigma = G B G + J Sigma_ff J^T with J = [K; I] ('consider' parameters;
    Schmidt, 1966). Data do not reduce Sigma_ff, and predictions include it.
    """

    def __init__(self, inverse: ConstrainedInverse, gradient: np.ndarray, information: np.ndarray,
                 free: np.ndarray, frozen_covariance: np.ndarray, of_rows: np.ndarray):
        """inverse: G, zero where frozen; gradient B (p, p): covariance of half the cost's gradient;
        information A (p, p): half its Hessian; free (p,) bool; frozen_covariance (f, f): of the
        other parameters; of_rows (p, p): the part of B due to the rows' noise."""
        self._G, self._B, self._of_rows = inverse, gradient, of_rows
        self._J: np.ndarray | None = None
        if frozen_covariance.any():
            frozen = np.flatnonzero(~free)
            values, vectors = np.linalg.eigh(frozen_covariance)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            self._J = -inverse.times(information[:, frozen] @ root)
            self._J[frozen] = root
            self._frozen, self._frozen_covariance = frozen, frozen_covariance

    @cached_property
    def matrix(self) -> np.ndarray:
        """See `ParameterCovariance`."""
        G = self._G.matrix
        covariance = G @ self._B @ G
        covariance = 0.5 * (covariance + covariance.T)
        if self._J is not None:
            covariance += self._J @ self._J.T
            covariance[np.ix_(self._frozen, self._frozen)] = self._frozen_covariance   # exactly
        return read_only(covariance)

    @cached_property
    def stddev(self) -> np.ndarray:
        """See `ParameterCovariance`."""
        return read_only(deviations(self.matrix))

    def of_rows(self, Y: np.ndarray) -> np.ndarray:
        """See `ParameterCovariance`."""
        return Y @ self.matrix @ Y.T

    @cached_property
    def _by_noise(self) -> np.ndarray:
        G = self._G.matrix
        return G @ self._of_rows @ G

    def by_noise(self, Y: np.ndarray) -> np.ndarray:
        """See `ParameterCovariance`."""
        return np.einsum("cp,cp->c", Y @ self._by_noise, Y)


PENDING = 64        # increments buffered for one summation


class IncrementCovariance:
    """The paper's exponentially weighted covariance of normalized increments w_t = pi_t - pi_{t-1}.

    Sigma_pi = L S Sigma_w S with S = diag(max(|pi_{t-1}|, eps)) and L = 2 / alpha - 1, as
    published. Increments are buffered and summed together, or on demand: one matrix product for
    many costs little more than a single increment."""

    def __init__(self, settings: Uncertainty, floor: np.ndarray):
        """floor (p,): eps, per parameter."""
        self._alpha, self._epsilon, self._floor = settings.alpha, settings.epsilon, floor
        self.reset()

    def reset(self) -> None:
        """Drop all increments."""
        p = self._floor.size
        self._mean, self._summed = np.zeros(p), np.zeros((p, p))
        self._pending, self._count = np.empty((PENDING, p)), 0
        self._scale = self._floor.copy()

    def add_increment(self, pi_before: np.ndarray, pi: np.ndarray) -> None:
        """Add the increment from pi_before (p,) to pi (p,)."""
        if self._count == PENDING:
            self._sum()
        self._scale = np.maximum(np.abs(pi_before), self._floor)
        off = (pi - pi_before) / self._scale - self._mean
        self._pending[self._count] = off
        self._count += 1
        self._mean = self._mean + self._alpha * off

    def _sum(self) -> None:
        """Sigma_w = (1 - a) Sigma_w + a (w - mean before) (w - mean after)^T + eps I, for each
        buffered increment w."""
        a, off = self._alpha, self._pending[:self._count]
        ages = (1 - a) ** np.arange(self._count)[::-1]
        self._summed = (1 - a) ** self._count * self._summed + (off.T * (a * (1 - a) * ages)) @ off
        self._summed.flat[::len(self._summed) + 1] += self._epsilon * ages.sum()
        self._count = 0

    def covariance(self) -> np.ndarray:
        """Sigma_pi (p, p)."""
        self._sum()
        return (2 / self._alpha - 1) * self._summed * np.outer(self._scale, self._scale)
