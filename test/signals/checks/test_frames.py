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

"""Frames, signs and units: wrong settings are named, right ones are not (the long list: python
test/frame_cases.py 10)."""

import copy
import math
from functools import cache

import numpy as np
import pytest
from campaign_cases import also
from frame_cases import CASES, on, recording, warned

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.checks import suite
from uvms_adaptive_dynamics.signals.checks.delay import DelayMonitor
from uvms_adaptive_dynamics.signals.checks.finding import UNDECIDED, Mend, mismatch
from uvms_adaptive_dynamics.signals.checks.frames import FrameChecks
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.health import MENDED, signal_warnings
from uvms_adaptive_dynamics.signals.samples import samples_of
from uvms_adaptive_dynamics.simulation.faults.clocks import Clock
from uvms_adaptive_dynamics.simulation.faults.values import InWorld

SEED = 1
MINUTE = 32.0  # [s] are enough for the first check
SECOND = {"effort's order, all": 42.0}  # [s] for what the second check finds
MENDED_BY = 34.0  # [s] are enough for what it puts right
HERE = (
    "dvl.frame",
    "effort's sign",
    "a thruster's sign",
)
LATER = ("imu turned by 90", "effort's order, all", "dvl 15 % too fast",
         "force 20 % too large", "depth's sign", "joint velocity's sign",
         "imu.frame and imu.world", "pitch rate's sign", "dvl sway's sign",
         "joint velocity's order, all", "the thrusters' order, all")


@pytest.fixture(scope="module")
def messages():
    return recording(SEED, MINUTE)


@cache
def as_it_is():
    """(front end, samples) of the correct recording."""
    front = SignalFrontEnd(Config(), RobotModel.from_config(Config()))
    return front, samples_of(front, recording(SEED, 62.0))


def test_correct_recording_gives_no_warning():
    """No false alarm, in any of the checks of a minute."""
    assert as_it_is()[0].warnings == []


@pytest.fixture(scope="module")
def judged():
    """Function from a case's name to (warnings, first and last sample) of its front end."""
    @cache
    def run(name):
        settings, change, _ = CASES[name]
        config = Config().with_values(settings)
        front, samples = SignalFrontEnd(config, RobotModel.from_config(config)), []
        for role, message, t in recording(SEED, SECOND.get(name, MINUTE)):
            front.add_message(role, message if change is None else change(role, message), t)
            samples += front.samples()
        return front.warnings, samples[0], samples[-1]

    return run


@pytest.mark.parametrize("name", [*HERE, *map(also, LATER)])
def test_what_is_set_wrong_is_named(name, judged):
    """The first warning concerns the sensor or the setting, and one warning names the setting."""
    begin, (said, *_) = CASES[name][2], judged(name)
    assert said and said[0].startswith(begin.split()[0]), said
    assert any(sentence.startswith(begin) for sentence in said), said


@pytest.mark.parametrize("rpy", [(5, 0, 0), also((0, -5, 0)), also((0, 0, 5))])
def test_an_imu_that_leans_by_a_few_degrees_is_found_within_a_minute(rpy):
    """Five degrees cost 1.6 of pitch's held-out R^2 if the next mount is straight."""
    said = warned(recording(SEED, 42.0), {"imu.rpy": tuple(math.radians(a) for a in rpy)}, None)
    assert len(said) == 1 and said[0].startswith("dvl.rpy"), said


def constant(microseconds, until=math.inf):
    """A change of messages: all thrusters get the same command for so many seconds."""
    def change(r, m, t):
        return on("thrusters", lambda m: setattr(m, "data", 0.0 * m.data + microseconds))(r, m) if (
            t < until) else m
    return change


@pytest.mark.parametrize("microseconds", [1500.0, 1600.0])
def test_commands_that_never_change_while_the_vehicle_moves_are_named(microseconds):
    """Also if they ask for thrust: its impulse in windows of unequal length is no sign of life."""
    begin, change = recording(SEED, MINUTE)[0][2], constant(microseconds)
    said, = warned([(r, change(r, m, t - begin), t) for r, m, t in recording(SEED, MINUTE)],
                   {}, None)
    assert said.startswith("thrusters.topic: none of ")
    assert "'thruster_commands' changed the thrust while the vehicle moved" in said


