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

"""Outliers and bursts of a slowly drifting vector."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import START, AnalyticMotion
from hypothesis import given
from hypothesis import strategies as st
from signal_runs import run

from uvms_adaptive_dynamics.signals.gates.innovations import InnovationGate


def test_dvl_outliers_and_bursts_are_rejected(clean):
    """5 % outliers, a second of garbage: valid velocities stay correct."""
    config, robot, _, messages = clean
    rng = np.random.default_rng(1)

    def moved(message, by):
        linear = message.twist.twist.linear
        new = Message(x=linear.x + by[0], y=linear.y + by[1], z=linear.z + by[2])
        return Message(
            header=message.header,
            twist=Message(twist=Message(linear=new), covariance=message.twist.covariance),
        )

    def corrupt(role, message, t):
        if role == "dvl" and (4 < t - START < 5 or rng.random() < 0.05):
            message = moved(message, rng.standard_normal(3) * 0.6)
        return role, message, t

    front, samples = run(config, robot, messages, corrupt)
    motion = AnalyticMotion(0, config=config)
    error = [
        np.abs(s.nu - motion.sample(s.t - START, robot).nu).max()
        for s in samples[60:]
        if s.valid[:6].all()
    ]
    assert len(error) > 400 and max(error) < 0.06
    assert front.inputs["dvl"].doubted["does not fit the IMU (outlier)"] >= 10


def decisions(values, period=0.1, patience=2.0, steepest=np.inf):
    """(gate, accepted by time) for values (k, 3)."""
    gate, accepted = InnovationGate(0.003, 0.2, 0.1, 0.02, patience, steepest), {}
    for k, value in enumerate(values):
        accepted |= dict(gate.gate(period * k, np.array(value), np.eye(3)))
    return gate, np.array([accepted[t] for t in sorted(accepted)])


def noise(count, stddev=0.01, seed=0):
    return np.random.default_rng(seed).normal(0, stddev, (count, 3))


@pytest.mark.parametrize("stddev", [0.002, 0.01, 0.05, 0.15])
def test_a_noise_of_any_size_is_accepted_and_measured(stddev):
    """From the first values on, without a restart; the standard deviation is found to a third."""
    t = 0.25 * np.arange(400)[:, None]
    gate, accepted = decisions(0.3 * np.sin(0.05 * t) + noise(400, stddev), period=0.25)
    assert accepted.mean() > 0.97 and gate.restarts == 0
    assert 0.67 < gate.noise / max(stddev, 0.003) < 1.5


def test_values_of_a_second_sensor_do_not_widen_the_scale():
    """Each other value is off by a wave that crosses the truth, from 30 s on: while the gate knows
    that there are two sensors, it accepts those that are off by less than five deviations alone."""
    gate, accepted = InnovationGate(0.003, 0.2, 0.1, 0.02, 2.0, 1.0), []
    off = 0.3 * np.abs(np.sin(0.1 * np.arange(1200))) * (np.arange(1200) % 2)
    off[:600] = 0.0
    for k, value in enumerate(noise(1200) + off[:, None] * [1.0, 0.0, 0.0]):
        gate.note_crowded(k >= 600)
        accepted += gate.gate(0.05 * k, value, np.eye(3))
    passed = np.array([good for _, good in accepted])
    assert gate.noise < 0.015 and passed[off == 0.0].mean() > 0.95
    assert off[passed].max() < 0.1


def test_a_noise_that_no_sensor_has_is_no_measure():
    """Garbage of 2 m/s from the start is not taken for the sensor's noise."""
    gate, accepted = decisions(noise(100, 2.0))
    assert accepted[10:].mean() < 0.2 and gate.noise < 0.4


def test_a_noisy_value_that_jumps_is_followed_in_the_end():
    """The values still agree with each other as before: the gate restarts 15 s later."""
    values = noise(400, 0.05)
    values[200:] += 1.0
    gate, accepted = decisions(values, period=0.25, steepest=1.0)
    assert not accepted[200:250].any() and accepted[290:].mean() > 0.97 and gate.restarts == 1


