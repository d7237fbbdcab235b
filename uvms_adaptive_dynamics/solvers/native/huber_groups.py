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

"""The window's Huber groups in a solver's coordinates, kept from tick to tick, with the set of
possible outliers among them (docs/mathematics.md, "Huber groups").

From tick to tick one instant enters the window, one leaves, and the estimate hardly moves. So rows
keep their place in memory, and the cost is evaluated with the few groups of the *outlier set* only:
those beyond rho or close to it. After a step that could carry another group beyond rho, `refresh`
checks all groups and updates the set.
"""

from __future__ import annotations

import math

import numpy as np

from ...model.coordinates import Coordinates
from ..problem import HorizonProblem
from .outlier_set import OutlierSet, OutlierTerm
from .stack import Stack

# distance below rho, in noise deviations, at which a group enters and leaves the outlier set
ENTER, LEAVE = 0.25, 0.45
NORM_ROUNDING = 0.01  # generous bound on the error of a norm in single precision
CHANGED = 0.02  # relative change of a residual above which its group's curvature is recomputed
RECOMPUTED = 12  # most groups recomputed in one tick
ROUNDING_TICKS = 500  # ticks after which the summed curvature is recomputed from scratch


def groups_of(problem: HorizonProblem, coordinates: Coordinates,
              kept: HuberGroups | Stack | None = None) -> HuberGroups | Stack:
    """The groups of a problem; updates and returns `kept`, those of the previous tick, if they fit.
    """
    if problem.grouping == "horizon":
        return Stack(problem, coordinates)
    if isinstance(kept, HuberGroups) and kept.fits(problem):
        kept.update(problem)
        return kept
    return HuberGroups(problem, coordinates)


