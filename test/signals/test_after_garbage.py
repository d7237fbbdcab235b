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

"""Garbage and outages: rows that rely on them are masked, and valid rows return soon."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import START, AnalyticMotion, MultiSine, stamp, stream
from campaign_cases import also
from signal_runs import make, run

from uvms_adaptive_dynamics.model.rotations import from_rpy, to_quaternion
from uvms_adaptive_dynamics.signals.gates.zero_velocities import ZERO_WITHOUT_LOCK

BEGIN, LENGTH, SECONDS = 8.0, 0.6, 14.0
BACK = 3.0     # [s] after the end, at most, until the vehicle's rows count again


@pytest.fixture(scope="module")
def recorded():
    """(config, robot, the motion, its messages)."""
    config, robot, pi = make()
    motion = AnalyticMotion(0, config=config)
    return config, robot, motion, list(stream(motion, robot, pi, SECONDS))


def vector(old, change):
    x, y, z = change(np.array([old.x, old.y, old.z]))
    return Message(x=float(x), y=float(y), z=float(z))


def imu(field, change):
    return "imu", lambda m: Message(**{**vars(m), field: vector(getattr(m, field), change)})


def turned(m):
    """The attitude turned by 30 degrees about the body's y axis."""
    q = m.orientation
    x, y, z, w = q.x, q.y, q.z, q.w
    a, b, c, d = to_quaternion(from_rpy(0.0, np.radians(30.0), 0.0))
    turned = (w * a + x * d + y * c - z * b, w * b - x * c + y * d + z * a,
              w * c + x * b - y * a + z * d, w * d - x * a - y * b - z * c)
    return Message(**{**vars(m), "orientation": Message(**dict(zip("xyzw", turned)))})


def dvl(change):
    return "dvl", lambda m: Message(header=m.header, twist=Message(
        twist=Message(linear=vector(m.twist.twist.linear, change)), covariance=m.twist.covariance))


def joints(field, change):
    return "joint_states", lambda m: Message(**{**vars(m), field: change(getattr(m, field))})


RNG = np.random.default_rng(0)
BURSTS = {
    "gyro + 2 rad/s": imu("angular_velocity", lambda v: v + 2.0),
    "gyro - 2 rad/s about z": imu("angular_velocity", lambda v: v - [0, 0, 2.0]),
    "gyro in deg/s": imu("angular_velocity", np.degrees),
    "gyro NaN": imu("angular_velocity", lambda v: v * np.nan),
    "gyro 1e200": imu("angular_velocity", lambda v: v * 0 + 1e200),
    "gyro noise": imu("angular_velocity", lambda v: v + RNG.normal(0, 2, 3)),
    "accelerometer + 5 m/s^2": imu("linear_acceleration", lambda v: v + [5.0, 0, 0]),
    "accelerometer times 1.5": imu("linear_acceleration", lambda v: 1.5 * v),
    "accelerometer 1e6": imu("linear_acceleration", lambda v: v * 0 + 1e6),
    "attitude turned by 30 degrees": ("imu", turned),
    "IMU gone": ("imu", lambda m: None),
    "DVL times 3": dvl(lambda v: 3 * v),
    "DVL + 0.5 m/s": dvl(lambda v: v + 0.5),
    "DVL frozen": ("dvl", None),
    "DVL 1e100": dvl(lambda v: v * 0 + 1e100),
    "positions + 0.5 rad": joints("position", lambda v: v + 0.5),
    "positions in degrees": joints("position", np.degrees),
    "velocities + 1 rad/s": joints("velocity", lambda v: v + 1.0),
    "positions 1e100": joints("position", lambda v: v * 0 + 1e100),
    "efforts in mN m": joints("effort", lambda v: 1000 * v),
    "joints gone": ("joint_states", lambda m: None),
}


HERE = ("gyro + 2 rad/s", "accelerometer + 5 m/s^2", "attitude turned by 30 degrees", "IMU gone",
        "DVL times 3", "positions + 0.5 rad")


def errors(motion, robot, samples):
    """(times (K,), largest error (K, 2) of the vehicle's and the arm's motion, NaN where the rows
    do not count)."""
    found = []
    for s in samples:
        truth = motion.sample(s.t - START, robot)
        vehicle = np.abs(np.concatenate([s.nu - truth.nu, s.nu_dot - truth.nu_dot])).max()
        arm = np.abs(np.concatenate([s.mu_dot - truth.mu_dot, s.mu_ddot - truth.mu_ddot])).max()
        effort = np.abs(s.joint_torque - truth.joint_torque)
        arm = max(arm, effort[s.valid[6:]].max(initial=0.0))
        found.append((vehicle if s.valid[:6].all() else np.nan,
                      arm if s.valid[6:].any() else np.nan))
    return np.array([s.t - START for s in samples]), np.array(found)


