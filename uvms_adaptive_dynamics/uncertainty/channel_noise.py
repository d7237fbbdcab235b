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
from scipy.special import ndtr, stdtrit

from ..model.normal import Z95

WINSOR = 2.0            # deviations at which a residual is clipped
# mean of min(z^2, WINSOR^2) for a standard normal z: makes the scale unbiased for Gaussian noise
WINSOR_MEAN = 0.9205
QUANTILE_RATE = 0.005   # per row of 20 ms: settles within about 20 s, scatters by about 7 %
FACTOR_RANGE = (0.5, 3.0)
GROSS = 5.0             # deviations from which a residual is an outlier, not noise
INITIAL_ROWS = 25       # weight of an assumed noise, in rows
# Model error comes and goes with the motion: this share of an interval's variance follows the
# residuals of the last half second, a time longer than the low-pass, whose overlap alone would make
# neighbouring residuals alike.
RECENT_SHARE, RECENT_TIME = 0.75, 0.5   # -, [s]
# of the histogram of residuals, centred on the initial noise
BINS_PER_OCTAVE, OCTAVES = 5, 30
FIRST_ROWS = 500        # first rows of a channel, whose weight grows with their number
SCALE_EVERY = 25        # rows between two evaluations of a channel's histogram
COVERED = 0.95          # share of rows that an interval must cover
# [s] of a manoeuvre, whose rows share one level of model error
MANOEUVRE = 10.0
FEWEST_MANOEUVRES = 5   # with fewer, the factor of `LastingNoise` would grow without limit


class ScaleRecord(NamedTuple):
    """What a scale rests on: histogram (C, bins) of residuals, relative to the initial noise (C,)
    that counts for `rows` rows; number of residuals `seen` (C,)."""

    histogram: np.ndarray
    seen: np.ndarray
    initial: np.ndarray
    rows: float


