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

"""Information at the start: from a prior with standard deviations, or from a saved estimate with
its covariance (docs/mathematics.md, "Restart from a saved estimate")."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..config import Estimation
from ..model.parameter_set import ParameterSet
from ..model.parameters import ParameterTable
from ..model.physical_set import PhysicalSet
from ..model.prior import prior_stddev
from ..model.robot import RobotModel
from ..solvers import Solver, projection_problem

# Lower limit of a saved covariance's standard deviations, relative to the prior's: the covariance
# is singular if parameters are tied or a constraint was active, and must stay invertible.
SMALLEST_RELATIVE = 1e-4


@dataclass(frozen=True)
class PriorInformation:
    """The start of an estimate.

    values (p,); stddev (p,): deviations of an uninformed prior; covariance (p, p) of the values;
    rows (k, p + 1): [Y tau] with |tau - Y pi|^2 the prior's cost; gradient_covariance (p, p):
    covariance of half the gradient of that cost at the true parameters; floor (p,): a diagonal
    matrix below the cost's information; saved: whether the values were learnt."""

    values: np.ndarray
    stddev: np.ndarray
    covariance: np.ndarray
    rows: np.ndarray
    gradient_covariance: np.ndarray
    floor: np.ndarray
    saved: bool

    @classmethod
    def from_stddev(cls, values: np.ndarray, stddev: np.ndarray,
                    free: np.ndarray) -> PriorInformation:
        """Independent normal prior with stddev (p,) about values (p,); frozen parameters, free (p,)
        False, have covariance zero."""
        H = np.diag(stddev ** -2.0)
        covariance = np.diag(np.where(free, stddev, 0.0) ** 2)
        return cls(values, stddev, covariance, _rows(np.diag(1 / stddev), values), H,
                   stddev ** -2.0, saved=False)

    @classmethod
    def from_interrupted(cls, values: np.ndarray, covariance: np.ndarray, information: np.ndarray,
                         gradient: np.ndarray, gradient_covariance: np.ndarray | None,
                         stddev: np.ndarray, inflation: float,
                         free: np.ndarray) -> PriorInformation:
        """A saved estimate with the cost that it minimizes: information A (p, p) and gradient (p,),
        half the cost's Hessian and half its gradient at the values, and the gradient's covariance
        B (p, p) at the true parameters.

        The estimation resumes as if not interrupted, except that `inflation` multiplies the
        covariance (p, p) of the free parameters. Without B in the file, B = A Sigma A; that is
        overconfident if a constraint was active, since Sigma is the covariance given that
        constraint. Raises LinAlgError if A is not positive definite.
        """
        grown = np.where(free, np.sqrt(inflation), 1.0)
        covariance = covariance * np.outer(grown, grown)
        A = information / np.outer(grown, grown)
        B = (A @ covariance @ A if gradient_covariance is None
             else gradient_covariance / np.outer(grown, grown))
        size = 1 / np.sqrt(np.diag(A))
        root = np.linalg.cholesky(A * np.outer(size, size)).T / size
        minimizer = values - np.linalg.solve(root, np.linalg.solve(root.T, gradient / grown))
        smallest = np.linalg.eigvalsh(A * np.outer(stddev, stddev))[0]
        floor = min(1.0, max(smallest, 0.0)) * stddev ** -2.0
        return cls(values, stddev, covariance, _rows(root, minimizer), B, floor, saved=True)

    @classmethod
    def from_saved(cls, values: np.ndarray, covariance: np.ndarray, stddev: np.ndarray,
                   overlap: float, inflation: float, free: np.ndarray) -> PriorInformation:
        """A saved estimate with only its covariance (p, p); `inflation` multiplies that of the free
        parameters.

        overlap: number of low-passed rows that carry the information of an independent row. The
        cost counts every row, so a covariance Sigma enters it like data with information
        A = overlap Sigma^-1 and gradient covariance A Sigma A, which together give Sigma again.
        stddev (p,): deviations of an uninformed prior.
        """
        grown = np.where(free, np.sqrt(inflation), 1.0)
        covariance = covariance * np.outer(grown, grown)
        variance, V = np.linalg.eigh(covariance / np.outer(stddev, stddev))
        deviation = np.sqrt(np.maximum(variance, SMALLEST_RELATIVE ** 2))
        root = np.sqrt(overlap) * (V / deviation).T / stddev
        floor = min(1.0, overlap / deviation[-1] ** 2) * stddev ** -2.0
        return cls(values, stddev, covariance, _rows(root, values), overlap * root.T @ root, floor,
                   saved=True)


def prior_information(saved: ParameterSet, values: np.ndarray, settings: Estimation,
                      robot: RobotModel, free: np.ndarray, overlap: float) -> PriorInformation:
    """The information of a prior or a saved estimate, using as much of it as is saved.

    values (p,): its values after `admissible`; free (p,) bool: not frozen by the settings; overlap:
    see `PriorInformation.from_saved`."""
    covariance, inflation = saved.covariance, settings.prior_inflation
    stddev = prior_stddev(values, robot, settings.prior_stddev)
    if covariance is None:
        return PriorInformation.from_stddev(values, stddev, free)
    # A projected estimate no longer minimizes the cost that was saved with it.
    minimizes = np.array_equal(values, saved.values)
    if saved.information is not None and saved.gradient is not None and minimizes:
        try:
            return PriorInformation.from_interrupted(values, covariance, saved.information,
                                                     saved.gradient, saved.gradient_covariance,
                                                     stddev, inflation, free)
        except np.linalg.LinAlgError:
            pass    # positive definite only up to rounding; the covariance is nearly equivalent
    return PriorInformation.from_saved(values, covariance, stddev, overlap, inflation, free)


def admissible(values: np.ndarray, table: ParameterTable, physical: PhysicalSet,
               solver: Solver) -> tuple[np.ndarray, str]:
    """(values (p,) of a prior, projected onto P if outside; a sentence on what moved, or '')."""
    if physical.violation(values) <= 1e-9:
        return values.copy(), ""
    projected = solver.solve(projection_problem(table, physical, values)).pi
    moved = np.abs(projected - values) / table.scale
    worst = np.argsort(moved)[::-1][:3]
    return projected.copy(), (
        "the prior is not physically consistent and was projected; moved most: "
        + ", ".join(f"{table.names[i]} {values[i]:.4g} -> {projected[i]:.4g}" for i in worst))


def _rows(root: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.column_stack([root, root @ values])
