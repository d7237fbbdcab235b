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
from ..model.arguments import read_only
from ..model.covariance import deviations
from ..model.parameter_set import CAUSES
from ..model.physical_set import PhysicalSet
from ..solvers.problem import HorizonProblem
from ..uncertainty.constrained_inverse import ConstrainedInverse
from ..uncertainty.parameter_covariance import (
    IncrementCovariance,
    MatrixCovariance,
    ParameterCovariance,
    SandwichCovariance,
)
from ..uncertainty.parameter_flags import known_from, limited_by_physics
from .free_set import FreeSet
from .information import InformationState

# Growth of the rows behind an estimate after which its covariance is refreshed: until then the
# covariance is too large by at most this share, if new rows resemble the old ones.
REFRESHED_GROWTH = 0.02


class StatedUncertainty(NamedTuple):
    """Of one estimate: its covariance; systematic (k, p), read-only: its shift by one deviation of
    each cause that no residual shows; inverse: of half its cost's Hessian, None if no
    solve has determined it."""

    covariance: ParameterCovariance
    systematic: np.ndarray
    inverse: ConstrainedInverse | None = None


class _Solved(NamedTuple):
    """An estimate pi (p,): A (p, p) and g (p,) of its cost pi^T A pi - 2 g^T pi, and the covariance
    (p, p) of half its gradient, as the parts that the prior and the rows gave."""

    A: np.ndarray
    g: np.ndarray
    pi: np.ndarray
    of_prior: np.ndarray
    of_rows: np.ndarray


