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

"""Positions of joints whose encoder wraps after a whole turn, such as continuous joints."""
from __future__ import annotations

import math
from collections.abc import Sequence

TURN = 2 * math.pi      # [rad]
# [rad] Largest motion between two messages: a wrapped reading steps by a turn, give or take this.
# (No prismatic joint steps by three quarters of a turn, 4.7 m.)
MOST_MOTION = TURN / 4
# [rad] The same where it lengthens the step, since turns are counted anew: at 20 Hz, 8 rad/s.
MOST_BEYOND = TURN / 16


class WholeTurns:
    """Unwraps the positions (n,) of successive messages. `wrapped` (n,): whether a joint's encoder
    has wrapped.

    A wrapping encoder stays within one turn. Where a driver counts turns anew, a moving joint steps
    by a little more or less than a turn; a longer step is left as it is.
    """

    def __init__(self, joints: int):
        self.wrapped = [False] * joints
        self.restart()

    def restart(self) -> None:
        """Count turns anew, as after a pause, in which a joint may have turned anyhow."""
        self._last: list[float] = [math.nan] * len(self.wrapped)    # as read
        self._turns = [0.0] * len(self.wrapped)                     # [rad] added

    def unwrapped(self, positions: Sequence[float]) -> list[float]:
        """Unwrapped positions (n,) [rad]; NaN for joints that the message does not have."""
        for j, position in enumerate(positions):
            if position != position:
                continue
            step = position - self._last[j]
            if TURN - MOST_MOTION < abs(step) < TURN + MOST_BEYOND:
                self._turns[j] -= math.copysign(TURN, step)
                self.wrapped[j] = True
            self._last[j] = position
        return [position + turns for position, turns in zip(positions, self._turns)]


def within_turn(position: float, low: float, high: float) -> float:
    """The position [rad] shifted by whole turns to within half a turn of the middle of its limits;
    unchanged if the limits are a turn or more apart, where that is ambiguous."""
    if not high - low < TURN:
        return position
    return position - TURN * round((position - 0.5 * (low + high)) / TURN)
