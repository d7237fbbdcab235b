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

"""Block averages over some 2 ms for sensors much faster than the vehicle's motion."""
from __future__ import annotations

import math
from collections.abc import Sequence

# [s] A fiftieth of the narrowest window of a fit, so averaging loses nothing. A 500 Hz sensor
# passes unchanged despite jitter, and a 4 kHz sensor fills the series no faster.
AVERAGED_SPAN = 0.0015


class BlockAverage:
    """Averages rows (W floats) that come closer together than AVERAGED_SPAN; others pass unchanged.

    The columns `newest` are not averaged but taken from the last row, for angles that wrap.
    """

    def __init__(self, newest: Sequence[int] = ()):
        self._newest = newest
        self.reset()

    def reset(self) -> None:
        """Forget the unfinished block."""
        self._begin = 0.0
        self._times = 0.0
        self._sum: list[float] = []
        self._count = 0
        self._last = -math.inf

    def add(self, t: float, row: Sequence[float]) -> tuple[float, Sequence[float]] | None:
        """The block (time, row) that ends with this row; None while it is unfinished."""
        spacing, self._last = t - self._last, t
        if self._count == 0 and spacing >= AVERAGED_SPAN:
            return t, row
        if self._count == 0:
            self._begin, self._times, self._sum, self._count = t - spacing, 0.0, [0.0] * len(row), 0
        self._times += t
        self._sum = [a + b for a, b in zip(self._sum, row)]
        self._count += 1
        if t - self._begin < AVERAGED_SPAN:
            return None
        mean = [a / self._count for a in self._sum]
        for column in self._newest:
            mean[column] = row[column]
        found = self._times / self._count, mean
        self._count = 0
        return found
