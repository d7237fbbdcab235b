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

"""Compares two trials on held-out rows: RMSE ratios with confidence intervals.

Residuals are correlated over the period of a motion, so rows are not independent. They are cut into
blocks, and a jackknife over blocks gives the uncertainty of log(RMSE ratio) (Kunsch, "The jackknife
and the bootstrap for general stationary observations", 1989).
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...model.jackknife import student_quantile, variance
from .trial import HeldOutRows

BLOCK_LENGTH = 3.0      # [s] residuals of a motion of .3 Hz and above decorrelate within a block
LEAST_BLOCKS = 8        # a short recording gets shorter blocks; t quantiles account for few blocks
FALSE_POSITIVE_RATE = 0.05  # chance of calling any useless set worth it, over all sets tried
# Least relative reduction of the RMSE: errors of a set due to noise in the learnt part are the same
# in every block, so that no interval shows them.
LEAST_RMSE_GAIN = 0.02


class Ratio(NamedTuple):
    """RMSE with the set over RMSE without, and its interval."""

    value: float
    low: float
    high: float


class Comparison(NamedTuple):
    """Ratios by channel, NaN if no row counts, and their geometric mean."""

    channels: list[Ratio]
    mean: Ratio

    @property
    def is_worth_it(self) -> bool:
        """True if the mean is significantly and sufficiently below one and no channel is
        significantly and as much above."""
        return (self.mean.high < 1.0 and self.mean.value < 1.0 - LEAST_RMSE_GAIN
                and not self.harmed)

    @property
    def harmed(self) -> tuple[int, ...]:
        """Channels whose RMSE is significantly larger, by more than a set must save."""
        return tuple(c for c, ratio in enumerate(self.channels)
                     if ratio.low > 1.0 and ratio.value > 1.0 + LEAST_RMSE_GAIN)


def compare(without: HeldOutRows, trial: HeldOutRows, tried: int) -> Comparison:
    """Compare a trial with the one without its set, on the rows that count in both; tried: number
    of trials, for the level of the intervals (Bonferroni)."""
    valid = without.valid & trial.valid
    squares = np.array([np.where(valid, (one.measured - one.predicted) ** 2, 0.0)
                        for one in (without, trial)])                   # (2, T, C)
    blocks = _blocks(without.t)
    B = int(blocks[-1]) + 1
    sums = np.zeros((2, B, valid.shape[1]))
    for k in range(2):
        np.add.at(sums[k], blocks, squares[k])
    there = sums.sum(axis=1).min(axis=0) > 0
    quantile = -student_quantile(FALSE_POSITIVE_RATE / max(tried, 1) / 2, B)
    total = sums.sum(axis=1)
    left = np.maximum(total[:, None] - sums, 1e-300)                    # without one block each
    whole = _log_ratio(np.maximum(total, 1e-300))                       # (C,)
    partial = _log_ratio(left)                                          # (B, C)
    channels = [_interval(whole[c], partial[:, c], quantile) if there[c] else Ratio(*3 * [np.nan])
                for c in range(valid.shape[1])]
    return Comparison(channels, _interval(whole[there].mean(), partial[:, there].mean(axis=1),
                                          quantile))


def _blocks(t: np.ndarray) -> np.ndarray:
    """(T,) block number of each row."""
    length = max(t[-1] - t[0], 1e-9)
    count = max(LEAST_BLOCKS, round(length / BLOCK_LENGTH))
    return np.minimum((count * (t - t[0]) / length).astype(int), count - 1)


def _log_ratio(sums: np.ndarray) -> np.ndarray:
    return 0.5 * np.log(sums[1] / sums[0])


def _interval(value: float, partial: np.ndarray, quantile: float) -> Ratio:
    deviation = np.sqrt(variance(partial))
    return Ratio(*np.exp([value, value - quantile * deviation, value + quantile * deviation]))
