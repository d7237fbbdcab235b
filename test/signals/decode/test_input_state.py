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

"""The status of an input."""

from types import SimpleNamespace as Message

import pytest
from analytic import START
from signal_runs import run

from uvms_adaptive_dynamics.signals.decode.input_state import (
    ERROR,
    LONGEST_SENTENCE,
    MOST_REASONS_KEPT,
    OK,
    WARN,
    InputState,
    NormalReason,
    input_status,
)


def test_status_names_a_silent_topic_and_what_to_do(clean):
    """Diagnostics of an input that never sent anything, one that fell silent, and one that mostly
    sends rubbish."""
    config, robot, _, messages = clean
    front, _ = run(
        config,
        robot,
        [m for m in messages if m[0] != "depth"],
        lambda r, m, t: (
            r,
            Message(**{**vars(m), "orientation": Message(x=0.5, y=0.0, z=0.0, w=0.0)})
            if r == "imu"
            else m,
            t,
        ),
    )
    status = {name: (level, text) for level, name, text, _ in front.status(START + 12.3)}
    assert status["input depth"][0] == 2 and "no message on 'depth'" in status["input depth"][1]
    assert status["input imu"][0] == 1 and "orientation has length 0.5" in status["input imu"][1]
    assert {level for level, name, *_ in front.status(START + 60) if name == "input dvl"} == {2}


def test_an_input_that_turns_bad_late_is_warned_of_at_once(clean):
    """Ten messages refused in a row cause a warning, even if they are few among all."""
    config, robot, _, messages = clean
    corrupt = lambda r, m, t: (
        r,
        Message(**{**vars(m), "orientation": Message(x=0.0, y=0.0, z=0.0, w=0.0)})
        if r == "imu" and t > START + 11.7
        else m,
        t,
    )  # noqa: E731
    front, _ = run(config, robot, messages, corrupt)
    status = {name: (level, text) for level, name, text, _ in front.status(START + 12.1)}
    assert front.inputs["imu"].rejected.total() < 0.05 * front.inputs["imu"].received
    assert status["input imu"][0] == 1 and "orientation has length 0" in status["input imu"][1]


def state_after(used=100, rejected=0, last_receive=100.0, proven=False):
    state = InputState("dvl", "dvl/twist")
    state.received, state.last_receive = used + rejected, last_receive
    for _ in range(used):
        state.count_used()
    for _ in range(rejected):
        state.count_rejected("no bottom lock", "dvl: no bottom lock", proven)
    return state


@pytest.mark.parametrize(
    "state, now, level, words",
    [(InputState("dvl", "dvl/twist"), 0.0, ERROR, "no message on 'dvl/twist' yet"),
     (state_after(), 100.5, OK, "100 messages used"),
     (state_after(), 107.0, ERROR, "no message on 'dvl/twist' for 7.0 s"),
     (state_after(rejected=10), 101.0, WARN, "the last 10 messages"),
     (state_after(rejected=1, proven=True), 101.0, WARN, "the last message on 'dvl/twist' was"),
     (state_after(rejected=9), 101.0, OK, "100 messages used"),
     (state_after(used=40, rejected=9), 101.0, WARN, "9 of the last 49 messages"),
     (state_after(used=5, rejected=9), 101.0, OK, "5 messages used")],
)
def test_the_worst_condition_is_said(state, now, level, words):
    """Never received, silent, refused in a row, often refused, fine, too few to tell."""
    status = input_status(state, now, timeout=2.0)
    assert status.level == level and words in status.message and status.name == "input dvl"


def test_rejections_in_a_row_say_since_when_and_why():
    """The sentence has the duration and the last reason."""
    state = state_after(rejected=5, last_receive=100.0)
    state.last_receive = 103.0
    for _ in range(10):
        state.count_rejected("no bottom lock", "dvl: no bottom lock")
    message = input_status(state, 103.5, timeout=2.0).message
    assert "for 3.5 s" in message and "no bottom lock" in message


