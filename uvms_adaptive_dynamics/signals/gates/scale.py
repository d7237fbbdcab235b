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

"""The running scale of a signal, by which the gates judge what is far."""
from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.normal import NORMAL_MEDIAN

START_FACTOR = 5.0        # of the floor: wide until the signal has been seen
# [s] in which rejected values alone double a scale: a sensor that is like that is accepted in the
# end, ten seconds of garbage are not.
DOUBLED_IN = 10.0
SCALE_STEP = 0.02           # of a running scale, for each value of sensors that come often
# Scales beyond which a sensor contradicts itself: one good value in a billion, and every fault
# worth the name.
CONTRADICTION_SCALES = 6.0


class MedianScale:
    """Running standard deviations (W,) of centred values, by the median of their sizes.

    Each value moves the logarithm of the scale by a fixed step up or down, so a burst of outliers
    counts no more than as many small values, however large they are. Never below `floor` (W,).
    Plain floats: for ten of them a numpy array takes three times as long.
    """

    def __init__(self, floor: Sequence[float], step: float, start: float = START_FACTOR,
                 known: int = 0):
        """`start`: times the floor, the scale before the first value, as found from `known` values.
        """
        self._floor, self._step = [float(f) for f in floor], step
        self._count = known
        self.value = [start * f for f in self._floor]

    @property
    def is_settled(self) -> bool:
        """Whether it is known as well as it ever is: steps have become as small as they get."""
        return self._step * (self._count + 2) >= 1.0

    def doubt(self, spacing: float) -> None:
        """Widen, for a measurement that was rejected `spacing` [s] after the last."""
        factor = 2.0 ** (spacing / DOUBLED_IN)
        self.value = [factor * v for v in self.value]

    def add(self, size: Sequence[float]) -> None:
        """Update with the sizes (W,) of one measurement."""
        self._count += 1
        step = max(self._step, 1.0 / (self._count + 2))
        up, down = 1.0 + step, 1.0 - step
        moved = [v * up if s > NORMAL_MEDIAN * v else v * down if s == s else v
                 for s, v in zip(size, self.value)]      # NaN says nothing
        self.value = [v if v > f else f for v, f in zip(moved, self._floor)]


def judged(scale: MedianScale, size: Sequence[float], spacing: float,
           known: Sequence[bool] = ()) -> bool:
    """Whether sizes (W,) lie within the scale, which learns from those that do.

    `spacing` [s] since the last ones; known (W,): sizes that say something, by default all."""
    if known:
        size = [s if yes else math.nan for s, yes in zip(size, known)]
    if all(s <= CONTRADICTION_SCALES * v or (known and s != s)
           for s, v in zip(size, scale.value)):
        scale.add(size)
        return True
    scale.doubt(spacing)
    return False
