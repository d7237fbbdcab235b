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

"""Two nodes that publish on one topic."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import START
from hypothesis import given, settings
from hypothesis import strategies as st
from signal_runs import run

from uvms_adaptive_dynamics.signals.gates.two_publishers import (
    DVL_FAR,
    HOLD,
    JOINT_FAR,
    PublisherGate,
)

PERIOD = 0.02


def verdicts(readings, far=(JOINT_FAR,) * 4):
    """[(time, since)] for (time, values) in order of time."""
    gate = PublisherGate({"joint_states": far})
    return [(t, gate.gate("joint_states", t, list(values))) for t, values in sorted(
        readings, key=lambda reading: reading[0])]


def motion(t, phase=0.0):
    return 0.5 * np.sin(2 * np.pi * 0.7 * t + phase + np.arange(4))


def one(begin, end, period=PERIOD, of=motion):
    return [(t, of(t)) for t in np.arange(begin, end, period)]


@pytest.mark.parametrize("period", [PERIOD, 2 * PERIOD])
@pytest.mark.parametrize("shift", [0.003, 0.01, 0.017])
def test_a_second_publisher_is_found_within_a_second(period, shift):
    """At the same rate or half of it, with any shift between the messages; and there is one again a
    while after the second has gone."""
    other = one(5.0 + shift, 15.0, period, lambda t: np.full(4, 0.9))
    found = verdicts([*one(0.0, 25.0), *other])
    first = next(t for t, since in found if since is not None)
    last = max(t for t, since in found if since is not None)
    assert 5.0 <= next(since for _, since in found if since is not None) < 5.2
    assert 5.0 < first < 6.0 and 15.0 < last < 15.0 + HOLD + 1.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.01, 0.1, 1.0]), st.floats(0.0, 0.5))
def test_noise_steps_and_jitter_are_one_publisher(seed, noise, jitter):
    """White noise of any size, steps, and scattering stamps are no second publisher."""
    rng = np.random.default_rng(seed)
    steps = np.cumsum(rng.random(500) < 0.05)
    readings = [(t + PERIOD * jitter * rng.random(),
                 motion(t) + steps[k] % 2 + noise * rng.standard_normal(4))
                for k, t in enumerate(np.arange(0.0, 10.0, PERIOD))]
    assert all(since is None for _, since in verdicts(readings))


def test_a_value_that_swings_with_every_message_is_one_publisher():
    """A vibration at half a sensor's rate, from its first message on, has even intervals."""
    readings = [(t, motion(t) + 0.5 * (-1) ** k) for k, t in enumerate(np.arange(0, 5, PERIOD))]
    assert all(since is None for _, since in verdicts(readings))


@pytest.mark.parametrize("noise, spread, two", [(0.0, True, True), (0.0, False, False),
                                                (0.06, True, False)])
def test_velocities_that_alternate_in_pairs_are_of_two_nodes(noise, spread, two):
    """A DVL that is read two at a time does not alternate, whatever its noise; spread stamps come
    at even intervals."""
    gate, rng, found = PublisherGate({"dvl": DVL_FAR}), np.random.default_rng(6), []
    for k, t in enumerate(np.arange(0.0, 10.0, 0.05)):
        velocity = 0.3 * np.sin([t, 0.7 * t, 0.5 * t + 1.0]) + noise * rng.standard_normal(3)
        other = k % 2 and not noise
        found.append(gate.gate("dvl", t, [0.0] * 3 if other else velocity.tolist(), spread))
    assert any(since is not None for since in found) == two


def test_values_that_are_not_there_say_nothing():
    """An IMU without an orientation is judged by its rates alone."""
    nothing = np.full(3, np.nan)
    readings = [(t, np.concatenate([nothing, rates])) for t, rates in [
        *one(0.0, 10.0, of=lambda t: motion(t)[:3]),
        *one(5.003, 10.0, of=lambda t: np.full(3, 0.9))]]
    found = [t for t, since in verdicts(readings, (0.05,) * 6) if since is not None]
    assert found and 5.0 < found[0] < 6.0


@pytest.mark.parametrize("role, channels, begin", [
    ("imu", range(6), 6.0), ("wrench", range(6), 6.0), ("joint_states", range(10), 6.0),
    ("dvl", range(6), 0.0)])
def test_it_is_said_and_nothing_of_it_counts(clean, role, channels, begin):
    """In the front end, a second node masks the rows, and the sentence says what to do. One of the
    DVL's topic does so from the start; later the IMU tells whose velocities are right."""
    config, robot, _, messages = clean
    zero = Message(x=0.0, y=0.0, z=0.0)
    other = {"imu": {"angular_velocity": zero}, "joint_states": {"position": [2.0] * 4},
             "wrench": {"wrench": Message(force=zero, torque=zero)},
             "dvl": {"twist": Message(twist=Message(linear=zero), covariance=[0.0] * 36)}}[role]
    doubled = []
    for name, message, t in messages:
        doubled.append((name, message, t))
        if name == role and t >= START + begin:
            stamp = message.header.stamp
            header = Message(stamp=Message(sec=stamp.sec, nanosec=stamp.nanosec + 3_000_000))
            doubled.append((name, Message(**{**vars(message), "header": header, **other}),
                            t + 0.003))
    doubled.sort(key=lambda item: item[2])
    front, samples = run(config, robot, doubled)
    late = [s for s in samples if START + 8 < s.t < START + 11]
    assert not any(s.valid[channels].any() for s in late)
    status = {s.name: s.message for s in front.status(messages[-1][2])}
    assert "two nodes publish" in status[f"input {role}"], status
    assert not any("at a time" in text or "new value" in text for text in front.warnings)


@pytest.mark.parametrize("controllers", [1, 2])
def test_commands_that_cross_the_dead_band_are_of_one_node(clean, controllers):
    """A controller's noise throws a command at rest to either side of the dead band, 64 us for
    .5 N. Two controllers differ in thrust."""
    config, robot, _, messages = clean
    config = config.with_values({"thrusters.source": "thrusters"})
    rng, commands = np.random.default_rng(3), []
    for k, t in enumerate(np.arange(START, START + 8.0, PERIOD)):
        pwm = 1500.0 + np.array([32.0 * (-1) ** k, *[80.0] * 7]) + rng.normal(0.0, 2.0, 8)
        if controllers == 2 and k % 2:
            pwm[1] = 1400.0
        commands.append(("thrusters", Message(data=pwm), t + 0.006 * rng.random()))
    others = [one for one in messages if one[0] not in ("wrench", "thrusters")]
    front, _ = run(config, robot, sorted(others + commands, key=lambda one: one[2]))
    refused = front.inputs["thrusters"].rejected
    assert bool(refused) == (controllers == 2), refused
