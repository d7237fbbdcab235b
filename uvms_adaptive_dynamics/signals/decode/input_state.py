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

"""Counts, ages and rejection reasons of each input, and their diagnostic status."""
from __future__ import annotations

import math
from collections import Counter, deque
from statistics import median
from typing import NamedTuple

from .sensor_clock import SensorClock, clock_sentence

OK, WARN, ERROR = 0, 1, 2
# [s] of silence reported as an error. Rows are masked earlier, by the settings' timeouts.
SILENCE_TIMEOUTS = {"imu": 1.0, "dvl": 2.0, "depth": 3.0, "joint_states": 1.0, "thrusters": 2.0,
                    "wrench": 2.0, "battery": 30.0}
# Rejections in a row that cause a warning, however good the input was before; fewer suffice if they
# last this long [s].
MAX_REJECTED_IN_A_ROW = 10
SOME_IN_A_ROW, IN_A_ROW_TIME = 3, 0.3
MAX_REJECTED_SHARE = 0.1      # of an input's last messages
RECENT_MESSAGES, MIN_MESSAGES = 100, 20     # number of these, and fewest for a verdict
# [s] over which doubted values are counted for a warning, and the fewest that cause one
DOUBT_TIME, FEWEST_DOUBTS = 2.0, 3
MOST_DOUBTS = 1000
# If two drivers publish alternately: share of doubted messages, and fewest usual intervals from one
# of them to the next, as a median; those of a burst follow each other at once.
EVERY_SECOND, ONE_BY_ONE = (0.35, 0.65), 1.5
# Limits on reasons and characters of a sentence, so that diagnostics stay small whatever comes.
MOST_REASONS_KEPT, LONGEST_SENTENCE = 20, 300
OTHER_REASONS = "other reasons"


class NormalReason(str):
    """A reason for not using a value that is normal, so that it causes no warning by itself."""


class InputStatus(NamedTuple):
    """A diagnostic status: `level` OK, WARN or ERROR, name, sentence, and figures by name."""

    level: int
    name: str
    message: str
    figures: dict[str, str]


class InputState:
    """Counts of one role's messages: received, used and rejected; times are of reception [s].

    `clock`: the sensor's clock, with rate, latency and offset.
    """

    def __init__(self, role: str, topic: str, clock: SensorClock | None = None):
        self.role, self.topic = role, topic
        self.clock = SensorClock() if clock is None else clock
        self.received = self.used = 0
        self.last_receive: float | None = None
        self.last_stamp = -math.inf
        self.rejected: Counter = Counter()    # messages not used
        self.doubted: Counter = Counter()     # values replaced or left out of used messages
        # (reception [s], reason, whether the message was used) of doubted and refused values
        self._doubts: deque[tuple[float, str, bool]] = deque(maxlen=MOST_DOUBTS)
        self.rejected_in_a_row = 0
        self.rejected_since: float | None = None
        self.proven = False                   # the last rejection is based on many messages
        self.last_reason = self.last_error = ""
        self._recent: deque[bool] = deque(maxlen=RECENT_MESSAGES)    # whether each was rejected

    @property
    def refusing(self) -> bool:
        """Whether enough messages were refused in a row for a warning."""
        if not self.rejected_in_a_row or self.last_receive is None:
            return False
        since = self.last_receive if self.rejected_since is None else self.rejected_since
        lasts = self.last_receive - since >= IN_A_ROW_TIME
        return self.proven or self.rejected_in_a_row >= (
            SOME_IN_A_ROW if lasts else MAX_REJECTED_IN_A_ROW)

    @property
    def rejected_recently(self) -> tuple[int, int]:
        """(number rejected, number) of the last messages."""
        return sum(self._recent), len(self._recent)

    def note_received(self, receive: float | None) -> None:
        """Count a message and note its time of reception [s], None if that is unusable."""
        self.received += 1
        if receive is not None:
            self.last_receive = receive

    def note_stamp(self, t: float) -> None:
        """Note the time [s] of the last reading."""
        self.last_stamp = t

    def forget_stamp(self) -> None:
        """Expect a reading of any time, as between recordings."""
        self.last_stamp = -math.inf

    def count_used(self) -> None:
        """Count a used message."""
        self.used += 1
        self.rejected_in_a_row = 0
        self._recent.append(False)

    def count_outlier(self, reason: str) -> None:
        """Count a used message in which a gate later rejected a value."""
        self.doubted[_bounded(self.doubted, str(reason))] += 1
        if self.last_receive is not None and not isinstance(reason, NormalReason):
            self._doubts.append((self.last_receive, reason, True))

    def doubts(self, now: float) -> tuple[int, str]:
        """(number of values doubted in the last DOUBT_TIME, those of refused messages included,
        newest reason); (0, '') if they are few, or all refused, which has a sentence of its own."""
        recent = self.recent_doubts(now)
        fewest = max(FEWEST_DOUBTS, MAX_REJECTED_SHARE * DOUBT_TIME * (self.clock.rate or 0.0))
        if len(recent) < fewest or not any(used for *_, used in recent):
            return 0, ""
        return len(recent), recent[-1][1]

    def recent_doubts(self, now: float) -> list[tuple[float, str, bool]]:
        """(reception [s], reason, whether the message was used) of the last DOUBT_TIME."""
        return [doubt for doubt in self._doubts if doubt[0] > now - DOUBT_TIME]

    def count_rejected(self, reason: str, explanation: str = "", proven: bool = False) -> None:
        """Count a rejected message; proven: the rejection is based on many messages before it."""
        self.rejected[_bounded(self.rejected, reason)] += 1
        self._recent.append(True)
        if self.rejected_in_a_row == 0:
            self.rejected_since = self.last_receive
        self.rejected_in_a_row += 1
        if explanation and self.last_receive is not None:
            self._doubts.append((self.last_receive, reason, False))
        self.last_reason, self.proven = reason, proven
        self.last_error = (explanation or reason)[:LONGEST_SENTENCE]


