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

"""Log messages about the inputs: one line whenever something changes.

Covers silence, refused messages, clock offset, rate, several publishers, simulated time, and the
return to normal. Each kind of line is throttled; lasting problems are repeated after a while.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from ..signals.decode.input_state import (
    MAX_REJECTED_IN_A_ROW,
    SILENCE_TIMEOUTS,
    InputState,
    refused_in_a_row,
)
from ..signals.decode.sensor_clock import StampStatus, clock_sentence
from ..signals.front_end import DEFAULT_SILENCE_TIMEOUT
from ..signals.health import MENDED

# Warn about a silent topic after this time, and repeat while it stays silent.
SILENT_AFTER_S, SILENT_AGAIN_S = 3.0, 30.0
THROTTLE_S = 10.0         # between lines of one kind about one input
RATE_WINDOW_S = 2.0       # for measuring a rate, with at least RATE_MESSAGES messages
RATE_MESSAGES = 5
# A rate has changed if it differs by this factor in two windows in a row. Executors under load lose
# a third of the messages.
RATE_FACTOR = 1.6
CLOCK_STEP_S = 0.1        # change of a clock offset that is logged again
# [s] For messages refused because of their stamps: time to detect a stepped clock, which has its
# own message.
STEP_FOUND_S = 1.0
BY_STAMP = (StampStatus.AHEAD.value, StampStatus.LATE.value)
FINDING_AGAIN_S = 60.0    # absence of a finding after which it is logged again


class GraphTopic(Protocol):
    """What the ROS graph knows about a topic."""

    topic: str
    why_silent: str     # advice for a silent topic

    @property
    def several(self) -> str:
        """Warning if messages of more than one publisher are received."""


class Line(NamedTuple):
    """A line for the log; warn: True for a problem, False for its end."""

    warn: bool
    text: str


class InputLogger:
    """Follows one input; call `lines` about every second."""

    def __init__(self, state: InputState, topic: GraphTopic, type_name: str, begin: float):
        """begin [s]: present time on the caller's steady clock."""
        self._state, self._topic, self._type = state, topic, type_name
        self._timeout = SILENCE_TIMEOUTS.get(state.role, DEFAULT_SILENCE_TIMEOUT)
        self._begin = begin
        self._said: dict[str, float] = {}        # kind of line -> steady time of the last
        self._silent_since: float | None = None
        self._reason = ""       # of this silence
        self._other_since: float | None = None   # steady time since when it has another reason
        self._has_begun = False
        self._refused_before = 0
        self._refusing = False
        self._clock_error: float | None = None
        self._several, self._several_said = ("", ""), ""
        self._rate: float | None = None
        self._settled = False
        self._other_rate: float | None = None
        self._window: tuple[int, float] | None = None

    def lines(self, now: float, steady: float) -> Iterator[Line]:
        """Lines about changes; `now` [s] on the clock of reception, `steady` [s] never jumps."""
        for kind, again, line in self._all(now, steady):
            last = self._said.get(kind)
            if last is None or steady - last >= again:
                self._said[kind] = steady
                yield line

    def _all(self, now: float, steady: float) -> Iterator[tuple[str, float, Line]]:
        """(kind, least time between two of them [s], line)."""
        # Node names may appear after their publishers: report only what was seen twice.
        several, self._several = self._topic.several, (self._several[1], self._topic.several)
        if several and several == self._several[0] != self._several_said:
            yield "several", THROTTLE_S, Line(True, several)
            self._several_said = several
        if self._state.last_receive is None:
            if steady - self._begin >= SILENT_AFTER_S:
                yield *self._silence_kind("absent", steady), Line(True, (
                    f"no message yet on '{self._topic.topic}' ({self._type}): "
                    f"{self._topic.why_silent}"))
            return
        yield from self._first_message(steady)
        yield from self._silence(now, steady)
        if self._silent_since is None:
            yield from self._refusals(now)
            yield from self._clock()
            yield from self._rates()

    def _first_message(self, steady: float) -> Iterator[tuple[str, float, Line]]:
        """The end of what was logged as absent."""
        if "absent" in self._said and not self._has_begun:
            yield "begun", THROTTLE_S, Line(False, (
                f"first message on '{self._topic.topic}', {steady - self._begin:.0f} s after the "
                "start"))
        self._has_begun = True

    def _silence(self, now: float, steady: float) -> Iterator[tuple[str, float, Line]]:
        assert self._state.last_receive is not None
        name, age = f"'{self._topic.topic}'", now - self._state.last_receive
        if age > self._timeout:
            if self._silent_since is None:
                self._silent_since, self._window = now - age, None
                self._reason, self._other_since = "", None
            yield *self._silence_kind("silent", steady), Line(True, (
                f"no message on {name} for {age:.1f} s, its rows are masked: "
                f"{self._topic.why_silent}"))
        elif self._silent_since is not None:
            gap = max(self._state.last_receive - self._silent_since, 0.0)
            self._silent_since = None
            yield "back", THROTTLE_S, Line(False, f"messages on {name} again after {gap:.1f} s")

    def _silence_kind(self, kind: str, steady: float) -> tuple[str, float]:
        """(kind, minimum time between lines of this kind [s]) for silence: its reason may become
        known later, or change."""
        reason = self._topic.why_silent
        if not self._reason or reason == self._reason:
            again = SILENT_AGAIN_S if self._reason else THROTTLE_S
            self._reason, self._other_since = reason, None
            return kind, again
        if self._other_since is None:
            self._other_since = steady
        # A publisher that has just appeared is given as long to send as one at the start.
        if steady - self._other_since < SILENT_AFTER_S:
            return kind, SILENT_AGAIN_S
        self._reason, self._other_since = reason, None
        return "reason", THROTTLE_S

    def _refusals(self, now: float) -> Iterator[tuple[str, float, Line]]:
        name, state = f"'{self._topic.topic}'", self._state
        total = sum(state.rejected.values())
        if state.rejected_in_a_row >= (1 if state.proven else MAX_REJECTED_IN_A_ROW):
            if state.last_reason in BY_STAMP and now - (state.rejected_since or 0.0) < STEP_FOUND_S:
                return
            fresh = not self._refusing
            if fresh:
                self._refusing, self._refused_before = True, total - state.rejected_in_a_row
            yield "refused", THROTTLE_S if fresh else SILENT_AGAIN_S, Line(True, (
                f"{refused_in_a_row(state.rejected_in_a_row, name)}: {state.last_error}"))
        elif self._refusing and not state.rejected_in_a_row:
            self._refusing = False
            yield "used", THROTTLE_S, Line(False, (
                f"messages on {name} are used again, {total - self._refused_before} were refused"))

    def _clock(self) -> Iterator[tuple[str, float, Line]]:
        clock, error, said = self._state.clock, self._state.clock.error, self._clock_error
        if error is None:
            if said is not None and clock.latency is not None:
                self._clock_error = None
                yield "right clock", THROTTLE_S, Line(False, (
                    f"{self._state.role}: its clock agrees with the others again"))
        elif said is None or abs(error - said) > CLOCK_STEP_S:
            self._clock_error = error
            yield "clock", 0.0, Line(True, (
                f"{self._state.role}: {clock_sentence(clock)}"))

    def _rates(self) -> Iterator[tuple[str, float, Line]]:
        received, at = self._state.received, self._state.last_receive
        assert at is not None
        if self._window is None or at < self._window[1]:
            self._window = received, at
            return
        count, seconds = received - self._window[0], at - self._window[1]
        if seconds < RATE_WINDOW_S or count < RATE_MESSAGES:
            return
        self._window, rate, before = (received, at), count / seconds, self._rate
        if before is None:
            # The first window may contain messages that were late at the start.
            self._rate, self._settled = rate if self._settled else None, True
        elif max(rate / before, before / rate) < RATE_FACTOR:
            self._other_rate = None
        elif self._other_rate is None or max(rate / self._other_rate,
                                             self._other_rate / rate) > RATE_FACTOR:
            self._other_rate = rate
        else:
            self._rate, self._other_rate = rate, None
            # (an overloaded computer loses messages)
            load = " and the load on this computer" if rate < before else ""
            yield "rate", THROTTLE_S, Line(True, (
                f"'{self._topic.topic}' now comes at {rate:.3g} Hz, {before:.3g} Hz before. If "
                f"this is not intended, check its driver{load}"))