def test_commands_that_change_at_last_clear_their_topic():
    """The vehicle was armed after the first check; what else is found then rests on the motion
    that no command explains."""
    begin, change = recording(SEED, 62.0)[0][2], constant(1500.0, until=33.0)
    messages = [(r, change(r, m, t - begin), t) for r, m, t in recording(SEED, 62.0)]
    assert warned(messages, {}, None, 32.0)[0].startswith("thrusters.topic")
    assert not any(one.startswith("thrusters.topic")
                   for one in warned(messages, {}, None, 42.0))


ENU_FROM_NED = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
TO_NED = lambda v, R: ENU_FROM_NED @ R @ (v * (1, -1, -1))  # noqa: E731


@pytest.mark.parametrize("change", [TO_NED, also(lambda v, R: ENU_FROM_NED @ TO_NED(v, R))])
def test_velocities_in_the_worlds_axes_are_no_rotation_of_the_sensor(change):
    """A rotation would be right only on the heading of this dive."""
    front, samples = SignalFrontEnd(Config(), RobotModel.from_config(Config())), []
    for role, message, t in recording(SEED, MENDED_BY, (InWorld("dvl", change=change),)):
        front.add_message(role, message, t)
        samples += front.samples()
    (said,) = front.warnings
    assert said.startswith("dvl velocity") and "world's axes" in said and "dvl.rpy to" not in said
    # no setting puts it right, so it is put right from the start, here to a DVL's noise
    assert said.endswith(MENDED)
    assert put_right_from_the_start(samples) < 0.01


@cache
def right_velocities():
    """Velocities (6,) by time of the correct recording."""
    return {round(s.t, 3): s.nu for s in as_it_is()[1] if s.valid[0]}


def put_right_from_the_start(samples):
    """RMS error [m/s] of the velocities that are learnt again, which begin with the first one."""
    (told,) = [sample for sample in samples if sample.again]
    assert told.again[0][0] is told.again[0][1] and told.again[0][0].t < samples[0].t + 2.0
    right = right_velocities()
    off = np.array([s.nu[:3] - right[round(s.t, 3)][:3] for s, _ in told.again
                    if s.valid[0] and round(s.t, 3) in right])
    assert len(off) > 800
    return np.sqrt(np.mean(off ** 2))


@pytest.mark.parametrize("ahead", [0.1, also(-0.08)])
def test_velocities_of_another_time_are_brought_to_their_time_from_the_start(ahead):
    """A DVL's clock that is ahead is named with its seconds; one that is behind by less than the
    DVL's own transport takes looks like an IMU that is late, so its readings stay."""
    front, samples = SignalFrontEnd(Config(), RobotModel.from_config(Config())), []
    for role, message, t in recording(SEED, MENDED_BY, (Clock("dvl", offset=ahead),)):
        front.add_message(role, message, t)
        samples += front.samples()
    (said,) = front.warnings
    assert said.startswith("dvl.delay" if ahead > 0 else "imu.delay")
    assert f"{abs(ahead):.2f} +-" in said
    if ahead > 0:
        assert said.endswith(MENDED) and put_right_from_the_start(samples) < 0.01
        known = samples_of(SignalFrontEnd(Config(), front.robot, front.mends),
                           recording(SEED, 8.0, (Clock("dvl", offset=ahead),)))
        right = right_velocities()
        # (the last second lacks what comes after it)
        off = [s.nu[:3] - right[round(s.t, 3)][:3] for s in known[:-50]
               if round(s.t, 3) in right]
        assert len(off) > 250 and np.sqrt(np.mean(np.square(off))) < 0.01
    else:
        assert not any(sample.again for sample in samples)


