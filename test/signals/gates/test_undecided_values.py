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

"""Lines through values that a gate has not accepted."""
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from uvms_adaptive_dynamics.signals.gates.undecided_values import Undecided, UndecidedValues

SLOPE = np.array([0.2, -0.1, 0.05])


def held(values, period=0.1, axes=None):
    """These values (k, 3), in body axes or in given ones (k, 3, 3)."""
    undecided = UndecidedValues()
    for k, value in enumerate(values):
        undecided.add(Undecided(period * k, value, np.eye(3) if axes is None else axes[k]))
    return undecided


def line(count, period=0.1):
    return 1.0 + period * np.arange(count)[:, None] * SLOPE


def test_the_slope_is_that_of_most_values():
    """A fifth of the values is off by metres per second; the slope is theirs that are on a line."""
    values = line(25)
    values[::5] += 3.0
    np.testing.assert_allclose(held(values).slope(), SLOPE, atol=1e-12)


def test_scatter_and_spread_measure_the_noise():
    """The scatter is the noise's standard deviation, the spread .67 of it, as a median of sizes;
    that from steps agrees for white noise."""
    values = held(line(400) + np.random.default_rng(0).normal(0, 0.03, (400, 3)))
    slope = values.slope()
    np.testing.assert_allclose(slope, SLOPE, atol=1e-3)
    assert values.scatter(np.full(400, True)) == pytest.approx(0.03, rel=0.05)
    assert values.spread(slope) == pytest.approx(0.67 * 0.03, rel=0.15)
    assert values.spread_of_steps() == pytest.approx(values.spread(slope), rel=0.15)


def test_values_left_out_do_not_scatter():
    """Only the selected values count."""
    values = line(20) + np.random.default_rng(1).normal(0, 0.01, (20, 3))
    values[3] += 1.0
    near = np.arange(20) != 3
    assert held(values).scatter(near) < 0.02 < held(values).scatter(np.full(20, True))


def test_smooth_motion_has_small_steps():
    """Values that move away from their line smoothly are not white: their steps show less."""
    values = held(np.sin(np.linspace(0, 3, 60))[:, None] * np.ones(3))
    assert values.spread(values.slope()) > 5 * values.spread_of_steps()


def test_a_drift_is_constant_in_the_axes_of_the_sensor():
    """Besides a known slope, the values drift in axes that turn: slope and beginning are found."""
    t, drift = 0.1 * np.arange(50), np.array([0.1, 0.2, -0.05])
    axes = Rotation.from_rotvec(np.outer(t, [0.0, 0.0, 0.4])).as_matrix()
    steps = 0.5 * (axes[1:] + axes[:-1]) @ drift * 0.1
    values = line(50) + np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])
    found = held(values, axes=axes).steady_drift(SLOPE)
    np.testing.assert_allclose(found.slope, drift, atol=1e-9)
    np.testing.assert_allclose(found.begin, np.ones(3), atol=1e-9)
    assert found.spread < 1e-9
    assert held(values).steady_drift(SLOPE).spread > 1e-3      # not in fixed axes


def test_old_values_are_removed():
    """From the front, all but the newest, or all."""
    values = held(line(6))
    assert values.remove_first().t == 0.0 and len(values) == 5
    values.keep_newest(2)
    np.testing.assert_allclose(values.times(), [0.4, 0.5])
    np.testing.assert_array_equal(values[-1].value, line(6)[5])
    values.clear()
    assert not len(values)
