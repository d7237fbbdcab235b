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

"""Spikes are rejected before any filter."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from signal_runs import run

from uvms_adaptive_dynamics.signals.gates.choose import NoSpikeGate
from uvms_adaptive_dynamics.signals.gates.spikes import SpikeGate


@pytest.fixture(scope="module")
def good(clean):
    """Samples of the clean data."""
    config, robot, _, messages = clean
    return run(config, robot, messages)[1]


@pytest.mark.parametrize(
    "role, field, size, reason, index",
    [("imu", "linear_acceleration", 8.0, "spike", slice(6, 9)),
     ("imu", "angular_velocity", 1.5, "spike", slice(9, 12)),
     ("joint_states", "position", 0.2, "position spike", slice(12, 16)),
     ("joint_states", "velocity", 1.0, "velocity spike", slice(12, 16)),
     ("wrench", "wrench", 60.0, "spike", slice(16, 22))],
)
def test_spikes_are_rejected_before_any_filter(role, field, size, reason, index, clean, good):
    """Every 23rd message of one sensor is far off: accelerations stay those of the clean data."""
    config, robot, _, messages = clean
    count = iter(range(10**6))

    def corrupt(r, m, t):
        if r == role and next(count) % 23 == 22:
            m = Message(**vars(m))
            old = getattr(m, field)
            far = lambda v: Message(x=v.x + size, y=v.y, z=v.z)  # noqa: E731
            setattr(
                m,
                field,
                far(old)
                if r == "imu"
                else Message(force=far(old.force), torque=old.torque)
                if r == "wrench"
                else old + size,
            )
        return r, m, t

    front, dirty = run(config, robot, messages, corrupt)
    state = lambda s: np.concatenate([s.nu, s.nu_dot, s.mu_ddot, s.wrench])[index]  # noqa: E731
    error = np.sqrt(np.mean([(state(a) - state(b)) ** 2 for a, b in zip(dirty, good)]))
    assert front.inputs[role].doubted[reason] > 20 and error < (
        0.1 if role == "wrench" else 0.02
    ), (front.counters, error)


def gated(rows, floor=0.1, period=0.02):
    """The output of a gate for rows at a fixed period."""
    gate = SpikeGate([floor] * len(rows[0]))
    out = [row for k, row_in in enumerate(rows) for row in gate.gate(period * k, row_in)]
    return out + gate.flush()


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=1, max_size=60))
def test_every_row_leaves_once_in_order(rows):
    """Whatever the rows, each leaves the gate once, at its own time, finite and of its width."""
    out = gated(rows)
    np.testing.assert_allclose([row.t for row in out], 0.02 * np.arange(len(rows)))
    assert np.isfinite([row.row for row in out]).all() and {len(row.row) for row in out} == {2}


@given(st.integers(0, 79), st.floats(-2, 2), st.floats(-1, 1))
def test_a_line_passes_unchanged(start, slope, offset):
    """A ramp has no spikes, wherever it starts."""
    rows = [[offset + slope * (k + start)] for k in range(80)]
    assert [row.row for row in gated(rows)] == rows


@pytest.mark.parametrize("share, least", [(0.2, 0.9), (0.4, 0.65)])
def test_the_gate_stays_shut_where_many_values_are_wrong(share, least):
    """Outliers of 10 to 60 standard deviations on a slow sine: most are found for a minute, and no
    good value is rejected for them. (A scale that follows the median finds 5 % of two in five.)"""
    rng, ticks = np.random.default_rng(0), 3000
    good = 5.0 * np.sin(0.05 * np.arange(ticks)) + rng.normal(size=ticks)
    wrong = (rng.random(ticks) < share) & (np.arange(ticks) > 200)
    rows = good + wrong * rng.uniform(10, 60, ticks) * rng.choice([-1, 1], ticks)
    found = np.array([row.spikes is not None for row in gated([[x] for x in rows])])
    assert found[wrong].mean() > least
    assert found[~wrong].mean() < 1e-3


@pytest.mark.parametrize("rate", [125.0, 1000.0])
def test_two_of_five_values_of_a_fast_sensor_may_be_wrong(rate):
    """Ten times as large, or of the other sign: means over .1 s are off by .14 and .02 of the
    signal's deviation, and nothing is masked. (With three neighbours by 3.3 and 1.8, and a third is
    masked.)"""
    rng, t = np.random.default_rng(0), np.arange(0.0, 20.0, 1.0 / rate)
    right = 10.0 + 5.0 * np.sin(4.0 * t) + 0.3 * rng.normal(size=t.size)
    wrong = rng.random(t.size) < 0.4
    value = np.where(wrong, np.where(rng.random(t.size) < 0.5, 10.0 * right, -right), right)
    gate = SpikeGate([0.1], neighbours=10)
    found = [row for now, x in zip(t, value) for row in gate.gate(now, [x])] + gate.flush()
    assert [one.t for one in found] == t.tolist()
    assert np.mean([one.erratic is not None for one in found]) < 0.005
    window = round(0.1 * rate)
    error = np.convolve([one.row[0] for one in found] - right, np.ones(window) / window, "same")
    assert np.sqrt(np.mean(error ** 2)) < 0.2 * np.std(right)


@pytest.mark.parametrize("place", range(5, 35))
def test_a_spike_is_replaced_by_its_neighbours(place):
    """One far value in a noisy sine is marked and replaced; its neighbours stay."""
    noise = np.random.default_rng(place).normal(0, 0.01, 40)
    clean = np.sin(0.1 * np.arange(40)) + noise
    dirty = clean.copy()
    dirty[place] += 3.0
    out = gated([[x] for x in dirty], floor=0.02)
    assert [k for k, row in enumerate(out) if row.spikes is not None] == [place]
    assert np.abs(np.array([row.row[0] for row in out]) - clean).max() < 0.2


def test_a_step_is_no_spike():
    """A lasting step passes unchanged."""
    rows = [[0.0]] * 30 + [[5.0]] * 30
    assert [row.row for row in gated(rows)] == rows


def test_a_burst_is_erratic():
    """Where all neighbours disagree the window is erratic as a whole, and only there."""
    values = np.zeros(120)
    values[60:80] = 5.0 * np.random.default_rng(0).standard_normal(20)
    erratic = [k for k, row in enumerate(gated([[x] for x in values])) if row.erratic is not None]
    assert erratic and min(erratic) >= 57 and max(erratic) < 83


def test_lookahead_bounds_the_wait():
    """At a low rate a row is decided once `lookahead` has passed, by the neighbours that it has."""
    gate = SpikeGate([0.1], lookahead=0.1)
    assert not gate.gate(0.0, [1.0])
    assert [row.t for row in gate.gate(0.2, [1.0])] == [0.0]


@pytest.mark.parametrize("share, found", [(0.2, 0.9), (0.4, 0.5)])
def test_a_scale_is_that_of_values_without_their_spikes(share, found):
    """Two of five values wrong by 30 deviations, from the beginning: most of them are found, and
    hardly any others; those that are missed do not open the gate."""
    rng = np.random.default_rng(0)
    wrong = rng.random(3000) < share
    values = np.sin(0.002 * np.arange(3000)) + 0.01 * rng.standard_normal(3000)
    values += 0.3 * wrong * rng.choice([-1.0, 1.0], 3000)
    gate = SpikeGate([0.005])
    rows = [row for k, v in enumerate(values) for row in gate.gate(0.02 * k, [float(v)])]
    spikes = np.array([row.spikes is not None for row in rows + gate.flush()])
    assert np.mean(spikes[wrong]) > found and np.mean(spikes[~wrong]) < 0.02


def test_coarse_values_are_no_spikes():
    """Steps of five times the noise: repeats tell nothing about the noise."""
    rng = np.random.default_rng(0)
    values = np.sin(0.03 * np.arange(3000)) + 0.01 * rng.standard_normal(3000)
    gate = SpikeGate([0.005])
    rows = [row for k, v in enumerate(0.05 * np.round(values / 0.05))
            for row in gate.gate(0.02 * k, [float(v)])]
    assert not any(row.spikes is not None or row.erratic is not None for row in rows)


def test_the_noise_is_known_from_second_differences():
    """Of white noise on a slow sine, to a fifth; without gates none is known."""
    rng, period = np.random.default_rng(0), 0.01
    t = period * np.arange(2000)
    gate = SpikeGate([0.02])
    for at, x in zip(t, np.sin(t) + rng.normal(0.0, 0.5, t.size)):
        gate.gate(at, [x])
    assert gate.noise == [pytest.approx(0.5, rel=0.2)]
    assert NoSpikeGate([0.02]).noise == [0.0]
