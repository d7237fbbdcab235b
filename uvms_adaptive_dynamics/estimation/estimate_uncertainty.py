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

"""How uncertain the present estimate is: its covariance, what timing and calibration errors may
move it by, and which parameters are therefore measured."""
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

# Share of the rows behind an estimate that may join them before its covariance is refreshed: until
# then the covariance is too large by at most this share, where new rows resemble the old ones.
REFRESHED_GROWTH = 0.02


class _Solved(NamedTuple):
    """The estimate pi (p,) whose covariance is still to be formed: A (p, p) and g (p,) of its cost
    pi^T A pi - 2 g^T pi, and the covariance (p, p) of the gradient known then."""

    A: np.ndarray
    g: np.ndarray
    gradient_covariance: np.ndarray
    pi: np.ndarray


class EstimateUncertainty:
    """Follows the estimate from solve to solve; docs/mathematics.md, "Covariance".

    covariance: by `uncertainty.covariance`, of the estimate of at most a turn of
    `GradientCovariance` ago; systematic (CAUSES, p), read-only, of the same estimate: what one
    deviation of each cause that no residual shows moves it by. `refresh` brings both up to date."""

    covariance: ParameterCovariance
    systematic: np.ndarray
    _increments: IncrementCovariance
    _inverse: ConstrainedInverse | None
    _solved: _Solved | None

    def __init__(self, config: Config, physical: PhysicalSet, information: InformationState,
                 free_set: FreeSet):
        """information, free_set: the estimator's own, read whenever they are needed. `restart`
        comes before anything else."""
        self._settings = config.uncertainty
        self._floor = config.estimation.relative_epsilon * np.array(physical.table.scale)
        self._physical, self._information, self._free_set = physical, information, free_set

    def restart(self, covariance: np.ndarray, systematic: np.ndarray | None) -> None:
        """Begin again with a prior's covariance (p, p), or a saved estimate's with what came with
        it."""
        self.covariance = MatrixCovariance(covariance)
        self.systematic = (np.zeros((CAUSES, len(covariance))) if systematic is None
                           else systematic)
        self._increments = IncrementCovariance(self._settings, self._floor)
        self._inverse, self._solved = None, None

    def follow(self, problem: HorizonProblem, before: np.ndarray, pi: np.ndarray) -> None:
        """The estimate moves from `before` to the minimum pi (p,) of a problem. Raises SolverError
        where the problem determines no covariance, and then nothing has changed."""
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
        """Bring covariance and systematic up to date with the last solve; what was known before
        stays where knowledge has changed since, or where that solve determines none."""
        solved = self._solved
        if (solved is not None
                and solved.gradient_covariance is self._information.gradient.covariance):
            try:
                self._refresh(solved)
            except SolverError:
                self._solved = None

    def _is_due(self) -> bool:
        """Whether the gradient's covariance is another one (after each of its turns, and whenever
        knowledge is dropped, held or returned to), or the rows have grown by REFRESHED_GROWTH."""
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
        """Other parameters are free: until the next solve nothing is known of what data say."""
        self._inverse, self._solved = None, None

    def kept(self) -> ParameterCovariance:
        """The covariance as a matrix, which no longer depends on the data behind it."""
        self.refresh()
        self.covariance = MatrixCovariance(self.covariance.matrix)
        return self.covariance

    def of_increments(self) -> np.ndarray:
        """(p, p) the paper's covariance, tracked beside the other whichever is used."""
        return self._increments.covariance()

    @property
    def prior_stddev(self) -> np.ndarray:
        """(p,) deviations of a prior that nothing has been learned of, zero where frozen: what an
        earlier session has learned counts as data."""
        return np.where(self._free_set.free, self._information.prior.stddev, 0.0)

    def known_from(self, pi: np.ndarray) -> tuple[tuple[str, ...], bool]:
        """For each parameter of the estimate pi (p,) whether data made it 'measured', 'weak', or
        left it to the 'prior'; and whether there was a solve that could."""
        self.refresh()
        before = self.prior_stddev
        if self._inverse is None:
            return known_from(before, np.zeros_like(before), before, before, before), False
        begun = self._information.prior
        # What a saved estimate has left of its first prior is not in it: all, at the most.
        prior = (np.diag(begun.stddev ** -2.0) if begun.saved
                 else self._information.arrival.gradient_covariance())
        inverse = self._inverse.matrix
        covariance = inverse @ self._information.gradient_covariance() @ inverse
        return known_from(deviations(covariance), deviations(self.systematic.T @ self.systematic),
                          before, deviations(inverse @ prior @ inverse),
                          limited_by_physics(self._physical, pi, covariance)), True

    def _covariance_of_increments(self) -> MatrixCovariance:
        """The paper's, which knows only of parameters that move; frozen ones keep theirs."""
        matrix, frozen = self._increments.covariance(), np.flatnonzero(~self._free_set.free)
        matrix[frozen] = matrix[:, frozen] = 0.0
        matrix[np.ix_(frozen, frozen)] = self._free_set.covariance
        return MatrixCovariance(matrix)
