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

"""Readings of a sensor that has become wrong are put right, from before it was found on."""
import numpy as np
import pytest
from analytic import START, AnalyticMotion, stream
from campaign_cases import also
from signal_runs import make

from uvms_adaptive_dynamics.model.rotations import NED_FROM_ENU, from_rpy
from uvms_adaptive_dynamics.signals import replay
from uvms_adaptive_dynamics.signals.checks.finding import Mend, mismatch
from uvms_adaptive_dynamics.signals.decode.readings import Reading
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.health import MENDED, UNLEARNT
from uvms_adaptive_dynamics.signals.replay import (
    KEPT_SECONDS,
    Kept,
    Mends,
    PutRight,
    Replay,
    composed,
)

FLIP = np.diag([1.0, -1.0, -1.0])
ONSET, FOUND, SECONDS = 6.0, 10.0, 14.0


@pytest.fixture(scope="module")
def recorded():
    """(config, robot, messages)."""
    config, robot, pi = make()
    return config, robot, list(stream(AnalyticMotion(0, config=config), robot, pi, SECONDS))


def flipped(message):
    """A DVL's message whose sway and heave have the wrong sign."""
    linear = message.twist.twist.linear
    return type(message)(header=message.header, twist=type(message)(
        covariance=message.twist.covariance, twist=type(message)(
            linear=type(linear)(x=linear.x, y=-linear.y, z=-linear.z))))


def run(recorded, mend, onset=ONSET, then=lambda front, t: None):
    """(front end, samples) of a DVL that is flipped from `onset` [s] on, which a check finds at
    FOUND [s]; then(front, t) is called before each message of a later t [s]."""
    config, robot, messages = recorded
    front, samples = SignalFrontEnd(config, robot), []
    for role, message, t in messages:
        frames = front.frames
        if frames._changed or frames._mended:
            then(front, t - START)
        if t > START + FOUND and not frames._mended and not frames._changed and onset < SECONDS:
            frames._results["DVL"] = mismatch("dvl.frame", "the wrong sign", mend=mend)
            frames._since, frames._changed = {"dvl.frame": (FOUND, 4.0)}, {"dvl.frame": 4.0}
        front.add_message(role, flipped(message) if role == "dvl" and t > START + onset
                          else message, t)
        samples += front.samples()
    return front, samples


@pytest.fixture(scope="module")
def clean(recorded):
    return {sample.t: sample for sample in run(recorded, None, np.inf)[1]}


def alike(one, other):
    """Whether the vehicle's rows of two samples count in both, with the same motion."""
    return (one.valid[:6].all() and other.valid[:6].all()
            and np.abs(one.nu - other.nu).max() < 0.02
            and np.abs(one.nu_dot - other.nu_dot).max() < 0.05)


def test_readings_are_put_right_from_before_the_fault_on(recorded, clean):
    """Those since the onset come again, right; the later ones are right at once."""
    front, samples = run(recorded, Mend("dvl", 0, FLIP))
    (told,) = [sample for sample in samples if sample.again]
    assert -1.0 < told.t - START - FOUND < 1.0
    again = [pair for pair in told.again if pair[0].t > START + ONSET + 1.0]
    assert np.mean([alike(after, clean[after.t]) for _, after in again]) > 0.95
    assert not any(alike(before, clean[before.t]) for before, _ in again)
    # no tick is lost meanwhile
    np.testing.assert_allclose(np.diff([sample.t for sample in samples]),
                               front.config.filter.period, atol=1e-6)
    later = [sample for sample in samples if sample.t > told.t]
    assert len(later) > 50 and not any(sample.found_wrong for sample in later)
    assert all(alike(sample, clean[sample.t]) for sample in later)


def test_samples_older_than_the_readings_are_left_as_they_were(recorded):
    """The filters know nothing of the first ones: samples come later than readings."""
    config, robot, _ = recorded
    front, samples = run(recorded, None, np.inf)
    kept = Kept()
    for k, sample in enumerate(samples):
        kept.add_sample(k, sample)
    replay = Replay(config, robot, front._reader.clocks, kept, Mends(), (),
                    front._reader.origin, 0.1)
    assert replay.finish() == () and "thrust" not in replay.logs


def test_the_finding_stays_and_says_that_it_is_corrected(recorded):
    front, _ = run(recorded, Mend("dvl", 0, FLIP))
    (warning,) = [text for text in front.warnings if text.startswith("dvl.frame")]
    assert warning.endswith(MENDED) and "not yet at 4 s" in warning


