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

"""Scale of each channel's residuals over all data: robust, for weights; and as wide as intervals at
another time must be, for files (docs/mathematics.md, "Channel noise")."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, stdtrit

from ..model.normal import Z95

WINSOR = 2.0            # deviations at which a residual is clipped
# mean of min(z^2, WINSOR^2) for a standard normal z: makes the scale unbiased for Gaussian noise
WINSOR_MEAN = 0.9205
INITIAL_ROWS = 25       # weight of an assumed noise, in rows
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

    def add_residual(self, residual: np.ndarray, weight: np.ndarray) -> None:
        """Add a tick's residuals (C,); weight (C,): the weight of each for the noise, 0 to 1."""
        # One channel's scale per tick, so that no tick pays for all of them.
        self._turn = (self._turn + 1) % max(SCALE_EVERY, self._each.size)
        if self._turn < self._each.size and self._seen[self._turn]:
            self._stddev[self._turn] = self._scale(self._turn)
        rate = self._rate_at(self._seen) * weight
        self._histogram *= (1 - rate)[:, None]
        self._histogram[self._each, self._places(residual)] += rate
        self._seen += weight

    def _rate_at(self, seen: np.ndarray) -> np.ndarray:
        """Weight of a residual in the histogram after `seen` others. All rows count alike except
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
        self._stddev = self._scales()

    def _scales(self) -> np.ndarray:
        """(C,) the scale of all residuals in the histogram."""
        found = self._initial.copy()
        for c in np.flatnonzero(self._seen):
            found[c] = self._scale(int(c))
        return found

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
    """The same for a scale that no tick reads: residuals are added many at once, and the scale is
    computed when it is read."""

    def restart(self, initial: np.ndarray, rows: float) -> None:
        """See `LongRunNoise.restart`."""
        super().restart(initial, rows)
        # residuals and their weights that are not in the histogram yet
        self._waiting, self._count = np.zeros((2, SCALE_EVERY, initial.size)), 0

    def add_residual(self, residual: np.ndarray, weight: np.ndarray) -> None:
        """See `LongRunNoise.add_residual`."""
        self._waiting[:, self._count] = residual, weight
        self._count += 1
        if self._count == SCALE_EVERY:
            self._add_waiting()

    def _add_waiting(self) -> None:
        if not self._count:
            return
        residual, weight = self._waiting[:, :self._count]
        self._count = 0
        seen = self._seen + weight.cumsum(axis=0) - weight
        rate = self._rate_at(seen) * weight
        left, shares = running_shares(rate)
        self._histogram *= left[:, None]
        np.add.at(self._histogram, (self._each, self._places(residual)), shares)
        self._seen = self._seen + weight.sum(axis=0)

    @property
    def stddev(self) -> np.ndarray:
        """See `LongRunNoise.stddev`."""
        self._add_waiting()
        return self._scales()

    def record(self) -> ScaleRecord:
        """See `LongRunNoise.record`."""
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


def running_shares(rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(share (C,) that remains of a running mean after rows that enter it one after the other at
    these rates (T, C), share (T, C) of each row in it then)."""
    left = (1 - rate)[::-1].cumprod(axis=0)[::-1]       # by each row and all later ones
    return left[0], rate * np.append(left[1:], np.ones_like(left[:1]), axis=0)
