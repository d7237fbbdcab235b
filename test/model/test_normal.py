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

"""Quantiles against scipy's."""
import numpy as np
from scipy.stats import chi2, norm

from uvms_adaptive_dynamics.model.normal import Z95, Z999, Z999_ABOVE, chi_squared


def test_quantiles_are_those_of_the_normal_distribution():
    """Two-sided 95 % and 99.9 %, one-sided 99.9 %."""
    np.testing.assert_allclose([Z95, Z999, Z999_ABOVE], norm.ppf([.975, .9995, .999]), rtol=1e-12)


def test_quantiles_of_chi_squared_are_scipys():
    """For any degrees of freedom."""
    for degrees in (1, 2, 7, 64, 1000):
        np.testing.assert_allclose(chi_squared(0.999, degrees), chi2.ppf(0.999, degrees),
                                   rtol=1e-12)
