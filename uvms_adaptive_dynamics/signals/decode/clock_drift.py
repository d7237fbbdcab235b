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

"""Drift of a sensor's clock: reception less stamp grows along a line, whereas a transport delay
changes by steps, wanders, or goes to and fro.

Model of the differences d at times t, with white noise and a random walk (the wandering delay):

    d[k] = a + rate t[k] + walk[k] + noise[k],  var(walk[k] - walk[k-1]) = ratio var(noise)

The increments of d are free of a, and the sine transform makes those of walk and noise independent,
with variances ratio + 2 - 2 cos(pi k / n). A drift is certain if the likelihood with it exceeds the
one without it, each maximized over the ratio, by as much as Student's t-test requires at 99.9 %.
"""
from __future__ import annotations

from statistics import median_high

import numpy as np

from ...model.jackknife import student_quantile
from ...model.normal import CERTAIN

LEVEL = 3               # values of which one median is kept
FEWEST_LEVELS = 16      # five seconds of a fast sensor: a queue of three is no drift
MOST_LEVELS = 64        # then every second one is kept, so that they reach back to the beginning
# variance of the walk's step over that of the noise, from no walk to hardly any noise
RATIOS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)


class ClockDrift:
    """`rate` [s/s]: at which the differences grow (the clock loses), zero while nothing is certain.

    least_gain [s]: what synchronized clocks may gain.
    """

    def __init__(self, least_gain: float) -> None:
        self._least_gain = least_gain
        self.rate = 0.0
        self._values: list[tuple[float, float]] = []
        self._levels: list[tuple[float, float]] = []     # (reception, difference)
        self._each = LEVEL      # values to one level

    def add(self, receive: float, difference: float) -> None:
        """Add a difference [s] at a time of reception [s]."""
        self._values.append((receive, difference))
        if len(self._values) < self._each:
            return
        middle = self._values[len(self._values) // 2][0]
        self._levels.append((middle, median_high(value for _, value in self._values)))
        self._values.clear()
        if len(self._levels) == MOST_LEVELS:
            self._levels = self._levels[::2]
            self._each *= 2
        if len(self._levels) >= FEWEST_LEVELS:
            self.rate = self._certain_rate(*np.transpose(self._levels))

    def _certain_rate(self, t: np.ndarray, d: np.ndarray) -> float:
        """The rate [s/s] of the levels d (n,) [s] at times t (n,) [s], zero if it is uncertain."""
        if np.ptp(d) < self._least_gain:    # most sensors, most of the time
            return 0.0
        rate, certain = _line(t, d)
        return rate if certain and abs(rate) * (t[-1] - t[0]) > self._least_gain else 0.0


def _line(t: np.ndarray, d: np.ndarray) -> tuple[float, bool]:
    """Likeliest rate [s/s] of differences d (n,) [s] at times t (n,) [s]; whether it is certain."""
    n = len(t)
    k = np.arange(1, n)
    sines = np.sin(np.pi / n * np.outer(k, k))
    passed, gained = sines @ np.diff(t), sines @ np.diff(d)
    variance = np.array(RATIOS)[:, None] + 2.0 - 2.0 * np.cos(np.pi / n * k)
    slope = (passed * gained / variance).sum(axis=1) / (passed * passed / variance).sum(axis=1)
    without = (gained * gained / variance).sum(axis=1)
    left = (np.square(gained - slope[:, None] * passed) / variance).sum(axis=1)
    spread = np.log(variance).sum(axis=1)
    # -2 ln likelihood, maximized over the variance of the noise
    with_line = spread + (n - 1) * np.log(left + np.finfo(float).tiny)
    no_line = spread + (n - 1) * np.log(without + np.finfo(float).tiny)
    t_squared = (n - 2) * np.expm1((no_line.min() - with_line.min()) / (n - 1))
    certain = t_squared > student_quantile(CERTAIN, n - 1) ** 2
    return float(slope[np.argmin(with_line)]), bool(certain)
