"""Sums of squared rows in square-root form: what has left the window, and the prior (DESIGN section 6).

A sum of weighted |tau - Y pi|^2 is |R [pi, -1]|^2 with a triangular R, to which rows are added by orthogonal transformations
(Bierman, "Factorization Methods for Discrete Sequential Estimation", 1977). Summed products [Y tau]^T [Y tau] have the square
of R's condition: they lose the digits of what is poorly determined beside what is well determined, tick after tick, and
rounding can make them indefinite. R^T R cannot be, and is what R says of it.
"""
from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtpqrt

FOLDED_AT = 160    # rows that wait to be taken into R: one transformation of many rows costs little more than of one
BLOCKED = 8        # columns that dtpqrt transforms together


class RootSum:
    """sum of weight |tau - Y pi|^2 over rows [Y tau] (k, p + 1), as R (p + 1, p + 1) upper triangular and the newest rows as they are."""

    def __init__(self, size: int, root: np.ndarray | None = None):
        """size: p; root (p + 1, p + 1): upper triangular, what the sum begins with."""
        self._root = np.zeros((size + 1, size + 1), order="F") if root is None else np.asfortranarray(root)
        self._rows, self._waiting = np.empty((FOLDED_AT, size + 1)), 0
        self._share = 1.0      # by which R and the waiting rows count less than they say
        self._sum = self._root.T @ self._root

    @classmethod
    def of_prior(cls, prior: np.ndarray, stddev: np.ndarray) -> "RootSum":
        """sum of ((pi - prior) / stddev)^2, prior and stddev (p,)."""
        root = np.zeros((prior.size + 1, prior.size + 1))
        root[:-1, :-1], root[:-1, -1] = np.diag(1 / stddev), prior / stddev
        return cls(prior.size, root)

    def add(self, rows: np.ndarray, weight: float = 1.0) -> None:
        """Take in rows [Y tau] (k, p + 1)."""
        for begin in range(0, len(rows), FOLDED_AT):
            some = rows[begin:begin + FOLDED_AT]
            if self._waiting + len(some) > FOLDED_AT:
                self._fold()
            np.multiply(some, np.sqrt(weight / self._share), out=self._rows[self._waiting:self._waiting + len(some)])
            self._waiting += len(some)
            self._sum += (some.T if weight == 1.0 else weight * some.T) @ some

    def fade(self, factor: float) -> None:
        """All that is in it counts `factor` times as much."""
        self._share *= factor
        self._sum *= factor

    @property
    def root(self) -> np.ndarray:
        """R (p + 1, p + 1) of everything; its signs are of no meaning."""
        self._fold()
        return self._root

    @property
    def matrix(self) -> np.ndarray:
        """[Y tau]^T [Y tau] (p + 1, p + 1); to be read only."""
        return self._sum

    def _fold(self) -> None:
        rows = self._rows[:self._waiting]
        if self._waiting:
            self._root, *_ = dtpqrt(0, min(BLOCKED, rows.shape[1]), self._root, np.asfortranarray(rows), overwrite_a=1, overwrite_b=1)
            self._waiting = 0
        if self._share != 1.0:
            self._root *= np.sqrt(self._share)
            self._share = 1.0
        self._sum = self._root.T @ self._root


def triangular(rows: np.ndarray) -> np.ndarray:
    """R (q, q) of rows (k, q), upper triangular."""
    k, q = rows.shape
    return np.linalg.qr(rows if k >= q else np.vstack([rows, np.zeros((q - k, q))]), mode="r")
