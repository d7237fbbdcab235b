"""The window's Huber groups in a solver's coordinates, kept from tick to tick; which of them are beyond rho.

From one tick to the next one instant enters the window and one leaves, and the estimate hardly moves. So the rows stay
where they are, a few groups beyond or near rho ("members") are looked at whenever the cost is evaluated, and all groups are
where the steps since they last were can have mattered: an answer counts only when no other group is beyond rho there.
"""
from __future__ import annotations

import numpy as np

from ...model.physical_set import Coordinates
from ..problem import HorizonProblem, huber_threshold, huber_thresholds

LONG = 4000            # rows from which all are looked at in single precision, which halves the memory to be read
ENTER, LEAVE = 0.25, 0.45   # below rho, in standard deviations: becomes a member, stops being one
ROUNDING = 0.01        # of a norm in single precision, with a wide margin
CHANGED = 0.02         # relative change of a member's residual after which its share of the curvature is formed anew
REFRESHED = 12         # members a tick whose share is formed anew, at most
ROUNDING_TICKS = 500   # ticks after which the summed curvature is formed anew


def groups_of(problem: HorizonProblem, coordinates: Coordinates, kept: "Window | None" = None) -> "Window | Stack":
    """The groups of a problem; `kept` is what was returned for the tick before, and is used again where it fits."""
    if problem.grouping == "horizon":
        return Stack(problem, coordinates)
    if isinstance(kept, Window) and kept.fits(problem):
        kept.follow(problem)
        return kept
    return Window(problem, coordinates)


class Members:
    """Rows, residuals and curvature of the groups that are looked at, contiguous in memory; order is of no meaning.

    rows (k, rows, m), tau (k, rows), group (k,), rho (k,), weight (k,) of the k members; share, bend (k,) and residual
    (k, rows): what their curvature in the sum was formed from.
    """

    NAMES = ("rows", "tau", "group", "rho", "weight", "share", "bend", "residual")

    def __init__(self, groups: int, rows: int, size: int):
        self.place = np.full(groups, -1)            # of each group among the members, -1 for none
        self.curvature = np.zeros((size, size))     # sum over members, to be taken off the Hessian of the condensed quadratic
        room = 64
        self._room = {"rows": np.zeros((room, rows, size)), "tau": np.zeros((room, rows)), "group": np.zeros(room, int),
                      "rho": np.zeros(room), "weight": np.zeros(room), "share": np.zeros(room), "bend": np.zeros(room),
                      "residual": np.zeros((room, rows))}
        self._cut(0)

    def _cut(self, count: int) -> None:
        self.count = count
        for name in self.NAMES:
            setattr(self, name, self._room[name][:count])

    def add(self, groups: np.ndarray, rows: np.ndarray, tau: np.ndarray, rho: np.ndarray, weight: np.ndarray) -> None:
        """Take groups (k,) in, with no curvature yet."""
        begin, end, room = self.count, self.count + len(groups), self._room
        while end > len(room["group"]):
            for name, array in room.items():
                room[name] = np.concatenate([array, np.zeros_like(array)])
        self._cut(end)
        for mine, value in ((self.rows, rows), (self.tau, tau), (self.group, groups), (self.rho, rho), (self.weight, weight),
                            (self.share, 0.0), (self.bend, 0.0), (self.residual, 0.0)):
            mine[begin:] = value
        self.place[groups] = np.arange(begin, end)

    def drop(self, places: np.ndarray) -> None:
        """Put members out, with their curvature."""
        bent = places[self.share[places] > 0]
        if bent.size:
            self.curvature -= self._bending(bent)
        for at in sorted(places.tolist(), reverse=True):
            last = self.count - 1
            self.place[self.group[at]] = -1
            if at != last:
                for name in self.NAMES:
                    array = self._room[name]
                    array[at] = array[last]
                self.place[self.group[at]] = at
            self.count = last
        self._cut(self.count)

    def fade(self, factor: float) -> None:
        """All members count `factor` times as much."""
        self.weight *= factor
        self.curvature *= factor

    def bend_anew(self, places: np.ndarray, share: np.ndarray, bend: np.ndarray, residual: np.ndarray) -> None:
        """Curvature of members (k,) from another residual: share and bend are the coefficients of R^T R and of (R^T r)(R^T r)^T."""
        bent = places[self.share[places] > 0]
        if bent.size:
            self.curvature -= self._bending(bent)
        self.share[places], self.bend[places], self.residual[places] = share, bend, residual
        bent = places[share > 0]
        if bent.size:
            self.curvature += self._bending(bent)

    def forget_curvature(self) -> None:
        """No member counts any more."""
        self.curvature[:] = 0.0
        self.share[:] = 0.0

    def _bending(self, places: np.ndarray) -> np.ndarray:
        weight, rows = self.weight[places], self.rows[places]
        k, _, m = rows.shape
        pulls = np.matmul(self.residual[places][:, None, :], rows)
        pulls *= np.sqrt(weight * self.bend[places])[:, None, None]
        rows *= np.sqrt(weight * self.share[places])[:, None, None]
        stacked = np.concatenate([rows, pulls], axis=1).reshape(-1, m)
        return stacked.T @ stacked