@pytest.fixture(scope="module")
def clean(recorded):
    """Errors of the recording without a burst."""
    config, robot, motion, messages = recorded
    return errors(motion, robot, run(config, robot, messages)[1])[1][100:-50]


@pytest.mark.parametrize("name", [one if one in HERE else also(one) for one in BURSTS])
def test_rows_that_count_are_right_and_come_back(name, recorded, clean):
    """Errors of valid rows stay below twice those of the clean recording; a wrong reading exceeds
    this tenfold."""
    config, robot, motion, messages = recorded
    (role, change), held = BURSTS[name], {}

    def burst(r, m, t):
        if r != role or not BEGIN <= t - START < BEGIN + LENGTH:
            return r, m, t
        header = getattr(m, "header", None)
        m = held.setdefault(r, m) if change is None else change(m)
        if change is None:
            m = Message(**{**vars(m), "header": header})
        return None if m is None else (r, m, t)

    t, found = errors(motion, robot, run(config, robot, messages, burst)[1])
    inside = (t > 2.0) & (t < SECONDS - 1.0)
    assert np.all(np.nanmax(found[inside], axis=0) < 2.0 * np.nanmax(clean, axis=0) + 0.01)
    after = t > BEGIN + LENGTH
    assert np.isfinite(found[after & (t < BEGIN + LENGTH + BACK)]).any(axis=0).all()
    assert np.isfinite(found[after & (t > BEGIN + LENGTH + BACK) & inside]).mean() > 0.9


@pytest.mark.parametrize("seconds", [0.2, also(1.0), 4.0])
def test_an_imu_that_was_silent_is_not_accused_of_contradictions(seconds, recorded):
    """The vehicle may have turned arbitrarily in the meantime."""
    config, robot, _, messages = recorded
    front, samples = run(config, robot, messages, lambda r, m, t: None if (
        r == "imu" and BEGIN <= t - START < BEGIN + seconds) else (r, m, t))
    assert not front.inputs["imu"].doubted and not front.warnings
    assert "imu contradicts itself" not in front.masked["surge"]
    assert any(s.valid[:6].all() for s in samples if s.t > START + BEGIN + seconds + 1.0)


@pytest.mark.parametrize("role, nth, share", [
    ("dvl", 3, 0.95), also("dvl", 5, 0.9), also("imu", 5, 0.95), also("imu", 10, 0.9),
    ("imu", 25, 0.9), ("joint_states", 5, 0.9)])
def test_slow_sensors_lose_no_rows(role, nth, share, recorded):
    """A DVL of 3.3 and 2 Hz, an IMU of 20, 10 and 4 Hz, joints of 10 Hz, with default settings."""
    config, robot, _, messages = recorded
    count = iter(range(10**6))
    front, samples = run(config, robot, messages, lambda r, m, t: None if (
        r == role and next(count) % nth) else (r, m, t))
    counted = [s for s in samples if 3.0 < s.t - START < SECONDS - 2.5]
    assert len(counted) > 400
    assert np.mean([s.valid[:6].all() for s in counted]) >= share, front.masked["surge"]
    assert np.mean([s.valid[6:].any() for s in counted]) >= share, front.masked["axis_e"]


@pytest.mark.parametrize("each", [also(5), 10])
def test_a_dvl_that_is_published_again_and_again_is_as_good_as_one_at_its_own_rate(each, recorded):
    """At 2 and at 1 Hz: what repeats the last velocity is neither a measurement nor a fault."""
    config, robot, _, messages = recorded

    def counted(repeated):
        """(share of the vehicle's rows that count, front end)."""
        kept, count = {}, iter(range(10**6))

        def change(r, m, t):
            if r != "dvl":
                return r, m, t
            new = next(count) % each == 0
            kept[r] = m if new else kept[r]
            m = Message(**{**vars(kept[r]), "header": m.header})
            return (r, m, t) if new or repeated else None
        front, samples = run(config, robot, messages, change)
        rows = [s.valid[:6].all() for s in samples if 5.0 < s.t - START < SECONDS - 2.5]
        return np.mean(rows), front
    share, front = counted(True)
    assert share >= counted(False)[0] - 0.05 > 0.6
    assert front.inputs["dvl"].rejected["frozen"] <= 4      # (until the second new velocity)


