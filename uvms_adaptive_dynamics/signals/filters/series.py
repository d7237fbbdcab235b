"""Signals in time: a growing series of stamped values, and local polynomials through it (DESIGN section 5)."""
from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import Sequence

import numpy as np
from scipy.linalg.lapack import dposv

CAPACITY = 2048


class Series:
    """Stamped rows of `width` numbers with increasing times; keeps the newest few thousand."""

    def __init__(self, width: int):
        self._t = np.zeros(CAPACITY)
        self._x = np.zeros((CAPACITY, width))
        self._times: list[float] = []      # the same as _t: a search in a list takes a fifth of numpy's time

    def __len__(self) -> int:
        return len(self._times)

    @property
    def last(self) -> float:
        """Time of the newest row, minus infinity when empty."""
        return self._times[-1] if self._times else -math.inf

    @property
    def newest(self) -> np.ndarray:
        """The newest row."""
        return self._x[len(self._times) - 1]

    def append(self, t: float, row: Sequence[float]) -> None:
        """Add a row; `t` must be later than `last` (the caller has checked)."""
        n = len(self._times)
        if n == CAPACITY:
            n = CAPACITY // 2
            self._t[:n], self._x[:n] = self._t[n:], self._x[n:]
            del self._times[:n]
        self._t[n], self._x[n] = t, row
        self._times.append(t)

    def clear(self) -> None:
        """Forget everything."""
        self._times.clear()

    def drop_after(self, t: float) -> None:
        """Forget the rows later than t."""
        del self._times[bisect_right(self._times, t):]

    def window(self, begin: float, end: float) -> tuple[np.ndarray, np.ndarray]:
        """(times (K,), rows (K, width)) from begin to end, both included; views, not copies."""
        a, b = bisect_left(self._times, begin), bisect_right(self._times, end)
        return self._t[a:b], self._x[a:b]

    def at(self, t: float) -> np.ndarray | None:
        """Linear interpolation at t, None outside the series."""
        times = self._times
        b = bisect_left(times, t)
        if b < len(times) and times[b] == t:
            return self._x[b]
        if b == 0 or b == len(times):
            return None
        share = (t - times[b - 1]) / (times[b] - times[b - 1])
        return (1 - share) * self._x[b - 1] + share * self._x[b]

    def before(self, t: float) -> tuple[float, np.ndarray] | None:
        """(time, row) of the newest row not after t."""
        b = bisect_right(self._times, t)
        return (self._times[b - 1], self._x[b - 1]) if b else None

    def gap_around(self, t: float) -> float:
        """Larger of the distances to the neighbours before and after t (infinite where there is none)."""
        times = self._times
        b = bisect_right(times, t)
        before = t - times[b - 1] if b else math.inf
        if before == 0.0:
            return 0.0
        after = times[b] - t if b < len(times) else math.inf
        return max(before, after)


def _powers(x: np.ndarray, degree: int) -> np.ndarray:
    """(degree + 1, K) powers of x (K,)."""
    A = np.empty((degree + 1, len(x)))
    A[0] = 1.0
    for d in range(degree):
        np.multiply(A[d], x, out=A[d + 1])
    return A


def _solved(N: np.ndarray, B: np.ndarray) -> np.ndarray | None:
    """N^-1 B of a symmetric N (d, d) and B^T given as B (m, d); None where N has too little rank. LAPACK directly, for
    this runs at every tick."""
    _, x, info = dposv(N, B.T, overwrite_a=True, overwrite_b=True)
    return x if info == 0 else None


def polynomial_at(times: np.ndarray, rows: np.ndarray, t: float, degree: int) -> tuple[list[float], list[float]] | None:
    """(value, derivative) at t, m floats each, of the least-squares polynomial through rows (K, m); None where K is too
    small for the degree. Times are scaled by the window, so that the fit is well conditioned."""
    if len(times) <= degree or degree < 1:
        return None
    half = max(abs(times.item(0) - t), abs(times.item(-1) - t))
    A = _powers((times - t) / half, degree)
    found = _solved(A @ A.T, rows.T @ A.T)
    return None if found is None else (found[0].tolist(), (found[1] / half).tolist())


def motion_at(times: np.ndarray, positions: np.ndarray, velocities: np.ndarray | None, t: float, degree: int,
              ratio: float) -> list[list[float]] | None:
    """[position, velocity, acceleration] at t, n floats each, of one polynomial through positions (K, n) and velocities
    (K, n or None); None where there are too few for the degree.

    ratio = stddev of a position / stddev of a velocity [s].
    """
    K = len(times)
    half = max(abs(times.item(0) - t), abs(times.item(-1) - t)) if K else 0.0
    if K * (1 if velocities is None else 2) <= degree + 1 or half == 0.0:
        return None
    A = _powers((times - t) / half, degree)
    N, B = A @ A.T, positions.T @ A.T
    if velocities is not None:
        D = A[:-1] * _slopes(degree) * (ratio / half)
        N[1:, 1:] += D @ D.T
        B[:, 1:] += ratio * (velocities.T @ D.T)
    found = _solved(N, B)
    return None if found is None else [found[0].tolist(), (found[1] / half).tolist(), (found[2] * (2.0 / half ** 2)).tolist()]


@lru_cache(maxsize=16)
def _slopes(degree: int) -> np.ndarray:
    return np.arange(1.0, degree + 1)[:, None]
