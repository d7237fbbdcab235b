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

"""Trust in each channel's predictions: `ok`, `doubtful` or `wrong`.

Residuals are compared with a noise that they cannot widen: the one saved with the parameters, or
the long-run noise while learning without a saved estimate (docs/uncertainty.md, "Trust").
"""
from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import stdtrit

from ..model.arguments import read_only
from .noise_scale import running_shares

TRUST_OK, TRUST_DOUBTFUL, TRUST_WRONG = 0, 1, 2
TRUST_STATES = ("ok", "doubtful", "wrong")

BLOCK_TIME = 0.5        # [s] of a batch: longer than the low-pass, so that batches hardly overlap
TRUST_BLOCKS = 16       # batches judged together: 8 s, so a wrong model shows within 10 s
LARGEST_SQUARE = 16.0   # clip of a squared normalized residual: .5 s of garbage proves nothing
MIN_BLOCKS = 6          # batches below which a channel keeps its state
# Standard errors of a one-sided 99.9 % claim, by number of batches (Student's t).
T999 = stdtrit(np.maximum(np.arange(TRUST_BLOCKS + 1) - 1, 1), 0.999)
# Power of the normalized residual above which the noise does not explain it, to enter a state and
# to leave it. Saved intervals that cover 85 % of the rows, the least accepted for another motion,
# have a power of 1.9; deviations of half their right size have 4.
EXCESS, GROSS_EXCESS = (2.0, 1.5), (4.0, 3.0)
# Share of the effort's power that is left unexplained (1 - R^2) or that the interval admits, and
# the share below which an excess must be gross to matter.
UNEXPLAINED_BY_STATE, MATTERS_BY_STATE = (0.5, 0.4), (0.1, 0.08)
# Share of an assumed noise's deviation below which a residual is small, whatever the effort.
ASSUMED = 0.3
EFFORT_MEMORY = 5000    # rows in motion over which the size of the effort is averaged
# Indices of the sums that a batch keeps.
ROWS, SQUARES, NORMALIZED_SQUARES, EXPECTED_SQUARES, M, P, MM, PP, MP = range(9)


def has_enough(batches: np.ndarray) -> np.ndarray:
    """(C,) bool: channels with enough batches (B, sums, C) to be judged."""
    return np.asarray((batches[:, ROWS] > 0).sum(axis=0) >= MIN_BLOCKS)


