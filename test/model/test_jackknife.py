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

"""The jackknife against the known variance of a mean, and Student's t against scipy's."""
import numpy as np
import pytest
from scipy.stats import t

from uvms_adaptive_dynamics.model.jackknife import student_quantile, variance


def test_the_variance_of_a_mean_is_the_textbook_s():
    """Sample variance divided by the number of clusters, for each statistic separately."""
    values = np.random.default_rng(0).normal(size=(7, 3))
    without = (values.sum(axis=0) - values) / 6
    np.testing.assert_allclose(variance(without), values.var(axis=0, ddof=1) / 7, rtol=1e-12)


@pytest.mark.parametrize("share, clusters", [(0.975, 2), (0.975, 24), (0.005, 8)])
def test_the_quantile_is_student_s(share, clusters):
    assert student_quantile(share, clusters) == pytest.approx(t.ppf(share, clusters - 1), rel=1e-12)
