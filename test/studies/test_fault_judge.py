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

"""The judgement of the fault bench, on made-up runs."""
import math

import numpy as np
import pytest

pytest.importorskip("rosbags")  # which the bench reads recordings with

from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.simulation.faults.clocks import Clock  # noqa: E402
from uvms_adaptive_dynamics.simulation.faults.delivery import Lost  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.case import (  # noqa: E402
    TOUCHES_ARM,
    Allowed,
    Case,
    Expected,
)
from uvms_adaptive_dynamics.studies.faults.judge import judged, recovered  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.report import line, summary  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.runner import (  # noqa: E402
    Ran,
    Sentence,
    run_through,
)
from uvms_adaptive_dynamics.studies.held_out import HeldOut  # noqa: E402


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_config(Config())


@pytest.mark.parametrize("sentence, right", [
    ("input depth: its clock is 0.31 s ahead", True), ("depth.delay: the clock is 0.3 s off", True),
    ("input depth: its clock is 0.5 s ahead", False), ("input depth: 0.3 s late", False),
    ("input dvl: its clock is 0.3 s ahead", False), ("depths: clock 0.3", False)])
def test_a_sentence_is_of_the_sensor_with_words_and_seconds(sentence, right):
    assert Expected("depth", ("clock",), 0.3).matches(sentence) is right


def made_up(robot, seconds=60.0, **changes):
    """A run without fault: all rows are valid, errors are white."""
    t = np.arange(0.0, seconds, 0.02)
    error = np.random.default_rng(0).standard_normal((t.size, len(robot.channels)))
    valid = np.ones(error.shape, bool)
    return Ran(t, valid.copy(), t, valid.copy(), error, error, np.zeros(robot.table.size), {}, (),
               {})._replace(**changes)


def judge(robot, ran, limits, said=None, fault=None, **changes):
    case = Case("made up", "outage", "", (fault or Lost("imu", 20.0, 25.0),), said, limits,
                **changes)
    rng = np.random.default_rng(1)
    C, p = len(robot.channels), robot.table.size
    test = HeldOut(rng.standard_normal((200, C, p)), rng.standard_normal((200, C)))
    return judged(case, ran, made_up(robot), test, robot)


def failed(verdict):
    return [check.what for check in verdict.checks if not check.ok]


def test_a_run_like_the_clean_one_is_as_asked(robot):
    limits = Allowed(samples=0.95, vehicle=0.95, wrong=0.0, loss=0.0, recover=0.0, rmse=1.0)
    verdict = judge(robot, made_up(robot), limits)
    assert verdict.ok and verdict.detected is None and not verdict.advice
    assert "made up" in line(verdict, robot) and "1 of 1 faults as asked" in summary([verdict])


def test_wrong_rows_lost_rows_and_late_recovery_are_found(robot):
    """Each figure shows its own disturbance and no other."""
    clean, limits = made_up(robot), Allowed(samples=0.95, vehicle=0.98, rmse=1.3)
    after = (clean.t >= 25.0) & (clean.t < 28.0)
    masked = clean.valid & ~after[:, None]
    lost = judge(robot, clean._replace(valid=masked, sample_valid=masked), limits)
    assert failed(lost) == ["vehicle rows", "recovery [s]"]
    assert lost.recovered == pytest.approx(2.95, abs=0.15)
    wrong = judge(robot, clean._replace(error=clean.error + 9.0 * after[:, None]), limits)
    assert failed(wrong) == ["wrong rows"] and 0.03 < wrong.wrong < 0.05
    larger = judge(robot, clean._replace(residual=clean.residual * (1.0 + after[:, None])), limits)
    assert failed(larger) == ["RMSE ratio after"]
    half = judge(robot, clean._replace(sample_t=clean.sample_t[::2],
                                       sample_valid=clean.sample_valid[::2]), limits)
    assert "samples" in failed(half)


def test_a_channel_that_never_comes_back_is_never_back(robot):
    clean = made_up(robot)
    gone = clean.sample_valid.copy()
    gone[clean.sample_t > 20.0, 3] = False
    assert math.isinf(recovered(clean._replace(sample_valid=gone), clean, 25.0))


def test_a_joint_that_rests_after_the_fault_is_not_late(robot):
    """It counts from its next motion on, in the clean run as in this one; two seconds later are
    two and the half second in which rows are counted."""
    clean = made_up(robot)
    rests = clean.sample_valid.copy()
    rests[(clean.sample_t > 20.0) & (clean.sample_t < 33.0), 9] = False
    rested = clean._replace(sample_valid=rests)
    assert recovered(rested, rested, 25.0) == 0.0
    late = rests.copy()
    late[(clean.sample_t > 20.0) & (clean.sample_t < 35.0), 9] = False
    assert recovered(rested._replace(sample_valid=late), rested, 25.0) == pytest.approx(2.5, abs=.1)


