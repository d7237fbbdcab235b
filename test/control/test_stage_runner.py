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

"""The stage runner on a learner whose information is known in closed form."""
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.stage_runner import AT_MOST, BY_HAND, DONE, StageRunner
from uvms_adaptive_dynamics.control.stages import Schedule, Stage
from uvms_adaptive_dynamics.estimation.row_excitation import Excited
from uvms_adaptive_dynamics.model.parameters import ParameterTable
from uvms_adaptive_dynamics.model.sample import BY_SETTING, NO_THRUSTER

TABLE = ParameterTable(True, ("a", "b"), (False,) * 2, (1.0,) * 2, (.3,) * 2)
CHANNELS = ("surge", "sway", "heave", "roll", "pitch", "yaw", "a", "b")
PERIOD = 0.02


class Learner:
    """A learner whose information on each parameter, in prior deviations, grows by `pace` [1 / s]
    while its channel moves."""

    def __init__(self, pace):
        self.config = Config()
        self.table, self.learn, self.prediction = TABLE, True, None
        self.left_out = ("",) * len(CHANNELS)
        self.fresh_stddev = np.array(TABLE.scale)
        self.excited = Excited(*np.zeros((2, len(CHANNELS)), bool))
        self.information = np.ones(TABLE.size)
        self.pace = np.array([pace(name) for name in TABLE.names])
        self.free, self.t = None, 0.0

    @property
    def covariance(self):
        return np.diag(self.fresh_stddev ** 2 / self.information)

    def set_free(self, free):
        self.free = free.copy()

    def watch_changes(self, watches):
        self.watches = watches

    def add(self, *moving):
        self.t += PERIOD
        self.excited = Excited(*[np.isin(CHANNELS, moving)] * 2)
        self.information = self.information + PERIOD * self.pace * bool(moving)
        self.prediction = SimpleNamespace(t=self.t)


def play(runner, learner, seconds, *moving):
    """Run until the stage changes or the time is over; returns the time taken [s]."""
    index, count = runner.progress().index, len(runner.ended)
    for k in range(round(seconds / PERIOD)):
        learner.add(*moving)
        runner.follow()
        if len(runner.ended) != count:
            return (k + 1) * PERIOD
    assert runner.progress().index == index
    return None


FIRST = Stage("first", "the first", ("a.fv", "a.fs"), ("a",), at_most=60.0)
SECOND = Stage("second", "the second", ("X_u",), ("surge",), ("a.fv", "a.fs"), at_most=30.0)
TWO = Schedule("two", (FIRST, SECOND), ("what was left out",))


@pytest.fixture
def said():
    return []


def run_of(pace, said, schedule=TWO):
    learner = Learner(pace)
    return learner, StageRunner(schedule, learner, said.append)


def test_a_stage_ends_when_its_directions_are_measured(said):
    """Information 1 + t reaches 1 / .3^2 after 10.1 s; with updates every second that is 11 s."""
    learner, runner = run_of(lambda name: 1.0, said)
    assert list(np.array(TABLE.names)[learner.free]) == ["a.fv", "a.fs"]
    assert play(runner, learner, 60, "a", "surge") == pytest.approx(11.0)
    end = runner.ended[0]
    assert (end.stage, end.why, end.missing) == ("first", DONE, ())
    assert end.deviations["a.fv"] == pytest.approx((1.0, 12 ** -.5), rel=2e-3)
    assert list(np.array(TABLE.names)[learner.free]) == ["X_u", "a.fv", "a.fs"]
    assert said[0].endswith("what was left out")
    assert said[1].startswith("stage 1 of 2, the first: 2 parameters are estimated; move a")
    assert said[2].startswith("stage 1 of 2, the first: done after 11 s")


def test_a_stage_that_waits_counts_neither_time_nor_motion(said):
    """A waiting stage continues where it was."""
    learner, runner = run_of(lambda name: 1.0, said)
    assert play(runner, learner, 20.0) is None
    runner.wait()
    assert play(runner, learner, 100.0, "a") is None
    progress = runner.progress()
    assert (progress.state, progress.elapsed) == ("waiting", pytest.approx(20.0))
    assert progress.moved["a"] == 0.0
    runner.wait(False)
    assert play(runner, learner, 60.0) == pytest.approx(40.0)
    runner.wait()
    runner.restart()
    assert runner.progress().state == "waiting"


