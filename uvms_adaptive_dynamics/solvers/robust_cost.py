"""Value, gradient and Hessian of the horizon problem's robust cost in the solver's free coordinates.

The cost is convex and once differentiable. All rows are already condensed in one quadratic as if they were inliers; a
group beyond rho takes its quadratic's share out again and puts 2 rho |r| - rho^2 in, with its exact curvature.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from ..constraints import Coordinates
from ..mhe import HorizonProblem
from .groups import groups_of


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
    """The cost of one problem; rows of outlying groups are reduced once and kept."""

    def __init__(self, problem: HorizonProblem, coordinates: Coordinates):
        self.problem, self.coordinates = problem, coordinates
        total = problem.total
        self.P, self.q = coordinates.quadratic(total.H, total.g, problem.pi)
        self.constant = total.c
        if not coordinates.free.all():
            fixed = np.where(coordinates.free, 0.0, problem.pi)
            self.constant += float(fixed @ total.H @ fixed - 2 * total.g @ fixed)
        self._groups = groups_of(problem)
        self._none = np.zeros((0, coordinates.size))
        self._last_groups: np.ndarray | None = None
        self._last_rows: np.ndarray | None = None

    def at(self, x: np.ndarray) -> Point:
        """Everything of first and second order at x (m,)."""
        Px = self.P @ x
        value, gradient = float(x @ (Px - 2 * self.q)) + self.constant, 2 * (Px - self.q)
        groups, norm, threshold, w, parts = self._groups.beyond(self.coordinates.expand(x, self.problem.pi))
        if not len(groups):
            return Point(x, value, gradient, 2 * self.P, self._none)
        value += float(w @ (2 * threshold * norm - threshold ** 2 - norm ** 2))
        share = 2 * w * (1 - threshold / norm)
        rows = self._reduced(groups)
        pulls = np.matmul(parts[:, None, :], rows)[:, 0]
        stacked = (np.sqrt(share)[:, None, None] * rows).reshape(-1, x.size)
        gradient = gradient + share @ pulls
        pulls *= np.sqrt(2 * w * threshold / norm ** 3)[:, None]
        return Point(x, value, gradient, 2 * self.P - stacked.T @ stacked - pulls.T @ pulls, pulls)

    def _reduced(self, groups: np.ndarray) -> np.ndarray:
        """(k, rows, m) of groups; from step to step they are mostly the same."""
        if not np.array_equal(groups, self._last_groups):
            self._last_groups, self._last_rows = groups, self.coordinates.columns(self._groups.rows(groups))
        return self._last_rows


def optimality_gap(residual: np.ndarray, hessian: np.ndarray) -> float:
    """What a left-over gradient `residual` can be worth in the cost: half its squared norm in the Hessian's metric."""
    _, solved, info = dposv(hessian, residual, lower=1)
    return 0.5 * abs(float(residual @ solved)) if info == 0 else float("inf")
