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

"""Value, gradient and Hessian of the horizon problem's robust cost in the solver's free
coordinates (docs/mathematics.md, "Horizon problem").

The cost is convex and once differentiable. One condensed quadratic treats all rows as inliers; for
a group beyond rho, its |r|^2 is replaced by 2 rho |r| - rho^2, value and curvature.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ...model.coordinates import Coordinates
from ..problem import HorizonProblem
from .huber_groups import HuberGroups
from .outlier_set import OutlierTerm
from .stack import Stack

QUARTER = 0.25  # min over e of r^T e + e^T L e is -r^T L^-1 r / 4
UNIT_ROUNDING = 4 * np.finfo(float).eps


class Slope(NamedTuple):
    """The cost at x (m,) to first order: value, gradient (m,); outliers: the part of the groups
    beyond rho."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    outliers: OutlierTerm


class Cost(Protocol):
    """A cost for the interior point: convex, once differentiable; see `RobustCost`."""

    def at(self, x: np.ndarray) -> Slope:
        """Value and gradient at any x (m,)."""

    def size(self, value: float) -> float:
        """The scale of relative gaps, at a cost of `value`."""

    def hessian(self, slope: Slope) -> np.ndarray:
        """(m, m) a new matrix."""

    def majorizer(self, slope: Slope) -> np.ndarray:
        """(m, m) Hessian of a quadratic that touches the cost at the slope's x and is nowhere
        below it."""

    def residual_bound(self, slope: Slope, residual: np.ndarray, enough: float) -> float:
        """Bound on the cost that a remaining gradient `residual` (m,) of the Lagrangian can be
        worth."""


class RobustCost:
    """x^T P x - 2 q^T x + constant, plus the correction by the groups beyond rho; `groups` from
    `groups_of`.

    `slope` evaluates the outlier set only, so it is the cost at x only after `refresh(x)`. floor
    (m,) or None: the cost's Hessian is nowhere below twice this diagonal.
    """

    def __init__(self, problem: HorizonProblem, coordinates: Coordinates,
                 groups: HuberGroups | Stack):
        total = problem.total
        self.P, self.q, self.constant = coordinates.condense(total.H, total.g, total.c, problem.pi)
        self._problem, self._coordinates, self._groups = problem, coordinates, groups
        self.floor = None if problem.floor is None else coordinates.diagonal(problem.floor)

    @property
    def revision(self) -> int:
        """Changes when a refresh finds an outlier without which the cost was evaluated."""
        return self._groups.revision

    def size(self, value: float) -> float:
        """The scale of relative gaps, at a cost of `value`."""
        return self._problem.cost_size(value)

    def refresh(self, x: np.ndarray) -> None:
        """Update the outlier set for x (m,)."""
        self._groups.refresh(x, self.P)

    def slope(self, x: np.ndarray) -> Slope:
        """Value and gradient at x (m,)."""
        Px = self.P @ x
        term = self._groups.outlier_term(x)
        return Slope(x, float(x @ (Px - 2 * self.q)) + self.constant + term.value,
                     2 * (Px - self.q) + term.gradient, term)

    def hessian(self, slope: Slope, exact: bool = False) -> np.ndarray:
        """(m, m) a new matrix; unless `exact`, outliers that hardly moved keep their earlier
        curvature."""
        hessian = 2 * self.P
        hessian -= self._groups.curvature(slope.outliers, exact)
        return hessian

    def majorizer(self, slope: Slope) -> np.ndarray:
        """(m, m) Hessian of reweighted least squares, a quadratic that touches the cost at the
        slope's x and is nowhere below it."""
        return 2 * self.P - self._groups.reweighting(slope.outliers)

    def at(self, x: np.ndarray) -> Slope:
        """The cost at any x (m,)."""
        self.refresh(x)
        return self.slope(x)

    def residual_bound(self, slope: Slope, residual: np.ndarray, enough: float) -> float:
        """Bound on the cost that a remaining gradient `residual` r (m,) of the Lagrangian can be
        worth: r^T L^-1 r / 4.

        Wherever the cost curves at least like e^T L e, it lies above a parabola with that minimum
        below the value at x. Three L are tried, until the bound is below `enough`: the floor; the
        groups that provably stay within rho wherever the parabola is below the value at x; the
        arrival cost. docs/solver.md, "The certificate".
        """
        bound = np.inf
        if self.floor is not None:
            bound = QUARTER * float(residual @ (residual / self.floor))
        if bound < enough:
            return bound
        inliers, radius = self._groups.inlier_quadratic(slope.x, self.P, slope.outliers)
        length = _inverse_norm(inliers, residual)
        if length < radius:
            bound = min(bound, QUARTER * length ** 2)
        if bound >= enough:
            old, pi = self._problem.arrival, self._problem.pi
            arrival, _, _ = self._coordinates.condense(old.H, old.g, old.c, pi)
            bound = min(bound, QUARTER * _inverse_norm(arrival, residual) ** 2)
        return bound


def _inverse_norm(L: np.ndarray, r: np.ndarray) -> float:
    """sqrt(r^T L^-1 r), infinite if L is not safely positive definite."""
    diagonal = L.diagonal()
    if not (diagonal > 0).all():
        return np.inf
    size = 1 / np.sqrt(diagonal)
    # Rounding may raise L's smallest eigenvalues; subtracting it first keeps the bound valid.
    scaled = L * np.outer(size, size)
    scaled.flat[::len(r) + 1] -= UNIT_ROUNDING * len(r)
    factor, info = dpotrf(scaled, lower=1)
    if info:
        return np.inf
    solved, _ = dpotrs(factor, size * r, lower=1)
    return float(np.sqrt(max((size * r) @ solved, 0.0)))