class HuberGroups:
    """One norm per instant (grouping 'sample') or per row ('channel').

    revision: how often a group beyond rho was found outside the outlier set. A value computed
    before a revision is not the cost.
    """

    _slot_weight: np.ndarray  # (N,) lambda^age at the latest tick

    def __init__(self, problem: HorizonProblem, coordinates: Coordinates):
        self._at, self._all_free = coordinates, bool(coordinates.free.all())
        self._source, self._scale = problem.source, problem.scale.copy()
        self._grouping = problem.grouping
        self._threshold = problem.quantile, problem.rho
        self.revision = 0
        self._allocate(problem)
        self.update(problem)

    def fits(self, problem: HorizonProblem) -> bool:
        """Whether the problem is a later tick of the same window with the same noise."""
        return (problem.source is not None and problem.source is self._source
                and problem.grouping == self._grouping
                and (problem.quantile, problem.rho) == self._threshold
                and bool((problem.scale == self._scale).all()))

    def _allocate(self, problem: HorizonProblem) -> None:
        N, C = problem.valid.shape
        self._rows_a_group = C if problem.grouping == "sample" else 1
        self._groups_a_slot = 1 if problem.grouping == "sample" else C
        self._capacity = max(64, N)
        G, m = self._capacity * self._groups_a_slot, self._at.size
        self._born = np.full(self._capacity, -1)
        self._R, self._tau = np.zeros((G, self._rows_a_group, m)), np.zeros((G, self._rows_a_group))
        # single precision for refresh, which then reads half the memory
        self._single = np.zeros((G, self._rows_a_group, m), np.float32)
        self._rho = np.full(G, np.inf)
        self._filled, self._ticks = 0, 0
        self._refreshed_at: np.ndarray | None = None
        self.outliers = OutlierSet(G, self._rows_a_group, m)

    def update(self, problem: HorizonProblem) -> None:
        """Take over the window's new instants since the last tick."""
        N, C = problem.valid.shape
        if self._capacity < N or self._filled > N:
            self._allocate(problem)
        new = ((problem.born != self._born[:N]).nonzero()[0] if problem.born is not None
               else np.arange(N))
        if 4 * new.size > N:
            self._allocate(problem)
            new = np.arange(N)
        if not new.size:
            return
        g, outliers = self._groups_a_slot, self.outliers
        groups = new if g == 1 else (new[:, None] * g + np.arange(g)).ravel()
        if self._filled:
            fresh = set(new.tolist())
            # lambda^age falls by the same factor everywhere: take it from any old instant
            stays = next(k for k in range(N) if k not in fresh)
            outliers.fade(problem.weight[stays] / self._slot_weight[stays])
            leaving = outliers.place[groups]
            leaving = leaving[leaving >= 0]
            if leaving.size:
                outliers.remove(leaving)
        Y, tau = problem.Y[new], problem.tau[new]
        if not self._all_free:
            tau = tau - Y @ np.where(self._at.free, 0.0, problem.pi)
        tau = problem.scale * tau
        rows = self._at.columns(problem.scale[:, None] * Y)
        rows = rows.reshape(groups.size, self._rows_a_group, self._at.size)
        tau = tau.reshape(groups.size, self._rows_a_group)
        counts = (problem.valid[new].sum(axis=1) if g == 1
                  else problem.valid[new].ravel().astype(int))
        rho = problem.thresholds(self._rows_a_group)[counts]
        self._R[groups], self._tau[groups], self._rho[groups] = rows, tau, rho
        self._single[groups] = rows
        self._slot_weight = problem.weight
        self._filled = N
        if problem.born is not None:
            self._born[new] = problem.born[new]
        self._ticks += 1
        if self._refreshed_at is not None:      # checked like the others, at the same point
            residual = tau - rows @ self._refreshed_at
            near = ~(rho - np.sqrt(np.einsum("kr,kr->k", residual, residual)) >= ENTER)
            groups, rows, tau, rho = groups[near], rows[near], tau[near], rho[near]
        # Without a check, a new group is in the set until the next refresh.
        if groups.size:
            outliers.add(groups, rows, tau, rho, self._weights(groups))

    def _weights(self, groups: np.ndarray) -> np.ndarray:
        return self._slot_weight[groups // self._groups_a_slot]

    def outlier_term(self, x: np.ndarray) -> OutlierTerm:
        """The outlier set's correction at x (m,)."""
        outliers = self.outliers
        if not outliers.count:
            return OutlierTerm(0.0, np.zeros(x.size), outliers.rho, outliers.isotropic,
                               outliers.residual)
        rows = outliers.rows.reshape(outliers.tau.size, x.size)
        residual = outliers.tau - (rows @ x).reshape(outliers.tau.shape)
        norm = np.sqrt(np.einsum("kr,kr->k", residual, residual))
        excess = np.maximum(norm - outliers.rho, 0.0)
        if not excess.any():
            return OutlierTerm(0.0, np.zeros(x.size), norm, excess, residual)
        weight = outliers.weight
        isotropic = 2 * excess / np.maximum(norm, 1e-300)
        gradient = ((weight * isotropic)[:, None] * residual).ravel() @ rows
        return OutlierTerm(-float(weight @ (excess * excess)), gradient, norm, isotropic, residual)

    def covers(self, x: np.ndarray, P: np.ndarray) -> bool:
        """Whether certainly no group g outside the outlier set is beyond rho at x (m,).

        P (m, m): at least the sum of all rows' weight R^T R. |R_g d|^2 <= d^T P d / weight_g, so a
        small step d from the point of the last check needs no new one.
        """
        if not self._filled:
            return True
        if self._refreshed_at is None:
            return False
        d = x - self._refreshed_at
        root = math.sqrt(self._slot_weight.min())
        return math.sqrt(max(d @ P @ d, 0.0)) < (ENTER - NORM_ROUNDING) * root

    def refresh(self, x: np.ndarray, P: np.ndarray) -> None:
        """Update the outlier set for x (m,), unless it already covers x."""
        if self.covers(x, P):
            return
        end = self._filled * self._groups_a_slot
        product = self._single[:end].reshape(-1, x.size) @ x.astype(np.float32)
        residual = self._tau[:end].astype(np.float32) - product.reshape(end, -1)
        below = self._rho[:end] - np.sqrt(np.einsum("gr,gr->g", residual, residual))
        member = self.outliers.place[:end] >= 0
        entering, = ((below < ENTER) & ~member).nonzero()
        leaving, = ((below > LEAVE) & member).nonzero()
        self.revision += bool((below[entering] < NORM_ROUNDING).any())
        if leaving.size:
            self.outliers.remove(self.outliers.place[leaving])
        if entering.size:
            self.outliers.add(entering, self._R[entering], self._tau[entering], self._rho[entering],
                              self._weights(entering))
        self._refreshed_at = x

    def curvature(self, at: OutlierTerm, exact: bool = False) -> np.ndarray:
        """(m, m) excess of the condensed quadratic's Hessian over the cost's, at the point of `at`.

        Unless `exact`, groups that have hardly changed keep the curvature computed earlier.
        """
        outliers = self.outliers
        if not outliers.count:
            return outliers.curvature
        if exact or self._ticks > ROUNDING_TICKS:
            self._ticks = 0
            outliers.clear_curvature()
            chosen = np.arange(outliers.count)
        else:
            moved = at.residual - outliers.residual
            change = np.einsum("kr,kr->k", moved, moved) / np.maximum(at.norm, 1e-100) ** 2
            change[(at.isotropic == 0.0) & (outliers.isotropic == 0.0)] = 0.0
            chosen, = (change > CHANGED ** 2).nonzero()
            if chosen.size > RECOMPUTED:
                order = np.argsort(change[chosen])[::-1]
                # Groups that are missing from the sum cannot wait.
                wanted = max(RECOMPUTED, int(np.sum(change[chosen] > 0.25)))
                chosen = chosen[order[:wanted]]
            if not chosen.size:
                return outliers.curvature
        norm, isotropic = at.norm[chosen], at.isotropic[chosen]
        radial = np.where(isotropic > 0, 2 * outliers.rho[chosen] / np.maximum(norm, 1e-300) ** 3,
                          0.0)
        outliers.recompute(chosen, isotropic, radial, at.residual[chosen])
        return outliers.curvature

    def reweighting(self, at: OutlierTerm) -> np.ndarray:
        """(m, m) `curvature` without its radial part: subtracted from the condensed quadratic's
        Hessian it leaves that of reweighted least squares, a quadratic that touches the cost at the
        point of `at` and is nowhere below it."""
        outliers = self.outliers
        rows = np.sqrt(outliers.weight * at.isotropic)[:, None, None] * outliers.rows
        rows = rows.reshape(-1, outliers.curvature.shape[0])
        return rows.T @ rows

    def inlier_quadratic(self, x: np.ndarray, P: np.ndarray,
                         at: OutlierTerm) -> tuple[np.ndarray, float]:
        """(L (m, m), radius): P without the outlier set, and how large sqrt(e^T L e) may be for a
        step e from x (m,) while all groups in L stay within rho. Up to there the cost curves at
        least like e^T L e."""
        root = float(np.sqrt(self._slot_weight.min())) if self._filled else 1.0
        if not self._filled:
            return P, np.inf
        d = x - self._refreshed_at if self._refreshed_at is not None else None
        gone = np.inf if d is None else float(np.sqrt(max(d @ P @ d, 0.0)))
        return P - self.outliers.as_inliers(), (ENTER - NORM_ROUNDING) * root - gone