def test_a_drifting_value_is_accepted():
    """A slow drift with noise: 99 % and more are accepted, and the gate never restarts."""
    t = 0.1 * np.arange(600)[:, None]
    gate, accepted = decisions(0.3 * np.sin(0.05 * t) + noise(600))
    assert accepted.mean() > 0.99 and gate.restarts == 0


@given(st.integers(30, 180), st.integers(0, 2), st.floats(0.3, 5.0))
def test_a_single_outlier_is_rejected_and_nothing_else(place, axis, size):
    """One far value on one axis is rejected; the next is accepted."""
    values = noise(200)
    values[place, axis] += size
    _, accepted = decisions(values)
    assert not accepted[place] and accepted[place + 1 : place + 6].all()


def test_a_burst_is_dropped_whole():
    """A second and a half of noise of 0.7 m/s is rejected without a restart."""
    values = noise(300)
    values[150:165] += 0.7 * np.random.default_rng(1).standard_normal((15, 3))
    gate, accepted = decisions(values)
    assert accepted[150:165].sum() <= 1 and accepted[170:].mean() > 0.97 and gate.restarts == 0


def test_a_lasting_step_is_accepted_after_the_patience():
    """Values that agree with each other for long are right: the gate accepts them again, and counts
    a restart."""
    values = noise(300, stddev=0.003)
    values[150:] += 0.8
    gate, accepted = decisions(values)
    assert not accepted[150:162].any() and accepted[190:].mean() > 0.97 and gate.restarts == 1


def test_a_step_steeper_than_any_bias_is_garbage_for_ten_seconds_and_believed_after_fifteen():
    """0.5 m/s from one value to the next is no prediction error: the values wait longer than any
    garbage lasts; before and after, values are accepted within half a second."""
    values = noise(500, stddev=0.003)
    values[150:250] += 0.5
    gate, accepted = decisions(values, steepest=1.0)
    assert not accepted[150:250].any() and accepted[254:].mean() > 0.97 and gate.restarts == 0
    values[150:] = 0.5 + noise(350, stddev=0.003)
    gate, accepted = decisions(values, steepest=1.0)
    assert not accepted[150:299].any() and accepted[310:].mean() > 0.97 and gate.restarts == 1


@pytest.mark.parametrize("slope", [0.03, -0.03])
def test_values_are_back_after_a_second_jump_and_not_before(slope):
    """For ten seconds all values are .3 m/s off, while the reference wanders as far away. Values
    that wander across the prediction without a jump are not back; those that jump back are, though
    the prediction is off by more than half the first jump."""
    t = 0.1 * np.arange(400)
    values = noise(400)
    values[:, 0] += slope * np.clip(t - 15.0, 0.0, None)
    values[150:250, 0] += 0.3
    gate, accepted = decisions(values, steepest=1.0)
    assert not accepted[150:250].any() and accepted[264:].mean() > 0.97 and gate.restarts == 0


@pytest.mark.parametrize("seed", range(12))
def test_what_moves_smoothly_is_no_new_line_to_start_from(seed):
    """A DVL without bottom lock whose velocity decays in two seconds: its offset from the IMU moves
    as the vehicle does, smoothly and without a jump. The gate never starts from such values, and
    those that jump back count."""
    t, rng = 0.1 * np.arange(400), np.random.default_rng(seed)
    velocity = sum(0.15 * np.sin(2 * np.pi * rng.uniform(0.15, 0.4, 3) * t[:, None]
                                 + rng.uniform(0, 2 * np.pi, 3)) for _ in range(3))
    values, coasts = noise(400, seed=seed), slice(150, 250)
    left = np.exp(-(t[coasts] - 15.0) / 2.0)[:, None]
    values[coasts] = left * values[150] - (1 - left) * velocity[coasts]
    gate, accepted = decisions(values, patience=2.5, steepest=1.0)
    assert gate.restarts == 0 and accepted[264:].mean() > 0.97


