"""Whether a row's residual tells of the noise: what stands still repeats one error (DESIGN section 7)."""
from __future__ import annotations

import numpy as np

RECENT = 2.0            # [s] over which a row's variation is looked at
EXCITED = 0.3           # of a row's usual variation while it varies at all: less is calm
PRIOR_MOVES = 3.0       # deviations of the noise that the prior's ignorance must be worth, before anything is usual


class RowExcitation:
    """Whether a channel's row varies: a residual of a row that stands still repeats one error and tells nothing of the noise.

    A row's variation is the standard deviation over the last seconds of what one prior deviation of each parameter is worth in
    it [N, N m]. At first it must exceed the noise clearly, later be a fair share of what it was while the channel was excited.
    """

    def __init__(self, channels: int, prior_stddev: np.ndarray, period: float, memory: float):
        """prior_stddev (p,); memory: what is usual is remembered with memory^age [ticks of excitation]."""
        self._scale, self._rate, self._memory = prior_stddev, min(1.0, period / RECENT), memory
        self._mean = np.zeros((channels, prior_stddev.size))
        self._variation = np.zeros(channels)
        self._usual, self._count, self._seen = np.zeros(channels), np.zeros(channels), np.zeros(channels)

    def push(self, Y: np.ndarray, valid: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """(C,) bool: which rows of Y (C, p) are excited; noise (C,) is what is known of it now."""
        row = Y * self._scale
        rate = np.maximum(self._rate, 1 / (self._seen + 1)) * valid
        away = row - self._mean
        self._mean += rate[:, None] * away
        self._variation += rate * (np.einsum("cp,cp->c", away, away) - self._variation)
        self._seen += valid
        usual = np.divide(self._usual, self._count, out=np.zeros_like(self._usual), where=self._count > 0)
        excited = valid & (self._variation > EXCITED ** 2 * usual) & (self._variation > PRIOR_MOVES ** 2 * noise ** 2)
        self._usual = np.where(excited, self._memory * self._usual + self._variation, self._usual)
        self._count = np.where(excited, self._memory * self._count + 1, self._count)
        return excited
