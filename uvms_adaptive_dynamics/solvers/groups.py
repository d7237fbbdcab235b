"""Which Huber groups are beyond their threshold at a point: all looked at, or only those that can be (long windows)."""
from __future__ import annotations

import numpy as np

from ..mhe import HorizonProblem, huber_threshold

SINGLE_ERROR = 1e-5     # relative, of a product of 75 terms in single precision, with a wide margin
CROWDED = 0.25          # share of suspects from which looking at all anew is cheaper


def groups_of(problem: HorizonProblem) -> "Groups | ScreenedGroups | Stack":
    """The groups of a problem, by its grouping and the length of its window."""
    if problem.grouping == "horizon":
        return Stack(problem)
    return Groups(problem) if problem.single is None else ScreenedGroups(problem)


class Groups:
    """One norm per instant ('sample') or per row ('channel'); every group is looked at."""

    def __init__(self, problem: HorizonProblem):
        N, C, p = problem.Y.shape
        self.problem = problem
        if problem.grouping == "sample":
            self.Y, self.tau = problem.Y, problem.tau
            self.rho, self.weight = problem.sample_thresholds, problem.weight
        else:
            self.Y, self.tau = problem.Y.reshape(N * C, 1, p), problem.tau.reshape(N * C, 1)
            self.rho = np.where(problem.valid.ravel(), huber_threshold(1, problem.quantile), np.inf)
            self.weight = np.repeat(problem.weight, C)

    def rows(self, groups: np.ndarray) -> np.ndarray:
        """(k, rows, p) of groups."""
        return self.Y[groups]

    def suspects(self, pi: np.ndarray) -> np.ndarray | slice:
        """The groups that may be beyond rho at pi."""
        return slice(None)

    def beyond(self, pi: np.ndarray):
        """(groups, norms, thresholds, weights, residuals of each group) of those beyond rho at pi (p,)."""
        look = self.suspects(pi)
        Y = self.Y[look]
        residuals = self.tau[look] - (Y.reshape(-1, Y.shape[2]) @ pi).reshape(Y.shape[:2])
        norms = np.sqrt(np.einsum("gc,gc->g", residuals, residuals))
        found = np.flatnonzero(norms > self.rho[look])
        groups = found if isinstance(look, slice) else look[found]
        return groups, norms[found], self.rho[groups], self.weight[groups], residuals[found]


class ScreenedGroups(Groups):
    """The same for a long window: all groups are looked at once, in single precision, and near that point only those whose
    norm can have reached rho: |r(pi)| <= |r(pi_0)| + reach |pi - pi_0|, and rounding has its margin."""

    def __init__(self, problem: HorizonProblem):
        super().__init__(problem)
        self._scale = problem.physical.table.scale
        reach = problem.reach
        self._reach = np.sqrt(np.einsum("kc,kc->k", reach, reach)) if problem.grouping == "sample" else reach.ravel()
        self._centre: np.ndarray | None = None

    def suspects(self, pi: np.ndarray) -> np.ndarray:
        """See `Groups.suspects`."""
        if self._centre is not None:
            found = self._near(pi)
            if found.size < CROWDED * self.rho.size:
                return found
        self._look_at_all(pi)
        return self._near(pi)

    def _near(self, pi: np.ndarray) -> np.ndarray:
        step = (pi - self._centre) / self._scale
        return np.flatnonzero(self._norms + self._reach * np.sqrt(step @ step) > self.rho)

    def _look_at_all(self, pi: np.ndarray) -> None:
        single = self.problem.single
        product = (single.reshape(-1, single.shape[2]) @ pi.astype(np.float32)).reshape(self.tau.shape)
        residuals = self.tau - product
        size = (pi / self._scale)
        self._norms = np.sqrt(np.einsum("gc,gc->g", residuals, residuals)) + SINGLE_ERROR * self._reach * np.sqrt(size @ size)
        self._centre = pi


class Stack:
    """One norm over the whole window ('horizon', the letter of the paper): lambda^age is inside the norm."""

    def __init__(self, problem: HorizonProblem):
        self._problem = problem
        self._root = np.sqrt(problem.weight)
        self._rho = huber_threshold(int(problem.valid.sum()), problem.quantile)

    def rows(self, groups: np.ndarray) -> np.ndarray:
        """(1, N C, p) all rows, with the root of their weight."""
        Y = self._problem.Y
        return (self._root[:, None, None] * Y).reshape(1, -1, Y.shape[2])

    def beyond(self, pi: np.ndarray):
        """See `Groups.beyond`: one group, or none."""
        residual = (self._root[:, None] * self._problem.residuals(pi)).ravel()
        norm = float(np.sqrt(residual @ residual))
        if norm <= self._rho:
            return np.zeros(0, int), None, None, None, None
        return np.zeros(1, int), np.array([norm]), np.array([self._rho]), np.ones(1), residual[None, :]