def test_what_cannot_be_put_right_is_left_out(recorded):
    """The other rows come again as they were."""
    front, samples = run(recorded, None)
    (told,) = [sample for sample in samples if sample.again]
    assert told.found_wrong
    for before, after in told.again:
        assert not after.valid[:6].any() and (after.valid[6:] == before.valid[6:]).all()
    assert front.warnings[-1].endswith(UNLEARNT)


def test_a_sensor_that_is_right_again_needs_no_mend():
    """Two thrusters that are swapped back, or readings turned twice."""
    swap = Mend("thrusters", 0, np.eye(8)[[1, 0, *range(2, 8)]], 1500.0)
    assert composed([swap, Mend("dvl", 0, FLIP), swap]) == (Mend("dvl", 0, FLIP),)
    third = Mend("dvl", 0, np.eye(3)[[1, 2, 0]])
    assert composed([third, third, third]) == ()


@pytest.mark.parametrize("role, late, waits", [
    ("dvl", 0.2, 0.2), ("dvl", -0.2, 0.0), ("thrusters", -0.2, 0.0), ("imu", -0.2, 0.2)])
def test_samples_wait_for_what_comes_late(role, late, waits):
    """Commands that act later than they say make no other sensor's reading come sooner."""
    assert Mends().late == 0.0
    assert Mends().then(0.0, [Mend(role, 0, np.eye(3), late=late)]).late == waits


def test_a_reading_is_put_right_by_what_was_in_force_at_its_time():
    mends = Mends().then(10.0, [Mend("dvl", 0, FLIP)]).then(20.0, [Mend("dvl", 0, -np.eye(3))])
    given = [Reading("dvl", t, [1.0, 2.0, 3.0]) for t in (5.0, 15.0, 25.0)]
    assert [mends.mended(one).values for one in given] == [
        [1.0, 2.0, 3.0], [1.0, -2.0, -3.0], [-1.0, 2.0, 3.0]]
    assert mends.mended(Reading("imu", 15.0, [1.0])).values == [1.0]


def test_a_velocity_in_the_worlds_axes_is_turned_by_the_attitude_nearby():
    """Without one it is left out."""
    R = from_rpy(0.3, -0.2, 2.0)
    right = PutRight(Mends().then(2.0, (Mend("dvl", 0, NED_FROM_ENU, of_world=True),)))
    imu = Reading("imu", 2.9, [*R[2], *np.zeros(6), 2.0])
    v = np.array([0.4, -0.1, 0.2])
    east = Reading("dvl", 2.93, (NED_FROM_ENU @ R @ v).tolist())
    assert right.add(east._replace(t=1.9)).values == east.values and right.add(east) is None
    right.add(imu)
    np.testing.assert_allclose(right.add(east).values, v, atol=1e-12)
    assert right.add(east._replace(t=3.5)) is None


def test_the_thrust_is_put_right_beside_the_commands():
    """Shares of thrust multiply, and commands keep their own mend."""
    half, fifth = (Mend("thrusters", 0, np.diag([1.0, share]), of_thrust=True)
                   for share in (0.5, 0.2))
    swap = Mend("thrusters", 0, np.eye(2)[[1, 0]], 1500.0)
    mends = Mends().then(10.0, [half]).then(20.0, [swap, fifth])
    given = [mends.mended(Reading("thrusters", t, [1400.0, 1700.0])) for t in (5.0, 15.0, 25.0)]
    assert [one.thrust_shares for one in given] == [(), (1.0, 0.5), (1.0, 0.1)]
    assert [one.values for one in given] == [[1400.0, 1700.0]] * 2 + [[1700.0, 1400.0]]


def test_a_mend_counts_from_neutral_and_leaves_other_values_alone():
    swap = Mend("thrusters", 1, np.array([[0.0, -1.0], [1.0, 0.0]]), 1500.0)
    assert swap.mended([1100.0, 1600.0, 1700.0, 1900.0]) == [1100.0, 1300.0, 1600.0, 1900.0]


def test_a_missing_value_is_missing_where_it_belongs():
    """An effort that is missing moves with its order; a velocity that is wrong is left out."""
    order = Mend("joint_states", 0, np.eye(2)[[1, 0]])
    np.testing.assert_equal(order.mended([np.nan, 1.0]), [1.0, np.nan])
    np.testing.assert_equal(Mend("joint_states", 1, np.array([[np.nan]])).mended([1.0, 2.0, 3.0]),
                            [1.0, np.nan, 3.0])


