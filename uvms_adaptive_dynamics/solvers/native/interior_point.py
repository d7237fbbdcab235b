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

"""A primal-dual interior-point method for the robust cost over P's cones, tailored to this problem
(docs/mathematics.md, "Optimality conditions").

HKM direction with Mehrotra's predictor-corrector (Helmberg, Rendl, Vanderbei and Wolkowicz, 1996;
Mehrotra, 1992). The robust cost enters with its own gradient and Hessian at every iterate, so
outliers need neither cones nor an outer loop. All matrix inequalities are one batch of 4 x 4
matrices, each of few variables. The answer carries a bound on its distance from the optimum, and
the active set from which `active_set` starts at the next tick.
"""

from __future__ import annotations

import numpy as np

from .answer import ActiveSet, Certified, SolveClock, Stopped
from .cones import NEARLY_FEASIBLE, SIDE, Cones
from .interior_newton import Point, newton_at
from .optimality import suboptimality
from .outlier_set import OutlierTerm
from .robust_cost import Cost, Slope

INTERIOR_POINT_STEPS = 60
# relative gap up to which a point is kept as an answer in case rounding ends the iteration
NEARLY = 1e-4
MARGINS = (0.1, 1e-2, 1e-3, 1e-5)  # (scaled) tried for a point inside all cones
SURPRISE = 1.5  # ratio of the dual residual to its prediction above which the next step is cautious
# dual residual, in units of the cost's curvature, below which steps need no caution
NEGLIGIBLE_RESIDUAL = 1e-3
_EYE = np.eye(SIDE)


def solve_interior(cost: Cost, cones: Cones, start: np.ndarray, tolerance: float,
                   clock: SolveClock = SolveClock()) -> Certified | Stopped:
    """Minimise from any `start` (m,) to a relative gap of about `tolerance`; `Stopped` if the
    iteration breaks down or ends too far from the optimum."""
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            return _iterate(cost, cones, start, tolerance, clock)
    except (np.linalg.LinAlgError, FloatingPointError):
        return Stopped(start, np.zeros(cones.places.size), np.zeros((cones.count, SIDE, SIDE)), 0)


def _iterate(cost: Cost, cones: Cones, start: np.ndarray, tolerance: float,
             clock: SolveClock) -> Certified | Stopped:
    at, unit = _begin(cost, cones, start)
    nearly = before = predicted = None
    for iteration in range(1, INTERIOR_POINT_STEPS + 1):
        dual = at.slope.gradient - cones.balance(at.z, at.Z)
        # Newton's step predicts the dual residual. If much more is left, the groups beyond rho had
        # too little curvature to limit the step; reweighted least squares has enough.
        length_of_dual = float(np.sqrt(dual @ dual))
        astray = predicted is not None and (
            length_of_dual > max(SURPRISE * predicted, NEGLIGIBLE_RESIDUAL * unit))
        hessian = cost.majorizer(at.slope) if astray else cost.hessian(at.slope)
        newton = newton_at(cones, at, hessian, dual)
        if newton is None or clock.passed:
            break  # too close to the boundary for floating point, or out of time
        mu = newton.mu
        before = before or (at.s, at.S, mu)
        size = cost.size(at.slope.value)
        remaining, infeasible = newton.remaining(), newton.infeasible()
        if remaining < NEARLY * size and infeasible < NEARLY_FEASIBLE:
            # Without an interior the multipliers grow without bound, and rounding of their balance
            # makes later points worse answers.
            bound = suboptimality(cost, cones, at.slope, at.z, at.Z)
            if nearly is None or bound < nearly[0]:
                active = _active(cones, before, at.s, at.S, mu, at.z, at.Z)
                nearly = bound, at.slope, active, iteration
            if remaining < tolerance * size and infeasible < 1e-2 * NEARLY_FEASIBLE:
                break
        step, length = newton.step()
        if length <= 0.0:
            break
        before, predicted = (at.s, at.S, mu), (1 - 0.9 * length) * length_of_dual
        x = at.slope.x + length * step.dx
        if not np.isfinite(x).all():
            break
        at = Point(cost.at(x), cones.slacks(x), cones.matrices(x), at.s + length * step.ds,
                   at.S + length * step.dS, at.z + length * step.dz, at.Z + length * step.dZ)
    if nearly is None:
        return Stopped(at.slope.x, at.z, at.Z, iteration)
    return _answer(cost, cones, *nearly)


