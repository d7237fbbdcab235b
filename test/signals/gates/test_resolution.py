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

"""Sensors that report in coarse steps are not faulty."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.gates.joint_consistency import JointConsistency
from uvms_adaptive_dynamics.signals.gates.resolution import MIN_CHANGES, Resolution
from uvms_adaptive_dynamics.signals.gates.spikes import SpikeGate

T = 0.02 * np.arange(3000)
STEP = 0.0175     # [rad] a degree


def rounded(values, step):
    return np.round(np.asarray(values) / step) * step


def test_the_step_of_a_sensor_that_rounds_is_found():
    """The standard deviation of its rounding; zero for a sensor that does not round."""
    found = Resolution(2)
    noise = np.random.default_rng(0).normal(0.0, 0.01, T.size)
    for value, other in zip(rounded(np.sin(T), STEP), np.sin(T) + noise):
        found.add([value, other])
    np.testing.assert_allclose(found.stddev, [STEP / np.sqrt(12), 0.0], atol=1e-12)


def test_a_few_changes_are_no_step():
    """A value that has hardly ever changed may have jumped."""
    found = Resolution(1)
    for value in range(MIN_CHANGES):
        found.add([value])
    assert found.stddev == [0.0]
    assert found.add([MIN_CHANGES]) and found.stddev[0] > 0.2


@pytest.mark.parametrize("noise", [1e-16, 1e-7])
def test_float_noise_is_not_a_step(noise):
    """Arithmetic in 64 or 32 bits on rounded values changes their last bits."""
    found = Resolution(1)
    draw = np.random.default_rng(0)
    for value in rounded(np.sin(T), STEP):
        found.add([value + noise * draw.uniform(-1.0, 1.0)])
    np.testing.assert_allclose(found.stddev, STEP / np.sqrt(12), rtol=1e-4)


def test_two_drivers_on_one_topic_are_not_a_step():
    """Readings that alternate by an offset while the joint moves; the contradiction is caught."""
    position, velocity = 0.4 * np.sin(T), 0.4 * np.cos(T)
    found, check = Resolution(1), JointConsistency(1, 0.001)
    fits = []
    for k, (t, p, v) in enumerate(zip(T, position, velocity)):
        p += 0.15 * (k % 2)
        found.add([p])
        fits.append(check.fits(t, [p], [v]))
        assert found.stddev == [0.0]
    assert np.mean(fits[:500]) < 0.6


def test_a_spike_does_not_discard_the_step():
    """Nor does an infinite reading."""
    found = Resolution(1)
    for value in [*rounded(np.sin(T), STEP), 9.876, 0.0, np.inf, 0.0]:
        found.add([value])
    np.testing.assert_allclose(found.stddev, STEP / np.sqrt(12), rtol=1e-9)


def test_an_encoder_of_a_degree_fits_its_velocities():
    """However slowly it moves between two steps; a slip of five steps is still caught."""
    position, velocity = 0.4 * np.sin(0.35 * T), 0.14 * np.cos(0.35 * T)
    position[2500:] += 5 * STEP
    check = JointConsistency(1, 0.001)
    fits = np.array([check.fits(t, [p], [v])
                     for t, p, v in zip(T, rounded(position, STEP), velocity)])
    assert fits[:2500].all() and not fits[2500]


@pytest.mark.parametrize("seed", range(3))
def test_an_effort_that_is_rounded_is_neither_spike_nor_erratic(seed):
    """Currents that toggle between two coarse steps; a spike of ten steps is still caught."""
    noise = np.random.default_rng(seed).normal(0.0, 0.02, T.size)
    effort = rounded(0.5 * np.sin(T) + noise, 0.1)
    effort[2000] += 1.0
    gate = SpikeGate([0.005])
    decided = [one for t, e in zip(T, effort) for one in gate.gate(t, [e])]
    left = [one for one in decided if one.t > 1.0]      # once the step is known
    assert [one.t for one in left if one.spikes is not None] == [T[2000]]
    assert not any(one.erratic is not None for one in left)
