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

"""A sensor that becomes wrong after minutes is found, and the finding says since when."""

import math

import numpy as np
import pytest
from campaign_cases import also
from scipy.spatial.transform import Rotation

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.signals.checks import suite
from uvms_adaptive_dynamics.signals.checks.delay import DelayMonitor
from uvms_adaptive_dynamics.signals.checks.dvl_check import (
    DELAYS,
    _tilted,
    check_velocity,
    of_turn,
)
from uvms_adaptive_dynamics.signals.checks.finding import (
    CONSISTENT,
    UNDECIDED,
    Harm,
    Mend,
    mismatch,
)
from uvms_adaptive_dynamics.signals.checks.frames import FrameChecks
from uvms_adaptive_dynamics.signals.checks.velocity_map import AT_IMU, VelocityMap, velocity_map
from uvms_adaptive_dynamics.signals.health import UNLEARNT, signal_warnings

ONSET, LENGTH, PERIOD = 130.0, 240.0, 0.1
CONFIG = Config()
ROBOT = RobotModel.from_config(CONFIG)
G = CONFIG.robot.gravity


def following(times, dvl=np.eye(3), depth=1.0, onset=ONSET, mended=math.inf, silent=math.inf):
    """Yields the checks after each of these times [s, ascending] of a level vehicle that moves on
    all axes, whose DVL is off by the matrix `dvl` and whose depth sensor by the factor `depth` from
    `onset` [s] on. From `mended` [s] on they are right, and the DVL measures half as often; it is
    silent from `silent` [s] on."""
    frames, rng = FrameChecks(CONFIG, ROBOT), np.random.default_rng(3)
    level, R = np.array([0.0, 0.0, 1.0]), np.eye(3).ravel()
    ends = [len(np.arange(0.0, until, PERIOD)) for until in times]
    for k, t in enumerate(np.arange(0.0, times[-1], PERIOD)):
        faulty = onset < t < mended
        v = 0.25 * np.sin([0.9 * t, 0.7 * t + 1.0, 0.5 * t + 2.0])
        z = -0.5 * np.cos(0.5 * t + 2.0)
        f = np.array([0.0, 0.0, -G]) + 0.02 * rng.standard_normal(3)
        frames.add("imu", t, level, np.zeros(3), f, R, [0.0])
        z *= depth if faulty else 1.0
        frames.add("depth", t, [3.0 + z + 0.002 * rng.standard_normal()])
        measured = (dvl @ v if faulty else v) + 0.01 * rng.standard_normal(3)
        if t < silent and (t < mended or k % 2 == 0):
            frames.add("dvl", t, measured, np.zeros(3), v, R, level)
        if k + 1 in ends:
            yield frames


def followed(dvl=np.eye(3), depth=1.0, until=LENGTH, **faults):
    """The checks after `until` [s]; see `following`."""
    return next(following((until,), dvl, depth, **faults))


def checked(dvl=np.eye(3), depth=1.0, until=LENGTH):
    """Their warnings, without the consequence for the rows."""
    warnings = signal_warnings([], followed(dvl, depth, until), DelayMonitor(CONFIG), [], 0)
    return [warning.removesuffix(UNLEARNT) for warning in warnings]


def rolled(degrees):
    """(3, 3) error of a DVL that is turned about the x axis."""
    return from_rpy(math.radians(degrees), 0.0, 0.0)


def changed_settings(frames, *given):
    """What `FrameChecks._changed_settings` returns after all its steps."""
    steps = frames._changed_settings(*given)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def test_silence_does_not_withdraw_a_finding():
    """A turn of 2.6 degrees is certain in a minute of velocities. In the fewer ones that are left
    while the DVL has lost the bottom it would not be, which does not prove that the DVL is right.
    """
    seen = 0
    for frames in following((125.0, 145.0, 185.0), rolled(2.6), onset=0.0, silent=105.0):
        assert [finding.setting for finding, _ in frames.findings] == ["dvl.rpy"]
        assert frames.consistent_at("dvl.rpy") < 60.0
        seen += 1
    assert seen == 3


def test_a_finding_is_withdrawn_though_the_sensor_has_become_slower():
    """A DVL pings less often farther from the bottom, and a minute of it tells as much."""
    assert followed(rolled(5.0), until=105.0, onset=0.0).findings
    assert not followed(rolled(5.0), until=185.0, onset=0.0, mended=105.0).findings