def test_a_robot_that_moves_itself_must_fly_the_stage_s_own_motion(said):
    """Without the stage's own motion nothing counts and nothing is out of reach, however its
    channels move; with it, ten seconds decide."""
    learner, runner = run_of(lambda name: {"a.fv": 2.0, "a.fs": 1e-3}.get(name, 1.0), said)
    for flown in ("", "another"):
        runner.note_flown(flown)
        assert play(runner, learner, 20.0, "a") is None
        progress = runner.progress()
        assert progress.moved == {"a": 0.0} and progress.out_of_reach == ()
        assert progress.missing[0].startswith("a: the stage's own motion has not begun (0 of 8 s)")
    runner.note_flown("first")
    assert play(runner, learner, 40.0, "a") == pytest.approx(10.0)
    assert runner.ended[0].why == DONE
    assert play(runner, learner, 40.0, "surge") == pytest.approx(30.0)
    assert (runner.ended[1].why, runner.ended[1].stage) == (AT_MOST, "second")


def test_what_was_learnt_before_the_motion_is_no_pace_of_it(said):
    """After a second of much information before the motion, a motion that shows nothing leaves the
    direction out of reach."""
    learner, runner = run_of(lambda name: 0.5, said)
    runner.note_flown("")
    play(runner, learner, 4.0, "a")
    learner.pace = np.where(np.array(TABLE.names) == "a.fs", 0.0, 2.0)
    runner.note_flown("first")
    assert play(runner, learner, 40.0, "a") == pytest.approx(10.0)
    assert runner.ended[0].why == DONE


def test_a_stage_whose_channels_are_all_masked_waits_for_its_motion_too(said):
    """Their rows never count, but the stage still waits for its motion to be flown."""
    learner, runner = run_of(lambda name: 0.0, said)
    learner.left_out = tuple(BY_SETTING if name == "a" else "" for name in CHANNELS)
    runner.note_flown("")
    runner.restart()
    assert play(runner, learner, 30.0) is None
    runner.note_flown("first")
    assert play(runner, learner, 25.0, "a") == pytest.approx(10.0)


def test_holding_still_is_a_motion_of_its_own(said):
    """A stage that moves no channel needs no motion to be flown."""
    still = Stage("still", "holding still", ("X_u",), at_most=20.0)
    learner, runner = run_of(lambda name: 1.0, said, Schedule("s", (still,)))
    runner.note_flown("")
    assert play(runner, learner, 20.0, "surge") == pytest.approx(11.0)
    assert runner.ended[0].why == DONE


def test_time_alone_ends_no_stage_before_its_limit(said):
    """Without motion nothing is learnt: the limit ends the stage, the message says what is missing,
    and the next stage begins."""
    learner, runner = run_of(lambda name: 1.0, said)
    assert play(runner, learner, 90) == pytest.approx(60.0)
    assert runner.ended[0].why == AT_MOST
    assert runner.ended[0].missing == (
        "a: has moved too little, or its rows are masked (0 of 8 s); at several speeds (a.fv); "
        "slowly, in both directions (a.fs)",)
    assert "at its limit of 60 s before it was done; missing: a: has moved too little" in said[-2]
    assert runner.progress().stage.name == "second"


def test_motion_of_another_channel_is_not_the_one_asked_for(said):
    learner, runner = run_of(lambda name: 10.0, said)
    assert play(runner, learner, 40, "b", "roll") is None
    progress = runner.progress()
    assert progress.done == 0.0 and progress.moved == {"a": 0.0}
    assert progress.missing == ("a: has moved too little, or its rows are masked (0 of 8 s)",)


def test_seconds_that_are_missing_are_not_rounded_away(said):
    """7.7 of 8 s are still missing; "8 of 8 s" would say that nothing is."""
    learner, runner = run_of(lambda name: 10.0, said)
    assert play(runner, learner, 7.7, "a") is None
    assert play(runner, learner, 1.0) is None       # a check of the stage, once a second
    assert "(7 of 8 s)" in runner.progress().missing[0]


