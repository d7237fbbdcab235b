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

"""How current an estimate is: time since rows were learnt and a solve succeeded, in data time, and
jumps of its values."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.arguments import read_only


class ProgressRecord(NamedTuple):
    """row_age (C,) [s]: time since each channel's newest learnt row, inf before the first;
    solve_age [s]: data learnt since the newest successful solve, inf before the first;
    failed_in_a_row: failed solves since then; jumps: how often the values were replaced rather than
    updated; jump_reason: cause of the last jump, or the origin of the values; age [s]: data time
    since the start or the last restart."""

    row_age: np.ndarray
    solve_age: float = np.inf
    failed_in_a_row: int = 0
    jumps: int = 0
    jump_reason: str = ""
    age: float = 0.0


class Progress:
    """Counts ages in data time; a clock that jumps back does not reduce them."""

    def __init__(self, channels: int):
        self._age, self._row_age, self._solve_age = 0.0, np.full(channels, np.inf), np.inf
        self._failed_in_a_row = 0
        self._jumps, self._jump_reason = -1, ""     # the first restart is the start, not a jump

    def advance(self, seconds: float) -> None:
        """Advance data time by so much [s]; a negative step counts as zero."""
        self._age += max(seconds, 0.0)
        self._row_age = self._row_age + max(seconds, 0.0)

    def note_rows(self, learnt: np.ndarray, period: float) -> None:
        """Note the rows learnt (C,) bool at this tick, before its solve; period [s]."""
        self._row_age = np.where(learnt, 0.0, self._row_age)
        self._solve_age += period

    def note_solve(self) -> None:
        """Note that this tick's solve has succeeded."""
        self._solve_age, self._failed_in_a_row = 0.0, 0

    def note_failure(self) -> int:
        """Note that this tick's solve has failed; returns the number of failures in a row."""
        self._failed_in_a_row += 1
        return self._failed_in_a_row

    def note_jump(self, reason: str) -> None:
        """Note that the values are replaced, now or at once afterwards, rather than updated."""
        self._jumps += 1
        self._jump_reason = reason

    def restart(self, origin: str) -> None:
        """Begin again with the values of `origin`, nothing learnt or solved."""
        self._age, self._row_age = 0.0, np.full(self._row_age.size, np.inf)
        self._solve_age, self._failed_in_a_row = np.inf, 0
        self.note_jump(f"{'start' if self._jumps < 0 else 'restart'} from {origin}")

    def record(self) -> ProgressRecord:
        """A copy for any thread."""
        return ProgressRecord(read_only(self._row_age.copy()), self._solve_age,
                              self._failed_in_a_row, self._jumps, self._jump_reason, self._age)
