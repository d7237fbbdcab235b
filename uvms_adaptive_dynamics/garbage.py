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

"""Garbage collection that no tick waits for.

A full collection visits every object of every imported module: 44 to 88 ms, several ticks. What
exists after set-up stays until the end, so it is frozen; while ticks run, only young objects are
collected. (A full collection after freezing takes under 0.1 ms.)
"""
from __future__ import annotations

import gc

# Never reached: a collection of the oldest generation follows that many of the middle one.
NEVER = 2**31 - 1


class ShortCollections:
    """Between `begin` and `end` automatic collections leave the oldest generation alone.

    This concerns the whole process: a program may do it (the node, a replay), a library call may
    not. Call `begin`, or enter as a context, when set-up is complete; one at a time.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None

    def begin(self) -> None:
        """Collect the young objects once more, then freeze what is left. To look for the few old
        ones that nobody holds any more takes a sixth of a second; they are collected after `end`.
        """
        if self._before is not None:
            return
        self._before = gc.get_threshold()
        gc.collect(1)
        gc.freeze()
        gc.set_threshold(self._before[0], self._before[1], NEVER)

    def end(self) -> None:
        """As before `begin`."""
        if self._before is None:
            return
        gc.set_threshold(*self._before)
        gc.unfreeze()
        self._before = None

    def __enter__(self) -> None:
        self.begin()

    def __exit__(self, *raised: object) -> None:
        self.end()