class EstimateUncertainty:
    """Follows the estimate from solve to solve; docs/mathematics.md, "Covariance".

    recent: uncertainty of an estimate at most one turn of `GradientCovariance` old, which
    predictions use; `present` forms that of the last solve. Asking has no effect on later
    estimates."""

    recent: StatedUncertainty
    _increments: IncrementCovariance
    _solved: _Solved | None
    _present: StatedUncertainty | None

    def __init__(self, config: Config, physical: PhysicalSet, information: InformationState,
                 free_set: FreeSet):
        """information, free_set: the estimator's own, read when needed. Call `restart` before
        anything else."""
        self._settings = config.uncertainty
        self._floor = config.estimation.relative_epsilon * np.array(physical.table.scale)
        self._physical, self._information, self._free_set = physical, information, free_set

    def restart(self, covariance: np.ndarray, systematic: np.ndarray | None) -> None:
        """Start again with the covariance (p, p) of a prior or of a saved estimate, the latter with
        its systematic (k, p)."""
        if systematic is None:
            systematic = np.zeros((CAUSES, len(covariance)))
        self.recent = StatedUncertainty(MatrixCovariance(covariance),
                                        self._information.systematic.padded(systematic))
        self._increments = IncrementCovariance(self._settings, self._floor)
        self._solved = self._present = None

    def update(self, problem: HorizonProblem, before: np.ndarray, pi: np.ndarray) -> None:
        """Note that the estimate has moved from `before` (p,) to the minimum pi (p,) of a problem.
        Raises SolverError, with nothing changed, if the problem's information is singular."""
        information = self._information
        solved = _Solved(problem.total.H, problem.total.g, pi,
                         information.arrival.gradient_covariance(), information.gradient.covariance)
        if self.recent.inverse is None or self._is_due():
            self.recent = self._formed(solved)
            self._rows_refreshed, self._of_rows = information.rows_learned, solved.of_rows
            self._solved = None
        else:
            self._solved = solved
        self._present = None
        self._increments.add_increment(before, pi)
        if self._settings.covariance == "increments":
            self.recent = self.recent._replace(covariance=self._covariance_of_increments())

    def present(self) -> StatedUncertainty:
        """The uncertainty after the last solve; `recent` if knowledge has changed since, or if that
        solve determines none."""
        solved = self._solved
        if solved is None or solved.of_rows is not self._information.gradient.covariance:
            return self.recent
        if self._present is None:
            try:
                self._present = self._formed(solved)
            except SolverError:
                self._solved = None
                return self.recent
        return self._present

    def _is_due(self) -> bool:
        """Whether the gradient covariance is a new one (after each of its turns, and whenever
        knowledge is dropped, held or restored), or the rows have grown by REFRESHED_GROWTH."""
        information = self._information
        grown = information.rows_learned - self._rows_refreshed
        return (information.gradient.covariance is not self._of_rows
                or grown > REFRESHED_GROWTH * min(information.rows_learned,
                                                  information.rows_remembered))

    def _formed(self, solved: _Solved) -> StatedUncertainty:
        """Raises SolverError if the numbers are singular, or too large to be used."""
        try:
            return self._sandwich(solved)
        except np.linalg.LinAlgError as error:
            raise SolverError(f"the estimate has no covariance ({error}); check that all "
                              "measurements are of sensible size", "breakdown") from None

    def _sandwich(self, solved: _Solved) -> StatedUncertainty:
        free, equalities = self._free_set.free, len(self._physical.table.equal_pairs)
        B, off = solved.of_rows + solved.of_prior, self._information.systematic_gradient()
        inverse = ConstrainedInverse(solved.A, B + off.T @ off,
                                     self._physical.active_normals(solved.pi),
                                     equalities, solved.A @ solved.pi - solved.g, free)
        systematic = self._information.systematic_shift(inverse, off, solved.pi)
        if not free.all():
            systematic[:, ~free] = self.recent.systematic[:, ~free]
        covariance = self.recent.covariance
        if self._settings.covariance != "increments":
            covariance = SandwichCovariance(inverse, B, solved.A, free,
                                            self._free_set.covariance, solved.of_rows)
        return StatedUncertainty(covariance, read_only(systematic), inverse)

    def note_free_set(self) -> None:
        """Other parameters are free: what the data determine is unknown until the next solve."""
        self.recent = self.recent._replace(inverse=None)
        self._solved = self._present = None

    def keep(self) -> StatedUncertainty:
        """Make the present uncertainty, independent of later data, the recent one; returns it."""
        self._present = None    # its systematic is of when somebody first asked
        present = self.present()
        self.recent = present._replace(covariance=MatrixCovariance(present.covariance.matrix))
        self._solved = self._present = None
        return self.recent

    def of_increments(self) -> np.ndarray:
        """(p, p) the paper's covariance of increments, tracked whichever covariance is used."""
        return self._increments.covariance()

    @property
    def prior_stddev(self) -> np.ndarray:
        """(p,) deviations of the first prior, zero where frozen: what earlier sessions learnt
        counts as data."""
        return np.where(self._free_set.free, self._information.prior.stddev, 0.0)

    def known_from(self, pi: np.ndarray,
                   complete: bool = False) -> tuple[tuple[str, ...], bool]:
        """(each parameter of the estimate pi (p,): 'measured', 'weak' or 'prior', by what the data
        determine; whether there has been a solve). complete: as if the model lacked nothing."""
        before, present = self.prior_stddev, self.present()
        if present.inverse is None:
            return known_from(before, np.zeros_like(before), before, before, before), False
        begun = self._information.prior
        # A saved estimate does not say how much of its first prior is left: all of it, at most.
        prior = (np.diag(begun.stddev ** -2.0) if begun.saved
                 else self._information.arrival.gradient_covariance())
        inverse = present.inverse.matrix
        covariance = inverse @ self._information.gradient_covariance() @ inverse
        causes = present.systematic[:CAUSES] if complete else present.systematic
        systematic = causes.T @ causes
        return known_from(deviations(covariance), deviations(systematic), before,
                          deviations(inverse @ prior @ inverse),
                          limited_by_physics(self._physical, pi, covariance)), True

    def _covariance_of_increments(self) -> MatrixCovariance:
        """The paper's covariance; frozen parameters, which have no increments, keep their own."""
        matrix, frozen = self._increments.covariance(), np.flatnonzero(~self._free_set.free)
        matrix[frozen] = matrix[:, frozen] = 0.0
        matrix[np.ix_(frozen, frozen)] = self._free_set.covariance
        return MatrixCovariance(matrix)
