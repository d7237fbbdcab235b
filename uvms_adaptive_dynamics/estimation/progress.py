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

"""How current an estimate is: what was learnt and solved when, in data time, and when its values
jumped."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np


class ProgressRecord(NamedTuple):
    """row_age (C,) [s]: since the newest row of each channel that was learnt, inf where none was;
    solve_age [s]: how much has been learnt since the newest solve that succeeded, inf before the
    first; failed_in_a_row: solves since then; jumps: how often the values were replaced rather than
    updated; jump_reason: why they were last, or where they began."""

    row_age: np.ndarray
    solve_age: float = np.inf
    failed_in_a_row: int = 0
    jumps: int = 0
    jump_reason: str = ""


class Progress:
    """Counts the ages along the data's time, so that a clock that jumps back makes nothing young.
    """

    def __init__(self, channels: int):
        self._row_age, self._solve_age = np.full(channels, np.inf), np.inf
        self._failed_in_a_row = 0
        self._jumps, self._jump_reason = -1, ""     # the first restart is the start, and no jump

    def advance(self, seconds: float) -> None:
        """Let data time go on by so much [s]; back counts as no time at all."""
        self._row_age = self._row_age + max(seconds, 0.0)

    def note_rows(self, counts: np.ndarray, period: float) -> None:
        """Rows (C,) bool of this tick that were learnt; a solve of it may follow. period [s]."""
        self._row_age = np.where(counts, 0.0, self._row_age)
        self._solve_age += period

    def note_solve(self) -> None:
        """A solve of this tick has given new values."""
        self._solve_age, self._failed_in_a_row = 0.0, 0

    def note_failure(self) -> int:
        """A solve of this tick has failed; how many in a row have."""
        self._failed_in_a_row += 1
        return self._failed_in_a_row

    def note_jump(self, reason: str) -> None:
        """The values are, or are about to be, others than learning would have made them."""
        self._jumps += 1
        self._jump_reason = reason

    def restart(self, origin: str) -> None:
        """Nothing is learnt or solved any more, and the values are those of `origin`."""
        self._row_age = np.full(self._row_age.size, np.inf)
        self._solve_age, self._failed_in_a_row = np.inf, 0
        self.note_jump(f"{'start' if self._jumps < 0 else 'restart'} from {origin}")

    def record(self) -> ProgressRecord:
        """A copy for any thread."""
        row_age = self._row_age.copy()
        row_age.setflags(write=False)
        return ProgressRecord(row_age, self._solve_age, self._failed_in_a_row, self._jumps,
                              self._jump_reason)