@pytest.mark.parametrize(
    "dvl, onset, changed",
    [
        (np.diag([1.0, -1.0, 1.0]), 50.0, True),  # a sign, in mid-run
        (np.diag([1.0, -1.0, 1.0]), 0.0, True),  # from the beginning, and no setting puts it right
        also(rolled(12.0), 50.0, True),
        (rolled(12.0), 0.0, False),
        (1.15 * np.eye(3), 50.0, False),  # found, but rows can bear it
    ],
)
def test_a_sensor_has_changed_where_it_was_right_before(dvl, onset, changed):
    """Then the vehicle's rows must not be learnt from, and it was right until the onset."""
    frames = followed(dvl, until=105.0, onset=onset)
    assert frames.findings
    assert frames.vehicle_is_wrong == changed and not frames.arm_is_wrong
    assert {place for one in frames.misread for place in one.places} == set(range(6))
    if changed and onset:
        assert 30.0 < frames.right_until < onset + 5.0
    assert frames.always_wrong == (changed and not onset)
    if frames.always_wrong:
        assert frames.right_until == frames.mend_since == -np.inf and len(frames.mends) == 1


def test_a_fault_may_be_unseen_at_two_checks():
    """One that begins just after a check is in the smaller part of the data of the next two."""
    frames = followed(until=75.0)
    frames._results = {"DVL": mismatch("dvl.frame", "wrong sign")}
    frames._right, frames._consistent["DVL"] = [30.1, 40.1, 50.1], 50.0
    frames._since = {"dvl.frame": (60.0, 50.0)}
    assert changed_settings(frames, {}, 60.1) == {"dvl.frame": 30.1}


def test_readings_are_put_right_since_the_oldest_check_where_none_is_old_enough():
    """Not since the start, from which on they were right for 30 s: a gyro was called wrong once
    more, and put right twice, because of these rows."""
    frames = followed(until=75.0)
    frames._results = {"DVL": mismatch("dvl.frame", "wrong sign")}
    frames._right, frames._changed = [-math.inf, 30.1, 40.1], {"dvl.frame": -math.inf}
    assert frames.mend_since == 30.1
    frames._since, frames._begin = {"dvl.frame": (50.0, 40.0)}, 1.0
    frames.note_mended({"dvl": [np.array([t, 0.0]) for t in np.arange(0.0, 60.0)]})
    assert frames._logs["dvl"][0][0] == 52.0 and frames.mend_since == 40.1
    assert [finding.setting for finding, _ in frames.findings] == ["dvl.frame"]


def test_another_wiring_is_believed_at_the_second_check():
    """If thrusters were right before: commands with a changed delay may look like this once. Until
    then the sensors are not found right either."""
    frames = followed(until=75.0)
    name, setting = "thrusters", "thrusters.signs"
    frames._results = {name: mismatch(setting, "pushes backwards")}
    frames._consistent[name], frames._since = 60.0, {setting: (70.0, 60.0)}
    assert frames._unconfirmed(70.0) == {setting} and not frames._unconfirmed(80.0)
    assert list(changed_settings(frames, {}, 80.0)) == [setting]
    frames._waiting = {setting}
    assert not changed_settings(frames, {}, 70.0) and not frames.findings


def test_what_a_fault_that_waits_for_a_second_check_has_spoilt_counts_from_the_first():
    """The wait makes the fault no younger: thrusters exchanged at 43 s are unseen at 50 s, seen at
    60 s and believed at 80 s, and certainly right at 30 s."""
    frames = followed(until=75.0)
    name, setting = "thrusters", "thrusters.signs"
    frames._results = {name: mismatch(setting, "pushes backwards")}
    frames._right, frames._consistent[name] = [30.1, 40.1, 50.1], 50.0
    frames._since = {setting: (60.0, 50.0)}
    assert changed_settings(frames, {}, 80.1) == {setting: 30.1}


def with_results(monkeypatch, frames, results_of):
    """The checks with the results (name -> result) of their logs as given."""
    def made_up(logs, results):
        yield
        return results_of(logs)
    monkeypatch.setattr(frames._checks, "steps", made_up)
    return lambda t: list(frames._check(t, t))


