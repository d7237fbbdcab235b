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

"""Frozen sensors."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import START, AnalyticMotion
from hypothesis import given
from hypothesis import strategies as st
from signal_runs import run

from uvms_adaptive_dynamics.signals.gates.frozen import FrozenSensorGate


@pytest.mark.parametrize(
    "role, channels", [("dvl", range(6)), ("imu", range(6)), ("joint_states", range(10))]
)
def test_frozen_sensor_is_masked_and_named(role, channels, clean):
    """The same message again and again with new stamps while the robot moves: its rows are masked,
    others are not. (The vehicle's rows need the position of an arm that was moving.)"""
    config, robot, _, messages = clean
    kept = {}

    def freeze(r, m, t):
        if r == role and t > START + 6:
            kept.setdefault(r, m)
            m = Message(**{**vars(kept[r]), "header": m.header})
        return r, m, t

    front, samples = run(config, robot, messages, freeze)
    late = [s for s in samples if START + 8 < s.t < START + 11]
    masked = [c for c in range(10) if not any(s.valid[c] for s in late)]
    assert front.inputs[role].rejected["frozen"] > 20 and masked == list(channels), (
        masked, front.counters)


def test_frozen_depth_is_dropped_where_the_vehicle_sinks_and_kept_where_it_does_not(clean):
    """The same depth again and again: invalid while DVL and attitude show that the vehicle sinks,
    valid on a level path."""
    config, robot, _, messages = clean
    motion = AnalyticMotion(0, config=config)

    def freeze(sinking):
        def change(r, m, t):
            if r == "depth" and t > START + 4:
                m = Message(
                    **{**vars(m), "fluid_pressure": 101325.0 + 9806.65 * 0.1}
                )  # at the surface: its rows would be masked
            if r == "dvl" and t > START + 4:
                R = motion.sample(t - START, robot).R_nb
                v = R.T @ (0.4, 0, 0.2 if sinking else 0.0)
                m = Message(
                    header=m.header,
                    twist=Message(twist=Message(linear=Message(**dict(zip("xyz", v)))),
                                  covariance=m.twist.covariance),
                )
            return r, m, t

        return change

    front, samples = run(config, robot, messages, freeze(True))
    assert (
        front.inputs["depth"].rejected["frozen"] > 30
        and "last" in {n: s for _, n, s, _ in front.status(START + 12.1)}["input depth"]
    )
    front, samples = run(config, robot, messages, freeze(False))
    assert front.inputs["depth"].rejected["frozen"] == 0


def test_a_depth_proven_frozen_stays_so_at_the_depth_where_it_froze():
    """The vehicle dives by a metre and comes back; a new value ends it."""
    gate, found = FrozenSensorGate(0.02), {}
    for k in range(400):
        t = 0.1 * k
        gate.gate("imu", t, [0.0, 0.0, 1.0, np.sin(t), 0.0, 0.0, 0.0, 0.0, -9.8, 0.0])
        gate.gate("dvl", t, [0.0, 0.0, 0.2 * np.sin(0.4 * t)])
        found[k] = gate.gate("depth", t, [0.0 if k < 390 else 0.1 * k])
    assert found[10] is None and all(found[k] == 0.0 for k in range(50, 390))
    assert all(found[k] is None for k in range(390, 400))


def test_plain_repeats_are_no_frozen_sensor(clean):
    """Two of three readings are repeats in some real logs: nothing is rejected."""
    config, robot, _, messages = clean
    kept, count = {}, {}

    def repeat(r, m, t):
        count[r] = count.get(r, -1) + 1
        if count[r] % 3 == 0 or r == "dvl":
            kept[r] = m
        return r, Message(**{**vars(kept[r]), "header": m.header}), t

    front, samples = run(config, robot, messages, repeat)
    assert (
        sum(front.counters.values()) < 0.01 * len(messages)
        and sum(s.valid.all() for s in samples) > 200
    ), front.counters


MOVING_DVL = [[0.1 * k, 0.0, 0.0] for k in range(100)]


def frozen_imu(seconds, dvl):
    """The gate's answers to an IMU that repeats itself, beside DVL values at 10 Hz."""
    gate, answers = FrozenSensorGate(rest_velocity=0.02), []
    for k in range(int(100 * seconds)):
        if k % 10 == 0:
            gate.gate("dvl", 0.01 * k, dvl[k // 10])
        answers.append(gate.gate("imu", 0.01 * k, [0.0] * 10))
    return answers


def test_frozen_since_the_first_of_the_identical_readings():
    """The answer is the time of the first identical reading, after 0.3 s and two other motions."""
    answers = frozen_imu(1.0, MOVING_DVL)
    first = next(k for k, answer in enumerate(answers) if answer is not None)
    assert 30 <= first <= 45 and answers[first] == 0.0 and all(a == 0.0 for a in answers[first:])


@pytest.mark.parametrize("jitter", [-0.004, 0.0, 0.004])
def test_a_dvl_is_frozen_with_its_eighth_repeat(jitter):
    """Whether that is a little early or late."""
    gate, found = FrozenSensorGate(0.02), []
    for k in range(100):
        t = 0.01 * k
        gate.gate("imu", t, [0.0, 0.0, 1.0, np.sin(20.0 * t), 0.0, 0.0, 0.0, 0.0, -9.8, 0.0])
        if k % 10 == 0:
            found.append(gate.gate("dvl", t + jitter * (k == 80), [0.1, 0.0, 0.0]))
    assert found == [None] * 8 + [0.0] * 2


def test_a_dvl_is_frozen_when_its_next_velocity_is_late():
    """It measures once per second and publishes at 4 Hz. Its first interval is not known yet."""
    gate, found = FrozenSensorGate(0.02), []
    for k in range(2000):
        t = 0.01 * k
        gate.gate("imu", t, [0.0, 0.0, 1.0, np.sin(20.0 * t), 0.0, 0.0, 0.0, 0.0, -9.8, 0.0])
        if k % 25 == 0:
            answer = gate.gate("dvl", t, [0.1 * min(t // 1.0, 10.0), 0.0, 0.0])
            found += [] if answer is None else [(t, answer)]
    late = [(t, since) for t, since in found if t > 3.0]
    assert late[0] == (11.5, 10.0) and len(late) == 34 and len(found) - len(late) <= 2


def test_nothing_is_frozen_while_the_robot_rests():
    """Long runs of identical readings are no fault if no other sensor shows motion."""
    assert frozen_imu(5.0, [[0.0, 0.0, 0.0]] * 100) == [None] * 500


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=50))
def test_commands_are_never_frozen(values):
    """A joystick may be held still for any length of time."""
    gate = FrozenSensorGate(rest_velocity=0.02)
    assert all(gate.gate("thrusters", 1.0 * k, [v] * 8) is None for k, v in enumerate(values))


@pytest.mark.parametrize("speed, frozen", [(0.5, True), (0.0, False)])
def test_joints_are_frozen_by_their_own_velocities(speed, frozen):
    """Constant positions contradict a nonzero velocity; at rest they do not."""
    gate = FrozenSensorGate(rest_velocity=0.02)
    answers = [gate.gate("joint_states", 0.02 * k, [1.0, speed, 0.1]) for k in range(60)]
    assert (answers[-1] is not None) == frozen


ATTITUDE, RATES, FORCE = (0, 1, 2, 9), (3, 4, 5), (6, 7, 8)


def imu_with_a_frozen_part(columns, begin, seconds=3.0):
    """The gate's answers at 100 Hz to a rocking IMU, some of whose values are constant from `begin`
    on."""
    gate, answers, kept = FrozenSensorGate(rest_velocity=0.02), [], None
    for k in range(int(100 * seconds)):
        t = 0.01 * k
        angle, rate = 0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t)
        row = [0.0, np.sin(angle), np.cos(angle), rate, 0.0, 0.0, 0.0, -9.8 * np.sin(angle),
               -9.8 * np.cos(angle), 0.1 * t]
        kept = row if t < begin else kept
        if kept is not None:
            row = [kept[j] if j in columns and t >= begin else x for j, x in enumerate(row)]
        elif columns:
            row = [0.0 if j in columns else x for j, x in enumerate(row)]
        answers.append(gate.gate("imu", t, row))
    return answers


@pytest.mark.parametrize("columns", [ATTITUDE, RATES, FORCE])
def test_a_part_of_the_imu_may_freeze_alone(columns):
    """Attitude, rates or force: reported half a second after its last change, from that change."""
    answers = imu_with_a_frozen_part(columns, begin=1.0)
    first = next(k for k, answer in enumerate(answers) if answer is not None)
    assert 149 <= first <= 165 and answers[first] == pytest.approx(0.99)
    assert all(answer is None for answer in imu_with_a_frozen_part((), begin=1.0))


@pytest.mark.parametrize("period", [0.1, 1.0])
def test_an_attitude_that_comes_slowly_is_not_frozen_until_none_comes(period):
    """Of a driver that merges it with newer rates: as long as new ones come. Once none does, it is
    frozen since the last one, after half a second or one and a half of its intervals."""
    gate, answers = FrozenSensorGate(rest_velocity=0.02), []
    for k in range(1200):
        t = 0.01 * k
        shown = min(np.floor((t + 1e-9) / period) * period, 8.0)
        row = [0.0, np.sin(shown), np.cos(shown), 0.6 * np.cos(3 * t), 0.0, 0.0, 0.0, 0.1 * t,
               -9.8, 0.1 * shown]
        answers.append(gate.gate("imu", t, row))
    first = next(k for k, answer in enumerate(answers) if answer is not None)
    assert 0.01 * first == pytest.approx(8.0 + max(0.5, 1.5 * period), abs=0.05)
    assert answers[first] == pytest.approx(8.0)


@pytest.mark.parametrize("columns", [ATTITUDE, RATES, FORCE])
def test_a_part_that_never_changed_is_one_that_the_driver_does_not_fill(columns):
    """Other gates judge it: an attitude, the orientation gate."""
    assert all(answer is None for answer in imu_with_a_frozen_part(columns, begin=0.0))
