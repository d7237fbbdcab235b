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
        self._none = np.zeros((0, coordinates.size))
        self._cache: dict[int, np.ndarray] = {}

    def at(self, x: np.ndarray) -> Point:
        """Everything of first and second order at x (m,)."""
        problem = self.problem
        residuals = problem.residuals(self.coordinates.expand(x, problem.pi))
        norms, rho, weight = problem.group_norms(residuals)
        Px = self.P @ x
        value, gradient = float(x @ (Px - 2 * self.q)) + self.constant, 2 * (Px - self.q)
        beyond = np.flatnonzero(norms > rho)
        if not beyond.size:
            return Point(x, value, gradient, 2 * self.P, self._none)
        norm, threshold, w = norms[beyond], rho[beyond], weight[beyond]
        value += float(w @ (2 * threshold * norm - threshold ** 2 - norm ** 2))
        share = 2 * w * (1 - threshold / norm)
        rows = [self._rows(group) for group in beyond]
        parts = [self._residual(group, residuals) for group in beyond]
        pulls = np.array([Y.T @ r for Y, r in zip(rows, parts)])
        stacked = np.vstack([np.sqrt(s) * Y for s, Y in zip(share, rows)])
        gradient = gradient + share @ pulls
        pulls *= np.sqrt(2 * w * threshold / norm ** 3)[:, None]
        return Point(x, value, gradient, 2 * self.P - stacked.T @ stacked - pulls.T @ pulls, pulls)

    def _rows(self, group: int) -> np.ndarray:
        """(rows, m) of a group; in 'horizon' with the root of the weights, which its norm includes."""
        if group not in self._cache:
            problem = self.problem
            N, C, p = problem.Y.shape
            if problem.grouping == "sample":
                Y = problem.Y[group]
            elif problem.grouping == "channel":
                Y = problem.Y.reshape(N * C, p)[group:group + 1]
            else:
                Y = (np.sqrt(problem.weight)[:, None, None] * problem.Y).reshape(N * C, p)
            self._cache[group] = self.coordinates.columns(Y)
        return self._cache[group]

    def _residual(self, group: int, residuals: np.ndarray) -> np.ndarray:
        if self.problem.grouping == "sample":
            return residuals[group]
        if self.problem.grouping == "channel":
            return residuals.ravel()[group:group + 1]
        return (np.sqrt(self.problem.weight)[:, None] * residuals).ravel()


def optimality_gap(residual: np.ndarray, hessian: np.ndarray) -> float:
    """What a left-over gradient `residual` can be worth in the cost: half its squared norm in the Hessian's metric."""
    _, solved, info = dposv(hessian, residual, lower=1)
    return 0.5 * abs(float(residual @ solved)) if info == 0 else float("inf")
