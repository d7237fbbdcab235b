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

"""Repeated values: saturation and silence are found, a coarse sensor is not."""

import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.gates.repeats import NewValues, RepeatGate

RNG = np.random.default_rng(0)
SIGNAL = np.sin(0.05 * np.arange(2000)) + 0.01 * RNG.standard_normal(2000)


def found(values):
    """(k,) which of the values (k,) are reported as repeated."""
    gate = RepeatGate(1)
    return np.array([gate.repeated([value], [True])[0] for value in values.tolist()])


@pytest.mark.parametrize("limit", [0.0, 0.3])
def test_a_value_at_a_limit_is_found(limit):
    """Constant or clipped: all but the first few of each run are found, and nothing else."""
    values = SIGNAL.copy()
    values[1000:] = np.clip(values[1000:], -limit, limit)
    at_limit = np.abs(values) == limit
    repeats = found(values)
    assert not repeats[~at_limit].any()
    assert np.sum(at_limit & ~repeats) < 0.1 * at_limit.sum() + 4


def test_a_limit_that_noise_reaches_for_moments_is_found_later():
    """A noisy effort is at its limit two to four times in a row, which is no fault yet; then
    it stays there."""
    rng = np.random.default_rng(1)
    usual = 0.1 * rng.standard_normal(500)
    moments = [value for _ in range(100)
               for value in [*[0.3] * rng.integers(2, 5), *(0.25 * rng.random(6))]]
    repeats = found(np.concatenate([usual, moments, np.full(100, 0.3), usual]))
    stays = slice(500 + len(moments), 600 + len(moments))
    assert not repeats[:500].any() and not repeats[stays.stop:].any()
    assert np.sum(~repeats[stays]) < 10


def test_a_coarse_sensor_that_dwells_on_one_number_is_no_fault():
    """Readings of zero, left upward and downward, for longer and longer."""
    rng = np.random.default_rng(2)
    values = [value for k in range(300)
              for value in [*[0.0] * (2 + k // 5), *[0.05 * rng.choice([-1, 1])] * 2]]
    assert not found(np.array(values)).any()


@pytest.mark.parametrize("step, times", [(0.05, 1), (0.5, 1), (0.0, 5)])
def test_a_sensor_that_repeats_itself_is_no_fault(step, times):
    """A sensor with coarse steps, even where its signal turns slowly, and one published five times
    over."""
    values = np.round(SIGNAL / step) * step if step else SIGNAL
    assert not found(np.repeat(values, times)).any()


def test_what_need_not_change_is_not_judged():
    """A joint at rest."""
    gate = RepeatGate(1)
    assert not any(gate.repeated([0.5], [False])[0] for _ in range(100))


def test_a_value_that_is_not_measured_stays_so_while_its_joint_rests():
    """Each motion between rests is too short to find it anew."""
    gate = RepeatGate(1)
    motion = [gate.repeated([0.0], [True])[0] for _ in range(50)]
    pauses = [gate.repeated([0.0], [k % 10 < 5])[0] for k in range(100)]
    assert motion[-1] and all(pauses)
    assert not gate.repeated([0.1], [False])[0] and not gate.repeated([0.1], [True])[0]


def test_a_value_counts_from_its_first_change_on():
    """Drivers fill the efforts of joints without a sensor with zeros; a missing value is neither.
    """
    gate = RepeatGate(2)
    assert gate.constant([0.0, np.nan]) == [False, False]
    assert gate.constant([0.0, 0.5]) == [True, True]
    assert gate.constant([np.nan, 0.5]) == [False, True]
    assert gate.constant([0.0, 0.6]) == [True, False]
    assert gate.constant([0.0, 0.5]) == [True, False]


def test_new_values_are_told_from_repeats_and_from_a_frozen_sensor():
    """A value in four messages of a 10 Hz topic is new; the sensor freezes for two seconds."""
    new, t = NewValues(slowest=0.8), 0.1 * np.arange(200)
    seen = [not new.repeats(at, [float(k // 4), 1.0]) for k, at in enumerate(t)]
    assert np.flatnonzero(seen).tolist() == list(range(0, 200, 4))
    assert new.period == pytest.approx(0.4)
    assert all(new.repeats(20.0 + at, [49.0, 1.0]) for at in t[:20])
    assert not new.repeats(22.0, [50.0, 1.0]) and new.period == pytest.approx(0.4)
    assert "one in 4 " in new.sentences("dvl", 10.0)[0]


def test_a_sensor_whose_values_are_all_new_is_not_reported():
    new = NewValues(slowest=0.8)
    assert not any(new.repeats(0.1 * k, [0.01 * k]) for k in range(100))
    assert new.period == pytest.approx(0.1) and new.sentences("dvl", 10.0) == []


def test_values_that_are_missing_are_no_repeats():
    """Messages come at 20 Hz, and every other one gives no value, as of poses that jump."""
    new = NewValues(slowest=0.8)
    assert not any(new.repeats(0.1 * k, [0.01 * k]) for k in range(100))
    assert new.sentences("dvl", 20.0) == []
