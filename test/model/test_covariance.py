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

"""A matrix that rounding has spoilt becomes a covariance again; nothing else is touched."""
import numpy as np

from uvms_adaptive_dynamics.model.covariance import semidefinite


def test_a_covariance_stays_to_the_bit():
    root = np.random.default_rng(0).normal(size=(5, 3))
    covariance = root @ root.T    # singular: rounding may make its zero eigenvalues negative
    np.testing.assert_array_equal(semidefinite(covariance), covariance)


def test_rounding_leaves_it_symmetric():
    """A direction that is a million times larger than the rest is mapped by a general matrix: the
    product is asymmetric by more than the file's check allows."""
    rng = np.random.default_rng(2)
    T, root = rng.normal(size=(6, 6)), rng.normal(size=(6, 6)) * [1e8, 1, 1, 1, 1, 1]
    T[3] -= T[3] @ root[:, 0] / (root[:, 0] @ root[:, 0]) * root[:, 0]
    spoilt = T @ (root @ root.T) @ T.T
    assert not np.array_equal(spoilt, spoilt.T)
    found = semidefinite(spoilt)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, spoilt, rtol=0.0, atol=np.abs(spoilt - spoilt.T).max())


def test_an_indefinite_one_becomes_the_nearest_in_its_own_units():
    """Negative eigenvalues are removed, in variables whose units differ by 1e6, and the positive
    semidefinite part is kept."""
    rng, units = np.random.default_rng(1), np.array([1e3, 1.0, 1e-3, 1.0])
    vectors = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    scaled = (vectors * [-1e-3, .5, 1.5, 2.0]) @ vectors.T
    found = semidefinite(scaled * np.outer(units, units)) / np.outer(units, units)
    assert np.linalg.eigvalsh(found)[0] > -1e-12
    np.testing.assert_allclose(found, scaled, atol=3e-3)