class Beyond:
    """What the groups add at a point to the quadratic of all rows as inliers: value, gradient (m,), and who it comes from."""

    __slots__ = ("value", "gradient", "norm", "share", "residual")

    def __init__(self, value, gradient, norm, share, residual):
        self.value, self.gradient, self.norm, self.share, self.residual = value, gradient, norm, share, residual


class Window:
    """One norm per instant ('sample') or per row ('channel')."""

    def __init__(self, problem: HorizonProblem, coordinates: Coordinates):
        self._at = coordinates
        self._key = self._identity(problem)
        self._empty(problem)
        self.follow(problem)

    @staticmethod
    def _identity(problem: HorizonProblem) -> tuple:
        return problem.source, problem.grouping, problem.quantile

    def fits(self, problem: HorizonProblem) -> bool:
        """Whether the problem is a later tick of the same window, whose rows stay as they are."""
        return problem.source is not None and self._identity(problem) == self._key

    def _empty(self, problem: HorizonProblem) -> None:
        N, C = problem.valid.shape
        self._rows_a_group = C if problem.grouping == "sample" else 1
        self._groups_a_slot = 1 if problem.grouping == "sample" else C
        self._capacity = max(64, N)
        G, m = self._capacity * self._groups_a_slot, self._at.size
        self._born = np.full(self._capacity, -1)
        self._R, self._tau = np.zeros((G, self._rows_a_group, m)), np.zeros((G, self._rows_a_group))
        self._single = np.zeros((G, self._rows_a_group, m), np.float32) if self._capacity * C > LONG else None
        self._rho = np.full(G, np.inf)
        self._filled, self._ticks = 0, 0
        self._looked_at: np.ndarray | None = None
        self.members = Members(G, self._rows_a_group, m)

    def follow(self, problem: HorizonProblem) -> None:
        """Take over what is new in the window since the last tick."""
        N, C = problem.valid.shape
        if N > self._capacity or N < self._filled:
            self._empty(problem)
        new = np.flatnonzero(problem.born != self._born[:N]) if problem.born is not None else np.arange(N)
        if 4 * new.size > N:
            self._empty(problem)
            new = np.arange(N)
        if not new.size:
            return
        g, members = self._groups_a_slot, self.members
        groups = new if g == 1 else (new[:, None] * g + np.arange(g)).ravel()
        if self._filled:
            fresh = set(new.tolist())
            stays = next(k for k in range(N) if k not in fresh)     # lambda^age falls for all alike
            members.fade(problem.weight[stays] / self._slot_weight[stays])
            leaving = members.place[groups]
            leaving = leaving[leaving >= 0]
            if leaving.size:
                members.drop(leaving)
        Y, tau = problem.Y[new], problem.tau[new]
        if not self._at.free.all():
            tau = tau - Y @ np.where(self._at.free, 0.0, problem.pi)
        rows = self._at.columns(Y).reshape(groups.size, self._rows_a_group, self._at.size)
        tau = tau.reshape(groups.size, self._rows_a_group)
        counts = problem.valid[new].sum(axis=1) if g == 1 else problem.valid[new].ravel().astype(int)
        rho = huber_thresholds(self._rows_a_group, problem.quantile)[counts]
        self._R[groups], self._tau[groups], self._rho[groups] = rows, tau, rho
        if self._single is not None:
            self._single[groups] = rows
        self._slot_weight = problem.weight
        self._filled = N
        if problem.born is not None:
            self._born[new] = problem.born[new]
        # What nobody has looked at yet may be anything.
        members.add(groups, rows, tau, rho, self._weights(groups))
        self._ticks += 1

    def _weights(self, groups: np.ndarray) -> np.ndarray:
        return self._slot_weight[groups // self._groups_a_slot]

    def beyond(self, x: np.ndarray) -> Beyond:
        """What the members beyond rho add at x (m,)."""
        members = self.members
        rows = members.rows.reshape(members.tau.size, x.size)
        residual = members.tau - (rows @ x).reshape(members.tau.shape)
        norm = np.sqrt(np.einsum("kr,kr->k", residual, residual))
        excess = np.maximum(norm - members.rho, 0.0)
        weight = members.weight
        share = 2 * excess / np.maximum(norm, 1e-300)
        gradient = ((weight * share)[:, None] * residual).ravel() @ rows
        return Beyond(-float(weight @ (excess * excess)), gradient, norm, share, residual)

    def look(self, x: np.ndarray, P: np.ndarray) -> bool:
        """Whether a group beyond rho at x (m,) is not among the members; then it is from now on, as all that came near to rho.

        P (m, m): sum of all rows' weight R^T R, and more. |R_g d|^2 is at most d^T P d / weight_g, so that after a small step d
        from where all were looked at last nothing needs to be looked at.
        """
        end = self._filled * self._groups_a_slot
        if not end:
            return False
        if self._looked_at is not None:
            d = x - self._looked_at
            if float(d @ P @ d) < (ENTER - ROUNDING) ** 2 * float(self._slot_weight.min()):
                return False
        if self._single is None:
            residual = self._tau[:end] - (self._R[:end].reshape(-1, x.size) @ x).reshape(end, -1)
        else:
            product = self._single[:end].reshape(-1, x.size) @ x.astype(np.float32)
            residual = self._tau[:end].astype(np.float32) - product.reshape(end, -1)
        below = self._rho[:end] - np.sqrt(np.einsum("gr,gr->g", residual, residual))
        member = self.members.place[:end] >= 0
        near = below < ENTER
        entering = np.flatnonzero(near & ~member)
        missed = bool(entering.size) and bool((below[entering] < 0.0).any())
        leaving = np.flatnonzero((below > LEAVE) & member)
        if leaving.size:
            self.members.drop(self.members.place[leaving])
        if entering.size:
            self.members.add(entering, self._R[entering], self._tau[entering], self._rho[entering], self._weights(entering))
        self._looked_at = x
        return missed

    def curvature(self, at: Beyond, exact: bool = False) -> np.ndarray:
        """(m, m) what the Hessian of the quadratic of all rows has too much, at the point `at` was evaluated at.

        Not exact: members that hardly changed since their share was last formed keep it.
        """
        members = self.members
        if not members.count:
            return members.curvature
        if exact or self._ticks > ROUNDING_TICKS:
            self._ticks = 0
            members.forget_curvature()
            chosen = np.arange(members.count)
        else:
            moved = at.residual - members.residual
            change = np.einsum("kr,kr->k", moved, moved) / np.maximum(at.norm, 1e-100) ** 2
            change[(at.share == 0.0) & (members.share == 0.0)] = 0.0
            chosen = np.flatnonzero(change > CHANGED ** 2)
            if chosen.size > REFRESHED:
                order = np.argsort(change[chosen])[::-1]
                # What is not in the sum at all cannot wait.
                wanted = max(REFRESHED, int(np.sum(change[chosen] > 0.25)))
                chosen = chosen[order[:wanted]]
            if not chosen.size:
                return members.curvature
        norm, share = at.norm[chosen], at.share[chosen]
        bend = np.where(share > 0, 2 * members.rho[chosen] / np.maximum(norm, 1e-300) ** 3, 0.0)
        members.bend_anew(chosen, share, bend, at.residual[chosen])
        return members.curvature

    def pulls(self, at: Beyond) -> np.ndarray:
        """(k, m) roots of the curvature that the direction of each residual beyond rho takes away."""
        members, far = self.members, at.share > 0
        coefficient = np.sqrt(2 * members.weight[far] * members.rho[far] / at.norm[far] ** 3)
        return coefficient[:, None] * np.matmul(at.residual[far][:, None, :], members.rows[far])[:, 0]


class Stack:
    """One norm over the whole window ('horizon', the letter of the paper), from the condensed rows alone.

    lambda^age is inside the norm, as it is inside the condensed quadratic.
    """

    def __init__(self, problem: HorizonProblem, coordinates: Coordinates):
        window = problem.total - problem.arrival
        self._P, self._q, self._c = coordinates.condense(window, problem.pi)
        self._rho = huber_threshold(int(problem.valid.sum()), problem.quantile)

    def look(self, x: np.ndarray, P: np.ndarray) -> bool:
        """See `Window.look`: the one group is always looked at."""
        return False

    def beyond(self, x: np.ndarray) -> Beyond:
        """See `Window.beyond`; residual here is R^T r (m,)."""
        Px = self._P @ x
        norm = np.sqrt(max(float(x @ (Px - 2 * self._q)) + self._c, 0.0))
        pull, excess = self._q - Px, max(norm - self._rho, 0.0)
        share = 2 * excess / max(norm, 1e-300)
        return Beyond(-excess ** 2, share * pull, norm, share, pull)

    def curvature(self, at: Beyond, exact: bool = False) -> np.ndarray:
        """See `Window.curvature`."""
        pull = self.pulls(at)
        return at.share * self._P + pull.T @ pull

    def pulls(self, at: Beyond) -> np.ndarray:
        """See `Window.pulls`."""
        return np.sqrt(2 * self._rho / at.norm ** 3) * at.residual[None, :] if at.share > 0 else np.zeros((0, at.residual.size))
