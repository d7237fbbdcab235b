"""Directional forgetting: a direction loses information only as far as new data replace it. And what is left of it after a change.

Uniform forgetting takes lambda from everything at every tick, also from what nothing excites: in a calm the information decays, and
what was learned goes. Restricted to the directions that the new data excite (Kulhavy, 1987; Cao and Schwartz, 2000; Lai and
Bernstein, "SIFt-RLS", 2024) it stays. Those take the full share from every direction that is excited at all; here the share of
a direction is at most what the new data bring to it, so that no threshold has to say what is excited and information is never
less than before: with B x = mu H x, H the old information and B the new, direction x loses min(1 - lambda, mu) of its own.
Where all is excited (mu >= 1 - lambda) this is uniform forgetting.
"""
from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from .square_root_information import triangular

BLOCK = 1000         # ticks whose data are new together: long enough for a motion to have gone through all its directions
NEGLIGIBLE = 1e-9    # share of a direction that is not worth taking


class Forgetting:
    """What a block of new data makes forgotten: T = I - F X^T with F = H X diag(share), as a map of the normal equations.

    The old equations H pi = g become (T H) pi = T g: T H is symmetric, and their solution is the same. The covariance of g's
    noise becomes T B T^T. With H = R^T R and B = S^T S the directions are the right singular vectors V of S R^-1, mu the
    squares of its singular values, and T H = (D V^T R)^T (D V^T R) with D^2 = 1 - share: no product is ever formed.
    """

    def __init__(self, old: np.ndarray, new: np.ndarray, share: float):
        """old, new (p + 1, p + 1): roots of [Y tau]^T [Y tau], the old one's information positive definite; new: of the block;
        share: most that a direction may lose."""
        R, S = old[:-1, :-1], new[:-1, :-1]
        _, singular, Vt = np.linalg.svd(solve_triangular(R, S.T, trans="T").T)
        gained = singular ** 2
        self._taken = np.where(gained > NEGLIGIBLE, np.minimum(gained, share), 0.0)
        self._old, self._Vt = old, Vt

    def map(self) -> np.ndarray:
        """T (p, p)."""
        R, V = self._old[:-1, :-1], self._Vt.T
        return np.eye(len(R)) - (R.T @ (V * self._taken)) @ solve_triangular(R, V).T

    def root(self) -> np.ndarray:
        """(p + 1, p + 1) root of the old data, with less weight on what is forgotten."""
        left = np.sqrt(1 - self._taken)[:, None] * (self._Vt @ self._old[:-1])
        return triangular(np.vstack([left, self._old[-1:]]))


class Renewal:
    """What old data say once some parameters are others than they were: all that they say of the rest, and nothing of these.

    With the parameters in question first, the old data's root is [R11 R12; 0 R22]: its last rows are what remains, the marginal of
    the rest. As a map of the normal equations that is T = [0 0; -H21 H11^-1 I]. The renewed ones begin again about the estimate `pi`
    with the information of the prior.
    """

    def __init__(self, old: np.ndarray, places: np.ndarray, pi: np.ndarray, prior: np.ndarray):
        """old (p + 1, p + 1): root of [Y tau]^T [Y tau]; places (k,) of the renewed parameters; pi (p,); prior (p,): diagonal of
        the information that parameters begin with."""
        p, k = len(pi), len(places)
        rest = np.setdiff1d(np.arange(p), places)
        order = np.concatenate([places, rest, [p]])
        self._triangle = triangular(old[:, order])
        self._order, self._renewed, self._size = order, k, p
        self.information = np.zeros(p)
        self.information[places] = prior[places]
        self._pi = pi

    def map(self) -> np.ndarray:
        """T (p, p)."""
        k, p = self._renewed, self._size
        R11, R12 = self._triangle[:k, :k], self._triangle[:k, k:p]
        ordered = np.zeros((p, p))
        ordered[k:, k:] = np.eye(p - k)
        # H21 H11^-1 = R12^T R11 (R11^T R11)^-1 = (R11^-1 R12)^T
        ordered[k:, :k] = -solve_triangular(R11, R12).T
        T = np.zeros((p, p))
        T[np.ix_(self._order[:p], self._order[:p])] = ordered
        return T

    def root(self) -> np.ndarray:
        """(p + 1, p + 1) root of what remains and of the renewed ones' beginning."""
        k, p = self._renewed, self._size
        kept = np.zeros((p + 1 - k, p + 1))
        kept[:, self._order[k:]] = self._triangle[k:, k:]
        places = self._order[:k]
        begun = np.zeros((k, p + 1))
        begun[np.arange(k), places] = np.sqrt(self.information[places])
        begun[:, -1] = begun[np.arange(k), places] * self._pi[places]
        return triangular(np.vstack([kept, begun]))
