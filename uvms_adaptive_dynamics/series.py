"""Signals in time: a growing series of stamped values, and local polynomials through it (DESIGN section 5)."""
from __future__ import annotations

from functools import lru_cache

import numpy as np

CAPACITY = 2048


class Series:
    """Stamped rows of `width` numbers with increasing times; keeps the newest few thousand."""

    def __init__(self, width: int):
        self._t = np.zeros(CAPACITY)
        self._x = np.zeros((CAPACITY, width))
        self._n = 0

    def __len__(self) -> int:
        return self._n

    @property
    def last(self) -> float:
        """Time of the newest row, minus infinity when empty."""
        return self._t[self._n - 1] if self._n else -np.inf

    @property
    def newest(self) -> np.ndarray:
        """The newest row."""
        return self._x[self._n - 1]

    def append(self, t: float, row: np.ndarray) -> None:
        """Add a row; `t` must be later than `last` (the caller has checked)."""
        if self._n == CAPACITY:
            half = CAPACITY // 2
            self._t[:half], self._x[:half] = self._t[half:], self._x[half:]
            self._n = half
        self._t[self._n], self._x[self._n] = t, row
        self._n += 1

    def clear(self) -> None:
        """Forget everything."""
        self._n = 0

    def window(self, begin: float, end: float) -> tuple[np.ndarray, np.ndarray]:
        """(times (K,), rows (K, width)) from begin to end, both included; views, not copies."""
        a = self._t[:self._n].searchsorted(begin, "left")
        b = self._t[:self._n].searchsorted(end, "right")
        return self._t[a:b], self._x[a:b]

    def at(self, t: float) -> np.ndarray | None:
        """Linear interpolation at t, None outside the series."""
        b = self._t[:self._n].searchsorted(t, "left")
        if b < self._n and self._t[b] == t:
            return self._x[b]
        if b == 0 or b == self._n:
            return None
        share = (t - self._t[b - 1]) / (self._t[b] - self._t[b - 1])
        return (1 - share) * self._x[b - 1] + share * self._x[b]

    def before(self, t: float) -> tuple[float, np.ndarray] | None:
        """(time, row) of the newest row not after t."""
        b = self._t[:self._n].searchsorted(t, "right")
        return (self._t[b - 1], self._x[b - 1]) if b else None

    def gap_around(self, t: float) -> float:
        """Larger of the distances to the neighbours before and after t (infinite where there is none)."""
        b = self._t[:self._n].searchsorted(t, "right")
        before = t - self._t[b - 1] if b else np.inf
        if before == 0.0:
            return 0.0
        after = self._t[b] - t if b < self._n else np.inf
        return max(before, after)


@lru_cache(maxsize=8)
def _exponents(degree: int) -> np.ndarray:
    return np.arange(degree + 1)


def polynomial_weights(times: np.ndarray, t: float, degree: int, orders: int) -> np.ndarray | None:
    """(orders, K) weights: row d gives the d-th derivative at t of the least-squares polynomial through K values.

    None where K is too small for the degree. Times are scaled by the window, so that the fit is well conditioned.
    """
    K = len(times)
    if K <= degree:
        return None
    half = max(abs(times[0] - t), abs(times[-1] - t))
    A = ((times - t) / half)[:, None] ** _exponents(degree)
    try:
        weights = np.linalg.solve(A.T @ A, A.T)[:orders]
    except np.linalg.LinAlgError:
        return None
    factorial = 1.0
    for d in range(1, orders):
        factorial *= d
        weights[d] *= factorial / half ** d
    return weights


def position_velocity_weights(times: np.ndarray, t: float, degree: int, ratio: float, with_velocity: bool) -> np.ndarray | None:
    """(3, 2K) weights on [positions, velocities]: position, velocity and acceleration at t of one polynomial.

    ratio = stddev of a position / stddev of a velocity [s]; without velocities the last K weights are zero.
    """
    K = len(times)
    half = max(abs(times[0] - t), abs(times[-1] - t)) if K else 0.0
    if K * (2 if with_velocity else 1) <= degree + 1 or half == 0.0:
        return None
    s, powers = (times - t) / half, _exponents(degree)
    A = s[:, None] ** powers
    if with_velocity:
        D = np.zeros_like(A)
        D[:, 1:] = powers[1:] * A[:, :-1] * (ratio / half)
        stacked = np.vstack([A, D])
    else:
        stacked = A
    try:
        solution = np.linalg.solve(stacked.T @ stacked, stacked.T)[:3]
    except np.linalg.LinAlgError:
        return None
    weights = np.zeros((3, 2 * K))
    weights[:, :stacked.shape[0]] = solution * np.array([1.0, 1.0 / half, 2.0 / half ** 2])[:, None]
    weights[:, K:] *= ratio
    return weights
