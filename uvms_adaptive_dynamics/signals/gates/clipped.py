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

"""Detection of velocities at an end of their sensor's range.

A noisy sensor hardly ever measures exactly the same twice in a row, as the values between its
extremes show; one that is clipped stays exactly at its largest or smallest value. Once that is
proven, every value there is a bound, not a measurement, until a value beyond it proves that the
range does not end there."""
from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.rotations import turned_back
from .resolution import ROUNDING, Resolution

AT_LIMIT = "at the end of the sensor's range"
LARGER_RANGE = "set a larger range in the DVL or its driver, or move more slowly"
DECIMALS = 9                # of velocities [m/s] that are turned to the body's axes and back
# Odds that prove a clipped sensor, of which every second value at a limit repeats itself.
CLIPPED_ODDS, CLIPPED_REPEATS = 1e6, 0.5


class ClippedVelocities:
    """Follows the three axes of one sensor. axes (9,): takes the sensor's axes to the body's;
    stddev [m/s]: of its noise."""

    def __init__(self, axes: Sequence[float], stddev: float):
        self._axes, self._stddev = axes, stddev
        self._resolution = Resolution(3)
        self._ends = [(_End(-1.0), _End(1.0)) for _ in range(3)]
        self._inside = [_Pairs() for _ in range(3)]     # of values between the ends
        self._last = [math.nan] * 3

    def at_limit(self, velocity: Sequence[float]) -> bool:
        """Add a velocity (3,) in the body's axes; returns whether a component is at a limit."""
        own = [round(v, DECIMALS) for v in turned_back(self._axes, velocity)]
        self._resolution.add(own)
        clipped = False
        for v, last, ends, inside, rounding in zip(own, self._last, self._ends, self._inside,
                                                   self._resolution.stddev):
            before = next((end.pairs for end in ends if end.limit == last), inside)
            before.count(v == last)
            # (coarse steps repeat at a steady speed; a range does not end at zero)
            judged = rounding <= ROUNDING * self._stddev and v != 0.0
            clipped |= any([end.add(v, inside.share, judged) for end in ends])
        self._last = own
        return clipped

    def sentences(self) -> list[str]:
        """A warning for the operator about the limits."""
        found = [f"{name} at {end.limit:g} m/s ({end.clipped} times)" for name, ends in zip(
            "xyz", self._ends) for end in ends if end.clipped]
        return [] if not found else [
            "dvl: its velocities are clipped, since they stay exactly at their extremes: "
            f"{', '.join(found)}; these are not used; {LARGER_RANGE}"]


class _Pairs:
    """Pairs of a value and the next one, and how many of them are the same."""

    def __init__(self) -> None:
        self.number = self.same = 0

    def count(self, same: bool) -> None:
        """Count a pair."""
        self.number += 1
        self.same += same

    @property
    def share(self) -> float:
        """Share that is the same, by Laplace's rule."""
        return (self.same + 1) / (self.number + 2)


class _End:
    """The smallest (side -1) or largest (side 1) value so far, `limit`, and the pairs that begin
    with it; clipped: number of values since it was proven to be the end of the range."""

    def __init__(self, side: float):
        self._side = side
        self.limit, self.pairs, self.clipped = -side * math.inf, _Pairs(), 0

    def add(self, value: float, repeats: float, judged: bool) -> bool:
        """Add a value; returns whether it is at the end of the range. repeats: share of the values
        inside that repeat themselves; judged: whether repeats prove anything."""
        beyond = self._side * (value - self.limit)
        if beyond > 0.0:
            self.limit, self.pairs, self.clipped = value, _Pairs(), 0
        if beyond == 0.0 and (
                self.clipped or judged and self._log_odds(repeats) > math.log(CLIPPED_ODDS)):
            self.clipped += 1
        return bool(beyond == 0.0 and self.clipped)

    def _log_odds(self, repeats: float) -> float:
        same, others = self.pairs.same, self.pairs.number - self.pairs.same
        return (same * math.log(CLIPPED_REPEATS / repeats)
                + others * math.log((1.0 - CLIPPED_REPEATS) / (1.0 - repeats)))