def test_a_used_message_ends_the_row_and_an_outlier_does_not_start_one():
    """Only unused messages count in a row."""
    state = state_after(rejected=12)
    state.count_used()
    state.count_outlier("spike")
    assert state.rejected_in_a_row == 0 and state.rejected == {"no bottom lock": 12}
    assert state.doubted == {"spike": 1}


@pytest.mark.parametrize("kind, warns", [(str, True), (NormalReason, False)])
def test_a_reason_says_whether_it_warns(kind, warns):
    """A normal one is counted by its name all the same."""
    state = state_after(used=100)
    for _ in range(10):
        state.count_outlier(kind("repeats"))
    assert bool(state.doubts(state.last_receive)[0]) == warns
    assert state.doubted == {"repeats": 10} and [type(name) for name in state.doubted] == [str]


@pytest.mark.parametrize("doubted, refused, counted", [
    (2, 3, 5), (1, 2, 3), (2, 0, 0), (0, 3, 0)])
def test_values_of_one_burst_count_together(doubted, refused, counted):
    """Some of a burst's values are no depth and are refused, others are too far away and are
    doubted: neither may be many, both are. Refused ones alone have a sentence of their own."""
    state = state_after(used=100)
    for _ in range(refused):
        state.count_rejected("the value is not a depth", "depth: the value is not a depth (-47 m)")
        state.count_used()
    for _ in range(doubted):
        state.count_outlier("implausible step")
    assert state.doubts(state.last_receive)[0] == counted


@pytest.mark.parametrize("doubted, two", [
    (lambda k: k % 2, True), (lambda k: k >= 10, False), (lambda k: k < 10, False),
    (lambda k: True, False), (lambda k: k % 4 == 0, False), (lambda k: 5 <= k < 15, False)],
    ids=["every second", "begins", "ends", "all", "every fourth", "begins and ends"])
def test_a_fault_that_begins_is_no_second_publisher(doubted, two):
    """A second after its begin or end, half the messages of the last two were doubted as well."""
    state = InputState("dvl", "dvl/twist", Message(rate=10.0, latency=None, error=None))
    for k in range(20):
        state.note_received(0.1 * k)
        state.count_used()
        if doubted(k):
            state.count_outlier("does not fit the IMU (outlier)")
    status = input_status(state, 1.95, timeout=2.0)
    assert status.level == WARN and ("two publishers" in status.message) == two


def test_what_was_refused_long_ago_is_forgotten():
    """A bad start does not cause a warning forever: the last hundred messages count."""
    state = state_after(used=0, rejected=200)
    for _ in range(95):
        state.count_used()
    assert input_status(state, 100.5, timeout=2.0).level == OK
    assert state.rejected_recently == (5, 100) and state.rejected.total() == 200


def test_counts_and_sentences_stay_small_whatever_comes():
    """A thousand different reasons of a thousand characters; every message is counted once."""
    state = InputState("imu", "imu/data")
    for k in range(1000):
        state.count_rejected(f"reason {k}", "x" * 1000)
        state.count_outlier(f"reason {k}")
    assert len(state.rejected) == len(state.doubted) == MOST_REASONS_KEPT + 1
    assert state.rejected.total() == state.doubted.total() == 1000
    assert len(state.last_error) == LONGEST_SENTENCE


def test_a_clock_that_is_corrected_is_a_warning_with_its_figures():
    """The status names it; rate and latency are shown whatever the clock."""
    state = state_after()
    for k in range(20):
        state.clock.add(1000.3 + 0.1 * k, 1000.1 + 0.1 * k)
    state.clock.begin()
    assert input_status(state, 100.5, timeout=2.0).level == OK
    state.clock.correction, state.clock.latency = -0.3, 0.1
    status = input_status(state, 100.5, timeout=2.0)
    assert status.level == WARN and "clock is 0.30 s ahead" in status.message
    assert status.figures["rate_hz"] == "10" and status.figures["clock_ahead_s"] == "0.3"