def test_held_out_loss_counts_where_the_fault_does_not_touch(robot):
    """Worse predictions are a loss, but not on excused channels."""
    spoilt = made_up(robot, pi=np.ones(robot.table.size))
    assert "held-out loss" in failed(judge(robot, spoilt, Allowed()))
    verdict = judge(robot, spoilt, Allowed(loss=1e9), touches=TOUCHES_ARM)
    assert verdict.loss.max() > 1.0 and verdict.ok


def test_what_is_said_is_found_in_time_and_what_misleads_is_named(robot):
    """Finds the required sentence with its time, and advice on other sensors; sentences of the
    clean run are neither."""
    said = {"a": Sentence("input imu: no message for 1 s", 21.5),
            "b": Sentence("dvl.rpy: turned", 30.0)}
    wanted = Expected("imu", ("no message",))
    late = judge(robot, made_up(robot, said=said), Allowed(detect=1.0), wanted)
    assert failed(late) == ["said after [s]", "other advice"]
    assert late.detected == pytest.approx(1.5) and late.advice == ("dvl.rpy: turned",)
    early = {"a": Sentence("input imu: no message", 5.0)}
    assert judge(robot, made_up(robot, said=early), Allowed(), wanted).detected is None
    never = judge(robot, made_up(robot), Allowed(), wanted)
    assert failed(never) == ["said after [s]"]


def test_the_wording_counts_where_the_clean_run_says_the_same_with_other_numbers(robot):
    """A clock that is always reported is found if its seconds are those of the fault."""
    said = Sentence("input imu: clock 0.0 s ahead", 1.0)
    clean = made_up(robot, said={"clock": Sentence("input imu: clock 0.0 s ahead", 1.0)})
    said.again("input imu: clock 0.9 s ahead", 22.0)
    fault = Clock("imu", 20.0, offset=0.9)
    case = Case("made up", "clock", "", (fault,), Expected("imu", ("clock",), 0.9),
                Allowed(loss=None))
    test = HeldOut(np.ones((1, len(robot.channels), robot.table.size)),
                   np.ones((1, len(robot.channels))))
    found = judged(case, made_up(robot, said={"clock": said}), clean, test, robot)
    assert found.detected == pytest.approx(2.0) and not found.advice
    assert judged(case, clean, clean, test, robot).detected is None


def test_rejected_numbers_are_counted_truly(robot):
    """The count must be right to a fifth, and only for the role that has the field; what is
    rejected without the fault, as late velocities, does not count."""
    case = Case("made up", "outliers", "", (Lost("joint_states", 20.0, 25.0),), None, Allowed(),
                counted="effort")
    test = HeldOut(np.ones((9, len(robot.channels), robot.table.size)),
                   np.random.default_rng(0).standard_normal((9, len(robot.channels))))
    clean = made_up(robot)._replace(counters={"joint_states: late velocity": 80})
    for count, right in ((90, True), (60, False), (130, False)):
        ran = clean._replace(counters={"joint_states: effort spike": count, "dvl: outlier": 50,
                                       "joint_states: late velocity": 85})
        assert judged(case, ran, clean, test, robot, wrong_numbers=100).ok is right


def test_a_slow_sensor_may_be_named_instead(robot):
    """Rows may be lost if the sentence comes in time, otherwise not."""
    clean = made_up(robot)
    gone = clean._replace(valid=clean.valid & False)
    named = {"a": Sentence("input dvl: 2 Hz is slow", 21.0)}
    limits, said = Allowed(vehicle=0.95, loss=None, recover=None), Expected("dvl", ("slow",))
    fault = Lost("dvl", 20.0, share=0.5)
    assert failed(judge(robot, gone, limits, said, fault, or_said=True)) == ["vehicle rows"]
    assert judge(robot, gone._replace(said=named), limits, said, fault, or_said=True).ok


def test_trouble_is_always_red(robot):
    """Trouble is an exception, NaN or infinity, or an estimate outside P."""
    assert failed(judge(robot, made_up(robot, trouble=("raised",)), Allowed())) == ["trouble"]
    found = run_through([None], Config(), robot)
    assert found.trouble and found.trouble[0].startswith("raised AttributeError")


def test_a_channel_without_held_out_rows_has_no_r2():
    """Such a channel does not affect the others."""
    rng = np.random.default_rng(0)
    Y, pi = rng.standard_normal((50, 2, 3)), np.array([1.0, -2.0, 0.5])
    tau = Y @ pi + 0.1 * rng.standard_normal((50, 2))
    tau[:, 1] = np.nan
    r2 = HeldOut(Y, tau).r2(pi)
    assert r2[0] > 0.99 and np.isnan(r2[1])