def test_another_wiring_that_is_likelier_at_the_next_check_waits_no_longer(monkeypatch):
    """Both say that the thrusters are not as set, so the rows do not count."""
    frames = followed(until=75.0)
    frames._right, frames._consistent["thrusters"] = [30.1, 40.1, 50.1], 50.0
    said = "thrusters.allocation"
    check = with_results(monkeypatch, frames, lambda logs: {
        "thrusters": mismatch(said, "other wiring")})
    check(75.0)
    assert not frames.findings and not frames.vehicle_is_wrong and frames.misread
    said = "thrusters.signs"
    check(85.0)
    assert frames.vehicle_is_wrong and frames.right_until == 40.1
    assert [since for _, since in frames.findings] == [75.0]


def test_another_wiring_is_not_confirmed_by_a_check_that_finds_its_motion_wrong(monkeypatch):
    """An odometry whose velocities become too large looks like another wiring once. It was put
    right as soon as the odometry was found."""
    frames = followed(until=75.0)
    frames._right, frames._consistent["thrusters"] = [30.1, 40.1, 50.1], 50.0
    wiring = {"thrusters": mismatch("thrusters.signs", "pushes backwards")}
    with_results(monkeypatch, frames, lambda logs: wiring)(75.0)
    scale = mismatch("dvl unit", "velocities too large", harm=Harm.FOLLOWED)
    with_results(monkeypatch, frames, lambda logs: {
        "DVL": scale, "thrusters": UNDECIDED})(85.0)
    assert [finding.setting for finding, _ in frames.findings] == ["dvl unit"]
    assert not frames.vehicle_is_wrong


@pytest.mark.parametrize("again", [False, True])
def test_a_turn_of_the_dvl_by_two_axes_has_to_be_found_twice(again, monkeypatch):
    """While a healthy vehicle kept its depth, one half minute of thirteen showed its DVL turned by
    5.2 +- .9 degrees."""
    frames = followed(until=75.0)
    turned = mismatch("dvl.rpy", "turned about heave")._replace(complete=False)
    found = [turned, turned if again else UNDECIDED]
    for at, result in zip((75.0, 85.0), found):
        assert not frames.findings
        with_results(monkeypatch, frames, lambda logs, result=result: {"DVL": result})(at)
    assert [finding.setting for finding, _ in frames.findings] == ["dvl.rpy"] * again


@pytest.mark.parametrize("open_before, always", [
    ([True], True), ([True, True], True), ([False], False), ([True, False], False),
    ([False, True], False)])
def test_a_delay_that_no_check_excluded_may_have_been_there_from_the_start(
        open_before, always, monkeypatch):
    """A DVL .12 s late was certain at the second check only. It counted as one that had become
    late, without a moment when it did, so nothing was put right."""
    frames = followed(until=25.0)
    mend = Mend("dvl", 0, np.eye(3), late=0.12)
    late = mismatch("dvl.delay", "late", harm=Harm.FOLLOWED, mend=mend, lasting=True)
    results = [CONSISTENT._replace(open=DELAYS if one else frozenset()) for one in open_before]
    for k, result in enumerate([*results, late]):
        with_results(monkeypatch, frames, lambda logs, result=result: {"DVL": result})(
            30.0 + 10.0 * k)
    assert frames.always_wrong == always and frames.mends == ((mend,) if always else ())
    assert (frames.consistent_at("dvl.delay") is None) == always


@pytest.mark.parametrize("newest, stays", [(UNDECIDED, True), (CONSISTENT, False)])
def test_rows_from_before_a_fault_do_not_show_that_it_is_over(newest, stays, monkeypatch):
    """A mixture of right and wrong rows may fit; only the rows since can tell."""
    frames = followed(until=75.0)
    frames._results["DVL"] = mismatch("dvl.frame", "wrong sign")
    frames._consistent["DVL"], frames._since = 40.0, {"dvl.frame": (50.0, 40.0)}
    frames._changed = {"dvl.frame": 30.0}
    check = with_results(monkeypatch, frames, lambda logs: {
        "DVL": CONSISTENT if logs["dvl"][0, 0] < 40.0 else newest})
    check(75.0)
    assert bool(frames.findings) == frames.vehicle_is_wrong == stays


