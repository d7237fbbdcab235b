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

"""Hampel filter that removes spikes from signals sampled faster than they change (docs/signals.md,
"Rejection before smoothing").

After a low-pass an outlier is a smooth, biased second, so raw measurements are judged against their
neighbours first. The scale is learnt from all values, rejected ones included, so a gate that is too
narrow opens by itself.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .resolution import Resolution
from .scale import SCALE_STEP, RunningScale

SPIKE_NEIGHBOURS = 3    # neighbours on either side of a value
LOOKAHEAD = 0.1         # [s] that a value waits for later neighbours
SPIKE_SIGMAS = 5.0      # catches errors of ten deviations, and rejects one good value in a million
LOCAL_SIGMAS = 6.0      # median deviations of the window: a curved or stepping signal is no spike
ERRATIC_SIGMAS = 6.0    # of the typical second difference, from which a whole window is erratic
# Share of its inputs that are below the quantile that the scale follows. Where two of five values
# are wrong, half of the inputs are as soon as some of these values are missed.
SMALLEST_INPUTS = 0.35
CURVATURE_OF_NOISE = math.sqrt(1.5)  # standard deviation of half a second difference of white noise
# [s] within which a fast sensor has more neighbours: in so short a time no signal bends
NEIGHBOURHOOD = 0.06
# Its window may hold two wrong values of five: local deviations are those of the nearest values.
NEAREST_SIGMAS = 9.0    # times the SMALLEST_INPUTS quantile of the deviations, as LOCAL_SIGMAS
MAX_SPACING = 0.25      # [s] beyond which neighbours are unrelated


class GatedRow(NamedTuple):
    """A row (W floats) from the gate with its time `t` [s], spikes replaced by a local median.

    `spikes` (W,) marks the replaced values, `erratic` (W,) those whose whole window is beyond
    repair; either is None if there are none.
    """

    t: float
    row: Sequence[float]
    spikes: np.ndarray | None
    erratic: np.ndarray | None


class SpikeGate:
    """Compares every value with the median of a symmetric window, with a few samples of delay.

    A step is no spike: more than half of the window is on its side. `floor` (W,) is the smallest
    scale, in the signal's units, raised to the rounding of a coarse sensor.
    `lookahead` [s] bounds the wait for later neighbours, of which there are up to `neighbours`.
    """

    def __init__(self, floor: Sequence[float], lookahead: float = LOOKAHEAD,
                 neighbours: int = SPIKE_NEIGHBOURS):
        self._floor, self._lookahead, self._neighbours = floor, lookahead, neighbours
        self.reset()

    def reset(self) -> None:
        """Forget all rows and the scale."""
        self._scale = RunningScale(self._floor, SCALE_STEP, share=SMALLEST_INPUTS)
        self._resolution = Resolution(len(self._floor))
        self._times: list[float] = []
        self._rows: list[Sequence[float]] = []
        self._next = 0                    # index of the first undecided row

    @property
    def noise(self) -> list[float]:
        """(W,) standard deviations of the values, as their second differences show them."""
        return [scale / CURVATURE_OF_NOISE for scale in self._scale.value]

    def gate(self, t: float, row: Sequence[float]) -> list[GatedRow]:
        """Add a row (W floats) later than the last; returns the rows that are decided now."""
        decided = []
        times = self._times
        if self._resolution.add(row):
            self._scale.set_resolution(self._resolution.stddev)
        if times and t - times[-1] > max(MAX_SPACING, self._lookahead):
            decided = self.flush()
            times.clear()
            self._rows.clear()
            self._next = 0
        times.append(t)
        self._rows.append(row)
        while self._next < len(times) and self._is_awaited(len(times) - 1 - self._next,
                                                           t - times[self._next]):
            decided.append(self._decide())
        while self._next > self._neighbours:
            del times[0], self._rows[0]
            self._next -= 1
        return decided

    def _is_awaited(self, later: int, seconds: float) -> bool:
        """Whether a row has all the later neighbours that it gets, the last one after `seconds`."""
        return (later >= self._neighbours or seconds >= self._lookahead
                or (later >= SPIKE_NEIGHBOURS and seconds >= NEIGHBOURHOOD))

    def forget(self, column: int, since: float) -> None:
        """Set a column's numbers in the rows still held, from `since` [s] on, to NaN."""
        self._rows = [[*row[:column], math.nan, *row[column + 1:]] if t >= since else row
                      for t, row in zip(self._times, self._rows)]

    def until(self, t: float) -> list[GatedRow]:
        """The rows up to t [s] still held, judged by the neighbours that they have: for a signal
        that may pause for longer than the lookahead."""
        found = []
        while self._next < len(self._times) and self._times[self._next] <= t:
            found.append(self._decide())
        return found

    def flush(self) -> list[GatedRow]:
        """All rows still held, judged by the neighbours that they have."""
        return [self._decide() for _ in range(len(self._times) - self._next)]

    def _decide(self) -> GatedRow:
        """Decide on the next row by second differences with its neighbours.

        This is cheap and enough for nearly all rows. Whether a far value is a spike, is next to one
        or lies at a step, is decided by the median of the window.
        """
        c, rows = self._next, self._rows
        self._next += 1
        t, row = self._times[c], rows[c]
        half = min(self._neighbours, c, len(rows) - 1 - c)
        while half > SPIKE_NEIGHBOURS and (
                self._times[c + half] - t > NEIGHBOURHOOD
                or t - self._times[c - half] > NEIGHBOURHOOD):
            half -= 1
        if half == 0:
            return GatedRow(t, row, None, None)
        scale = self._scale.value
        before, after = rows[c - 1], rows[c + 1]
        size = [abs(x - 0.5 * (a + b)) for x, a, b in zip(row, before, after)]
        if c > 1:
            # The second difference with the two rows before, which are free of spikes, is wrong
            # only if this row is; the mean of the neighbours also if the next one is.
            curvature = [0.5 * abs(x - 2.0 * a + b) for x, a, b in zip(row, before, rows[c - 2])]
            self._scale.add(curvature)
            size = [d if d > s else s for s, d in zip(size, curvature)]
        for s, v in zip(size, scale):
            if s > SPIKE_SIGMAS * v:
                return self._compare_with_median(c, half, np.array(size), np.array(scale))
        return GatedRow(t, row, None, None)

    def _compare_with_median(self, c: int, half: int, size: np.ndarray,
                             scale: np.ndarray) -> GatedRow:
        """Decide on row c by its window of `half` rows on either side.

        `size` (W,): half a second difference with its neighbours; `scale` (W,): its standard
        deviation.
        """
        limit = SPIKE_SIGMAS * scale
        t, row = self._times[c], np.array(self._rows[c])
        window = np.array(self._rows[c - half:c + half + 1])
        ordered = np.sort(window, axis=0)
        median = ordered[half]
        far = (size > limit) & (np.abs(row - median) > limit)
        near, sigmas = (half, LOCAL_SIGMAS) if half <= SPIKE_NEIGHBOURS else (
            int(SMALLEST_INPUTS * len(window)), NEAREST_SIGMAS)
        local = np.sort(np.abs(window - median), axis=0)[near]
        spikes = far & (np.abs(row - median) > sigmas * local)
        erratic = None
        if half >= SPIKE_NEIGHBOURS:
            second_difference = np.abs(window[1:-1] - 0.5 * (window[:-2] + window[2:]))
            # One outlier affects three of five differences, so four of five must be large.
            most_of_them = np.sort(second_difference, axis=0)[len(second_difference) // 5]
            rough = far & (most_of_them > ERRATIC_SIGMAS * limit / SPIKE_SIGMAS)
            if half > SPIKE_NEIGHBOURS:
                rough &= ~spikes        # (of so many, those near the median are a majority)
            erratic = rough if rough.any() else None
        if not spikes.any():
            return GatedRow(t, self._rows[c], None, erratic)
        # The median without the row itself: on a ramp that of all would be off by half a step.
        others = 0.5 * (median + np.where(row > median, ordered[half - 1], ordered[half + 1]))
        clean = np.where(spikes, others, row).tolist()
        self._rows[c] = clean              # keep the spike out of its neighbours' windows
        return GatedRow(t, clean, spikes, erratic)
