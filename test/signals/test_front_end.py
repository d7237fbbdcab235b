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

"""The front end: exact on noise-free data, robust to missing, bad and silent messages."""

from functools import cache
from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import START, AnalyticMotion, joint_message, stamp, stream
from campaign_cases import first
from signal_runs import make, reasons, run

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.low_pass import RowFilter
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd


@pytest.mark.parametrize("high, bound, seed", first(1, [
    (2.0, 0.05, 3), (1.0, 0.02, 1), (1.0, 0.02, 2)]))
def test_filtered_residual_of_the_true_model_is_small(high, bound, seed):
    """Noise-free data of the true model with real rates, delays and lever arms: residual at the
    true parameters below 2 % of each channel's RMS for motion up to 1 Hz, below 5 % for 1-2 Hz
    (docs/signals.md)."""
    config, robot, pi = make(imu__xyz=(0.1, -0.05, 0.08))
    motion = AnalyticMotion(seed, low=0.05 if high == 1.0 else 1.0, high=high, config=config)
    _, samples = run(config, robot, stream(motion, robot, pi, 30.0))
    rows = RowFilter(config.filter, robot.table.channels, robot.table.size)
    found = [
        r for r in (rows.add_row(s.t, robot.raw_rows(s), s.valid) for s in samples) if r is not None
    ]
    valid = np.array([r.valid for r in found])
    residual = np.where(valid, [r.tau - r.Y @ pi - r.tau_known for r in found], np.nan)
    signal = np.where(valid, [r.tau for r in found], np.nan)
    assert valid[50:-50].mean(axis=0).min() > 0.5
    share = np.sqrt(np.nanmean(residual**2, axis=0) / np.nanvar(signal, axis=0))
    assert np.all(share < bound), dict(zip(robot.channels, share.round(4)))


@pytest.fixture(scope="module")
def as_it_is(clean):
    """(front end, samples) of the clean messages."""
    config, robot, _, messages = clean
    return run(config, robot, messages)


def test_ticks_are_whole_multiples_of_the_period_and_none_is_lost(clean, as_it_is):
    """The grid is data time: k times the period since the epoch, without gaps."""
    config, (_, samples) = clean[0], as_it_is
    k = np.array([s.t for s in samples]) / config.filter.period
    assert np.max(np.abs(k - np.round(k))) < 1e-4 and np.all(np.diff(np.round(k)) == 1)


def test_same_messages_give_the_same_samples(clean, as_it_is):
    """Samples depend only on messages and their times of reception, live or from a bag."""
    config, robot, _, messages = clean
    a, b = as_it_is[1], run(config, robot, messages)[1]
    assert all(
        np.array_equal(x.nu_dot, y.nu_dot) and np.array_equal(x.valid, y.valid)
        for x, y in zip(a, b)
    ) and len(a) == len(b)


@pytest.mark.parametrize(
    "role, channels, reason",
    [
        ("dvl", range(6), "no dvl"),
        ("joint_states", range(10), "no joint state"),     # the arm was moving
        ("wrench", range(6), "no wrench"),
    ],
)
def test_silent_topic_masks_its_own_rows_and_nothing_else(role, channels, reason, clean):
    """One topic is silent from 6 s on: its rows are masked under its name, the others stay valid.
    """
    config, robot, _, messages = clean
    front, samples = run(
        config, robot, messages, lambda r, m, t: None if r == role and t > START + 6 else (r, m, t)
    )
    late = [s for s in samples if START + 8 < s.t < START + 11]
    masked = np.array([not any(s.valid[c] for s in late) for c in range(10)])
    assert np.array_equal(np.flatnonzero(masked), list(channels))
    assert reason in reasons(front, robot.channels[channels[0]])


@pytest.mark.parametrize("setting, masked", [
    ("dvl.frame", range(6)), ("joint effort", range(6, 10)), ("joint velocity", range(10))])
def test_rows_of_a_sensor_that_has_changed_do_not_count(setting, masked, clean):
    """Rows that need the sensor are masked; samples say so, and until when it was right."""
    config, robot, _, messages = clean
    front = SignalFrontEnd(config, robot)
    front.frames._changed = {setting: 3.0}
    samples = []
    for item in messages[:2000]:
        front.add_message(*item)
        samples += front.samples()
    late = [s for s in samples if s.t > START + 2]
    off = [c for c in range(10) if not any(s.valid[c] for s in late)]
    assert late and off == list(masked) and all(s.found_wrong for s in late)
    assert late[0].right_until == pytest.approx(samples[0].right_until)
    assert "a sensor is found wrong" in reasons(front, robot.channels[masked[0]])


def test_with_an_imu_that_has_changed_the_arm_goes_on(clean):
    """As if the IMU were silent, in the expected attitude."""
    config, robot, _, messages = clean
    front, late = SignalFrontEnd(config, robot), []
    for role, message, t in messages[:3000]:
        if t > START + 4:
            front.frames._changed = {"imu orientation": 3.0}
        front.add_message(role, message, t)
        late += [s for s in front.samples() if s.t > START + 4]
    assert late and all(s.down_covariance is not None and not s.valid[:6].any() for s in late)
    assert any(s.valid[6:].any() for s in late)


def test_of_a_parked_arm_nothing_need_be_heard(clean):
    """An arm at rest falls silent, as when it is switched off: the vehicle's rows go on."""
    config, robot, _, messages = clean
    parked = {"position": np.full(4, 2.0), "velocity": np.zeros(4)}

    def park(role, message, t):
        if role != "joint_states":
            return role, message, t
        return None if t > START + 6 else (role, Message(**{**vars(message), **parked}), t)

    front, samples = run(config, robot, messages, park)
    late = [s for s in samples if START + 8 < s.t < START + 11]
    assert all(s.valid[:6].all() and not s.valid[6:].any() for s in late)