def _begin(cost: Cost, cones: Cones, x: np.ndarray) -> tuple[Point, float]:
    """(The first point, at x (m,); the cost's median curvature, the unit of multipliers and dual
    residuals)."""
    K = cones.count
    slope = cost.at(x)
    unit = max(float(np.median(np.diag(cost.hessian(slope)))), 1e-12)
    slack, F = cones.slacks(x), cones.matrices(x)
    s = np.maximum(slack, 0.1)
    D, V = np.linalg.eigh(F) if K else (np.zeros((0, SIDE)), np.zeros((0, SIDE, SIDE)))
    S = (V * np.maximum(D, 0.1)[:, None, :]) @ V.transpose(0, 2, 1)
    multiplier = max(0.1 * unit, 0.03 * float(np.max(np.abs(slope.gradient), initial=0.0)))
    z, Z = np.full(s.size, multiplier), np.tile(multiplier * _EYE, (K, 1, 1))
    return Point(slope, slack, F, s, S, z, Z), unit


def _answer(cost: Cost, cones: Cones, bound: float, slope: Slope, active: ActiveSet,
            steps: int) -> Certified:
    """The slope's point, at most `bound` above the optimum, moved inside all cones."""
    inside = cost.at(cones.pulled_inside(slope.x))
    gap = bound + max(inside.value - slope.value, 0.0)
    return Certified(inside.x, inside.value, active, gap / cost.size(inside.value), steps)


class _SquaredNorm:
    """|x|^2 as a `Cost`."""

    def at(self, x: np.ndarray) -> Slope:
        nothing = np.zeros(0)
        return Slope(x, float(x @ x), 2 * x, OutlierTerm(0.0, np.zeros(x.size), *(nothing,) * 3))

    def size(self, value: float) -> float:
        return max(value, 1.0)

    def hessian(self, slope: Slope) -> np.ndarray:
        return 2 * np.eye(slope.x.size)

    majorizer = hessian

    def residual_bound(self, slope: Slope, residual: np.ndarray, enough: float) -> float:
        return 0.25 * float(residual @ residual)


def strictly_inside(cones: Cones) -> tuple[np.ndarray, float]:
    """(x (m,), margin): a point inside the cones by half of the largest margin of a few that they
    allow; margin 0 if they allow none."""
    origin = np.zeros(cones.coordinates.size)
    for margin in MARGINS:
        x = solve_interior(_SquaredNorm(), cones.tightened(margin), origin, 1e-3).x
        if cones.violation(x, margin / 2) == 0.0:
            return x, margin / 2
    return origin, 0.0


def _active(cones: Cones, before: tuple, s, S, mu: float, z, Z) -> ActiveSet:
    """The active set: a slack, or an eigenvalue of S, is active if it falls like mu from one
    iteration to the next, and inactive if it stays (El-Bakry, Tapia and Zhang, "A study of
    indicators for identifying zero variables in interior-point methods", 1994)."""
    s_before, S_before, mu_before = before
    fallen = np.sqrt(mu / mu_before) if mu < mu_before else 0.0
    rank = np.zeros(0, int)
    if cones.count:
        old, new = np.linalg.eigvalsh(np.stack([S_before, S]))
        rank = (new < fallen * old).sum(axis=1)
    return ActiveSet(s < fallen * s_before, z.copy(), rank, Z.copy())
