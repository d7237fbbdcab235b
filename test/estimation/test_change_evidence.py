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

"""Bayes factors of a change."""
import numpy as np
import pytest
from scipy.stats import norm

from uvms_adaptive_dynamics.estimation.change_evidence import (
    bayes_factor,
    log_likelihood_ratio,
)
from uvms_adaptive_dynamics.estimation.recent_rows import RecentRows


def test_one_unknown_beside_another_without_information_is_as_likely():
    """The evidence of a scale, computed by itself, is that of the general formula."""
    rng = np.random.default_rng(0)
    for a, b, stddev in np.column_stack([10.0 ** rng.uniform(-6, 9, 50),
                                         1e4 * rng.normal(size=50), rng.uniform(.01, 2, 50)]):
        alone, mean = bayes_factor(np.array([[a]]), np.array([b]), np.array([stddev]))
        beside, both = bayes_factor(np.diag([a, 0.0]), np.array([b, 0.0]), np.array([stddev, 1.0]))
        assert alone == pytest.approx(beside, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose([*mean, 0.0], both, rtol=1e-9)


@pytest.mark.parametrize("a", [-1.5, -1e9])
def test_an_information_that_is_not_positive_is_refused(a):
    """Whether LAPACK or a number is asked."""
    for k in (1, 2):
        with pytest.raises(np.linalg.LinAlgError):
            bayes_factor(a * np.eye(k), np.ones(k), np.ones(k))


def test_a_likelihood_ratio_is_that_of_normal_residuals():
    """ln of the ratio of two densities, each row with its own variance."""
    rng = np.random.default_rng(1)
    old, new = rng.normal(size=(2, 30, 3))
    stddev = rng.uniform(.5, 2, (30, 3))
    rows = RecentRows(np.zeros((30, 3, 1)), np.zeros((30, 3)), old, stddev ** -2)
    expected = np.sum(norm.logpdf(new, scale=stddev) - norm.logpdf(old, scale=stddev))
    assert log_likelihood_ratio(rows, new) == pytest.approx(expected)