def test_what_the_motion_does_not_show_does_not_hold_up_the_stage(said):
    """A direction that would not be measured within at_most at the present pace is out of reach,
    as soon as the pace is known over ten seconds."""
    slow = (.3 ** -2 - 1) / 60
    learner, runner = run_of(lambda name: {"a.fv": 2.0, "a.fs": .5 * slow}.get(name, 1.0), said)
    assert play(runner, learner, 60, "a") == pytest.approx(10.0)
    assert runner.ended[0].why == DONE
    learner, runner = run_of(lambda name: {"a.fv": 2.0, "a.fs": 1.1 * slow}.get(name, 1.0), said)
    took = play(runner, learner, 70, "a")
    assert took == pytest.approx(55, abs=1.01) and runner.ended[0].why == DONE
    learner, runner = run_of(lambda name: {"a.fv": 2.0, "a.fs": .5 * slow}.get(name, 1.0), said)
    play(runner, learner, 9.5, "a")
    assert runner.progress().out_of_reach == ()
    assert "a.fs" in runner.progress().missing[0]


def test_intervals_by_name_are_waited_for(said):
    """Half the 95 % interval of W: 1.96 * 100 / sqrt(1 + t) < 45 N after 18 s."""
    stage = Stage("w", "weight", ("W",), ("heave",), intervals={"W": 45.0})
    learner, runner = run_of(lambda name: 1.0, said, Schedule("s", (stage,)))
    play(runner, learner, 12, "heave")
    missing, = runner.progress().missing
    assert missing.startswith("W: +- 5")
    assert play(runner, learner, 50, "heave") == pytest.approx(18.0 - 12.0)


def test_changes_are_looked_for_once_the_schedule_is_complete(said):
    """Each stage is a new kind of motion, in which what the model lacks looks like a change; so is
    the first one after a restart."""
    learner, runner = run_of(lambda name: 1.0, said)
    assert not learner.watches
    runner.next()
    assert not learner.watches
    runner.next()
    assert learner.watches
    runner.restart()
    assert not learner.watches


def test_by_hand_until_the_schedule_is_complete(said):
    """The last stage's parameters stay free; a further `next` gets an answer and changes nothing.
    """
    learner, runner = run_of(lambda name: 1.0, said)
    play(runner, learner, 3, "a")
    assert "ended by hand after 3 s; missing" in runner.next()
    assert runner.next().endswith("The schedule is complete.")
    free = learner.free.copy()
    assert "no further stage" in runner.next()
    play(runner, learner, 40, "surge")
    assert [end.why for end in runner.finish()] == [BY_HAND, BY_HAND]
    assert runner.progress().state == "complete" and runner.progress().done == 1.0
    np.testing.assert_array_equal(learner.free, free)


def test_progress_grows_with_what_is_learnt(said):
    learner, runner = run_of(lambda name: 1.0, said)
    found = []
    for _ in range(10):
        play(runner, learner, 1.0, "a")
        found.append(runner.progress().done)
    assert found == sorted(found) and 0 < found[0] < found[-1] < 1


def test_tilts_are_counted_by_rows_that_count_however_slow(said):
    """Quasi-static rows count at new attitudes, even if nothing moves within a second."""
    tilt = replace(FIRST, kind="tilt")
    learner, runner = run_of(lambda name: 1.0, said, Schedule("s", (tilt,)))
    for _ in range(round(12 / PERIOD)):
        learner.add("a")
        learner.excited = learner.excited._replace(in_motion=np.zeros(len(CHANNELS), bool))
        runner.follow()
    assert runner.ended[0].why == DONE


def test_nothing_happens_while_nothing_is_learnt_and_a_restart_begins_anew(said):
    learner, runner = run_of(lambda name: 1.0, said)
    play(runner, learner, 12, "a")
    learner.learn = False
    assert play(runner, learner, 100, "a") is None
    learner.learn = True
    runner.restart()
    assert runner.ended == [] and runner.progress().index == 0
    assert list(np.array(TABLE.names)[learner.free]) == ["a.fv", "a.fs"]


@pytest.mark.parametrize("idle, why", [("b", BY_SETTING), ("sway", NO_THRUSTER)])
def test_a_channel_that_is_left_out_holds_up_nothing(said, idle, why):
    """The rows of such a channel never count; the stage only waits for the other one."""
    stage = replace(FIRST, move=("a", idle))
    learner = Learner(lambda name: 1.0)
    runner = StageRunner(Schedule("s", (stage,)), learner, said.append)
    assert play(runner, learner, 30, "a") is None
    learner.left_out = tuple(why if name == idle else "" for name in CHANNELS)
    runner.restart()
    assert play(runner, learner, 60, "a") is not None and runner.ended[0].why == DONE
    assert runner.progress().moved.keys() == {"a"}
