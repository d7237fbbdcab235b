"""Signals in time: a growing series of stamped values, and local polynomials through it (DESIGN section 5)."""
from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg.lapack import dposv

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

    def drop_after(self, t: float) -> None:
        """Forget the rows later than t."""
        self._n = int(self._t[:self._n].searchsorted(t, "right"))

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


def _powers(x: np.ndarray, degree: int) -> np.ndarray:
    """(degree + 1, K) powers of x (K,)."""
    A = np.empty((degree + 1, len(x)))
    A[0] = 1.0
    for d in range(degree):
        np.multiply(A[d], x, out=A[d + 1])
    return A


@lru_cache(maxsize=16)
def _unit(size: int, orders: int) -> np.ndarray:
    return np.eye(size, orders, order="F")


def _first_rows(N: np.ndarray, orders: int) -> np.ndarray | None:
    """First rows (orders, size) of the inverse of a symmetric N, None where it has too little rank; LAPACK directly, for
    this runs at every tick."""
    _, x, info = dposv(N, _unit(len(N), orders))
    return x.T if info == 0 else None


def polynomial_weights(times: np.ndarray, t: float, degree: int, orders: int) -> np.ndarray | None:
    """(orders, K) weights: row d gives the d-th derivative at t of the least-squares polynomial through K values.

    None where K is too small for the degree. Times are scaled by the window, so that the fit is well conditioned.
    """
    if len(times) <= degree:
        return None
    half = max(abs(times[0] - t), abs(times[-1] - t))
    A = _powers((times - t) / half, degree)
    first = _first_rows(A @ A.T, orders)
    if first is None:
        return None
    weights, factorial = first @ A, 1.0
    for d in range(1, orders):
        factorial *= d
        weights[d] *= factorial / half ** d
    return weights


def position_velocity_weights(times: np.ndarray, t: float, degree: int, ratio: float,
                              with_velocity: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights (3, K) on positions and (3, K) on velocities: position, velocity and acceleration at t of one polynomial.

    ratio = stddev of a position / stddev of a velocity [s]; without velocities their weights are zero.
    """
    K = len(times)
    half = max(abs(times[0] - t), abs(times[-1] - t)) if K else 0.0
    if K * (2 if with_velocity else 1) <= degree + 1 or half == 0.0:
        return None
    A = _powers((times - t) / half, degree)
    N, D = A @ A.T, np.zeros_like(A)
    if with_velocity:
        np.multiply(A[:-1], _slopes(degree) * (ratio / half), out=D[1:])
        N += D @ D.T
    first = _first_rows(N, 3)
    if first is None:
        return None
    first = first * np.array([[1.0], [1.0 / half], [2.0 / half ** 2]])
    return first @ A, ratio * (first @ D)


@lru_cache(maxsize=16)
def _slopes(degree: int) -> np.ndarray:
    return np.arange(1.0, degree + 1)[:, None]
