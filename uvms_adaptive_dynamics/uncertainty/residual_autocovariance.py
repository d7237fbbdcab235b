# Copyright 2026 uvms_adaptive_dynamics developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Autocovariance of each channel's residual, as a sum of white and AR(1) noises behind the rows'
low-pass (docs/mathematics.md, "Residual autocovariance")."""
from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

# [s] of the model noises in a residual; 0 is white. The slowest represents what drifts over many
# seconds, such as a tether or a current: a recording of minutes cannot resolve slower noise.
TIME_CONSTANTS = (0.0, 0.3, 3.0)
# [s]
TRACKED_LAGS = (0.0, .06, .12, .18, .24, .32, .42, .56, .75, 1.0, 1.4, 2.0, 2.8, 3.9, 5.5)
FIT_EVERY = 50                 # ticks between two fits of a channel
# mean squared excess correlation, in squared standard errors, above which noise is not white
SIGNIFICANT = 2.0
FEWEST_RESIDUALS = 10          # independent residuals needed for a fit


class ResidualAutocovariance:
    """Tracks products of residuals at fixed lags and fits non-negative shares of the model noises.

    Residuals are in SI units. `ar` (B,) is the AR(1) coefficient of each model noise per tick, 0
    for white. Until a channel has enough residuals, and while chance explains its correlations, its
    noise counts as white before the low-pass."""

    def __init__(self, channels: int, kernel: np.ndarray, period: float, decay: float):
        """kernel (K,): the rows' low-pass on a grid of `period` [s]; a residual's weight is
        decay^age [ticks]."""
        self._decay, self._channels = decay, channels
        self._lags = np.unique(np.round(np.array(TRACKED_LAGS) / period).astype(int))
        self.ar = np.array([np.exp(-period / T) if T > 0 else 0.0 for T in TIME_CONSTANTS])
        # independent rows per row, for white noise before the low-pass
        self._independent = float(kernel @ kernel / kernel.sum() ** 2)
        overlap = np.correlate(kernel, kernel, "full")
        # autocovariance behind the low-pass, of AR(1) noises with unit innovations
        span = self._lags[-1] + len(kernel)
        apart = np.abs(np.arange(-span, span + 1))
        raw = np.power(self.ar, apart[:, None]) / (1 - self.ar ** 2)
        gamma = np.stack([np.convolve(column, overlap, "same") for column in raw.T], axis=1)[span:]
        self._per_variance = 1 / gamma[0]
        self._shapes = (gamma / gamma[0])[self._lags]
        self._white = np.eye(self.ar.size)[0]
        self._ring = np.zeros((2, self._lags[-1] + 1, channels))   # residuals and their weights
        self.reset()

    def reset(self) -> None:
        """Drop all residuals."""
        # sums of the products and of their weights
        self._sum = np.zeros((2, self._lags.size, self._channels))
        self._rows = np.zeros(self._channels)
        self._place = self._tick = 0
        # per channel and model noise; NaN: not fitted yet
        self._variances = np.full((self._channels, self.ar.size), np.nan)
        self.break_off()

    @property
    def products(self) -> np.ndarray:
        """(2, L, C) sums of the products at each lag and of their weights, a copy."""
        return self._sum.copy()

    def go_on_from(self, products: np.ndarray) -> None:
        """Continue from the `products` of an earlier run, or of an earlier instant of this one;
        ignored if its lags were others."""
        if products.shape != self._sum.shape:
            return
        self._sum[:] = products
        self._rows[:] = products[1, 0]      # at lag zero each row has one product
        self._variances[:] = np.nan
        self.break_off()
        for channel in range(self._channels):
            self._fit(channel)

    def break_off(self) -> None:
        """Separate later residuals from earlier ones at a gap in time."""
        self._ring[:] = 0.0

    def innovations(self, variance: np.ndarray) -> np.ndarray:
        """(C, B) variances of the white noises that drive the model noises, before the low-pass.

        variance (C,): of the residual, for channels without a fit.
        """
        white = variance[:, None] * self._white
        return np.where(np.isnan(self._variances), white, self._variances) * self._per_variance

    def total(self, variance: np.ndarray) -> np.ndarray:
        """(C,) variance of the residuals by the fit; variance (C,) for channels without one."""
        return np.where(np.isnan(self._variances[:, 0]), variance, self._variances.sum(axis=1))

    def add_residual(self, residual: np.ndarray, counts: np.ndarray) -> None:
        """Add one tick's residuals (C,); counts (C,) bool: those that inform the noise.

        Call it at every tick, even if none counts: lags are ticks.
        """
        ring = self._ring
        self._place = (self._place + 1) % ring.shape[1]
        ring[:, self._place] = np.where(counts, residual, 0.0), counts
        earlier = ring[:, (self._place - self._lags) % ring.shape[1]]
        self._sum *= self._decay
        self._sum += ring[:, self._place, None] * earlier
        self._rows = self._decay * self._rows + counts
        self._tick += 1
        # One channel per tick, so that no tick pays for all fits.
        channel, due = divmod(self._tick % FIT_EVERY, max(1, FIT_EVERY // self._channels))
        if due == 0 and channel < self._channels:
            self._fit(channel)

    def _fit(self, c: int) -> None:
        independent = self._rows[c] * self._independent
        if independent <= FEWEST_RESIDUALS:
            return
        products, weights = self._sum[:, :, c]
        gamma = products / np.maximum(weights, 1e-300)
        level = gamma[0]
        if not level > 0:
            return
        # With non-negative shares, chance correlations would make every noise slow: if chance
        # explains them, the noise counts as white.
        far = self._shapes[:, 0] < 0.5
        excess = ((gamma[far] / level - self._shapes[far, 0]) ** 2).mean() * independent
        shares = nnls(self._shapes, gamma / level)[0] if excess > SIGNIFICANT else self._white
        if not shares.any():        # correlations that no sum of the model noises has
            shares = self._white
        self._variances[c] = level * shares / shares.sum()