@pytest.mark.parametrize("shown_in", [10.0, 30.0])
def test_a_mismatch_of_the_newest_rows_stands_over_that_of_a_mixture(shown_in, monkeypatch):
    """A sway reversed 15 s ago, mixed with rows from before, looks like axes that turned a little,
    25 to 35 s ago: of one robot it was never named."""
    frames = followed(until=75.0)
    frames._consistent["DVL"] = 60.0

    def turned(dvl, place):
        yield
        return 75.0 - shown_in - 5.0
    monkeypatch.setattr("uvms_adaptive_dynamics.signals.checks.frames.turned_since", turned)

    def results_of(logs):
        age = 75.0 - logs["dvl"][0, 0]
        if age < shown_in:
            return {"DVL": mismatch("dvl.frame", "sway")}
        return {"DVL": mismatch("dvl.rpy", "turned") if age < shown_in + 6.0 else UNDECIDED}
    with_results(monkeypatch, frames, results_of)(75.0)
    assert [finding.setting for finding, _ in frames.findings] == ["dvl.frame"]


def test_a_fault_that_waits_for_a_second_check_is_checked_soon(monkeypatch):
    """Until then its rows count, so the wait is no longer than between the first checks."""
    frames = followed(until=75.0)
    frames._consistent["thrusters"], frames._next_check = 60.0, 80.0
    check = with_results(monkeypatch, frames, lambda logs: {
        "thrusters": mismatch("thrusters.signs", "pushes backwards")})
    check(80.0)
    assert not frames.vehicle_is_wrong and frames._next_check == 90.0
    check(90.0)
    assert frames.vehicle_is_wrong and frames._next_check == 110.0


def test_a_dvl_whose_last_row_is_a_minute_old_has_not_turned():
    """Its finding stays, and there is nothing to tell by when it began."""
    frames = followed(until=62.0)
    frames._results = {"DVL": mismatch("dvl.rpy", "rotated", harm=Harm.FOLLOWED)}
    frames._consistent, frames._since = {"DVL": 30.0}, {"dvl.rpy": (40.0, 30.0)}
    assert changed_settings(frames, {}, 140.0) == {}


def test_sensors_are_not_found_right_while_much_is_doubted():
    """Leaving out rows that fit badly hides a misfit, so only checks before the doubt count."""
    frames = followed(until=62.0)
    assert frames.right_until > 60.0
    for t in np.arange(62.0, 82.0, 0.05):
        frames.add("doubted", t)
        frames.add("depth", t, [3.0])
    assert frames.right_until < 62.0


@pytest.mark.parametrize("standing, wrong, judged", [
    (UNDECIDED, UNDECIDED, True),
    (mismatch("dvl.frame", "the DVL's axes are swapped"), UNDECIDED, False),
    (mismatch("dvl.delay", "it is a little late", harm=Harm.SLIGHT), UNDECIDED, True),
    (UNDECIDED, mismatch("joint velocity", "it comes .1 s late"), True)])
def test_thrusters_are_not_judged_by_a_dvl_whose_finding_stands(standing, wrong, judged,
                                                                monkeypatch):
    """A check without enough of its data does not withdraw the finding, so it may not conclude
    from that DVL that thrusters are swapped either, unless no row depends on it. Joints do not move
    the vehicle: a filter on their velocities, which many drivers have, leaves the thrusters to be
    judged."""
    frames, seen = followed(until=62.0), []
    logs = {name: np.array(rows) for name, rows in frames._logs.items() if rows}
    t = logs["dvl"][:, 0]
    logs["thrust"] = np.column_stack([t, np.cumsum(np.sin(np.outer(t, np.arange(1, 9))), axis=0)])
    logs["joints"] = np.zeros((len(t), 1))      # (judged by a stub)
    checks, suite = frames._checks, "uvms_adaptive_dynamics.signals.checks.suite."
    monkeypatch.setattr(checks, "_check_velocities", lambda *_: ({"DVL": UNDECIDED}, np.eye(3)))
    monkeypatch.setattr(checks, "_check_thrusters",
                        lambda _, windows, place: seen.append(windows is not None) or UNDECIDED)
    monkeypatch.setattr(suite + "check_joints", lambda *_: wrong)
    frames._results["DVL"] = standing
    list(checks.steps(logs, frames._results))
    assert seen == [judged]