class ClockLogger:
    """Follows simulated time; call `lines` about every second."""

    def __init__(self, begin: float):
        """begin [s]: present time on the caller's steady clock."""
        self._now_ns, self._since = 0, begin    # simulated time, and steady time of its last change
        self._said_at: float | None = None

    def lines(self, now_ns: int, steady: float, publishers: int) -> Iterator[Line]:
        """Lines about simulated time that has not begun, has stopped or runs again; publishers:
        their number on /clock."""
        if now_ns != self._now_ns:
            if self._said_at is not None:
                yield Line(False, "simulated time runs again")
            self._now_ns, self._since, self._said_at = now_ns, steady, None
            return
        again = self._said_at is None or steady - self._said_at >= SILENT_AGAIN_S
        if steady - self._since < SILENT_AFTER_S or not again:
            return
        if now_ns == 0:
            yield Line(True, "use_sim_time is true but nothing has arrived on /clock, so all "
                             "messages are dropped. Play the bag with --clock, or set use_sim_time "
                             "to false")
        elif not publishers:
            yield Line(True, f"simulated time has stood still for {steady - self._since:.0f} s, so "
                             "nothing is estimated: no publisher on /clock exists any more. "
                             "Restart it, or this node with use_sim_time false")
        elif self._said_at is None:     # a pause is intended: no reminders
            yield Line(False, "simulated time is paused")
        self._said_at = steady


class FindingLogger:
    """Follows the front end's findings: one line when a finding appears, or has been corrected."""

    def __init__(self) -> None:
        self._there: dict[str, float] = {}     # code -> steady time when last present

    def lines(self, findings: Iterable[str], steady: float) -> Iterator[Line]:
        """New findings at `steady` [s], except clock offsets, which InputLogger reports."""
        for text in findings:
            code, _, sentence = text.partition(": ")
            if sentence.startswith("its clock"):
                continue
            code += MENDED * sentence.endswith(MENDED)
            last, self._there[code] = self._there.get(code), steady
            if last is None or steady - last >= FINDING_AGAIN_S:
                yield Line(True, text)
