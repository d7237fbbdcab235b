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

"""Running scale of a signal, by which the gates judge deviations."""
from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.normal import chi_squared

START_FACTOR = 5.0        # times the floor: wide until the signal is known
# [s] in which nothing but rejected values doubles a scale: a sensor that is always like that is
# finally accepted, ten seconds of garbage are not.
DOUBLED_IN = 10.0
SCALE_STEP = 0.02           # relative step of a running scale per value, for fast sensors
# Scales beyond which a sensor contradicts itself: one good value in a billion, and every serious
# fault.
CONTRADICTION_SCALES = 6.0


class RunningScale:
    """Running standard deviations (W,) of centred normal values, from a quantile of their
    magnitudes, by default the median.

    Each value moves the logarithm of the scale by a fixed step up or down, so a burst of outliers
    counts no more than as many small values, however large they are. Never below `floor` (W,).
    Plain floats: a numpy array of ten takes three times as long.
    """

    def __init__(self, floor: Sequence[float], step: float, start: float = START_FACTOR,
                 known: int = 0, share: float = 0.5):
        """`start`: initial scale in floors, as if determined from `known` values; `share`: of the
        magnitudes that are below the quantile."""
        self._least, self._step = [float(f) for f in floor], step
        self._floor = self._least
        self._count = known
        self._up, self._down = 2.0 * share, 2.0 * (1.0 - share)     # balanced at the quantile
        self._quantile = math.sqrt(chi_squared(share, 1))
        self.value = [start * f for f in self._floor]

    @property
    def is_settled(self) -> bool:
        """Whether the scale is as well known as it can be: the steps have reached their minimum."""
        return self._step * (self._count + 2) >= 1.0

    def set_resolution(self, stddev: Sequence[float]) -> None:
        """Raise the floor to the standard deviations (W,) of rounding where they exceed it."""
        self._floor = [max(f, s) for f, s in zip(self._least, stddev)]
        self.value = [max(v, f) for v, f in zip(self.value, self._floor)]

    def doubt(self, spacing: float) -> None:
        """Widen the scale after a rejected measurement, `spacing` [s] after the last."""
        factor = 2.0 ** (spacing / DOUBLED_IN)
        self.value = [factor * v for v in self.value]

    def add(self, size: Sequence[float]) -> None:
        """Update with the magnitudes (W,) of one measurement."""
        self._count += 1
        step = max(self._step, 1.0 / (self._count + 2))
        up, down = 1.0 + self._up * step, 1.0 - self._down * step
        quantile = self._quantile
        moved = [v * up if s > quantile * v else v * down if s == s else v
                 for s, v in zip(size, self.value)]      # (NaN changes nothing)
        self.value = [v if v > f else f for v, f in zip(moved, self._floor)]


def judged(scale: RunningScale, size: Sequence[float], spacing: float,
           known: Sequence[bool] = ()) -> bool:
    """Whether magnitudes (W,) are within the scale, which is updated if they are, else widened.

    `spacing` [s] since the last ones; known (W,): which magnitudes to judge, by default all."""
    if known:
        size = [s if yes else math.nan for s, yes in zip(size, known)]
    if all(s <= CONTRADICTION_SCALES * v or (known and s != s)
           for s, v in zip(size, scale.value)):
        scale.add(size)
        return True
    scale.doubt(spacing)
    return False
