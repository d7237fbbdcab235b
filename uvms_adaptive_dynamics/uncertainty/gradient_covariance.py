"""Covariance of the cost's gradient at the truth ('score'): overlapping low-passed rows, coloured noise, robust weights.

The gradient's noise is s = sum_k y_k psi_k, y_k a normalized row and psi_k its robust normalized residual. Where noise and motion
are independent,

    cov s = sum_j gamma(j) sum_k y_k y_{k+j}^T ,        gamma(j) = E psi_k psi_{k+j} ,

the long-run variance (Newey and West, 1987), here with gamma as a sum of colours instead of a truncated window. For a colour the
double sum is a single one: noise = h * AR(1) * eta with white eta gives s = sum_m eta_m z_m, where z are the rows, low-passed by h
once more and by the AR(1) filter. Motion that is fast or slow against the noise is thus accounted for, which a factor on each
row's variance does not do.
"""
from __future__ import annotations

import numpy as np

from .residual_autocovariance import ResidualColours

STRIDE = 5   # ticks between two terms of the sum over m: z is low-passed twice and hardly changes within them
BATCH = 4    # terms that are gathered at once: one product of matrices instead of four


class Score:
    """cov s per channel and colour, gathered tick by tick with the forgetting of the rows."""

    def __init__(self, channels: int, size: int, kernel: np.ndarray, period: float, decay: float, memory: float):
        """kernel: the rows' low-pass; decay: a row's weight in the cost is decay^age [ticks]; memory: the same for residuals."""
        self.colours = ResidualColours(channels, kernel, period, memory)
        self._kernel, self._decay = kernel, decay
        B, K = self.colours.ar.size, len(kernel)
        self._ar = self.colours.ar[:, None, None]
        self._filtered = np.zeros((B, channels, size))
        self._recent = np.zeros((K, B * channels * size))
        self._gathered = np.zeros((B * channels, size, size))
        self._settled = np.zeros_like(self._gathered)      # of rows that directional forgetting has been applied to
        self._terms = np.zeros((BATCH, B * channels, size))
        self.reset()

    def reset(self) -> None:
        """Forget all rows and residuals."""
        self.colours.reset()
        self._gathered[:] = self._settled[:] = self._terms[:] = 0.0
        self._tick = 0
        self.covariance = np.zeros(self._gathered.shape[1:])
        self.break_off()

    def break_off(self) -> None:
        """A gap in time."""
        self.colours.break_off()
        self._filtered[:] = 0.0
        self._recent[:] = 0.0

    def push(self, Y: np.ndarray, residual: np.ndarray, weight: np.ndarray) -> None:
        """One instant: normalized rows Y (C, p), zero where masked, their robust residuals (C,), and with which weight (C,) these
        count for the residual's variance; it should be that of the row, the reciprocal of its noise, or zero."""
        self.colours.push(residual, weight)
        self._filtered *= self._ar
        self._filtered += Y
        self._recent[self._tick % len(self._kernel)] = self._filtered.ravel()
        self._tick += 1
        if self._tick % STRIDE == 0:
            number = self._tick // STRIDE % BATCH
            order = (np.arange(len(self._kernel)) - self._tick) % len(self._kernel)
            self._terms[number] = (self._kernel[order] @ self._recent).reshape(self._terms.shape[1:])
            if number == BATCH - 1:
                self._gather()

    def _gather(self) -> None:
        z = np.ascontiguousarray(self._terms.transpose(1, 2, 0))
        if self._decay < 1.0:
            self._gathered *= self._decay ** (2 * STRIDE * BATCH)
        self._gathered += np.matmul(STRIDE * z, z.transpose(0, 2, 1))
        innovations = self.colours.innovations.T.ravel()
        self.covariance = np.tensordot(innovations, self._gathered, 1) + np.tensordot(innovations, self._settled, 1)

    def forget(self, T: np.ndarray) -> None:
        """Directional forgetting has mapped the old rows' gradient by T (p, p); those since the last time are old from now on."""
        self.renew(T)
        self._settled += self._gathered
        self._gathered[:] = 0.0

    def renew(self, T: np.ndarray) -> None:
        """What was old at the last `forget` has had its gradient mapped by T (p, p)."""
        self._settled = T @ self._settled @ T.T
