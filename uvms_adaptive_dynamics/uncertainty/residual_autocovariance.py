"""What colours a residual is made of: its autocovariance, tracked, as a sum of white and AR(1) noises behind the rows' low-pass."""
from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

COLOURS = (0.0, 0.2, 0.8)      # [s] time constants of the noises that a residual may be made of; 0 is white
LAGS = (0.0, .06, .12, .18, .24, .32, .42, .56, .75, 1.0, 1.4)   # [s] at which the autocovariance is looked at
REFRESH = 50                   # ticks between two fits
SURPRISE = 2.0                 # mean squared excess of correlations, in standard errors, beyond which a noise is not white
FEWEST = 10                    # independent residuals before anything is fitted


class ResidualColours:
    """Autocovariance of each channel's normalized residual and the shares of the colours in it.

    `innovations` (C, B) is the variance of the white noise that drives each colour before the low-pass, `ar` (B,) the
    coefficient of each, per tick. Until there are enough residuals: white, of variance one after the low-pass.
    """

    def __init__(self, channels: int, kernel: np.ndarray, period: float, decay: float):
        """kernel (K,): the rows' low-pass on a grid of `period` [s]; decay: weight of a residual is decay^age [ticks]."""
        self._decay, self._channels = decay, channels
        self._lags = np.unique(np.round(np.array(LAGS) / period).astype(int))
        self.ar = np.array([np.exp(-period / T) if T > 0 else 0.0 for T in COLOURS])
        self._independent = float(kernel @ kernel / kernel.sum() ** 2)    # share of rows that are independent, white noise
        overlap = np.correlate(kernel, kernel, "full")
        # Autocovariance after the low-pass of AR(1) noises with unit innovations.
        span = self._lags[-1] + len(kernel)
        apart = np.abs(np.arange(-span, span + 1))
        raw = np.power(self.ar, apart[:, None]) / (1 - self.ar ** 2)
        gamma = np.stack([np.convolve(column, overlap, "same") for column in raw.T], axis=1)[span:]
        self._per_variance = 1 / gamma[0]
        self._shapes = (gamma / gamma[0])[self._lags]
        self._white = np.eye(self.ar.size)[0]
        self._ring = np.zeros((2, self._lags[-1] + 1, channels))
        self.reset()

    def reset(self) -> None:
        """Forget all residuals."""
        self._sum = np.zeros((2, self._lags.size, self._channels))     # of products, and of their weights
        self._rows = np.zeros(self._channels)
        self._place = self._tick = 0
        self._shares = np.tile(self._white, (self._channels, 1))
        self.break_off()

    def break_off(self) -> None:
        """After a gap in time what comes is no neighbour of what was."""
        self._ring[:] = 0.0

    @property
    def innovations(self) -> np.ndarray:
        """(C, B) variances of the white noises behind the colours, in units of the normalized residual squared."""
        return self._shares * self._per_variance

    def push(self, residual: np.ndarray, weight: np.ndarray) -> None:
        """One instant's normalized residuals (C,), each counting with weight (C,): zero where it tells nothing of the noise."""
        self._place = (self._place + 1) % self._ring.shape[1]
        self._ring[0, self._place], self._ring[1, self._place] = residual * weight, weight
        self._sum *= self._decay
        self._sum += self._ring[:, self._place, None] * self._ring[:, (self._place - self._lags) % self._ring.shape[1]]
        self._rows = self._decay * self._rows + (self._ring[1, self._place] > 0)
        self._tick += 1
        if self._tick % REFRESH == 0:
            self._fit()

    def _fit(self) -> None:
        products, weights = self._sum
        independent = self._rows * self._independent
        beyond = self._shapes[:, 0] < 0.5
        for c in np.flatnonzero(independent > FEWEST):
            gamma = products[:, c] / np.maximum(weights[:, c], 1e-300)
            level = max(gamma[0], 1e-12)
            # Shares are not negative, so that chance alone would make every noise slow: what chance explains is white.
            surprise = ((gamma[beyond] / level - self._shapes[beyond, 0]) ** 2).mean() * independent[c]
            shares = nnls(self._shapes, gamma / level)[0] if surprise > SURPRISE else self._white
            self._shares[c] = level * shares / max(shares.sum(), 1e-12)
