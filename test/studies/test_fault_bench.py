"""The fault bench: its table and page, its judgement on made-up runs, and its short form."""
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rosbags")  # the simulated robot's recordings

from uvms_adaptive_dynamics.__main__ import main  # noqa: E402
from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.errors import BagError, ConfigError  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.simulation.faults.clocks import Clock  # noqa: E402
from uvms_adaptive_dynamics.simulation.faults.delivery import Lost  # noqa: E402
from uvms_adaptive_dynamics.simulation.faults.stream import Received  # noqa: E402
from uvms_adaptive_dynamics.studies.faults import command  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.bench import Bench  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.case import ARM, Case, Limits, Said  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.judge import judged, recovered  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.page import page  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.recordings import (  # noqa: E402
    LONG,
    SHORT,
    Recordings,
    Scene,
    recordings_of,
)
from uvms_adaptive_dynamics.studies.faults.report import line, summary  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.runner import (  # noqa: E402
    HeldOut,
    Ran,
    Sentence,
    run_through,
)
from uvms_adaptive_dynamics.studies.faults.table import KINDS, chosen, table  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CASES = chosen(SHORT.onset, [], [], short=True)
# What the front end does not do yet. Strict: a fault that is as asked has to leave the list.
NOT_YET = {
    "dvl clock 5 s ahead",
    "depth clock 0.3 s ahead",
    "imu stamps from 1970",
    "imu single stamps 0.9 s ahead",
    "simulated stamps on wall-clock reception",
    "gyro +2 rad/s for 0.6 s",
    "dvl x 3 for 0.6 s",
    "gyro of 1e+200 for 0.6 s",
    "effort of 1e+06 for 0.6 s",
    "imu silent for 2 s",
    "thrusters silent for 2 s",
    "dvl at 3.3 Hz",
    "all topics stall for 2 s",
    "effort of one joint NaN for ever",
    "efforts in mN m",
}


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_config(Config())


def test_the_table_is_whole():
    """Names are unique, kinds known, faults end before the recording does or never."""
    cases = table(LONG.onset)
    assert len(cases) == len({case.name for case in cases}) >= 60
    assert {case.kind for case in cases} == set(KINDS)
    assert all(math.isinf(case.end) or case.end + 10.0 <= LONG.learnt for case in cases)
    assert all(math.isinf(case.end) or case.end + 5.0 <= SHORT.learnt for case in CASES)
    assert {case.name for case in CASES} > NOT_YET
    with pytest.raises(ConfigError, match="got leak, expected a part of a fault's name"):
        chosen(LONG.onset, [], ["leak"], short=False)


def test_the_page_is_the_tables():
    """docs/faults.md is what `python -m uvms_adaptive_dynamics.studies.faults.page` prints."""
    assert (ROOT / "docs/faults.md").read_text() == page()


@pytest.mark.parametrize("sentence, right", [
    ("input depth: its clock is 0.31 s ahead", True), ("depth.delay: the clock is 0.3 s off", True),
    ("input depth: its clock is 0.5 s ahead", False), ("input depth: 0.3 s late", False),
    ("input dvl: its clock is 0.3 s ahead", False), ("depths: clock 0.3", False)])
def test_a_sentence_is_of_the_sensor_with_words_and_seconds(sentence, right):
    assert Said("depth", ("clock",), 0.3).matches(sentence) is right


# --- judgement on made-up runs --------------------------------------------------------------------

def made_up(robot, seconds=60.0, **changes):
    """A run without fault: all rows valid, errors white."""
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
    limits = Limits(samples=0.95, vehicle=0.95, wrong=0.0, loss=0.0, recover=0.0, rmse=1.0)
    verdict = judge(robot, made_up(robot), limits)
    assert verdict.ok and verdict.detected is None and not verdict.advice
    assert "made up" in line(verdict, robot) and "1 of 1 faults as asked" in summary([verdict])


def test_wrong_rows_lost_rows_and_late_recovery_are_found(robot):
    """Each figure shows what was done to it, and nothing else does."""
    clean, limits = made_up(robot), Limits(samples=0.95, vehicle=0.98, rmse=1.3)
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


def test_held_out_loss_counts_where_the_fault_does_not_touch(robot):
    """Parameters that predict worse are a loss, but not of channels that are excused."""
    spoilt = made_up(robot, pi=np.ones(robot.table.size))
    assert "held-out loss" in failed(judge(robot, spoilt, Limits()))
    verdict = judge(robot, spoilt, Limits(loss=1e9), touches=ARM)
    assert verdict.loss.max() > 1.0 and verdict.ok


def test_what_is_said_is_found_in_time_and_what_misleads_is_named(robot):
    """The sentence that is asked, its time; advice on other sensors; what the clean run says too
    is neither."""
    said = {"a": Sentence("input imu: no message for 1 s", "input imu: no message for 4 s", 21.5,
                          25.0),
            "b": Sentence("dvl.rpy: turned", "dvl.rpy: turned", 30.0, 60.0)}
    wanted = Said("imu", ("no message",))
    late = judge(robot, made_up(robot, said=said), Limits(detect=1.0), wanted)
    assert failed(late) == ["said after [s]", "other advice"]
    assert late.detected == pytest.approx(1.5) and late.advice == ("dvl.rpy: turned",)
    early = {"a": Sentence("input imu: no message", "input imu: no message", 5.0, 60.0)}
    assert judge(robot, made_up(robot, said=early), Limits(), wanted).detected is None
    never = judge(robot, made_up(robot), Limits(), wanted)
    assert failed(never) == ["said after [s]"]


