"""Directional forgetting: a direction loses information only as far as new data replace it.

Uniform forgetting takes lambda from everything at every tick, also from what nothing excites: in a calm the information decays, and
what was learned goes. Restricted to the directions that the new data excite (Kulhavy, 1987; Cao and Schwartz, 2000; Lai and
Bernstein, "SIFt-RLS", 2024) it stays. Those take the full share from every direction that is excited at all; here the share of
a direction is at most what the new data bring to it, so that no threshold has to say what is excited and information is never
less than before: with B x = mu H x, H the old information and B the new, direction x loses min(1 - lambda, mu) of its own.
Where all is excited (mu >= 1 - lambda) this is uniform forgetting.
"""
from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

BLOCK = 1000         # ticks whose data are new together: long enough for a motion to have gone through all its directions
NEGLIGIBLE = 1e-9    # share of a direction that is not worth taking


class Forgetting:
    """What a block of new data makes forgotten: T = I - F X^T with F = H X diag(share), as a map of the normal equations.

    The old equations H pi = g become (T H) pi = T g: T H is symmetric, and their solution is the same. The covariance of g's
    noise becomes T B T^T.
    """

    def __init__(self, old: np.ndarray, new: np.ndarray, share: float):
        """old (p, p) positive definite information, new (p, p) of the block, share: most that a direction may lose."""
        scale = 1 / np.sqrt(np.diag(old))
        scales = scale[:, None] * scale
        gained, X = eigh(new * scales, old * scales)
        taken = np.minimum(np.maximum(gained, 0.0), share)
        some = taken > NEGLIGIBLE
        self._X, self._taken = scale[:, None] * X[:, some], taken[some]
        self._HX = old @ self._X

    def map(self) -> np.ndarray:
        """T (p, p)."""
        return np.eye(len(self._X)) - (self._HX * self._taken) @ self._X.T

    def equations(self, H: np.ndarray, g: np.ndarray, c: float) -> tuple[np.ndarray, np.ndarray, float]:
        """The old quadratic pi^T H pi - 2 g^T pi + c with less weight on what is forgotten; H is `old`."""
        along = self._X.T @ g
        return H - (self._HX * self._taken) @ self._HX.T, g - self._HX @ (self._taken * along), c - float(self._taken @ along ** 2)