def test_a_clock_that_drifts_is_no_constant_delay():
    """A DVL's clock gains 1 %: it is corrected and named, and there is no delay to set. Before that
    is certain, a delay is found without a value."""
    config = Config()
    front = SignalFrontEnd(config, RobotModel.from_config(config))
    for role, message, t in recording(SEED, MINUTE, (Clock("dvl", drift=0.01),)):
        front.add_message(role, message, t)
        front.samples()
    (said,) = front.warnings
    assert said.startswith("dvl: its clock is 0.") and "ahead" in said
    front.frames._results = {"velocity": mismatch("dvl.delay", "late; set dvl.delay to 0.1",
                                                  {"dvl.delay": 0.1})}
    front.frames._since["dvl.delay"] = (40.0, None)
    ((found, _),) = front.frames.findings
    assert "DVL's clock gains 10." in found.sentence and "synchronize it" in found.sentence
    assert "set dvl.delay" not in found.sentence and not found.values


@pytest.mark.parametrize("drift, cause", [(0.0, "or of a clock that runs slow"),
                                          (-0.005, "or of a clock that runs slow"),
                                          (-0.0016, "its own stamps were right")])
def test_a_delay_that_grows_is_one_finding(drift, cause):
    """Each check finds what has been added since the readings were put right. Reception makes a
    clock's drift good: if the motion shows as much of a delay, the messages wait."""
    config = Config()
    frames = FrameChecks(config, RobotModel.from_config(config), lambda: {"dvl": drift})
    frames._begin = 0.0
    for at, lag in ((30.0, 0.1), (50.0, 0.06), (80.0, -0.02)):
        mend = Mend("dvl", 0, np.eye(3), late=lag) if lag > 0.0 else None
        frames._results["DVL"] = mismatch("dvl.delay", f"stamps are {lag} s late; set it",
                                          {"dvl.delay": lag}, mend=mend)
        frames._since["dvl.delay"] = at, None
        frames._changed = {"dvl.delay": -math.inf}
        if mend is not None:
            frames.note_mended({})
    ((found, since),) = frames.findings
    assert found.sentence.startswith("stamps are 0.1 s late, and after 80 s already 0.16 s; ")
    assert since == 30.0 and cause in found.sentence and not found.values
    assert not frames.is_mended(found)
    inputs = ["dvl: its clock is 2 s behind"]
    told = signal_warnings(inputs, frames, DelayMonitor(config), [], 0)
    assert len(told) == (1 if "were right" in cause else 2)
    frames._results["DVL"] = UNDECIDED
    ((found, _),) = frames.findings
    assert frames.is_mended(found) and "after 50 s already 0.16 s" in found.sentence


@pytest.fixture(scope="module")
def rested(messages):
    """The recording after 70 s at rest."""
    return at_rest_before(messages, 70.0)


def at_rest_before(messages, seconds):
    """The recording preceded by this long of its first messages repeated, noise included: a robot
    that lies still."""
    begin = messages[0][2]
    first = [item for item in messages if item[2] < begin + 2.0]
    dvl, imu, joints = (
        [m for r, m, _ in first if r == role] for role in ("dvl", "imu", "joint_states")
    )
    found = []
    for k in range(int(seconds / 2.0)):
        for number, (role, message, t) in enumerate(first):
            message = copy.deepcopy(message)
            if role == "dvl":
                v = message.twist.twist.linear
                v.x, v.y, v.z = (1e-3 * math.sin(number * f + k) for f in (1.0, 2.0, 3.0))
            elif role == "imu":
                message.orientation = copy.deepcopy(imu[0].orientation)
                w, f = message.angular_velocity, message.linear_acceleration
                w.x, w.y, w.z = (1e-3 * math.sin(number * a + k) for a in (1.1, 2.1, 3.1))
                f.x, f.y, f.z = (
                    a + 1e-2 * math.sin(number + k) for a in gravity_in(imu[0].orientation)
                )
            elif role == "joint_states":
                message.position = joints[0].position + 1e-4 * math.sin(number + k)
                message.velocity = 0.0 * message.velocity
            elif role == "depth":
                message.fluid_pressure = 120000.0 + 20 * math.sin(number + k)
            elif role == "thrusters":
                message.data = np.full(8, 1500.0)
            shift = 2.0 * k - 2.0 * int(seconds / 2.0)
            if hasattr(message, "header"):
                stamp = message.header.stamp
                total = stamp.sec * 10**9 + stamp.nanosec + round(shift * 1e9)
                stamp.sec, stamp.nanosec = divmod(total, 10**9)
            found.append((role, message, t + shift))
    return found + messages


