"""Noise of each channel and the width of its predictive intervals, tracked causally (DESIGN section 7)."""
from __future__ import annotations

import numpy as np

WINSOR = 2.0
QUANTILE_RATE = 0.005   # per row of 20 ms: follows within some 20 s, wanders by some 7 %
FACTOR_RANGE = (0.5, 3.0)
GROSS = 5.0             # a residual of this many deviations is an outlier, not noise
INITIAL_ROWS = 25   # how many rows the initial noise counts for
# What the model does not know comes and goes with the motion: of the interval's variance, this share follows the residuals
# of the last half second. Longer than the low-pass, so that more than the overlap of neighbouring rows is followed.
RECENT_SHARE, RECENT_TIME = 0.75, 0.5   # -, [s]
# Mean of min(z^2, WINSOR^2) for a standard normal z, so that the scale is right for Gaussian noise.
WINSOR_MEAN = 0.7737


class ChannelNoise:
    """Noise of each channel, tracked causally from residuals of earlier predictions; winsorized against outliers.

    `stddev` weighs rows; `interval_stddev` is what predictive intervals use: the same times how large residuals were
    just now, times a slowly tracked factor that brings the share of rows outside their 95 % interval to 5 %, whatever the
    shape and autocorrelation of the residual (online quantile tracking; Gibbs and Candes, "Adaptive conformal inference
    under distribution shift", 2021). Gross outliers do not widen the intervals of the others.
    """

    def __init__(self, initial: np.ndarray, period: float, time_constant: float, adapt: bool):
        self._initial, self._adapt = np.array(initial, float), adapt
        self._rate = min(1.0, period / time_constant)
        self._quantile_rate = QUANTILE_RATE * period / 0.02
        self._recent_rate = min(1.0, period / RECENT_TIME)
        self._floor = 1e-3 * self._initial
        self.reset()

    def reset(self) -> None:
        """Back to the initial noise."""
        self._variance = self._initial ** 2
        self._count = np.full(self._initial.size, INITIAL_ROWS)
        self._factor = np.ones(self._initial.size)
        self._recent = np.ones(self._initial.size)

    @property
    def stddev(self) -> np.ndarray:
        """(C,) in the channels' units."""
        return np.sqrt(self._variance)

    @property
    def interval_stddev(self) -> np.ndarray:
        """(C,) for the next row: 1.96 of it covers 95 % of the residuals."""
        return np.sqrt(1 - RECENT_SHARE + RECENT_SHARE * self._recent) * self.lasting_stddev

    @property
    def lasting_stddev(self) -> np.ndarray:
        """(C,) the same without the last half second: for rows of another time."""
        return self._factor * self.stddev

    def set(self, stddev: np.ndarray) -> None:
        """Go on from a known noise, as from a parameter file."""
        self._variance = np.array(stddev, float) ** 2
        self._factor = np.ones(self._initial.size)
        self._recent = np.ones(self._initial.size)

    def put_back(self, stddev: np.ndarray) -> None:
        """Back to an earlier noise (C,): the residuals since then were something else's."""
        if self._adapt:
            self._variance = np.array(stddev, float) ** 2

    def update(self, residual: np.ndarray, valid: np.ndarray, predicted_stddev: np.ndarray, telling: np.ndarray | None = None) -> None:
        """Take in the residual of a prediction made before its row was seen, with the deviation predicted for it.

        telling (C,) bool: rows whose residual tells of the noise, all valid ones if None; where a row stands still its residual
        repeats one error, and only how wide the next interval must be is learnt from it.
        """
        if not self._adapt:
            return
        square = residual ** 2
        expected = self._variance + np.maximum(predicted_stddev ** 2 - self.interval_stddev ** 2, 0.0)
        size = np.minimum(square / expected, WINSOR ** 2) / WINSOR_MEAN
        self._recent = np.where(valid, self._recent + self._recent_rate * (size - self._recent), self._recent)
        clipped = np.minimum(square, WINSOR ** 2 * self._variance) / WINSOR_MEAN
        telling = valid if telling is None else valid & telling
        # A mean at first, so that a wrong initial noise is not remembered for several time constants; it leans on the newer
        # rows, since the first residuals are the prior's error and not noise.
        rate = np.maximum(self._rate, 2 / (self._count + 2))
        new = (1 - rate) * self._variance + rate * clipped
        self._count = self._count + telling
        self._variance = np.where(telling, np.maximum(new, self._floor ** 2), self._variance)
        share = np.abs(residual) / predicted_stddev
        step = self._quantile_rate * ((share > 1.96) - 0.05)
        self._factor = np.where(telling & (share < GROSS), np.clip(self._factor * np.exp(step), *FACTOR_RANGE), self._factor)
