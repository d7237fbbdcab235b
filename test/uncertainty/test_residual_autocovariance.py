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

"""The residual's autocovariance and the noises that explain it."""
import numpy as np
import pytest
from low_passed_noise import KERNEL, PERIOD, noise

from uvms_adaptive_dynamics.uncertainty.residual_autocovariance import ResidualAutocovariance


def test_white_noise_is_called_white():
    """Over a minute of white noise, chance assigns hardly any variance to the slow colours."""
    rng = np.random.default_rng(1)
    autocovariance = ResidualAutocovariance(40, KERNEL, PERIOD, 1.0)
    for e in noise(rng, 3000, 0.0, 40).T:
        autocovariance.add_residual(e, np.ones(40, bool))
    shares = autocovariance._variances
    assert np.mean(shares[:, 1:].sum(axis=1)) < .03 and np.mean(
        shares.sum(axis=1)) == pytest.approx(1, abs=.1)


def test_slow_noise_is_called_slow():
    """A minute of AR(1) noise of .8 s has most of its variance assigned to coloured noises."""
    rng = np.random.default_rng(2)
    autocovariance = ResidualAutocovariance(10, KERNEL, PERIOD, 1.0)
    for e in noise(rng, 3000, np.exp(-PERIOD / .8), 10).T:
        autocovariance.add_residual(e, np.ones(10, bool))
    shares = autocovariance._variances
    assert np.mean(shares[:, 1:].sum(axis=1) / shares.sum(axis=1)) > .7


def test_what_wanders_over_seconds_is_not_averaged_out_within_one():
    """A tether that wanders over 5 s: 500 neighbouring rows are worth one. After three minutes the
    slowest model noise explains at least a third of them."""
    rng, time = np.random.default_rng(4), 5.0
    autocovariance = ResidualAutocovariance(10, KERNEL, PERIOD, 1.0)
    for e in noise(rng, 9000, np.exp(-PERIOD / time), 10).T:
        autocovariance.add_residual(e, np.ones(10, bool))
    slow = autocovariance.innovations(np.ones(10)) @ (1 - autocovariance.ar) ** -2.0
    rows = slow * KERNEL.sum() ** 2 / autocovariance.total(np.ones(10))
    assert np.mean(rows) > 2 * time / PERIOD / 3


def test_units_of_the_residual_carry_over():
    """Innovations have the residual's units squared; with too few residuals they are those of white
    noise with the given variance."""
    autocovariance = ResidualAutocovariance(1, KERNEL, PERIOD, 1.0)
    white = autocovariance.innovations(np.array([4.0]))
    assert white[0, 0] * (KERNEL @ KERNEL) == pytest.approx(4.0) and not white[0, 1:].any()
    for e in noise(np.random.default_rng(3), 3000, 0.0)[0]:
        autocovariance.add_residual(np.array([3.0 * e]), np.ones(1, bool))
    assert (autocovariance.innovations(np.ones(1))[0, 0] *
            (KERNEL @ KERNEL)) == pytest.approx(9.0, rel=.15)


def test_correlations_that_no_noise_has_leave_it_white():
    """Products below zero at all lags, as only a spoilt file has them: the variance stays that of
    lag zero, rather than vanish."""
    autocovariance = ResidualAutocovariance(1, KERNEL, PERIOD, 1.0)
    products = np.full(autocovariance.products.shape, 1e5)
    products[0, 1:] *= -1e6
    autocovariance.go_on_from(products)
    assert autocovariance.total(np.full(1, np.nan)) == pytest.approx(1.0)
    assert not autocovariance.innovations(np.full(1, np.nan))[0, 1:].any()


def test_no_row_after_a_gap_is_a_neighbour_of_one_before():
    """No products are formed across a gap."""
    autocovariance = ResidualAutocovariance(1, KERNEL, PERIOD, 1.0)
    for k in range(600):
        if k % 3 == 0:
            autocovariance.break_off()
        autocovariance.add_residual(np.array([1.0]), np.ones(1, bool))
    assert np.all(autocovariance._sum[1, autocovariance._lags > 2] == 0)


def test_a_run_goes_on_from_the_products_of_an_earlier_one():
    """Earlier products count from the first row; with another period they do not apply."""
    earlier = ResidualAutocovariance(1, KERNEL, PERIOD, 1 - 1e-6)
    for r in noise(np.random.default_rng(3), 6000, 0.98)[0]:
        earlier.add_residual(np.array([r]), np.ones(1, bool))
    later, other = (ResidualAutocovariance(1, KERNEL, period, 1 - 1e-6)
                    for period in (PERIOD, 10 * PERIOD))
    later.go_on_from(earlier.products)
    other.go_on_from(earlier.products)
    variance = np.ones(1)
    share = [one.innovations(variance)[0] / one.total(variance) for one in (earlier, later, other)]
    np.testing.assert_allclose(share[1], share[0], rtol=0.05)
    assert share[0][1:].any() and not share[2][1:].any()


def test_a_return_to_an_earlier_instant_drops_all_residuals_since():
    """Its shares are those of then, unknown ones too, and no later residual is multiplied with one
    from in between."""
    coloured = noise(np.random.default_rng(5), 4000, np.exp(-PERIOD / .8))[0]
    one = np.ones(1, bool)
    known, unknown = (ResidualAutocovariance(1, KERNEL, PERIOD, 1 - 1e-6) for _ in range(2))
    for r in coloured:
        known.add_residual(np.array([r]), one)
    for residuals in (known, unknown):
        before, innovations = residuals.products, residuals.innovations(np.ones(1))
        for _ in range(500):
            residuals.add_residual(np.array([50.0]), one)
        residuals.go_on_from(before)
        np.testing.assert_allclose(residuals.innovations(np.ones(1)), innovations, rtol=.05)
        residuals.add_residual(np.array([1.0]), one)
        np.testing.assert_allclose((residuals.products - before)[0, 1:], 0.0, atol=1e-2)