def gravity_in(q):
    """Specific force at rest of an IMU with orientation q: +g up, in its axes."""
    x, y, z, w = q.x, q.y, q.z, q.w
    return [
        9.80665 * c for c in (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y))
    ]


@pytest.mark.parametrize("name", ["dvl.frame", "joint velocity's order"])
@pytest.mark.campaign
def test_what_has_not_moved_in_the_first_minute_is_said_and_waited_for(name, messages, rested):
    """A robot that lies still for 70 s is not judged, says so, and is judged once it moves."""
    settings, change, begin = CASES[name]
    config = Config().with_values(settings)
    front = SignalFrontEnd(config, RobotModel.from_config(config))
    start = messages[0][2]
    for role, message, t in rested:
        if role == "imu" and t >= start and t - 0.011 < start:
            said = {n: text for _, n, text, _ in front.status(t)}["frames"]
            assert (
                not front.warnings
                and "not enough motion yet" in said
                and "DVL" in said
                and "joints" in said
            ), (said, front.warnings)
        front.add_message(role, message if change is None else change(role, message), t)
        front.samples()
    assert front.warnings and front.warnings[0].startswith(begin), (
        front.warnings,
        front.frames.waiting_for,
    )


def test_checks_hold_no_message_up(messages, monkeypatch):
    """A message runs at most one step of the checks, which together take a fifth of a second."""
    done = []

    def counted(function):
        def call(*arguments):
            done.append(function.__name__)
            return function(*arguments)

        return call

    for name in ("check_rates", "check_gravity", "check_velocity", "check_joints"):
        monkeypatch.setattr(suite, name, counted(getattr(suite, name)))
    config = Config()
    front = SignalFrontEnd(config, RobotModel.from_config(config))
    most = 0
    for role, message, t in messages:
        before = len(done)
        front.add_message(role, message, t)
        front.samples()
        most = max(most, len(done) - before)
    assert most == 1 and len(done) == 4


@pytest.mark.parametrize(
    "name, concerned",
    [
        ("dvl.frame", set(range(6))),
        also("imu turned by 90", set(range(10))),
        ("effort's sign", {9}),
        also("joint velocity's sign", set()),
        ("depth's sign", set()),
    ],
)
def test_samples_say_which_channels_take_in_what_is_wrong(name, concerned, judged):
    """A wrong attitude also concerns the arm; the depth enters no row, nor does a velocity that is
    left out."""
    _, first, last = judged(name)
    assert first.misread == ()
    assert {place for one in last.misread for place in one.places} == concerned


@pytest.mark.parametrize("case, seconds, begin", [
    ("effort's sign", 25.0, "joint_states.effort_scale"),
    also("effort's sign", 14.0, "joint_states.effort_scale"),
    ("effort's sign", 9.0, None),
    also("depth's sign", 25.0, "depth sign"),
    ("depth's sign", 14.0, None)])
def test_a_short_recording_is_checked_at_its_end(case, seconds, begin, messages):
    """It ends before the first check is due. A few seconds are not enough to judge, and the longer
    windows of velocities need longer than those within a sensor's messages."""
    config, begun = Config(), messages[0][2]
    _, change, _ = CASES[case]
    front = SignalFrontEnd(config, RobotModel.from_config(config))
    for role, message, t in messages:
        if t - begun < seconds:
            front.add_message(role, change(role, message), t)
            front.samples()
    assert not front.frames.findings
    front.flush()
    found = [finding.setting for finding, _ in front.frames.findings]
    assert found == ([] if begin is None else [begin])