def test_rejected_numbers_are_counted_truly(robot):
    """To a fifth of what is wrong, of the role that has the field alone."""
    case = Case("made up", "outliers", "", (Lost("joint_states", 20.0, 25.0),), None, Limits(),
                counted="effort")
    test = HeldOut(np.ones((9, len(robot.channels), robot.table.size)),
                   np.random.default_rng(0).standard_normal((9, len(robot.channels))))
    clean = made_up(robot)
    for count, right in ((90, True), (60, False), (130, False)):
        ran = clean._replace(counters={"joint_states: effort spike": count, "dvl: outlier": 50})
        assert judged(case, ran, clean, test, robot, wrong_numbers=100).ok is right


def test_a_slow_sensor_may_be_named_instead(robot):
    """Where the sentence comes in time, rows may be lost; where it does not, they may not."""
    clean = made_up(robot)
    gone = clean._replace(valid=clean.valid & False)
    named = {"a": Sentence("input dvl: 2 Hz is slow", "input dvl: 2 Hz is slow", 21.0, 60.0)}
    limits, said = Limits(vehicle=0.95, loss=None, recover=None), Said("dvl", ("slow",))
    fault = Lost("dvl", 20.0, share=0.5)
    assert failed(judge(robot, gone, limits, said, fault, or_said=True)) == ["vehicle rows"]
    assert judge(robot, gone._replace(said=named), limits, said, fault, or_said=True).ok


def test_trouble_is_always_red(robot):
    """An exception, a number that is none, an estimate outside P."""
    assert failed(judge(robot, made_up(robot, trouble=("raised",)), Limits())) == ["trouble"]
    found = run_through([None], Config(), robot)
    assert found.trouble and found.trouble[0].startswith("raised AttributeError")


# --- the command ----------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench.of(None, tmp_path_factory.mktemp("bench"), SHORT, Config())


@pytest.mark.parametrize("case", [
    pytest.param(case, id=case.name, marks=[pytest.mark.xfail(
        strict=True, reason="not yet")] if case.name in NOT_YET else [])
    for case in CASES])
def test_short_form(bench, robot, case):
    """Every fault of the short form is as asked."""
    verdict = bench.verdict(case)
    assert verdict.ok, line(verdict, robot)


def test_the_clean_recording_has_no_fault(bench, robot):
    """A fault that changes nothing costs nothing and is not mentioned."""
    nothing = Case("nothing", "clock", "", (Clock("imu", offset=0.0),), None,
                   Limits(samples=1.0, vehicle=1.0, wrong=0.0, loss=0.0))
    verdict = bench.verdict(nothing)
    assert verdict.ok and not verdict.loss.any(), line(verdict, robot)


def test_a_recording_that_is_too_short_is_refused(tmp_path):
    from uvms_adaptive_dynamics.simulation.bag import write_bag
    write_bag(tmp_path / "dive", duration=5.0)
    with pytest.raises(BagError, match="is 5 s long, expected at least 43 s"):
        recordings_of(tmp_path / "dive", Config(), SHORT)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_command_prints_and_writes(tmp_path, capsys, monkeypatch, jobs):
    """A fault by name: a line, the sum, faults.json; the status says whether all is as asked. With
    processes of its own it is the same."""
    monkeypatch.setattr(command, "SHORT", Scene(5.0, 3.0, 2.0))
    status = main(["faults", "--short", "--only", "effort NaN for", "--jobs", jobs, "--output",
                   str(tmp_path)])
    said = capsys.readouterr().out
    assert "effort NaN for" in said and f"{1 - status} of 1 faults as asked" in said
    assert '"effort NaN for 0.6 s"' in (tmp_path / "faults.json").read_text()


def test_a_recording_without_valid_rows_is_refused():
    """Nothing could be lost of it."""
    item = Received("joint_states", None, 0, 0)
    bench = Bench(Recordings([item], []), Config())
    with pytest.raises(BagError, match="no valid row even without a fault"):
        bench.verdict(table(LONG.onset)[0])


def test_a_channel_without_held_out_rows_has_no_r2():
    """And spoils none of the others."""
    rng = np.random.default_rng(0)
    Y, pi = rng.standard_normal((50, 2, 3)), np.array([1.0, -2.0, 0.5])
    tau = Y @ pi + 0.1 * rng.standard_normal((50, 2))
    tau[:, 1] = np.nan
    r2 = HeldOut(Y, tau).r2(pi)
    assert r2[0] > 0.99 and np.isnan(r2[1])


def test_faults_of_sensors_that_a_recording_lacks_are_left_out(robot):
    """A recording without a DVL has no DVL that could be silent."""
    arm = [Received("joint_states", None, 0, 0)]
    bench = Bench(Recordings(arm, arm), Config())
    concerned = {case.name for case in table(LONG.onset) if bench.concerns(case)}
    assert "joint_states silent for 2 s" in concerned and "every message twice" in concerned
    assert not any("dvl" in name for name in concerned)
