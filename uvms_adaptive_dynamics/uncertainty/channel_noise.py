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

"""Noise of each channel: over all data for the weights of rows and for saved files, over the last
seconds for the intervals of the next rows.

All are tracked causally, from residuals of predictions made before their rows were used
(docs/mathematics.md, "Channel noise" and "Prediction").
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.normal import Z95
from .noise_scale import (
    COVERED,
    FIRST_ROWS,
    INITIAL_ROWS,
    WINSOR,
    WINSOR_MEAN,
    GatheredScale,
    LastingNoise,
    LongRunNoise,
    ScaleRecord,
)

QUANTILE_RATE = 0.005   # per row of 20 ms: settles within about 20 s, scatters by about 7 %
FACTOR_RANGE = (0.5, 3.0)
GROSS = 5.0             # deviations above which a residual is an outlier, not noise
# Model error comes and goes with the motion: this share of an interval's variance follows the
# residuals of the last half second, a time longer than the low-pass, whose overlap alone would make
# neighbouring residuals alike.
RECENT_SHARE, RECENT_TIME = 0.75, 0.5   # -, [s]


class NoiseRecord(NamedTuple):
    """The noise at some instant: local stddev (C,), long-run noise, lasting noise in motion and at
    any time, and the scale of the efforts at which the long-run noise was learnt."""

    stddev: np.ndarray
    long_run: ScaleRecord
    lasting: ScaleRecord
    any_time: ScaleRecord
    effort: ScaleRecord


class NoiseStart(NamedTuple):
    """What a prior or a saved estimate says about the noise; None: nothing.

    stddev (C,): of predictions; long_run (C,): that weighed its rows, None: the same; rows_known:
    rows per channel that they were learnt from; effort (C,): scale of their efforts [N, N m];
    factor (C,): of adapting intervals."""

    stddev: np.ndarray | None = None
    long_run: np.ndarray | None = None
    rows_known: float = 0.0
    effort: np.ndarray | None = None
    factor: np.ndarray | None = None


class ChannelNoise:
    """The noise of each channel for rows, intervals and files.

    `long_run` weighs rows; `lasting_stddev` is saved. `stddev`, over the last `time_constant`
    seconds, is the base of intervals: `interval_stddev` multiplies it by the relative size of the
    latest residuals and by a slowly tracked factor that brings the share of rows outside their 95 %
    interval to 5 %, whatever the shape and autocorrelation of the residual (online quantile
    tracking; Gibbs and Candes, "Adaptive conformal inference under distribution shift", 2021).
    Gross outliers do not widen the intervals of other rows."""

    def __init__(self, initial: np.ndarray, period: float, time_constant: float, memory: float,
                 adapt: bool):
        """initial (C,): assumed noise [N, N m]; period [s] of rows; time_constant [s] of `stddev`;
        memory: effective number of rows of `long_run`; adapt: False keeps the initial noise."""
        self._default, self._adapt = np.array(initial, float), adapt
        self._rate = min(1.0, period / time_constant)
        self._quantile_rate = QUANTILE_RATE * period / 0.02
        self._recent_rate = min(1.0, period / RECENT_TIME)
        self._long_run = LongRunNoise(self._default, memory)
        self._lasting = LastingNoise(self._default, memory, period)
        self._any_time = LastingNoise(self._default, memory, period)
        self._effort = GatheredScale(self._default, memory)
        self.restart()

    def restart(self, saved: np.ndarray | None = None, long_run: np.ndarray | None = None,
                rows_known: float = 0.0, effort: np.ndarray | None = None) -> None:
        """Start again with the initial noise, or with a saved noise (C,) and long-run noise (C,)
        (None: the same) learnt from `rows_known` rows per channel; effort (C,): theirs, if known.
        """
        start = self._default if saved is None else np.array(saved, float)
        rows = INITIAL_ROWS if saved is None else FIRST_ROWS
        self._variance, self._floor = start ** 2, 1e-3 * start
        self._count = np.full(start.size, INITIAL_ROWS)
        self._factor, self._recent = np.ones(start.size), np.ones(start.size)
        self._square, self._seen = np.zeros(start.size), np.zeros(start.size, int)
        if saved is None:
            self._long_run.restart(start, rows)
        else:
            self._long_run.go_on(start if long_run is None else long_run, max(rows_known, rows))
        self._lasting.restart(start, rows)
        self._any_time.restart(start, rows)
        if effort is None:
            self._effort.restart(self._default, INITIAL_ROWS)
        else:
            self._effort.go_on(effort, max(rows_known, rows))

    @property
    def interval_factor(self) -> np.ndarray:
        """(C,) tracked factor on the width of intervals, a copy."""
        return self._factor.copy()

    def begin_factor(self, factor: np.ndarray) -> None:
        """Let adaptive intervals start with a saved factor (C,). It depends on the distribution and
        correlation of the residuals, and takes half a minute to be found."""
        if self._adapt:
            self._factor = np.clip(factor, *FACTOR_RANGE)

    @property
    def long_run(self) -> np.ndarray:
        """(C,) noise over all data, for the weights of rows."""
        return self._long_run.stddev

    @property
    def effort(self) -> np.ndarray:
        """(C,) scale of the predicted efforts [N, N m] of the rows that `long_run` was learnt
        from, found in the same way: both follow a new level of motion together."""
        return self._effort.stddev

    @property
    def stddev(self) -> np.ndarray:
        """(C,) noise over the last seconds."""
        return np.sqrt(self._variance)

    @property
    def at_most(self) -> np.ndarray:
        """(C,) upper bound of the noise: no more than the RMS of all residuals, at rest or in
        motion, whatever was assumed."""
        seen = np.where(self._seen > INITIAL_ROWS, self._square, np.inf)
        return np.sqrt(np.minimum(self._variance, seen))

    @property
    def interval_stddev(self) -> np.ndarray:
        """(C,) noise of the next row: 1.96 times it covers 95 % of the residuals."""
        recent = np.sqrt(1 - RECENT_SHARE + RECENT_SHARE * self._recent)
        return recent * self._factor * self.stddev

    @property
    def lasting_stddev(self) -> np.ndarray:
        """(C,) noise of rows at another time, without adaptation to them: the larger of that in
        motion, which rest must not narrow, and that of all rows, at rest included: a force that
        wanders while the robot holds still is as large when it moves."""
        return np.maximum(self._lasting.stddev, self._any_time.stddev)

    def record(self) -> NoiseRecord:
        """The present noise, for `put_back`."""
        return NoiseRecord(self.stddev, self._long_run.record(), self._lasting.record(),
                           self._any_time.record(), self._effort.record())

    def put_back(self, record: NoiseRecord) -> None:
        """Return to an earlier record: residuals since then had another cause than noise."""
        if self._adapt:
            self._variance = record.stddev ** 2
            self._long_run.put_back(record.long_run)
            self._lasting.put_back(record.lasting)
            self._any_time.put_back(record.any_time)
            self._effort.put_back(record.effort)

    def add_effort(self, predicted: np.ndarray, informative: np.ndarray) -> None:
        """Add predicted efforts (C,); informative (C,) bool: rows whose residuals inform the noise.
        """
        if self._adapt:
            self._effort.add_residual(predicted, informative)

    def add_residual(self, residual: np.ndarray, valid: np.ndarray, predicted_stddev: np.ndarray,
                     informative: np.ndarray | None = None,
                     unlearnt: np.ndarray | None = None) -> None:
        """Add residuals (C,) of predictions made before their rows were seen, with their predicted
        deviations (C,).

        informative (C,) bool: rows whose residuals inform the noise, all valid ones if None. A row
        at rest repeats one error: its residual sets the width of the next interval, and that of
        intervals at another time where this makes them wider. unlearnt
        (C,): the predicted variance due to what has not been learnt (`Prediction`), None: all that
        is due to the parameters."""
        square = residual ** 2
        self._seen = self._seen + valid
        self._square = self._square + valid / np.maximum(self._seen, 1) * (square - self._square)
        if not self._adapt:
            return
        informative = valid if informative is None else valid & informative
        parameter_variance = np.maximum(predicted_stddev ** 2 - self.interval_stddev ** 2, 0.0)
        expected = self._variance + parameter_variance
        # A residual is shared between noise and what has not been learnt. The other errors of the
        # parameters come from the noise of earlier rows: if they took a share too, the estimate of
        # a noise too slow to average out would shrink without end.
        unlearnt = parameter_variance if unlearnt is None else unlearnt
        noise = self.long_run ** 2
        noise_share = noise / (noise + unlearnt)
        self._long_run.add_residual(residual * np.sqrt(noise_share), informative)
        # The whole residual, because the parameters' variance does not include model error; its
        # weight is the noise's share.
        share = np.abs(residual) / predicted_stddev
        ordinary = informative & (share < GROSS)
        self._lasting.add_residual(residual, ordinary * noise_share)
        self._any_time.add_residual(residual, (valid & (share < GROSS)) * noise_share)
        size = np.minimum(square / expected, WINSOR ** 2) / WINSOR_MEAN
        self._recent = np.where(valid, self._recent + self._recent_rate * (size - self._recent),
                                self._recent)
        clipped = np.minimum(square, WINSOR ** 2 * self._variance) / WINSOR_MEAN
        # A mean at first, so that a wrong initial noise does not last for several time constants.
        # It favours newer rows, because the first residuals are the prior's error, not noise.
        rate = np.maximum(self._rate, 2 / (self._count + 2))
        new = (1 - rate) * self._variance + rate * clipped
        self._count = self._count + informative
        self._variance = np.where(informative, np.maximum(new, self._floor ** 2), self._variance)
        least, most = FACTOR_RANGE
        step = self._quantile_rate * ((share > Z95) - (1 - COVERED))
        # np.clip would take five times as long
        factor = np.minimum(np.maximum(self._factor * np.exp(step), least), most)
        self._factor = np.where(ordinary, factor, self._factor)
