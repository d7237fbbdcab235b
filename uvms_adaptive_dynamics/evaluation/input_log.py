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

"""Messages and clock of each input over a whole run."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from ..signals.decode.input_state import InputState

NOT_DECODABLE = "not decodable"


class InputFigures(NamedTuple):
    """One input: messages received and used; refused messages and doubted values, by reason; rate
    [Hz]; offset [s] by which its clock is ahead, None if it is right; transport delay [s]."""

    topic: str
    received: int
    used: int
    refused: dict[str, int]
    doubted: dict[str, int]
    rate_hz: float | None
    clock_offset_s: float | None
    latency_s: float | None


class InputLog:
    """Collects the input figures of a front end over several recordings. Counts add up over all of
    them; clocks are reset in between."""

    def __init__(self, states: Mapping[str, InputState]):
        self._states = states
        self._rate: dict[str, float] = {}
        self._offset: dict[str, float] = {}
        self._latency: dict[str, float] = {}
        # Messages that never reached the front end, as "<role>: not decodable".
        self.undecodable: Counter = Counter()

    def end_recording(self) -> None:
        """Store the clock figures: rate and latency of the last recording that has them, and the
        largest clock error."""
        for role, state in self._states.items():
            clock = state.clock
            if clock.rate is not None:
                self._rate[role] = clock.rate
            if clock.latency is not None:
                self._latency[role] = clock.latency
            if clock.error is not None:
                self._offset[role] = max(clock.error, self._offset.get(role, 0.0), key=abs)

    def figures(self) -> dict[str, InputFigures]:
        """The figures by role."""
        return {role: self._of(role, state) for role, state in self._states.items()}

    def _of(self, role: str, state: InputState) -> InputFigures:
        undecodable = self.undecodable[f"{role}: {NOT_DECODABLE}"]
        refused = Counter(state.rejected) + Counter({NOT_DECODABLE: undecodable})
        return InputFigures(state.topic, state.received + undecodable, state.used, dict(refused),
                            dict(state.doubted), self._rate.get(role), self._offset.get(role),
                            self._latency.get(role))