def _bounded(counts: Counter, reason: str) -> str:
    """The reason to count under; OTHER_REASONS once there are too many."""
    return reason if reason in counts or len(counts) < MOST_REASONS_KEPT else OTHER_REASONS


def input_status(state: InputState, now: float, timeout: float) -> InputStatus:
    """The status of an input at `now` [s], by its worst condition; silent after `timeout` [s]."""
    figures = {
        "topic": state.topic, "received": str(state.received), "used": str(state.used),
        **{f"refused: {reason}": str(count) for reason, count in state.rejected.items()},
        **{f"doubted: {reason}": str(count) for reason, count in state.doubted.items()},
        **_clock_figures(state)}
    name, topic = f"input {state.role}", f"'{state.topic}'"
    if state.last_receive is None:
        return InputStatus(ERROR, name, (
            f"no message on {topic} yet; check that the driver is running and that the topic name "
            "is correct"), figures)
    age = now - state.last_receive
    figures["age_s"] = f"{age:.2f}"
    if age > timeout:
        return InputStatus(ERROR, name, (
            f"no message on {topic} for {age:.1f} s, so rows that need it are masked; check the "
            "driver and the connection"), figures)
    if state.refusing:
        since = state.last_receive if state.rejected_since is None else state.rejected_since
        return InputStatus(WARN, name, (
            f"{refused_in_a_row(state.rejected_in_a_row, topic)} (for {now - since:.1f} s): "
            f"{state.last_error}"), figures)
    rejected, recent = state.rejected_recently
    if recent >= MIN_MESSAGES and rejected > MAX_REJECTED_SHARE * recent:
        return InputStatus(WARN, name, (
            f"{rejected} of the last {recent} messages on {topic} were refused; last reason: "
            f"{state.last_error}"), figures)
    doubts, reason = state.doubts(now)
    if doubts:
        return InputStatus(WARN, name, (
            f"{doubts} values on {topic} were doubted, refused or missing in the last "
            f"{DOUBT_TIME:g} s: {reason}{_perhaps_two(state, now)}"), figures)
    if sentence := clock_sentence(state.clock):
        return InputStatus(WARN, name, sentence, figures)
    return InputStatus(OK, name, f"{state.used} messages used", figures)


def refused_in_a_row(count: int, topic: str) -> str:
    """'the last 3 messages on '/dvl/twist' were refused'; topic: in quotes."""
    return (f"the last message on {topic} was refused" if count == 1 else
            f"the last {count} messages on {topic} were refused")


def _perhaps_two(state: InputState, now: float) -> str:
    """A hint at a second publisher, which a recording cannot show."""
    # (in both halves, since half of all are doubted once as well while any fault begins or ends)
    half, rate = DOUBT_TIME / 2.0, state.clock.rate or 0.0
    low, high = (share * half * rate for share in EVERY_SECOND)
    times = [t for t, *_ in state.recent_doubts(now)]
    late = sum(now - t < half for t in times)
    alternate = (low < late < high and low < len(times) - late < high
                 and median(b - a for a, b in zip(times, times[1:])) * rate > ONE_BY_ONE)
    return " (about every second message: are there two publishers?)" if alternate else ""


def _clock_figures(state: InputState) -> dict[str, str]:
    figures = {"rate_hz": state.clock.rate, "latency_s": state.clock.latency,
               "clock_ahead_s": state.clock.error}
    return {name: f"{value:.3g}" for name, value in figures.items() if value is not None}
