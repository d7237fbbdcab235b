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

"""Drift of a sensor's clock: reception less stamp changes along a line, whereas a transport delay
changes by steps, or to and fro."""
from __future__ import annotations

from statistics import linear_regression, median_high

LEVEL = 10              # values of which one median is kept
FEWEST_LEVELS = 5
MOST_LEVELS = 64        # then every second one is kept, so that they reach back to the beginning
STRAIGHT = 0.25         # of what was gained, the largest distance from the line


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
        self._fit()

    def _fit(self) -> None:
        if len(self._levels) < FEWEST_LEVELS:
            return
        since = self._levels[0][0]
        times = [t - since for t, _ in self._levels]
        slope, level = linear_regression(times, [value for _, value in self._levels])
        gain = abs(slope) * times[-1]
        furthest = max(abs(value - level - slope * t)
                       for t, (_, value) in zip(times, self._levels))
        self.rate = slope if gain > self._least_gain and furthest < STRAIGHT * gain else 0.0
