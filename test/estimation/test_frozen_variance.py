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

"""The variance of rows that is due to frozen parameters."""
import numpy as np

from uvms_adaptive_dynamics.estimation.frozen_variance import FrozenVariance

C, P = 3, 6


def rows(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, C, P))


def test_it_is_the_mean_of_what_their_covariance_does_to_rows():
    """Over the window's and later rows, without rows that do not count."""
    places, root = np.array([1, 4]), np.array([[1.0, 0.2], [0.0, 0.5]])
    covariance, Y = root @ root.T, rows(40)
    valid = np.random.default_rng(1).random((40, C)) > .3
    doubt = FrozenVariance(C, memory=1e9)
    doubt.hold(places, covariance, Y[:25], valid[:25])
    for one, counts in zip(Y[25:], valid[25:]):
        doubt.add_row(one, counts)
    each = np.einsum("tcp,pq,tcq->tc", Y[..., places], covariance, Y[..., places])
    expected = [each[valid[:, c], c].mean() for c in range(C)]
    np.testing.assert_allclose(doubt.variance, expected, rtol=1e-9)
    noise = np.full(C, 2.0)
    np.testing.assert_allclose(doubt.joined(noise), np.sqrt(4 + doubt.variance))
    np.testing.assert_array_equal(doubt.dominates(np.sqrt(doubt.variance) * [.9, 1.1, .9]),
                                  [True, False, True])


def test_nothing_held_is_no_doubt():
    """The noise is returned unchanged, bit-exact."""
    doubt, noise = FrozenVariance(C, 100.0), np.array([.1, .2, .3])
    doubt.hold(np.array([0]), np.eye(1), rows(5), np.ones((5, C), bool))
    assert doubt.holds
    doubt.hold(np.zeros(0, int), np.zeros((0, 0)), rows(5), np.ones((5, C), bool))
    doubt.add_row(rows(1)[0], np.ones(C, bool))
    assert not doubt.holds and doubt.joined(noise) is noise
    assert not doubt.dominates(noise).any()


def test_the_mean_follows_another_motion():
    """It is of no more rows than the estimate remembers: eight memories after rows have become ten
    times larger, nothing else is left in it."""
    doubt, Y = FrozenVariance(C, memory=50.0), rows(800)
    doubt.hold(np.array([1, 4]), np.eye(2), Y[:400], np.ones((400, C), bool))
    before = doubt.variance.copy()
    for one in Y[400:]:
        doubt.add_row(10 * one, np.ones(C, bool))
    np.testing.assert_allclose(doubt.variance, 100 * before, rtol=.3)
