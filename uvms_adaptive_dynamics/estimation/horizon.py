"""The horizon buffer: normalized rows in the window, everything older condensed in one quadratic (DESIGN section 6).

Arrival cost 'information': all rows ever seen count with lambda^age; rows that leave the window stay as a quadratic with
the robust weight they left with; the prior's information fades alike, down to a floor. With directional forgetting all rows in
the window count fully, and the older ones and the prior lose only what newer ones replace (`forgetting`). Arrival cost 'relative':
rows in the window count fully, older ones not at all.
"""
from __future__ import annotations

from typing import Sequence

import numpy as np

from ..config import Estimation
from ..model.physical_set import PhysicalSet
from .forgetting import BLOCK, Forgetting, Renewal
from ..solvers.problem import HorizonProblem, Quadratic, huber_threshold, huber_weight
from ..model.parameters import ParameterTable
from .square_root_information import RootSum

REFRESH = 2000   # ticks after which a running sum of rows that do not fade is formed anew, against drift of rounding


class Horizon:
    """Window of normalized rows and the running quadratics of what is in it and of what has left it."""

    def __init__(self, settings: Estimation, physical: PhysicalSet, prior: np.ndarray, prior_stddev: np.ndarray):
        self._settings = settings
        self._physical = physical
        table = physical.table
        N, C, p = settings.horizon, table.channels, table.size
        self.directional = settings.arrival == "information" and settings.forgetting_kind == "directional" and settings.coupling != "reaction"
        self.decay = settings.forgetting if settings.arrival == "information" and not self.directional else 1.0
        self._block_share = 1 - settings.forgetting ** BLOCK
        self._rows = np.zeros((N, C, p + 1))      # [Y tau], so that sums over rows need no copy
        self._Y, self._tau = self._rows[..., :-1], self._rows[..., -1]
        self._valid = np.zeros((N, C), bool)
        self._born = np.zeros(N, int)
        self._tick = 0       # never starts again, so that `born` tells every row that was ever in the window from every other
        # With 'reaction' the arm's share of the vehicle's rows is taken at the previous estimate, which changes from tick
        # to tick: these rows are condensed apart, whole, and the arm's parameters are put in when a problem is made.
        self._reaction = settings.coupling == "reaction" and table.vehicle and table.n > 0
        self._parts = (slice(0, 6), slice(6, C)) if self._reaction else (slice(0, C),)
        self.set_prior(prior, prior_stddev)

    def set_prior(self, prior: np.ndarray, prior_stddev: np.ndarray) -> None:
        """Start over from a prior (p,) with standard deviations (p,): all data are forgotten."""
        p = prior.size
        self._prior = Quadratic(np.diag(prior_stddev ** -2.0), prior * prior_stddev ** -2.0, float(np.sum((prior / prior_stddev) ** 2)))
        self._prior_share = 1.0
        self._prior_noise = self._prior.H
        # With directional forgetting the old data hold the prior too, since both are forgotten as one; what has left the window
        # since the last time is a block apart.
        self._old = [RootSum.of_prior(prior, prior_stddev)] if self.directional else [RootSum(p) for _ in self._parts]
        self._block, self._left = RootSum(p), 0
        self._clear()

    def empty(self, pi: np.ndarray) -> None:
        """Drop the window (a gap in time); in 'information' its rows keep counting as old data, weighed by pi's residuals."""
        if self._settings.arrival == "information":
            for place in range(self.filled):
                self._leave(place, pi, True)
        self._clear()

    def _clear(self) -> None:
        self._window = [RunningSum(self._physical.table.size) for _ in self._parts]
        self._next = self.filled = 0

    def push(self, Y: np.ndarray, tau: np.ndarray, valid: np.ndarray, pi: np.ndarray) -> None:
        """One instant's normalized rows; pi is the estimate whose residual weighs the instant that leaves."""
        information = self._settings.arrival == "information"
        self._tick += 1
        if information and not self.directional:
            for part in (*self._old, *self._window):
                part.fade(self.decay)
            self._prior_share = max(self._prior_share * self.decay, self._settings.information_floor)
        place = self._next
        if self.filled == self._Y.shape[0]:
            self._leave(place, pi, information)
        rows = self._rows[place]
        rows[:, :-1], rows[:, -1] = Y, tau
        if not valid.all():
            rows[~valid] = 0.0
        self._valid[place], self._born[place] = valid, self._tick
        self._add_rows(self._window, rows, 1.0)
        self._next = (place + 1) % self._Y.shape[0]
        self.filled = min(self.filled + 1, self._Y.shape[0])
        if self.decay == 1.0 and self._tick % REFRESH == 0:
            active = slice(0, self.filled)
            self._window = [RunningSum(Y.shape[1]) for _ in self._parts]
            for one, part in zip(self._window, self._parts):
                one.add(self._rows[active, part].reshape(-1, Y.shape[1] + 1), 1.0)

    def _leave(self, place: int, pi: np.ndarray, information: bool) -> None:
        rows = self._rows[place]
        age = self.decay ** (self._tick - self._born[place])
        self._add_rows(self._window, rows, -age)
        if information:
            weighted = np.sqrt(self.robust_weight(self._valid[place], rows[:, -1] - rows[:, :-1] @ pi))[:, None] * rows
            if self.directional:
                self._block.add(weighted)
                self._left += 1
            else:
                self._add_rows(self._old, weighted, age)

    def _add_rows(self, sums: Sequence[RunningSum | RootSum], rows: np.ndarray, weight: float) -> None:
        for one, part in zip(sums, self._parts):
            one.add(rows[part], weight)

    def forget(self, now: bool = False) -> np.ndarray | None:
        """Directional forgetting, when a block of rows has left the window (or `now`, whatever has): the map T (p, p) of the old
        gradient, else None."""
        if self._left == 0 or self._block_share == 0.0 or not (now or self._left >= BLOCK):
            return None
        block = self._block.root
        forgetting = Forgetting(self._old[0].root, block, min(self._block_share, 1 - self._settings.forgetting ** self._left))
        T = self._replace_old(forgetting)
        self._old[0].add(block)
        self._block, self._left = RootSum(len(T)), 0
        return T

    def renewal(self, places: np.ndarray, pi: np.ndarray) -> Renewal:
        """Directional forgetting: the old data if parameters (k,) began anew about pi (p,); the window and what has just left it are new."""
        return Renewal(self._old[0].root, places, pi, self._prior.H.diagonal())

    def renew(self, renewal: Renewal) -> np.ndarray:
        """Make it so; the map T (p, p) of the old gradient."""
        T = self._replace_old(renewal)
        self._prior_noise = self._prior_noise + np.diag(renewal.information)
        return T

    def _replace_old(self, change: Forgetting | Renewal) -> np.ndarray:
        T = change.map()
        self._prior_noise = T @ self._prior_noise @ T.T
        self._old = [RootSum(len(T), change.root())]
        return T

    def robust_weight(self, valid: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """(C,) weight of an instant by the grouping of the window, from its valid rows (C,) and normalized residuals (C,)."""
        quantile, grouping = self._settings.rho_quantile, self._settings.grouping
        if grouping == "channel":
            return huber_weight(np.abs(residual), np.full(residual.size, huber_threshold(1, quantile)))
        if grouping == "sample":
            rho = huber_threshold(int(valid.sum()), quantile)
            return np.full(residual.size, float(huber_weight(np.array(np.linalg.norm(residual)), np.array(rho))))
        return np.full(residual.size, self.stack_weight)

    # weight of the whole stack at the last solution; 'horizon' grouping only
    stack_weight = 1.0

    def arrival(self, pi: np.ndarray, renewal: Renewal | None = None) -> Quadratic:
        """Quadratic of everything outside the window; renewal: as if it had been made."""
        if self._settings.arrival == "information":
            prior, share = self._prior, self._prior_share
            if self.directional:
                root = None if renewal is None else renewal.root()
                return quadratic((self._old[0].matrix if root is None else root.T @ root) + self._block.matrix)
            old = self._condensed(self._old, pi)
            return Quadratic(old.H + share * prior.H, old.g + share * prior.g, old.c + share * prior.c)
        h = self._floor(pi)
        return Quadratic(np.diag(h), h * pi, float(h @ pi ** 2))

    def _floor(self, pi: np.ndarray) -> np.ndarray:
        """(p,) diagonal that the arrival's H exceeds: what the prior or the previous estimate adds to it."""
        if self._settings.arrival == "information":
            # (With directional forgetting no direction ever has less information than it began with.)
            return self._prior_share * self._prior.H.diagonal()
        scale = self._settings.relative_epsilon * self._physical.table.scale
        return self._settings.relative_weight / np.maximum(np.abs(pi), scale) ** 2

    def _condensed(self, sums: Sequence[RunningSum | RootSum], pi: np.ndarray) -> Quadratic:
        """All parts as one quadratic of what is estimated."""
        if not self._reaction:
            return quadratic(sums[0].matrix)
        v, m = self._physical.table.vehicle_slice, self._physical.table.arm_slice
        vehicle, arm = (quadratic(one.matrix) for one in sums)
        H, g = np.zeros_like(vehicle.H), np.zeros_like(vehicle.g)
        H[v, v], g[v] = vehicle.H[v, v], vehicle.g[v] - vehicle.H[v, m] @ pi[m]
        constant = vehicle.c - 2 * float(vehicle.g[m] @ pi[m]) + float(pi[m] @ vehicle.H[m, m] @ pi[m])
        return Quadratic(H, g, constant) + arm

    def problem(self, pi: np.ndarray, free: np.ndarray, renewal: Renewal | None = None) -> HorizonProblem:
        """This tick's problem, from the previous estimate pi (p,); renewal: as if it had been made."""
        active = slice(0, self.filled)
        weight = self.decay ** (self._tick - self._born[active]).astype(float)
        arrival = self.arrival(pi, renewal)
        Y, tau, born = self._Y[active], self._tau[active], self._born[active]
        if self._reaction:
            Y, tau = moved_arm(self._physical.table, Y, tau, pi)
        return HorizonProblem(self._physical, arrival, arrival + self._condensed(self._window, pi), Y, tau, self._valid[active],
                              weight, self._settings.grouping, self._settings.rho_quantile, free, pi, self._floor(pi),
                              None if self._reaction else self, None if self._reaction else born)

    def prior_score(self) -> np.ndarray:
        """(p, p) covariance of the prior's share of the cost's gradient at the truth, which lies a prior's deviation away."""
        if self._settings.arrival != "information":
            return np.zeros_like(self._prior.H)
        return self._prior_noise if self.directional else self._prior_share ** 2 * self._prior.H


def moved_arm(table: ParameterTable, Y: np.ndarray, tau: np.ndarray, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (..., C, p) and (..., C) with the arm's wrench on the vehicle by pi on the left-hand side (coupling 'reaction')."""
    Y, tau, m = Y.copy(), tau.copy(), table.arm_slice
    tau[..., :6] -= Y[..., :6, m] @ pi[m]
    Y[..., :6, m] = 0.0
    return Y, tau


class RunningSum:
    """sum of weight |tau - Y pi|^2 over rows, as one matrix [Y tau]^T [Y tau] (p + 1, p + 1) that is changed in place."""

    def __init__(self, size: int):
        self.matrix = np.zeros((size + 1, size + 1))

    def add(self, rows: np.ndarray, weight: float) -> None:
        """Take in rows [Y tau] (k, p + 1); a negative weight takes them out again."""
        self.matrix += (rows.T if weight == 1.0 else weight * rows.T) @ rows

    def fade(self, factor: float) -> None:
        """All that is in it counts `factor` times as much."""
        self.matrix *= factor


def quadratic(matrix: np.ndarray) -> Quadratic:
    """[Y tau]^T [Y tau] (p + 1, p + 1) as a quadratic of pi, in memory of its own."""
    return Quadratic(matrix[:-1, :-1].copy(), matrix[:-1, -1].copy(), float(matrix[-1, -1]))
