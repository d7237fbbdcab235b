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

"""The scale of residuals over all data."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.uncertainty.noise_scale import (
    WINSOR,
    WINSOR_MEAN,
    LastingNoise,
    LongRunNoise,
)


def test_rows_gathered_for_the_lasting_noise_count_one_by_one():
    """Its histogram is that of the long-run noise, which adds each row at once, after any number of
    rows of any weight; rows after a record leave nothing when it is put back."""
    rng = np.random.default_rng(15)
    one_by_one, gathered = LongRunNoise(np.ones(2), 500.0), LastingNoise(np.ones(2), 500.0, .02)
    for size in (10, 30, 25, 700):
        for residual, weight in zip(rng.normal(size=(size, 2)), rng.random((size, 2))):
            one_by_one.add_residual(residual, weight)
            gathered.add_residual(residual, weight)
        record, expected = gathered.record(), one_by_one.record()
        np.testing.assert_allclose(record.seen, expected.seen, rtol=1e-12)
        np.testing.assert_allclose(record.histogram, expected.histogram, atol=1e-12)
    before = gathered.stddev
    for _ in range(10):
        gathered.add_residual(np.full(2, 50.0), np.ones(2))
    gathered.put_back(record)
    np.testing.assert_array_equal(gathered.stddev, before)


def long_run(residual, initial=1.0, memory=5000.0):
    """The long-run noise of one channel after residuals (T,)."""
    noise = LongRunNoise(np.array([initial]), memory)
    for r in residual:
        noise.add_residual(np.array([r]), np.ones(1, bool))
    for _ in range(25):
        # a full turn, which updates the scale
        noise.add_residual(np.zeros(1), np.zeros(1, bool))
    return float(noise.stddev[0])


def test_long_run_noise_is_the_deviation_of_gaussian_noise():
    """Even if the initial noise was a hundred times too large or too small."""
    white = 3.0 * np.random.default_rng(0).normal(size=8000)
    for initial in (.03, 3.0, 300.0):
        assert long_run(white, initial) == pytest.approx(3.0, rel=.06)


def test_long_run_noise_withstands_outliers():
    """5 % outliers of hundredfold size change it by less than a fifth; the deviation of all
    residuals is twenty times larger."""
    rng = np.random.default_rng(1)
    residual = np.where(rng.random(8000) < .05, 100.0, 1.0) * rng.normal(size=8000)
    assert .9 < long_run(residual) < 1.2


def test_long_run_noise_does_not_depend_on_the_order():
    """With a long memory, a quiet and a lively recording give the same scale in either order, and
    it is that of the lively one, within a factor of three."""
    rng = np.random.default_rng(2)
    quiet, lively = .01 * rng.normal(size=6000), rng.normal(size=4000)
    first, last = (long_run(np.concatenate(parts), memory=1e9)
                   for parts in ((quiet, lively), (lively, quiet)))
    assert first == pytest.approx(last, rel=.35)
    assert min(first, last) > .33


def test_long_run_noise_follows_a_new_level_within_its_memory():
    """After a thirtyfold increase, a quarter of the new level is reached after .4 of the memory,
    two thirds after one."""
    rng = np.random.default_rng(3)
    before = rng.normal(size=20_000)
    assert long_run(np.concatenate([before, 30.0 * rng.normal(size=2000)])) > 7.5
    assert long_run(np.concatenate([before, 30.0 * rng.normal(size=5000)])) > 20.0


def test_a_noise_that_many_rows_told_is_not_taken_over_by_few():
    """Five seconds of tenfold residuals hardly change a noise from a hundred seconds, as if they
    were outliers; in the end it follows the new level."""
    noise, rng = LongRunNoise(np.ones(1), 5000.0), np.random.default_rng(0)
    noise.go_on(np.array([2.0]), 5000.0)
    for _ in range(250):
        noise.add_residual(2.0 * rng.normal(size=1), np.ones(1))
    assert noise.stddev[0] == pytest.approx(2.0, rel=0.05)
    for _ in range(250):
        noise.add_residual(20.0 * rng.normal(size=1), np.ones(1))
    assert noise.stddev[0] < 2.5
    for _ in range(15_000):
        noise.add_residual(20.0 * rng.normal(size=1), np.ones(1))
    assert noise.stddev[0] == pytest.approx(20.0, rel=0.1)


def test_proposal_2_is_solved():
    """The scale satisfies its equation on the residuals, within the histogram's resolution."""
    rng = np.random.default_rng(4)
    residual = rng.standard_t(2, size=20_000)
    s = long_run(residual, memory=1e9)
    assert np.mean(np.minimum(residual ** 2, WINSOR ** 2 * s ** 2)) / s ** 2 == pytest.approx(
        WINSOR_MEAN, rel=.1)


def test_clipped_squares_of_gaussian_noise_have_the_stated_mean():
    """Numerical integration confirms the constant that makes the scale right for Gaussian noise."""
    z = np.linspace(-12, 12, 2_000_001)
    density = np.exp(-z ** 2 / 2) / np.sqrt(2 * np.pi)
    assert np.sum(np.minimum(z ** 2, WINSOR ** 2) * density) * (z[1] - z[0]) == pytest.approx(
        WINSOR_MEAN, abs=1e-4)
