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

"""Which rows of a doubted sensor the frame checks get.

A burst of garbage is not a wrong setting, so its rows are withheld. Doubt that outlasts a burst may
well come from a wrong setting; then the checks get all rows, since leaving out those that fit badly
would hide the misfit.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

# [s] of doubt within BURST_MEMORY, beyond which it is no burst but the sensor's normal state
LASTING_DOUBT = 15.0
BURST_MEMORY = 60.0  # [s]


class BurstFilter:
    """Passes rows on to `log(name, t, *values)`. Doubted rows are held back until the doubt lasts;
    until then only their times are logged, as `doubted`."""

    def __init__(self, name: str, log: Callable[..., None]):
        self._name, self._log = name, log
        self.reset()

    def reset(self) -> None:
        """Forget the rows held back."""
        self._rows: deque[tuple[float, bool]] = deque()       # time, doubted
        self._waiting: deque[tuple[Any, ...]] = deque()

    def leave_out(self, t: float) -> None:
        """Note that a row at t [s] proves nothing."""
        self._log("doubted", t)

    def add(self, doubted: bool, t: float, *values: Any) -> None:
        """Add a row at t [s]. Rows that were held back are passed on after later ones."""
        self._rows.append((t, doubted))
        while self._rows[0][0] < t - BURST_MEMORY:
            self._rows.popleft()
        while self._waiting and self._waiting[0][0] < t - BURST_MEMORY:
            self._waiting.popleft()
        if not doubted:
            self._log(self._name, t, *values)
            return
        self._waiting.append((t, *values))
        self._log("doubted", t)
        share = sum(d for _, d in self._rows) / len(self._rows)
        if share * (t - self._rows[0][0]) > LASTING_DOUBT:
            for row in self._waiting:
                self._log(self._name, *row)
            self._waiting.clear()