@pytest.mark.parametrize("amplitude", [also(0.3), 0.005])
def test_zeros_without_bottom_lock_are_no_measurements(amplitude):
    """Every tenth velocity is zero on all axes, as many drivers publish without lock; zero fits
    the IMU of a slow vehicle."""
    config, robot, pi = make()
    motion = AnalyticMotion(0, config=config)
    motion.rpy, motion.v = (MultiSine(np.random.default_rng(seed), 3, 0.05, 0.7,
                                      np.full(3, amplitude)) for seed in range(2))
    given, zero = iter(range(10**6)), dvl(lambda v: 0.0 * v)[1]
    front, _ = run(config, robot, stream(motion, robot, pi, SECONDS), lambda r, m, t: (
        r, zero(m) if r == "dvl" and next(given) % 10 == 9 else m, t))
    published = next(given) // 10
    refused = front.inputs["dvl"].doubted[ZERO_WITHOUT_LOCK]
    assert published - 4 <= refused <= published        # (the first ones cannot be told)


def test_a_fast_imu_gives_the_same_motion(recorded):
    """Every reading forty times within its period, as a 4 kHz driver might: a few seconds of it."""
    config, robot, motion, messages = recorded
    fast = []
    for r, m, t in messages:
        if t > START + 4.0:
            break
        if r != "imu":
            fast.append((r, m, t))
            continue
        at = m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec
        fast += [(r, Message(**{**vars(m), "header": stamp(at + 0.00025 * k)}), t + 0.00025 * k)
                 for k in range(40)]
    front, samples = run(config, robot, sorted(fast, key=lambda item: item[2]))
    assert front.inputs["imu"].clock.rate == 4000 or abs(front.inputs["imu"].clock.rate - 4e3) < 9
    t, found = errors(motion, robot, samples)
    late = (t > 2.0) & (t < 3.5)
    assert np.isfinite(found[late, 0]).mean() > 0.9 and np.nanmax(found[late, 0]) < 0.2


def test_velocities_that_are_lost_prove_no_attitude(recorded):
    """The attitude stays turned, and after three seconds no sensor contradicts itself any more.
    Then only velocities can show that it is wrong. While some of them are lost, the attitude is an
    expected one, for the arm too."""
    config, robot, _, messages = recorded

    def change(r, m, t):
        at = t - START
        if r == "dvl" and at > 6.0 and at % 1.0 < 0.5:
            return None
        return (r, turned(m) if r == "imu" and at >= 4.0 else m, t)
    _, samples = run(config, robot, messages, change)
    late = [s for s in samples if 5.0 < s.t - START < SECONDS - 1.5]
    assert late and all(s.down_covariance is not None for s in late)
    _, samples = run(config, robot, messages, lambda r, m, t: None if r == "dvl" else (
        r, turned(m) if r == "imu" and t - START >= 4.0 else m, t))
    assert samples[-1].down_covariance is None       # without a DVL it is all there is


def rolled_from(onset, seconds=np.inf):
    """Attitude, rates and force turned by 10 degrees about the body's x axis from `onset` [s] on,
    as after a knock of the mount."""
    R = from_rpy(np.radians(10.0), 0.0, 0.0)
    a, b, c, d = to_quaternion(R)

    def change(r, m, t):
        if r != "imu" or not onset <= t - START < onset + seconds:
            return r, m, t
        q = m.orientation
        x, y, z, w = q.x, q.y, q.z, q.w
        turned = (w * a + x * d + y * c - z * b, w * b - x * c + y * d + z * a,
                  w * c + x * b - y * a + z * d, w * d - x * a - y * b - z * c)
        return r, Message(**{
            **vars(m), "orientation": Message(**dict(zip("xyzw", turned))),
            "angular_velocity": vector(m.angular_velocity, lambda v: R.T @ v),
            "linear_acceleration": vector(m.linear_acceleration, lambda v: R.T @ v)}), t
    return change


def test_a_mount_that_was_knocked_is_said(recorded):
    """It is reported after three seconds, with the angle; a step that is undone at once is garbage.
    """
    config, robot, _, messages = recorded
    front, _ = run(config, robot, messages, rolled_from(BEGIN))
    said = [text for text in front.warnings if text.startswith("imu orientation")]
    assert len(said) == 1 and "tilted by 10 degrees" in said[0] and "imu.rpy" in said[0]
    front, _ = run(config, robot, messages, rolled_from(BEGIN, 0.6))
    assert not any(text.startswith("imu orientation") for text in front.warnings)