def test_only_the_newest_readings_are_kept():
    kept = Kept()
    for t in np.arange(0.0, 3 * KEPT_SECONDS, 0.5):
        kept.add(Reading("dvl", t, [0.0] * 3))
    assert len(kept.readings) == 2 * KEPT_SECONDS + 1


def test_a_replay_begins_with_the_oldest_readings_that_are_kept(recorded, clean, monkeypatch):
    """Of a longer run: the first of them make no samples yet."""
    monkeypatch.setattr(replay, "KEPT_SECONDS", 6.0)
    front, samples = run(recorded, Mend("dvl", 0, FLIP))
    (told,) = [sample for sample in samples if sample.again]
    assert FOUND - 6.0 < told.again[0][0].t - START < FOUND - 4.0
    later = [sample for sample in samples if sample.t > told.t]
    assert len(later) > 50
    assert np.mean([alike(sample, clean[sample.t]) for sample in later]) > 0.9


def test_a_second_finding_during_a_replay_counts_in_it(recorded):
    """The replay begins again: joints whose velocities are found wrong before it has arrived."""
    replays = set()

    def find(front, t):
        if t > FOUND + 0.1 and "joint velocity" not in front.frames._since:
            front.frames._results["joints"] = mismatch(
                "joint velocity", "the wrong sign",
                mend=Mend("joint_states", len(front.config.robot.joints), np.array([[np.nan]])))
            front.frames._since["joint velocity"] = FOUND, 4.0
            front.frames._changed["joint velocity"] = 4.0
        replays.add(front._replay)
    front, samples = run(recorded, Mend("dvl", 0, FLIP), then=find)
    assert len(replays - {None}) == 2
    (told,) = [sample for sample in samples if sample.again]
    assert {mend.role for mend in front._right.mends.now} == {"dvl", "joint_states"}
    assert all(text.endswith(MENDED) for text in front.warnings if "the wrong sign" in text)
    assert not any(sample.found_wrong for sample in samples if sample.t > told.t)


def test_a_second_sensor_that_nothing_puts_right_is_left_out_as_well(recorded):
    """Of the earlier samples too, whether or not the first one could be put right."""
    def find(front, t):
        if t > FOUND + 0.1:
            front.frames._changed["joint velocity"] = 4.0
            front.frames._results["joints"] = mismatch("joint velocity", "the wrong sign")
            front.frames._since["joint velocity"] = FOUND, 4.0
    for mend, times in ((None, 2), (Mend("dvl", 0, FLIP), 1)):
        front, samples = run(recorded, mend, then=find)
        told = [sample for sample in samples if sample.again]
        assert len(told) == times and front._replay is None
        assert not any(after.valid.any() for _, after in told[-1].again)


@pytest.mark.parametrize("jump, begun", [
    (-3600, True), (3600, False), also(-3600, False), also(3600, True)])
def test_a_sensor_is_put_right_after_a_jump_of_the_clock(recorded, clean, jump, begun):
    """A clock says nothing about a sensor: it stays as it was found, and the samples go on.
    Readings of the other time do not come again, not even of a replay that had begun."""
    config, robot, messages = recorded
    front = SignalFrontEnd(config, robot)
    samples, jumped = [], 0
    for role, message, t in messages:
        frames = front.frames
        if t > START + FOUND and not frames._changed and not frames._mended:
            frames._results["DVL"] = mismatch("dvl.frame", "", mend=Mend("dvl", 0, FLIP))
            frames._since, frames._changed = {"dvl.frame": (FOUND, 4.0)}, {"dvl.frame": 4.0}
        if frames._mended if not begun else front._replay is not None:
            jumped = jump
        message.header.stamp.sec += jumped
        front.add_message(role, flipped(message) if role == "dvl" and t > START + ONSET
                          else message, t + jumped)
        message.header.stamp.sec -= jumped
        samples += [(jumped, sample) for sample in front.samples()]
    later = [sample for after, sample in samples if after and sample.valid[:6].all()]
    assert front.resets.total() == 1 and len(later) > 50
    assert all(alike(sample, clean[min(clean, key=lambda t: abs(t - sample.t + jump))])
               for sample in later)
    assert not any(sample.again or sample.found_wrong for sample in later[10:])
    assert front.warnings[-1].startswith("dvl.frame") and front.warnings[-1].endswith(MENDED)