def test_a_jump_beside_a_lost_value_is_still_a_jump():
    """.25 m/s in .3 s is less than the steepest slope; that the next values do not go on by it
    shows the jump."""
    values = np.delete(noise(300), (150, 151), axis=0)
    values[150:250] += [0.25, 0.0, 0.0]
    gate = InnovationGate(0.003, 0.2, 0.1, 0.02, 2.5, 1.0)
    times = 0.1 * np.delete(np.arange(300), (150, 151))
    accepted = {}
    for t, value in zip(times, values):
        accepted |= dict(gate.gate(t, value, np.eye(3)))
    kept = np.array([accepted[t] for t in times])
    assert not kept[150:250].any() and kept[264:].mean() > 0.97


@pytest.mark.parametrize("period", [2.0, 3.0, 4.0, 5.0])
def test_a_wrong_scale_that_crosses_the_truth_is_not_followed(period):
    """Ten seconds of a tripled velocity, which is right whenever the robot reverses: a few values
    in a hundred are accepted, and later values are accepted within 2.5 s."""
    values, t = noise(500), 0.1 * np.arange(500)[:, None]
    values[150:250] += 2 * 0.3 * np.sin(2 * np.pi * t[:100] / period) * [1.0, 0.4, 0.1]
    _, accepted = decisions(values, patience=2.5, steepest=1.0)
    assert accepted[150:250].sum() <= 8 and accepted[275:].mean() > 0.97


def test_nothing_is_begun_on_a_slope_that_no_bias_has():
    """An accelerometer that is 5 m/s^2 off from the first value on, for three seconds."""
    values = noise(100, stddev=0.003)
    values[:30] += 0.5 * np.arange(30)[:, None] * [1, 0, 0]
    values[30:] += values[29]
    _, accepted = decisions(values, steepest=1.0)
    assert not accepted[:29].any() and accepted[40:].all()


def bent(slope, turn_rate=0.0, jump=0.0, scale=0.0):
    """(gate, drifts by time, accepted (k,)) for values that grow from 20 s on with a slope (3,) in
    turning axes, less the drift once the gate has found it."""
    gate = InnovationGate(0.003, 0.2, 0.1, 0.02, 2.5, 1.0)
    drifts, accepted, taken, value = {}, [], np.zeros(3), np.zeros(3)
    for k, error in enumerate(noise(400)):
        t = 0.1 * k
        c, s = np.cos(turn_rate * t), np.sin(turn_rate * t)
        axes = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        if t > 20.0:
            value = value + 0.1 * axes @ (np.array(slope) + taken)
            value = value + (jump if abs(t - 20.1) < 0.05 else 0.0)
        shown = value + scale * np.sin([1.3 * t, 1.9 * t, 0.9 * t]) * (t > 20.0)
        accepted += [ok for _, ok in gate.gate(t, shown + error, axes)]
        if gate.drift is not None:
            drifts[t] = gate.drift
            taken = taken - gate.drift
    return gate, drifts, np.array(accepted)


@pytest.mark.parametrize("turn_rate", [0.0, 0.3])
def test_values_that_go_on_by_a_constant_slope_are_followed_from_there(turn_rate):
    """An accelerometer's bias jumps by .3 m/s^2: found once, to .03, within the patience plus a
    second, even while the vehicle turns; the values after it are accepted."""
    gate, drifts, accepted = bent((0.3, -0.1, 0.05), turn_rate)
    ((t, drift),) = drifts.items()
    assert 22.0 < t < 24.0 and np.allclose(drift, (0.3, -0.1, 0.05), atol=0.03)
    assert accepted[-150:].mean() > 0.97 and gate.restarts == 0


@pytest.mark.parametrize("fault", [{"jump": 1.0}, {"scale": 0.5}])
def test_a_measurement_that_jumps_or_has_a_wrong_scale_is_no_drift(fault):
    """No drift is found if the measurement is at fault."""
    _, drifts, _ = bent((0.0, 0.0, 0.0), **fault)
    assert drifts == {}
