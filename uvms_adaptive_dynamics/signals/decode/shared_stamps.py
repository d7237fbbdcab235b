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

"""Detection of stamps that several messages in a row share, as where a driver rounds them to whole
seconds or its clock has stopped: they do not tell when each was measured."""
from __future__ import annotations

import math
from collections import deque

# Share of the messages, and of the time, with the stamp of the message before: parts of a
# measurement, such as joints one by one, take little time.
SHARED = 0.67
JUDGED_MESSAGES = 25    # over which both shares are taken


class SharedStamps:
    """Judges a sensor's stamps; `found`: whether messages share them now."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all stamps."""
        self.found = False
        self._stamp = self._receive = -math.inf
        # of the last messages: (seconds since the message before, whether the stamp was the same)
        self._last: deque[tuple[float, bool]] = deque(maxlen=JUDGED_MESSAGES)

    @property
    def judged(self) -> bool:
        """Whether there have been enough messages to tell."""
        return len(self._last) == JUDGED_MESSAGES

    def add(self, stamp: float, receive: float, copy: bool = False) -> None:
        """Add a message by its stamp [s] and time of reception [s]; `copy`: it equals the message
        before, stamp and all, so that it is no measurement with a wrong stamp."""
        shared = stamp == self._stamp and not copy
        if self._receive > -math.inf:
            self._last.append((max(receive - self._receive, 0.0), shared))
        self._stamp, self._receive = stamp, receive
        if self.found:
            self.found = any(same for _, same in self._last)
        elif shared and self.judged:
            time = sum(seconds for seconds, _ in self._last)
            self.found = (sum(same for _, same in self._last) > SHARED * JUDGED_MESSAGES
                          and sum(s for s, same in self._last if same) > SHARED * time)