def test_with_a_silent_imu_the_arm_goes_on(clean):
    """The arm's rows continue on a vehicle at rest, first in its last attitude and later in its
    mean one, with the uncertainty of that; the vehicle's rows are masked."""
    config, robot, _, messages = clean
    front, samples = run(
        config, robot, messages, lambda r, m, t: None if r == "imu" and t > START + 6 else (r, m, t)
    )
    late = [s for s in samples if s.t > START + 6.2]
    assert len(late) > 200 and "no imu" in reasons(front, "surge")
    assert not any(s.valid[:6].any() for s in late) and sum(s.valid[6:].all() for s in late) > 100
    assert not any(s.nu.any() for s in late)
    seen = [s.R_nb[2] for s in samples if s.t < START + 5.8]
    assert np.abs(late[-1].R_nb[2] - np.mean(seen, axis=0)).max() < 0.02
    steps = [np.abs(b.R_nb - a.R_nb).max() for a, b in zip(late, late[1:])]
    assert max(steps) < 0.02        # [-] a tick's turn at 1 rad/s
    known = [s.down_covariance for s in samples if s.t < START + 5.8]
    assert not any(doubt is not None for doubt in known)
    spread = np.trace(np.cov(np.array(seen).T))
    assert 0.5 * spread < np.trace(late[-1].down_covariance) < 2.0 * spread


@pytest.fixture(scope="module")
def begun(clean):
    """Function from a role to (messages of nine seconds, place of one of this role after six,
    samples without it)."""
    config, robot, _, messages = clean
    messages = [item for item in messages if item[2] < START + 9]

    @cache
    def without(role):
        bad = next(k for k, (r, _, t) in enumerate(messages) if r == role and t > START + 6)
        return messages, bad, run(config, robot, messages[:bad] + messages[bad + 1:])[1]

    return without


@pytest.mark.parametrize(
    "role, corrupted, words",
    [
        ("imu", {"angular_velocity": Message(x=np.nan, y=0.0, z=0.0)}, "not finite"),
        ("imu", {"orientation": Message(x=0.0, y=0.0, z=0.0, w=0.0)}, "orientation has length 0"),
        ("joint_states", {"position": [1.0, 2.0]}, "2 values of position"),
        ("joint_states", {"name": ["axis_e", "axis_d", "axis_c", "elbow"]}, "'axis_b' is missing"),
        ("joint_states", {"effort": np.array([np.nan] * 4)}, "effort is not finite"),
        ("depth", {"fluid_pressure": -5e9}, "is not a depth"),
        (
            "wrench",
            {
                "wrench": Message(
                    force=Message(x=0.0, y=np.inf, z=0.0), torque=Message(x=0.0, y=0.0, z=0.0)
                )
            },
            "not finite",
        ),
        ("imu", {"orientation": "nonsense"}, "does not have the fields"),
    ],
)
def test_bad_messages_are_counted_with_a_sentence_and_change_nothing(role, corrupted, words, clean,
                                                                     begun):
    """A bad message among good ones leaves the samples unchanged, and its reason goes to the
    diagnostics."""
    config, robot, _, _ = clean
    messages, bad, without = begun(role)

    def corrupt(item):
        r, m, t = item
        return r, Message(**{**vars(m), **corrupted}), t

    front, samples = run(
        config, robot, messages[:bad] + [corrupt(messages[bad])] + messages[bad + 1 :]
    )
    assert sum(front.inputs[role].rejected.values()) == 1 and words in front.inputs[role].last_error
    assert len(samples) == len(without) and all(
        np.array_equal(a.nu_dot, b.nu_dot) and np.array_equal(a.valid, b.valid)
        for a, b in zip(samples, without)
    )


@pytest.mark.parametrize("jump", [-100.0, 3600.0])
def test_clock_that_jumps_starts_over(jump, clean):
    """All stamps and receptions jump: the signals restart, which is counted, and samples continue
    in the new time."""
    config, robot, _, messages = clean

    def shift(role, message, t):
        if t <= START + 6:
            return role, message, t
        m = Message(**vars(message))
        old = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        m.header = stamp(old + jump)
        return role, m, t + jump

    front, samples = run(config, robot, messages, shift)
    assert front.resets and any(
        s.t > START + 8 + jump and s.valid.any() for s in samples if abs(s.t - START - jump - 9) < 3
    )


def test_fixed_base_arm_needs_joint_states_only():
    """A robot without a vehicle gets samples from its joints alone."""
    config = Config().with_values({"robot.vehicle": False})
    robot = RobotModel.from_config(config)
    motion, front, samples = AnalyticMotion(0, config=config), SignalFrontEnd(config, robot), []
    assert set(front.inputs) == {"joint_states"}
    for k in range(300):
        s = motion.sample(0.02 * k, robot)
        front.add_message("joint_states", joint_message(s), s.t + 0.001)
        samples += front.samples()
    assert len(samples) > 250 and samples[100].valid.shape == (4,)


def test_vehicle_without_arm_needs_no_joint_states(clean):
    """A vehicle alone is a valid robot."""
    _, _, _, messages = clean
    config, robot, _ = make(robot__joints=())
    front, samples = run(config, robot, [m for m in messages if m[0] != "joint_states"])
    assert samples[200].valid.all() and samples[200].valid.shape == (6,)


def test_a_front_end_on_clean_data_rejects_nothing_that_is_good(as_it_is):
    """Noise-free data: no spike, no outlier, no frozen sensor."""
    assert not as_it_is[0].counters
