"""Value, gradient and Hessian of the horizon problem's robust cost in the solver's free coordinates.

The cost is convex and once differentiable. All rows are already condensed in one quadratic as if they were inliers; a
group beyond rho takes its quadratic's share out again and puts 2 rho |r| - rho^2 in, with its curvature.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from ...model.physical_set import Coordinates
from ..problem import HorizonProblem
from .huber_groups import Beyond, Stack, Window


@dataclass(frozen=True)
class Slope:
    """The cost at x (m,) to first order: value, gradient (m,); beyond: what the groups beyond rho add."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    beyond: Beyond


@dataclass(frozen=True)
class Point:
    """The cost at x: value, gradient (m,), Hessian (m, m), and root-curvatures of the groups beyond rho (k, m)."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    hessian: np.ndarray
    pulls: np.ndarray

    def majorizer(self) -> np.ndarray:
        """Hessian of the quadratic that touches the cost here and lies above it everywhere (reweighted least squares)."""
        return self.hessian + self.pulls.T @ self.pulls if len(self.pulls) else self.hessian


class RobustCost:
    """The cost of one problem; `groups` as from `groups_of`.

    `slope` looks at the members of the groups only: near an optimum that was found by it, ask `look` whether they were
    enough. `at` looks at all of them first and is right anywhere.
    """

    def __init__(self, problem: HorizonProblem, coordinates: Coordinates, groups: Window | Stack):
        self.P, self.q, self.constant = coordinates.condense(problem.total, problem.pi)
        self._groups = groups
        # The cost's Hessian is nowhere below twice this diagonal.
        self.floor = None if problem.floor is None else coordinates.diagonal(problem.floor)

    def look(self, x: np.ndarray) -> bool:
        """Whether a group beyond rho at x (m,) was left out; from now on it is not."""
        return self._groups.look(x, self.P)

    def slope(self, x: np.ndarray) -> Slope:
        """Value and gradient at x (m,)."""
        Px = self.P @ x
        beyond = self._groups.beyond(x)
        return Slope(x, float(x @ (Px - 2 * self.q)) + self.constant + beyond.value, 2 * (Px - self.q) + beyond.gradient, beyond)

    def hessian(self, slope: Slope, exact: bool = False) -> np.ndarray:
        """(m, m) a new matrix; unless `exact`, groups beyond rho that hardly moved count with the curvature they had."""
        return 2 * self.P - self._groups.curvature(slope.beyond, exact)

    def at(self, x: np.ndarray) -> Point:
        """Everything of first and second order at x (m,)."""
        self.look(x)
        slope = self.slope(x)
        return Point(x, slope.value, slope.gradient, self.hessian(slope, exact=True), self._groups.pulls(slope.beyond))


def optimality_gap(residual: np.ndarray, hessian: np.ndarray) -> float:
    """What a left-over gradient `residual` can be worth in the cost: half its squared norm in the Hessian's metric."""
    _, solved, info = dposv(hessian, residual, lower=1)
    return 0.5 * abs(float(residual @ solved)) if info == 0 else float("inf")
