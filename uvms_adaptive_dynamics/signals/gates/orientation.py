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

"""Whether an IMU's messages carry a valid orientation; one that never changes while the gyro turns
is not valid."""
from __future__ import annotations

import math
from collections.abc import Sequence

# [s] of readings with (or without) an orientation after which the verdict changes: longer than a
# driver's startup, shorter than a user's patience.
OTHER_KIND = 1.0
# [rad] Turn of the gyro within TURN_MEMORY [s] that a valid orientation would follow: ten times the
# effect of a bias of half a degree per second.
TURNED, TURN_MEMORY = 0.1, 1.0
NOT_PUBLISHED = "its messages carry no orientation"
CONSTANT = "its orientation never changes although its gyro turns"


class OrientationGate:
    """Judges readings [down (3), rates (3), force (3), heading] of an IMU.

    `missing`: why the orientation is not used, '' if it is, None before the first reading.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.missing: str | None = None
        self._first: Sequence[float] | None = None     # orientation, until it changes
        self._turn = [0.0, 0.0, 0.0]                   # [rad] gyro's turn in the last second
        self._t = self._other_since = -math.inf

    def usable(self, t: float, reading: Sequence[float]) -> bool:
        """Whether a reading can be used as the sensor is currently judged; updates `missing`."""
        why = self._why_missing(t, reading)
        if self.missing is None or bool(why) == bool(self.missing):
            self.missing, self._other_since = why or "", math.inf
            return True
        self._other_since = min(self._other_since, t)
        if t - self._other_since > OTHER_KIND or why == CONSTANT:
            self.missing, self._other_since = why, math.inf
            return True
        # An attitude estimated here needs no orientation; a missing one cannot be replaced at once.
        return bool(self.missing)

    def _why_missing(self, t: float, reading: Sequence[float]) -> str:
        """Why the reading has no valid orientation, '' if it has one."""
        orientation = [*reading[:3], reading[9]]
        step = 0.0 if self._first is None else min(t - self._t, TURN_MEMORY)
        self._t = t
        if math.isnan(orientation[0]):
            return NOT_PUBLISHED
        if self._first is None:
            self._first = orientation
        if orientation != self._first:
            self._first = ()
            return ""
        kept = 1.0 - step / TURN_MEMORY
        self._turn = [kept * turn + step * rate for turn, rate in zip(self._turn, reading[3:6])]
        constant = self.missing == CONSTANT or max(map(abs, self._turn)) > TURNED
        return CONSTANT if constant else ""