class LongRunNoise:
    """Robust scale of all residuals of each channel: Huber's Proposal 2 over a fading histogram.

    The scale s solves E min(r^2, (2 s)^2) = .9205 s^2 over all residuals, each with the weight that
    forgetting leaves it. It depends on the histogram alone, not on the order of quiet and lively
    recordings, and follows a new level as soon as enough rows have it."""

    def __init__(self, initial: np.ndarray, memory: float):
        """initial (C,): assumed noise; memory: effective number of rows, 1 / (1 - forgetting)."""
        self._rate = 1 / memory
        bins = OCTAVES * BINS_PER_OCTAVE
        octaves = (np.arange(bins) - bins // 2) / BINS_PER_OCTAVE
        self._edges, self._square = 4.0 ** octaves[1:], 4.0 ** (octaves + 0.5 / BINS_PER_OCTAVE)
        self._each = np.arange(initial.size)
        self.restart(initial, INITIAL_ROWS)

    def restart(self, initial: np.ndarray, rows: float) -> None:
        """Start again with an assumed noise (C,) that counts for `rows` rows."""
        self._initial, self._rows = np.array(initial, float), rows
        self._histogram = np.zeros((initial.size, self._square.size))
        self._seen = np.zeros(initial.size)
        self._turn = 0
        self._stddev = self._initial.copy()

    def go_on(self, known: np.ndarray, rows: float) -> None:
        """Continue from a noise (C,) learnt from `rows` rows, as if that many normal residuals had
        been seen. So if the robot has changed since, its large residuals are few among many, and do
        not raise the noise and hide the change from the detector."""
        self.restart(known, INITIAL_ROWS)
        edges = np.sqrt(np.concatenate([[0.0], self._edges, [np.inf]]))
        self._histogram += np.diff(2 * ndtr(edges) - 1)
        self._seen += min(rows, 1 / self._rate)

    def add_residual(self, residual: np.ndarray, telling: np.ndarray) -> None:
        """Add a tick's residuals (C,); telling (C,): the weight of each for the noise, 0 to 1."""
        # One channel's scale per tick, so that no tick pays for all of them.
        self._turn = (self._turn + 1) % max(SCALE_EVERY, self._each.size)
        if self._turn < self._each.size and self._seen[self._turn]:
            self._stddev[self._turn] = self._scale(self._turn)
        rate = self._rate_at(self._seen) * telling
        self._histogram *= (1 - rate)[:, None]
        self._histogram[self._each, self._places(residual)] += rate
        self._seen += telling

    def _rate_at(self, seen: np.ndarray) -> np.ndarray:
        """Weight of a residual in the histogram after so many others. All rows count alike except
        the first ones, whose residuals are the prior's error rather than noise."""
        return np.maximum(self._rate, 1 / (1 + seen - 0.5 * np.minimum(seen, FIRST_ROWS)))

    def _places(self, residual: np.ndarray) -> np.ndarray:
        """Bins of residuals (..., C)."""
        return self._edges.searchsorted((residual / self._initial) ** 2)

    @property
    def stddev(self) -> np.ndarray:
        """(C,) the scale [N, N m]."""
        return self._stddev.copy()

    def record(self) -> ScaleRecord:
        """A copy of what the scale rests on, for `put_back`."""
        return ScaleRecord(self._histogram.copy(), self._seen.copy(), self._initial, self._rows)

    def put_back(self, record: ScaleRecord) -> None:
        """Return to an earlier record."""
        self._histogram, self._seen = record.histogram.copy(), record.seen.copy()
        self._initial, self._rows = record.initial, record.rows
        self._stddev = self._initial.copy()
        for c in np.flatnonzero(self._seen):
            self._stddev[c] = self._scale(int(c))

    def _scale(self, c: int) -> float:
        found = self._found(c)
        # The assumed noise counts for its number of rows; squared, because the histogram's mean
        # favours newer rows and forgets at that rate.
        left = (self._rows / (self._rows + self._seen[c])) ** 2
        return float(self._initial[c] * np.sqrt(left + (1 - left) * found))

    def _found(self, c: int) -> float:
        """Variance by a channel's histogram, relative to the initial variance."""
        return _proposal_2(self._square, self._histogram[c])


class GatheredScale(LongRunNoise):
    """The same scale, for one that no tick reads: many residuals are added at once."""

    def restart(self, initial: np.ndarray, rows: float) -> None:
        """See `LongRunNoise.restart`."""
        super().restart(initial, rows)
        # residuals and their weights that are not in the histogram yet
        self._waiting, self._count = np.zeros((2, SCALE_EVERY, initial.size)), 0

    def add_residual(self, residual: np.ndarray, telling: np.ndarray) -> None:
        """See `LongRunNoise.add_residual`."""
        self._waiting[:, self._count] = residual, telling
        self._count += 1
        if self._count == SCALE_EVERY:
            self._add_waiting()

    def _add_waiting(self) -> None:
        residual, telling = self._waiting[:, :self._count]
        self._count = 0
        seen = self._seen + telling.cumsum(axis=0) - telling
        rate = self._rate_at(seen) * telling
        left = (1 - rate)[::-1].cumprod(axis=0)[::-1]     # by each row and all later ones
        self._histogram *= left[0, :, None]
        later = np.append(left[1:], np.ones_like(left[:1]), axis=0)
        np.add.at(self._histogram, (self._each, self._places(residual)), rate * later)
        self._seen = self._seen + telling.sum(axis=0)

    @property
    def stddev(self) -> np.ndarray:
        """See `LongRunNoise.stddev`."""
        self.put_back(self.record())    # scales of all residuals so far
        return super().stddev

    def record(self) -> ScaleRecord:
        """See `LongRunNoise.record`."""
        if self._count:
            self._add_waiting()
        return super().record()

    def put_back(self, record: ScaleRecord) -> None:
        """See `LongRunNoise.put_back`."""
        self._count = 0
        super().put_back(record)


class LastingNoise(GatheredScale):
    """Scale for intervals at another time without adaptation: 1.96 times it covers 95 % of all
    residuals, model error and heavy tails included.

    Model error has another size in each manoeuvre, so a few manoeuvres say little about the next
    one. Student's distribution, with the manoeuvres as degrees of freedom, has the quantile of a
    normal variable whose deviation is estimated from that few."""

    def __init__(self, initial: np.ndarray, memory: float, period: float):
        """See `LongRunNoise`; period [s] of rows."""
        self._memory, self._manoeuvre = memory, MANOEUVRE / period
        super().__init__(initial, memory)

    def _found(self, c: int) -> float:
        share = np.cumsum(self._histogram[c])
        share /= share[-1]
        k = int(np.searchsorted(share, COVERED))
        below = share[k - 1] if k else 0.0
        octaves = ((COVERED - below) / (share[k] - below) - 0.5) / BINS_PER_OCTAVE
        manoeuvres = max(FEWEST_MANOEUVRES, min(self._seen[c], self._memory) / self._manoeuvre)
        factor = float(stdtrit(manoeuvres, 0.5 + COVERED / 2)) / Z95
        return float(self._square[k] * 4.0 ** octaves * (factor / Z95) ** 2)


def _proposal_2(square: np.ndarray, mass: np.ndarray) -> float:
    """s^2 with sum mass min(square, WINSOR^2 s^2) = WINSOR_MEAN s^2 sum mass; square ascending."""
    total = mass.sum()
    below = np.cumsum(mass * square)          # the unclipped part, with the clip at each bin
    above = total - np.cumsum(mass)
    # left side minus right side, with s = clip / WINSOR
    excess = below + (above - WINSOR_MEAN * total / WINSOR ** 2) * square
    k = int(np.flatnonzero(excess >= 0)[-1])  # both sides are linear in s^2 up to the next bin
    return float(below[k] / (WINSOR_MEAN * total - WINSOR ** 2 * above[k]))


class NoiseRecord(NamedTuple):
    """The noise at some instant: local stddev (C,), long-run and lasting noise, and the scale of
    the efforts at which the long-run noise was learned."""

    stddev: np.ndarray
    long_run: ScaleRecord
    lasting: ScaleRecord
    effort: ScaleRecord


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
        if effort is None:
            self._effort.restart(self._default, INITIAL_ROWS)
        else:
            self._effort.go_on(effort, max(rows_known, rows))

    @property
    def interval_factor(self) -> np.ndarray:
        """(C,) tracked factor on the width of intervals, a copy."""
        return self._factor.copy()

    def begin_factor(self, factor: np.ndarray) -> None:
        """Let adaptive intervals start with a saved factor (C,). It depends on the shape and colour
        of the residuals and takes half a minute to be found."""
        if self._adapt:
            self._factor = np.clip(factor, *FACTOR_RANGE)

    @property
    def long_run(self) -> np.ndarray:
        """(C,) noise over all data, for the weights of rows."""
        return self._long_run.stddev

    @property
    def effort(self) -> np.ndarray:
        """(C,) scale of the predicted efforts [N, N m] of the rows that `long_run` was learned
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
        """(C,) noise of rows at another time, without adaptation to them."""
        return self._lasting.stddev

    def record(self) -> NoiseRecord:
        """The present noise, for `put_back`."""
        return NoiseRecord(self.stddev, self._long_run.record(), self._lasting.record(),
                           self._effort.record())

    def put_back(self, record: NoiseRecord) -> None:
        """Return to an earlier record: residuals since then had another cause than noise."""
        if self._adapt:
            self._variance = record.stddev ** 2
            self._long_run.put_back(record.long_run)
            self._lasting.put_back(record.lasting)
            self._effort.put_back(record.effort)

    def add_effort(self, predicted: np.ndarray, telling: np.ndarray) -> None:
        """Add predicted efforts (C,) of rows whose residuals inform the noise: telling (C,)."""
        if self._adapt:
            self._effort.add_residual(predicted, telling)

    def add_residual(self, residual: np.ndarray, valid: np.ndarray, predicted_stddev: np.ndarray,
                     telling: np.ndarray | None = None,
                     unlearnt: np.ndarray | None = None) -> None:
        """Add residuals (C,) of predictions made before their rows were seen, with their predicted
        deviations (C,).

        telling (C,) bool: rows whose residuals inform the noise, all valid ones if None. A row at
        rest repeats one error: its residual sets only the width of the next interval. unlearnt
        (C,): the predicted variance due to what has not been learnt (`Prediction`), None: all that
        is due to the parameters."""
        square = residual ** 2
        self._seen = self._seen + valid
        self._square = self._square + valid / np.maximum(self._seen, 1) * (square - self._square)
        if not self._adapt:
            return
        telling = valid if telling is None else valid & telling
        parameter_variance = np.maximum(predicted_stddev ** 2 - self.interval_stddev ** 2, 0.0)
        expected = self._variance + parameter_variance
        # Only what has not been learnt takes its share of a residual. The rest of the parameters'
        # error is noise of earlier rows: with a share for that, a slow noise that the rows in hand
        # cannot average out would shrink without end.
        unlearnt = parameter_variance if unlearnt is None else unlearnt
        noise = self.long_run ** 2
        noise_share = noise / (noise + unlearnt)
        self._long_run.add_residual(residual * np.sqrt(noise_share), telling)
        # The whole residual, because the parameters' variance does not include model error; its
        # weight is the noise's share.
        share = np.abs(residual) / predicted_stddev
        ordinary = telling & (share < GROSS)
        self._lasting.add_residual(residual, ordinary * noise_share)
        size = np.minimum(square / expected, WINSOR ** 2) / WINSOR_MEAN
        self._recent = np.where(valid, self._recent + self._recent_rate * (size - self._recent),
                                self._recent)
        clipped = np.minimum(square, WINSOR ** 2 * self._variance) / WINSOR_MEAN
        # A mean at first, so that a wrong initial noise does not last for several time constants.
        # It favours newer rows, because the first residuals are the prior's error, not noise.
        rate = np.maximum(self._rate, 2 / (self._count + 2))
        new = (1 - rate) * self._variance + rate * clipped
        self._count = self._count + telling
        self._variance = np.where(telling, np.maximum(new, self._floor ** 2), self._variance)
        least, most = FACTOR_RANGE
        step = self._quantile_rate * ((share > Z95) - (1 - COVERED))
        # np.clip would take five times as long
        factor = np.minimum(np.maximum(self._factor * np.exp(step), least), most)
        self._factor = np.where(ordinary, factor, self._factor)
