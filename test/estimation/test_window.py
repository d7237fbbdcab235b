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

"""The window's weighted sum."""
import numpy as np

from uvms_adaptive_dynamics.estimation.window import REFORM, Window


def test_rows_that_return_weigh_what_their_age_leaves():
    """The running sum of rows that were taken out and put back is that of the rows themselves."""
    rng = np.random.default_rng(0)
    window = Window(8, 2, 3, .9, (np.ones(2),))
    window.reweigh(np.array([1.0, 3.0]))
    for _ in range(11):
        window.tick()
        window.add_row(rng.normal(size=(2, 4)), np.ones(2, bool))
    before, kept = window.sums()[0].copy(), [one._replace(rows=one.rows.copy())
                                             for one in window.all()]
    window.clear()
    for one in kept:
        window.add_row(one.rows, one.valid, one.age)
    np.testing.assert_allclose(window.sums()[0], before, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(window.age_weight(), .9 ** np.arange(7.0, -1.0, -1.0))


def test_the_running_sum_does_not_keep_the_rounding_of_rows_that_have_left():
    """Without forgetting nothing fades: what a huge row leaves behind would stay for ever."""
    rng = np.random.default_rng(1)
    window = Window(5, 1, 2, 1.0, (np.ones(1),))
    for k in range(REFORM + 1):
        window.tick()
        window.add_row((1e9 if k == 0 else 1.0) * rng.normal(size=(1, 3)), np.ones(1, bool))
        if k == 10:
            rounded = np.abs(window.sums()[0] - _sum_of(window)).max()
    assert rounded > 1.0
    np.testing.assert_allclose(window.sums()[0], _sum_of(window), rtol=1e-12, atol=1e-12)


def _sum_of(window):
    return sum(one.rows.T @ one.rows for one in window.all())
