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

"""Covariance of the gradient's noise against many draws of the noise."""
import numpy as np
import pytest
from low_passed_noise import KERNEL, PERIOD, noise

from uvms_adaptive_dynamics.uncertainty.gradient_covariance import (
    BATCH,
    LAG_STRIDE,
    GradientCovariance,
)


@pytest.mark.parametrize("colour, bound", [(0.0, .15), (.9, .25), (.98, .45)])
def test_covariance_is_that_of_many_draws(colour, bound):
    """For constant, slow (0.1 Hz) and fast (1.5 Hz) regressors the estimate from one minute equals
    the spread of 400 draws."""
    rng, n = np.random.default_rng(0), 3000
    t = PERIOD * np.arange(n)
    Y = np.stack([np.ones(n), np.sin(2 * np.pi * .1 * t), np.sin(2 * np.pi * 1.5 * t)], axis=1)
    drawn = noise(rng, n, colour, 400) @ Y
    true = np.sqrt(np.mean(drawn ** 2, axis=0))
    found = []
    for e in noise(rng, n, colour, 8):
        gradient = GradientCovariance(1, 3, KERNEL, PERIOD, 1.0, 1.0)
        for y, r in zip(Y, e):
            gradient.add_row(y[None], np.array([r]), np.ones(1, bool), np.ones(1), np.ones(1))
        found.append(np.diag(gradient.covariance))
    np.testing.assert_allclose(np.sqrt(np.mean(found, axis=0)), true, rtol=bound)


def fed(ticks, weights, scale=1.0, channels=2, decay=1.0, seed=0):
    """A gradient covariance after `ticks` random rows, with the second channel in units of
    1 / scale."""
    rng, unit = np.random.default_rng(seed), np.array([1.0, scale])[:channels]
    gradient = GradientCovariance(channels, 3, KERNEL, PERIOD, decay, 1.0)
    for _ in range(ticks):
        Y, r = rng.normal(size=(channels, 3)), rng.normal(size=channels)
        gradient.add_row(Y * unit[:, None], r * unit, np.ones(channels, bool), weights, unit ** 2)
    return gradient


def test_units_of_a_channel_do_not_matter():
    """A channel in millinewtons with a matching weight gives the same as one in newtons."""
    one, other = fed(400, np.array([1.0, 1.0])), fed(400, np.array([1.0, 1e-6]), scale=1e3)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-9)


def test_weights_are_those_of_now():
    """Earlier weights do not matter: one turn later only the weights in use at the end count."""
    steady = fed(400, np.array([2.0, .5]))
    changed = GradientCovariance(2, 3, KERNEL, PERIOD, 1.0, 1.0)
    rng = np.random.default_rng(0)
    for k in range(400):
        Y, r = rng.normal(size=(2, 3)), rng.normal(size=2)
        weights = np.array([2.0, .5]) if k >= 380 - 1 else np.array([9.0, 9.0])
        changed.add_row(Y, r, np.ones(2, bool), weights, np.ones(2))
    np.testing.assert_allclose(changed.covariance, steady.covariance, rtol=1e-9)


def turn(gradient):
    for _ in range(2 * LAG_STRIDE * BATCH):
        gradient.add_row(np.zeros((2, 3)), np.zeros(2), np.zeros(2, bool), np.ones(2), np.ones(2))


def test_a_map_acts_at_once_and_lasts():
    """The covariance of old rows becomes T B T^T at once, that of new ones stays; the sums agree a
    turn later."""
    gradient, T = fed(800, np.ones(2)), np.diag([1.0, .5, 0.0])
    for _ in range(40):     # until the slowest noise's filter is empty
        turn(gradient)
    before = gradient.covariance
    for _ in gradient.mapped(T, close=True):     # no rows are old yet
        np.testing.assert_allclose(gradient.covariance, before, rtol=1e-12)
    for _ in gradient.mapped(T, close=False):
        np.testing.assert_allclose(gradient.covariance, T @ before @ T.T, rtol=1e-12)
    turn(gradient)
    np.testing.assert_allclose(gradient.covariance, T @ before @ T.T, rtol=1e-9,
                               atol=1e-9 * before.max())


def test_a_covariance_is_one():
    """It is symmetric and positive definite although its sums are gathered in slices."""
    one = fed(2000, np.ones(1), channels=1, decay=.999)
    np.testing.assert_allclose(one.covariance, one.covariance.T, rtol=1e-9)
    assert np.linalg.eigvalsh(one.covariance).min() > 0


def test_noise_fades_by_the_square_of_its_rows_weight():
    """A row's weight in the cost is decay^age, so its share in the gradient's covariance is
    decay^(2 age)."""
    decay = .9995
    gradient = fed(400, np.ones(2), decay=decay)
    for _ in range(40):     # until the slowest noise's filter is empty
        turn(gradient)
    before = gradient.covariance
    turn(gradient)
    np.testing.assert_allclose(gradient.covariance, decay ** (4 * LAG_STRIDE * BATCH) * before,
                               rtol=1e-6)
