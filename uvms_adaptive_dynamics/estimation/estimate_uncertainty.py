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

"""Uncertainty of the present estimate: its covariance, its possible shift by timing and calibration
errors, and which parameters count as measured."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..config import Config
from ..errors import SolverError
from ..model.covariance import deviations
from ..model.parameter_file import CAUSES
from ..model.physical_set import PhysicalSet
from ..solvers.problem import HorizonProblem
from ..uncertainty.constrained_inverse import ConstrainedInverse
from ..uncertainty.identifiability import known_from, limited_by_physics
from ..uncertainty.parameter_covariance import (
    IncrementCovariance,
    MatrixCovariance,
    ParameterCovariance,
    SandwichCovariance,
)
from .free_set import FreeSet
from .information import InformationState

# Growth of the rows behind an estimate after which its covariance is refreshed: until then the
# covariance is too large by at most this share, if new rows resemble the old ones.
REFRESHED_GROWTH = 0.02


class _Solved(NamedTuple):
    """An estimate pi (p,) whose covariance has not been formed: A (p, p) and g (p,) of its cost
    pi^T A pi - 2 g^T pi, and the gradient covariance (p, p) at that time."""

    A: np.ndarray
    g: np.ndarray
    gradient_covariance: np.ndarray
    pi: np.ndarray


class EstimateUncertainty:
    """Follows the estimate from solve to solve; docs/mathematics.md, "Covariance".

    covariance: of the kind that `uncertainty.covariance` names, of an estimate at most one turn of
    `GradientCovariance` old; systematic (CAUSES, p), read-only, of the same estimate: its shift by
    one deviation of each cause that no residual shows. `refresh` brings both up to date."""

    covariance: ParameterCovariance
    systematic: np.ndarray
    _increments: IncrementCovariance
    _inverse: ConstrainedInverse | None
    _solved: _Solved | None

    def __init__(self, config: Config, physical: PhysicalSet, information: InformationState,
                 free_set: FreeSet):
        """information, free_set: the estimator's own, read when needed. Call `restart` before
        anything else."""
        self._settings = config.uncertainty
        self._floor = config.estimation.relative_epsilon * np.array(physical.table.scale)
        self._physical, self._information, self._free_set = physical, information, free_set

    def restart(self, covariance: np.ndarray, systematic: np.ndarray | None) -> None:
        """Start again with the covariance (p, p) of a prior or of a saved estimate, the latter with
        its systematic (CAUSES, p)."""
        self.covariance = MatrixCovariance(covariance)
        self.systematic = (np.zeros((CAUSES, len(covariance))) if systematic is None
                           else systematic)
        self._increments = IncrementCovariance(self._settings, self._floor)
        self._inverse, self._solved = None, None

    def follow(self, problem: HorizonProblem, before: np.ndarray, pi: np.ndarray) -> None:
        """Follow the estimate from `before` (p,) to the minimum pi (p,) of a problem. Raises
        SolverError, with nothing changed, if the problem's information is singular."""
        solved = _Solved(problem.total.H, problem.total.g, self._information.gradient.covariance,
                         pi)
        if self._inverse is None or self._is_due():
            self._refresh(solved)
        else:
            self._solved = solved
        self._increments.add_increment(before, pi)
        if self._settings.covariance == "increments":
            self.covariance = self._covariance_of_increments()

    def refresh(self) -> None:
        """Bring covariance and systematic up to date with the last solve. They stay as they are if
        the gradient covariance has changed since, or if that solve determines none."""
        solved = self._solved
        if (solved is not None
                and solved.gradient_covariance is self._information.gradient.covariance):
            try:
                self._refresh(solved)
            except SolverError:
                self._solved = None

    def _is_due(self) -> bool:
        """Whether the gradient covariance is a new one (after each of its turns, and whenever
        knowledge is dropped, held or restored), or the rows have grown by REFRESHED_GROWTH."""
        information = self._information
        grown = information.rows_learned - self._rows_refreshed
        return (information.gradient.covariance is not self._gradient_covariance
                or grown > REFRESHED_GROWTH * min(information.rows_learned,
                                                  information.rows_remembered))

    def _refresh(self, solved: _Solved) -> None:
        information, free = self._information, self._free_set.free
        A, B = solved.A, information.gradient_covariance()
        G = ConstrainedInverse(A, B, self._physical.active_normals(solved.pi),
                               len(self._physical.table.equal_pairs), A @ solved.pi - solved.g,
                               free)
        systematic = information.systematic_moves(G, solved.pi)
        if not free.all():
            systematic[:, ~free] = self.systematic[:, ~free]
        systematic.setflags(write=False)
        self._inverse, self.systematic, self._solved = G, systematic, None
        self._gradient_covariance = solved.gradient_covariance
        self._rows_refreshed = information.rows_learned
        if self._settings.covariance != "increments":
            self.covariance = SandwichCovariance(G, B, A, free, self._free_set.covariance)

    def follow_free_set(self) -> None:
        """Other parameters are free: what the data determine is unknown until the next solve."""
        self._inverse, self._solved = None, None

    def kept(self) -> ParameterCovariance:
        """The present covariance as a matrix, independent of later data."""
        self.refresh()
        self.covariance = MatrixCovariance(self.covariance.matrix)
        return self.covariance

    def of_increments(self) -> np.ndarray:
        """(p, p) the paper's covariance of increments, tracked whichever covariance is used."""
        return self._increments.covariance()

    @property
    def prior_stddev(self) -> np.ndarray:
        """(p,) deviations of the first prior, zero where frozen: what earlier sessions learned
        counts as data."""
        return np.where(self._free_set.free, self._information.prior.stddev, 0.0)

    def known_from(self, pi: np.ndarray) -> tuple[tuple[str, ...], bool]:
        """(each parameter of the estimate pi (p,): 'measured', 'weak' or 'prior', by what the data
        determine; whether there has been a solve)."""
        self.refresh()
        before = self.prior_stddev
        if self._inverse is None:
            return known_from(before, np.zeros_like(before), before, before, before), False
        begun = self._information.prior
        # A saved estimate does not say how much of its first prior is left: all of it, at most.
        prior = (np.diag(begun.stddev ** -2.0) if begun.saved
                 else self._information.arrival.gradient_covariance())
        inverse = self._inverse.matrix
        covariance = inverse @ self._information.gradient_covariance() @ inverse
        return known_from(deviations(covariance), deviations(self.systematic.T @ self.systematic),
                          before, deviations(inverse @ prior @ inverse),
                          limited_by_physics(self._physical, pi, covariance)), True

    def _covariance_of_increments(self) -> MatrixCovariance:
        """The paper's covariance; frozen parameters, which have no increments, keep their own."""
        matrix, frozen = self._increments.covariance(), np.flatnonzero(~self._free_set.free)
        matrix[frozen] = matrix[:, frozen] = 0.0
        matrix[np.ix_(frozen, frozen)] = self._free_set.covariance
        return MatrixCovariance(matrix)
