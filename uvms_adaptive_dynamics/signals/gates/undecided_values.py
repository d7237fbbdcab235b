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

"""Values of a sensor that a gate has not accepted, and the lines through them."""
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np


class Undecided(NamedTuple):
    """A value (3,) at t [s], and the axes (3, 3) of the sensor at that time."""

    t: float
    value: np.ndarray
    axes: np.ndarray


class SteadyDrift(NamedTuple):
    """A line through values whose slope is constant in the sensor's axes: its value (3,) at the
    first of them, that slope (3,) per second, and the median distance of the values from it, on the
    axis with the largest one."""

    begin: np.ndarray
    slope: np.ndarray
    spread: float


class UndecidedValues:
    """Values (3,) in order of time that have not been accepted."""

    def __init__(self) -> None:
        self._held: list[Undecided] = []

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, k: int) -> Undecided:
        return self._held[k]

    def add(self, value: Undecided) -> None:
        """Add the newest value."""
        self._held.append(value)

    def clear(self) -> None:
        """Remove all values."""
        self._held.clear()

    def remove_first(self) -> Undecided:
        """Remove the oldest value, and return it."""
        return self._held.pop(0)

    def keep_newest(self, count: int) -> None:
        """Remove all values but the newest."""
        del self._held[:-count]

    def times(self) -> np.ndarray:
        """(k,) times [s]."""
        return np.array([one.t for one in self._held])

    def values(self) -> np.ndarray:
        """(k, 3) values."""
        return np.array([one.value for one in self._held])

    def slope(self) -> np.ndarray:
        """(3,) slope of their line, the median over all pairs (Theil-Sen)."""
        t, values = self.times(), self.values()
        i, j = np.triu_indices(len(t), 1)
        return np.median((values[j] - values[i]) / (t[j] - t[i])[:, None], axis=0)

    def scatter(self, near: np.ndarray) -> float:
        """Standard deviation, over all axes, of the values selected by near (k,) bool from the
        line of all."""
        left = self._left_of_line(self.slope())[near]
        left = left - left.mean(axis=0)
        return math.sqrt(float(np.sum(left ** 2)) / max(left.size - 6, 3))

    def spread(self, slope: np.ndarray) -> float:
        """Median distance from the line with this slope (3,), on the axis with the largest one."""
        left = self._left_of_line(slope)
        return float(np.max(np.median(np.abs(left - np.median(left, axis=0)), axis=0)))

    def spread_of_steps(self) -> float:
        """Median distance from their line, on the axis with the largest one, that values of white
        noise would have with these steps."""
        steps = np.abs(np.diff(self.values(), axis=0))
        return float(np.max(np.median(steps, axis=0))) / math.sqrt(2.0)

    def steady_drift(self, slope: np.ndarray) -> SteadyDrift:
        """The line with a slope that is constant in the sensor's axes, besides the slope (3,)."""
        t, axes = self.times(), np.array([one.axes for one in self._held])
        # (k, 3, 3) integral of the axes since the first value
        steps = 0.5 * (axes[1:] + axes[:-1]) * np.diff(t)[:, None, None]
        integral = np.vstack([np.zeros((1, 3, 3)), np.cumsum(steps, axis=0)])
        x = np.concatenate([integral, np.broadcast_to(np.eye(3), integral.shape)], axis=2)
        line = self._left_of_line(slope)
        fit = np.linalg.lstsq(x.reshape(-1, 6), line.ravel(), rcond=None)[0]
        spread = float(np.max(np.median(np.abs(line - x @ fit), axis=0)))
        return SteadyDrift(fit[3:], fit[:3], spread)

    def _left_of_line(self, slope: np.ndarray) -> np.ndarray:
        """(k, 3) values less a slope (3,) since the first of them."""
        t = self.times()
        return self.values() - (t - t[0])[:, None] * slope