def test_thrusters_are_judged_by_imu_and_dvl_together(monkeypatch):
    """A DVL with a noise of 5 cm/s; what the thrusters are compared with has less than half."""
    frames, seen = followed(until=62.0), []
    logs = {name: np.array(rows) for name, rows in frames._logs.items() if rows}
    clean = logs["dvl"].copy()
    logs["dvl"][:, 1:4] += 0.05 * np.random.default_rng(0).normal(size=(len(clean), 3))
    logs["thrust"] = np.column_stack([clean[:, 0], np.zeros((len(clean), 8))])
    monkeypatch.setattr(frames._checks, "_check_thrusters",
                        lambda logs, *_: seen.append(logs["dvl"]) or UNDECIDED)
    list(frames._checks.steps(logs, frames._results))
    (used,) = seen
    true = clean[np.isin(clean[:, 0], used[:, 0])]
    assert len(used) > 0.9 * len(clean) and np.std(used[:, 1:4] - true[:, 1:4]) < 0.025


def test_nothing_is_said_of_sensors_that_stay_right():
    """No false alarm in ten checks."""
    assert checked() == []


@pytest.mark.campaign
@pytest.mark.parametrize(
    "fault, begins, says",
    [
        ({"dvl": 1.15 * np.eye(3)}, "dvl unit", "1.15"),
        also({"dvl": 0.9 * np.eye(3)}, "dvl unit", "0.90"),
        also({"dvl": np.diag([1.0, -1.0, -1.0])}, "dvl.frame", "wrong sign"),
        ({"depth": 1.1}, "depth unit", "1.10"),
    ],
)
def test_a_fault_that_begins_after_two_minutes_is_found(fault, begins, says):
    """The sensor with a wrong scale is the one that fits neither of the others; the sentence says
    when it was still right."""
    (said,) = checked(**fault)
    assert said.startswith(begins) and says in said
    found = float(said.partition("(found ")[2].split()[0])
    before = float(said.partition(", not yet at ")[2].split()[0])
    assert ONSET < found < ONSET + 75.0 and found - 40.0 < before < found


def test_a_fault_is_judged_by_what_came_since_it_was_not_there():
    """A DVL turned by 60 degrees after two minutes is never reported as turned by less, as a mix of
    data before and after would suggest."""
    c, s = np.cos(np.pi / 3), np.sin(np.pi / 3)
    (said,) = checked(dvl=np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), until=190.0)
    assert said.startswith("dvl.rpy")
    assert abs(float(said.partition(" +- ")[0].split()[-1]) - 60.0) < 3.0


def test_findings_can_be_asked_for_at_every_step_of_a_check(monkeypatch):
    """A node may report its status between two steps of a check that finds two sensors wrong."""
    frames = followed(until=62.0)
    frames._consistent = {"IMU": 60.0, "DVL": 60.0}

    def found(logs, results):
        yield
        return {"IMU": mismatch("imu.rpy", "rotated"), "DVL": mismatch("dvl.rpy", "rotated")}
    monkeypatch.setattr(frames._checks, "steps", found)
    counts = [len(frames.findings) for _ in frames._check(75.0, 75.0)]
    assert set(counts) == {0} and len(frames.findings) == 2


def test_a_dvl_without_a_whole_window_is_not_judged():
    """Values in pairs with gaps between them, as from two publishers: no check, and no exception.
    """
    rows = np.zeros((200, 22))
    rows[:, 0] = 1.7 * (np.arange(200) // 2) + 0.01 * (np.arange(200) % 2)
    assert velocity_map(rows) is None
    assert check_velocity({"dvl": rows}, CONFIG, upside_down=False) == (UNDECIDED, None)


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("SVD did not converge"),
                                   ValueError("matrix contains invalid numeric entries")])
def test_a_check_whose_fit_fails_is_told_and_the_next_one_judges(error, monkeypatch):
    """Samples go on, and the sensors are judged again at the time of the next check."""
    checks = iter(range(100))
    right = suite.check_velocity

    def failing_once(*args, **kwargs):
        if next(checks) == 0:
            raise error
        return right(*args, **kwargs)
    monkeypatch.setattr(suite, "check_velocity", failing_once)
    frames = followed(dvl=np.diag([1.0, -1.0, -1.0]), onset=-1.0, until=36.0)
    told = signal_warnings([], frames, DelayMonitor(CONFIG), [], 0)
    assert len(told) == 1 and f"ended with '{error}', so it judged no" in told[0]
    frames = followed(dvl=np.diag([1.0, -1.0, -1.0]), onset=-1.0, until=45.0)
    assert [finding.setting for finding, _ in frames.findings] == ["dvl.frame"]
    checks = iter(range(100))
    frames = followed(until=29.0)
    frames.finish()
    assert frames.failed


