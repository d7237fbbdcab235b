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

"""Garbage collection without long pauses between ticks.

A full collection visits every object of every imported module and takes 44 to 88 ms, several
ticks. Objects that exist after set-up live until the end, so they are frozen; while ticks run, only
young objects are collected. (A full collection after freezing takes under 0.1 ms.)
"""
from __future__ import annotations

import gc

# Middle-generation collections before one of the oldest generation; never reached.
NEVER = 2**31 - 1


class ShortCollections:
    """Excludes the oldest generation from automatic collections between `begin` and `end`.

    Affects the whole process: a program (node, replay) may use it, a library call may not. Call
    `begin`, or enter as a context, when set-up is complete; one instance at a time.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None

    def begin(self) -> None:
        """Collect the young objects once more, then freeze all others.

        Finding the few old unreachable objects would take a sixth of a second; they are collected
        after `end`.
        """
        if self._before is not None:
            return
        self._before = gc.get_threshold()
        gc.collect(1)
        gc.freeze()
        gc.set_threshold(self._before[0], self._before[1], NEVER)

    def end(self) -> None:
        """Restore the state before `begin`."""
        if self._before is None:
            return
        gc.set_threshold(*self._before)
        gc.unfreeze()
        self._before = None

    def __enter__(self) -> None:
        self.begin()

    def __exit__(self, *raised: object) -> None:
        self.end()