def test_what_cannot_be_put_right_stays_left_out_after_a_jump_of_the_clock(recorded):
    """The rows that need the sensor are not learnt from; another recording begins anew."""
    front, _ = run(recorded, None, then=lambda front, t: None)
    front.restart()
    assert front.frames.vehicle_is_wrong and front.frames.right_until == -np.inf
    assert front.warnings[-1].endswith(UNLEARNT) and "found 10 s after" in front.warnings[-1]
    front.reset()
    assert not front.frames.vehicle_is_wrong and not front.warnings


def test_a_status_can_be_asked_for_at_any_time_of_a_replay(recorded):
    """The finding is in it throughout, and the counts are not those of the readings that come
    again."""
    used, found = [], []

    def ask(front, t):
        front.status(START + t)
        found.append([text for text in front.warnings if text.startswith("dvl.frame")])
        used.append(sum(state.used for state in front.inputs.values()))
    run(recorded, Mend("dvl", 0, FLIP), then=ask)
    assert all(len(texts) == 1 for texts in found)
    assert found[0][0].endswith(UNLEARNT) and found[-1][0].endswith(MENDED)
    assert set(np.diff(used)) <= {0, 1}


def imu_values(t):
    """An IMU's reading at t [s]: down vector, rates, force, and a heading that wraps."""
    tilt = 0.1 * np.sin(t)
    return [np.sin(tilt), 0.0, np.cos(tilt), np.sin(2 * t), t, -t, 3 * t, 0.0, -9.8,
            float(np.angle(np.exp(1j * (3.0 + 0.3 * t))))]


@pytest.mark.parametrize("late, places", [(0.15, range(3, 6)), (-0.15, range(3, 9))])
def test_late_values_of_an_imu_are_brought_to_the_time_of_the_others(late, places):
    """From the fault on, with increasing times; what belongs to a gap is left out."""
    mend = Mend("imu", places[0], np.eye(len(places)), late=late)
    right = PutRight(Mends().then(2.0, (mend,)))
    given = []
    for t in np.arange(0.0, 6.0, 0.02):
        if 4.0 < t < 4.5:
            continue
        now, then = imu_values(t), imu_values(t - 0.15)
        older, newer = (then, now) if t > 2.0 else (now, now)
        values = [(older if (k in places) == (late > 0) else newer)[k] for k in range(10)]
        found = right.add(Reading("imu", t, values))
        assert right.add(Reading("dvl", t, [0.0] * 3)) is not None
        given += [] if found is None else [found]
    times = np.array([reading.t for reading in given])
    assert (np.diff(times) > 0.0).all() and times[-1] == pytest.approx(5.98 - 0.15)
    assert not ((times > 4.0) & (times < 4.5)).any()
    # (values from before the fault are in the readings of its first moments)
    for reading in (one for one in given if not 1.9 < one.t < 2.2):
        error = np.array(reading.values) - imu_values(reading.t)
        error[9] = np.angle(np.exp(1j * error[9]))
        assert np.abs(error).max() < 1e-3


def test_without_a_late_value_every_reading_is_given_at_once():
    """Also one whose stamp is not later than the last one's: the gates judge those."""
    right = PutRight()
    for t in (1.0, 1.0, 0.9, 1.1):
        reading = Reading("imu", t, imu_values(t))
        assert right.add(reading) is reading


def test_what_is_late_no_more_is_not_put_off():
    """A driver that has been set right: what undoes the mend is composed with it."""
    late = [Mend("imu", 3, np.eye(3), late=size) for size in (0.15, -0.14)]
    assert composed(late[:1])[0].late == 0.15 and composed(late) == ()
    assert Mends().then(0.0, late[:1]).late == 0.15 and Mends().then(0.0, late).late == 0.0


def test_readings_of_the_moment_of_a_turn_are_left_out():
    """Of the role that has turned, from the beginning of the mend on."""
    right = PutRight(Mends().then(2.0, (Mend("imu", 0, FLIP, turn=True, out_until=3.0),)))
    for t in (1.0, 2.5, 3.5):
        assert (right.add(Reading("imu", t, imu_values(t))) is None) == (t == 2.5)
        assert right.add(Reading("dvl", t, [0.0] * 3)) is not None