def test_noise_of_a_map_is_no_tilt():
    """Of 4,000 maps whose rotation is noise of 10 degrees about each axis, one or two in a thousand
    are found tilted."""
    rng, stddev = np.random.default_rng(0), math.radians(10.0)
    covariance = np.zeros((13, 13))
    covariance[:9, :9] = 2.0 * stddev ** 2 * np.eye(9)      # (an angle is half of two entries)
    found = 0
    for phi in stddev * rng.standard_normal((4000, 3)):
        fit = VelocityMap(Rotation.from_rotvec(phi).as_matrix(), np.zeros(3), 0.0, covariance,
                          np.ones(3), 1.0, 0.0, 1.0)
        found += bool(_tilted(fit, CONFIG, Harm.FOLLOWED).findings)
    assert found < 8


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rpy", [(0.17, 0.0, 0.0), (0.05, -0.2, 0.3), (0.0, 0.0, 0.5)])
def test_the_mean_tilt_tells_which_sensor_has_turned(rpy, seed):
    """The IMU, whose tilt turns with it, or the DVL; about the vertical it tells nothing."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, 60.0, 0.1)
    turn, level = from_rpy(*rpy), np.array([0.0, 0.0, 1.0])
    v = 0.25 * np.sin(np.outer(t, [0.9, 0.7, 0.5]) + [0.0, 1.0, 2.0])
    down = np.array([from_rpy(*(0.05 * np.sin([0.8 * s, 1.1 * s])), 0.0).T @ level for s in t])

    def log(imu, dvl):
        """Rows whose sensors have turned by these matrices at 30 s."""
        rows = []
        for s, u, n in zip(t, v, down):
            I, D = (imu, dvl) if s > 30.0 else (np.eye(3), np.eye(3))
            rows.append([s, *(D.T @ u + 0.01 * rng.standard_normal(3)), *np.zeros(3), *u,
                         *I.ravel(), *(I.T @ n)])
        return np.array(rows)
    for sensor, rows in (("imu", log(turn, np.eye(3))), ("dvl", log(np.eye(3), turn))):
        found = of_turn(rows, AT_IMU, 30.0)
        assert (found is None) == (rpy[:2] == (0.0, 0.0))
        if found is not None:
            role, mend = found
            assert role == sensor == mend.role
            np.testing.assert_allclose(mend.matrix, turn, atol=0.03)
            assert mend.out_until == 35.0
    given = [*(turn.T @ level), 0.1, 0.2, 0.3, *(turn.T @ [0.0, 0.0, -9.8]), 0.4]
    mended = Mend("imu", 0, turn, turn=True).mended(given)
    np.testing.assert_allclose(mended[:3], level, atol=1e-12)
    np.testing.assert_allclose(mended[6:9], [0.0, 0.0, -9.8], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("onset", [0.0, 30.0])
def test_a_gyro_whose_signs_change_is_found_by_its_latest_readings(seed, onset):
    """A mixture of turns before and after fits no gains. From the start it is put right as well,
    since no setting does it."""
    frames = FrameChecks(Config(), RobotModel.from_config(Config()))
    rng = np.random.default_rng(seed)
    R, R_Gb, phase = Rotation.identity(), Rotation.identity(), rng.uniform(0.0, 6.0, 3)
    for t in np.arange(0.0, 44.0, 0.1):
        w = [0.08, 0.4, 0.4] * np.sin([1.1, 0.9, 0.7] * np.array(t) + phase)
        gyro = w * ([1.0, -1.0, -1.0] if t >= onset else [1.0, 1.0, 1.0])
        R = R * Rotation.from_rotvec(0.1 * w)
        R_Gb = R_Gb * Rotation.from_rotvec(0.1 * gyro)
        n = (R * Rotation.from_rotvec(1e-3 * rng.normal(size=3))).as_matrix()
        frames.add("imu", t, n[2], gyro, -9.81 * n[2], R_Gb.as_matrix().ravel(),
                   [np.arctan2(n[1, 0], n[0, 0])])
    ((finding, _),) = frames.findings
    assert finding.sentence.startswith("pitch and yaw rate has the wrong sign")
    (mend,) = frames.mends
    np.testing.assert_array_equal(mend.matrix, np.diag([1.0, -1.0, -1.0]))
    assert frames.attitude_is_wrong and frames.always_wrong == (onset == 0.0)
