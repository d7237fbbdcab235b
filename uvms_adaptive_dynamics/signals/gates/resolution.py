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

"""Quantization step of a sensor, so that no gate mistakes a step for a fault."""
from __future__ import annotations

import math
from collections.abc import Sequence

MIN_CHANGES = 8                      # multiples of one step from which a signal is quantized
OFF_GRID = 0.01                      # distance of a multiple from an integer, in steps
# Changes that are float noise: relative to the value, absolute below one [SI unit].
NEGLIGIBLE = 1e-6
ROUNDING = 1.0 / math.sqrt(12.0)     # standard deviation of rounding, in steps


class Resolution:
    """Quantization steps of W signals: the smallest change, if the others are multiples of it."""

    def __init__(self, signals: int):
        self._step, self._last = [math.inf] * signals, [math.nan] * signals
        self._multiples = [0] * signals

    def add(self, row: Sequence[float]) -> bool:
        """Add the next reading (W,), NaN where there is none; returns whether `stddev` changed."""
        changed = False
        for k, (x, last, step, before) in enumerate(zip(row, self._last, self._step,
                                                        self._multiples)):
            change = x - last if x > last else last - x
            if not (NEGLIGIBLE < change < math.inf and change > NEGLIGIBLE * abs(x)):
                continue
            steps = change / step
            if steps < 1.0 - OFF_GRID:
                self._step[k], self._multiples[k] = change, 1
            elif -OFF_GRID <= (steps + 0.5) % 1.0 - 0.5 <= OFF_GRID:
                self._multiples[k] = min(before + 1, 4 * MIN_CHANGES)
            elif before:    # a spike, two changes off the grid, must not discard a well-known step
                self._multiples[k] = before // 2
            else:
                continue
            changed |= (before >= MIN_CHANGES) != (self._multiples[k] >= MIN_CHANGES)
        self._last = list(row)
        return changed

    @property
    def stddev(self) -> list[float]:
        """(W,) Standard deviation of rounding, zero for signals that are not quantized."""
        return [ROUNDING * step if multiples >= MIN_CHANGES else 0.0
                for step, multiples in zip(self._step, self._multiples)]
