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

"""Quantiles against scipy's, chances against drawn numbers."""
import numpy as np
from scipy.stats import chi2, norm

from uvms_adaptive_dynamics.model.normal import Z95, Z999, Z999_ABOVE, chance_of, chi_squared


def test_quantiles_are_those_of_the_normal_distribution():
    """Two-sided 95 % and 99.9 %, one-sided 99.9 %."""
    np.testing.assert_allclose([Z95, Z999, Z999_ABOVE], norm.ppf([.975, .9995, .999]), rtol=1e-12)


def test_quantiles_of_chi_squared_are_scipys():
    """For any degrees of freedom."""
    for degrees in (1, 2, 7, 64, 1000):
        np.testing.assert_allclose(chi_squared(0.999, degrees), chi2.ppf(0.999, degrees),
                                   rtol=1e-12)


def test_chance_is_that_of_drawn_columns():
    """Share of a normal vector's power in an arbitrary subspace; certain if that is the space."""
    rng = np.random.default_rng(0)
    power = rng.normal(size=(20_000, 8)) ** 2
    drawn = power[:, :3].sum(axis=1) / power.sum(axis=1)
    for share in (0.2, 0.5, 0.7):
        np.testing.assert_allclose(chance_of(np.array(share), np.array(3), np.array(8.0)),
                                   np.mean(drawn > share), atol=0.01)
    np.testing.assert_array_equal(chance_of(np.full(2, 0.99), np.array([3, 0]), np.full(2, 2.0)), 1)