def normalized_power(batches: np.ndarray) -> np.ndarray:
    """(C,) power of the normalized residual over batches (B, sums, C); NaN without rows."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(batches[:, NORMALIZED_SQUARES].sum(axis=0)
                          / batches[:, ROWS].sum(axis=0))


class ChannelTrust:
    """Trust state of each channel, from batches over the last seconds.

    Per channel, with residual r, reference noise s and the parameters' variance v:
    the power E r^2 / (s^2 + v), with the standard error of its batch means, shows whether the noise
    explains the residuals; E r^2 over the effort's variance is 1 - R^2; E (s^2 + v) over the
    effort's variance is the share that the interval admits. `wrong`: the noise does not explain the
    residuals, and half of the effort's power is left. `doubtful`: the noise does not explain the
    residuals and they matter, or the interval, as wide as it is or as the residuals demand, admits
    half of the effort's power. Frozen parameters
    are no excuse: v counts only while learning. Neither is a merely assumed noise if half of the
    effort's power is left.

    A channel with faulty readings is `doubtful` at best, even if its parameters explain them: those
    parameters then describe another scale, axis or time.

    levels (C,): the states; judged: whether any channel was judged since the parameters were last
    replaced.
    """

    def __init__(self, channels: int, period: float, correlation_length: float):
        """period [s] of rows; correlation_length: low-passed rows per independent one."""
        self._block = max(1, round(BLOCK_TIME / period))
        self._channels, self._correlation_length = channels, correlation_length
        self._at_best = np.full(channels, TRUST_OK)
        self.restart(None)

    def restart(self, reference: np.ndarray | None, assumed: bool = False,
                known: bool = False, wrong: Iterable[int] = ()) -> None:
        """Start over with other parameters.

        reference (C,): noise to judge by, None for the channels' own; assumed: that noise comes
        from no residual; known: the parameters come with a covariance, so channels start as `ok`;
        wrong: indices of channels that were `wrong` with these parameters and stay so until
        residuals show otherwise."""
        C, self._assumed = self._channels, assumed
        self._reference = None if reference is None else np.array(reference, float)
        self._by_residuals = np.full(C, TRUST_OK if known else TRUST_DOUBTFUL)
        self._by_residuals[list(wrong)] = TRUST_WRONG
        self._set_levels()
        self.judged = False
        self._effort, self._moving = np.zeros((2, C)), np.zeros(C)   # mean, mean square; rows
        self._forget()

    def begin_again(self) -> None:
        """Forget residuals of replaced parameters. States stay until channels are judged again."""
        self.judged = False
        self._forget()

    def _forget(self) -> None:
        self.batches = np.zeros((0, MP + 1, self._channels))
        self.break_off()

    def break_off(self) -> None:
        """Begin a new batch after a gap in time or with another recording. Earlier ones stay: they
        judge the same parameters, and single recordings may be too short to."""
        # of the open batch: measured, predicted, reference, excused of each row; valid, in_motion
        self._rows, self._count = np.zeros((4, self._block, self._channels)), 0
        self._masks = np.zeros((2, self._block, self._channels), bool)

    def add_row(self, measured: np.ndarray, predicted: np.ndarray, valid: np.ndarray,
                in_motion: np.ndarray, excused: np.ndarray, noise: np.ndarray) -> None:
        """Add the rows (C,) of one tick. in_motion (C,) bool: rows whose effort varies; excused
        (C,): prediction variance that learning may still remove; noise (C,): the reference noise if
        `restart` got none."""
        reference = noise if self._reference is None else self._reference
        self._rows[:, self._count] = measured, predicted, reference, excused
        self._masks[:, self._count] = valid, in_motion
        self._count += 1
        if self._count == self._block:
            self._close_batch()
            self._judge()

    def _close_batch(self) -> None:
        """Sum the rows of the open batch, all at once, and begin the next one."""
        measured, predicted, reference, excused = self._rows
        valid, in_motion = self._masks
        expected, square = reference ** 2 + excused, (measured - predicted) ** 2
        rows = np.array([np.ones_like(measured), square,
                         np.minimum(square / expected, LARGEST_SQUARE),
                         expected, measured, predicted, measured ** 2, predicted ** 2,
                         measured * predicted])
        sums = np.where(valid, rows, 0.0).sum(axis=1)
        self.batches = np.concatenate([self.batches, sums[None]])[-TRUST_BLOCKS:]
        self._follow_effort(measured, valid & in_motion)
        self._count = 0

    def misread(self, places: Iterable[int]) -> None:
        """Set the indices of the channels with faulty readings, in place of the earlier ones."""
        self._at_best = np.full(self._channels, TRUST_OK)
        self._at_best[list(places)] = TRUST_DOUBTFUL
        self._set_levels()

    def _set_levels(self) -> None:
        self.levels = read_only(np.maximum(self._by_residuals, self._at_best))

    def _follow_effort(self, measured: np.ndarray, in_motion: np.ndarray) -> None:
        """Update mean and mean square of the effort by rows (T, C) in motion only, so that pauses
        do not count."""
        total = self._moving + in_motion.cumsum(axis=0)
        rate = np.maximum(1 / np.maximum(total, 1), 1 / EFFORT_MEMORY) * in_motion
        left, weight = running_shares(rate)
        self._effort = left * self._effort + [(weight * measured).sum(axis=0),
                                              (weight * measured ** 2).sum(axis=0)]
        self._moving = total[-1]

    @property
    def effort_power(self) -> np.ndarray:
        """(C,) variance of the effort in motion, up to the last batch; of all rows for a channel
        that has not moved."""
        total = self.batches.sum(axis=0)
        rows = np.maximum(total[ROWS], 1)
        recent = total[MM] / rows - (total[M] / rows) ** 2
        in_motion = self._effort[1] - self._effort[0] ** 2
        return np.maximum(np.where(self._moving >= self._block, in_motion, recent), 1e-12)

    def excess(self) -> tuple[np.ndarray, np.ndarray]:
        """(power (C,) of the normalized residual, its standard error (C,)); NaN without rows.

        The error is that of the batch means, and at least that of Gaussian noise under the
        low-pass."""
        rows, sums = self.batches[:, ROWS], self.batches[:, NORMALIZED_SQUARES]
        n, count = rows.sum(axis=0), np.maximum((rows > 0).sum(axis=0), 2)
        mean = normalized_power(self.batches)
        with np.errstate(invalid="ignore", divide="ignore"):
            # error of a ratio of sums: batches with few rows count little
            spread = np.sqrt(count / (count - 1) * ((sums - mean * rows) ** 2).sum(axis=0)) / n
            gaussian = mean * np.sqrt(2 * self._correlation_length / n)
        return mean, np.maximum(spread, gaussian)

    def _judge(self) -> None:
        rows = self.batches[:, ROWS]
        count = (rows > 0).sum(axis=0)
        judged = has_enough(self.batches)
        self.judged = self.judged or bool(judged.any())
        n = np.maximum(rows.sum(axis=0), 1)
        mean, error = self.excess()
        total, power = self.batches.sum(axis=0), self.effort_power
        left, admitted = total[SQUARES] / n / power, total[EXPECTED_SQUARES] / n / power
        # (not `left`, to which a burst counts with its full size)
        admitted = admitted * np.fmax(mean, 1.0)
        # Score tests: the error of a power is proportional to the power, so it is smaller under
        # the hypothesis that the noise explains the residuals.
        with np.errstate(invalid="ignore", divide="ignore"):
            certain = mean / (1 + T999[count] * error / mean)
        worse = self._levels(certain, left, admitted, 0)
        stays = self._levels(mean, left, admitted, 1)
        last = self._by_residuals
        self._by_residuals = np.where(judged, np.maximum(worse, np.minimum(last, stays)), last)
        self._set_levels()

    def _levels(self, power: np.ndarray, left: np.ndarray, admitted: np.ndarray,
                leaving: int) -> np.ndarray:
        """(C,) levels by the thresholds for entering a state (leaving = 0) or leaving it (1)."""
        excess = power > EXCESS[leaving]
        doubtful = ((excess & (left > MATTERS_BY_STATE[leaving])) | (power > GROSS_EXCESS[leaving])
                    | (admitted > UNEXPLAINED_BY_STATE[leaving]))
        if self._assumed:
            excess = power > ASSUMED ** 2
        wrong = excess & (left > UNEXPLAINED_BY_STATE[leaving])
        return np.where(wrong, TRUST_WRONG, np.where(doubtful, TRUST_DOUBTFUL, TRUST_OK))
