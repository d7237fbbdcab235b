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

"""Covariances against independent formulas."""
import numpy as np

from uvms_adaptive_dynamics.config import Filter, Uncertainty
from uvms_adaptive_dynamics.model.kernel import correlation_length, gaussian_kernel
from uvms_adaptive_dynamics.uncertainty.constrained_inverse import ConstrainedInverse
from uvms_adaptive_dynamics.uncertainty.parameter_covariance import IncrementCovariance


def test_increment_covariance_is_the_papers_recursion():
    """Mean, covariance with + epsilon I, scaling S and L = 2 / alpha - 1, step by step."""
    rng = np.random.default_rng(0)
    settings, floor = Uncertainty(alpha=.1, epsilon=1e-6), np.full(3, .01)
    tracked = IncrementCovariance(settings, floor)
    path = np.cumsum(rng.normal(size=(50, 3)), axis=0)
    mean, cov = np.zeros(3), np.zeros((3, 3))
    for before, after in zip(path, path[1:]):
        tracked.add_increment(before, after)
        s = np.maximum(np.abs(before), floor)
        w = (after - before) / s
        new = .9 * mean + .1 * w
        cov = .9 * cov + .1 * np.outer(w - mean, w - new) + 1e-6 * np.eye(3)
        mean = new
    np.testing.assert_allclose(tracked.covariance(), (2 / .1 - 1) * np.diag(s) @ cov @ np.diag(s),
                               rtol=1e-12)


def random_fit(rng, p=6, rows=60):
    Y = rng.normal(size=(rows, p))
    return Y, Y.T @ Y


def information_covariance(A, B, normals, equalities, gradient, free):
    G = ConstrainedInverse(A, B, normals, equalities, gradient, free).matrix
    return G @ B @ G


NOTHING = np.zeros((0, 6))


def test_without_constraints_it_is_the_sandwich():
    """G B G with the plain inverse; for B = A the inverse information."""
    rng = np.random.default_rng(1)
    _, A = random_fit(rng)
    B = random_fit(rng)[1]
    free = np.ones(6, bool)
    np.testing.assert_allclose(information_covariance(A, A, NOTHING, 0, np.zeros(6), free),
                               np.linalg.inv(A), rtol=1e-9)
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(information_covariance(A, B, NOTHING, 0, np.zeros(6), free),
                               inverse @ B @ inverse, rtol=1e-8)


def test_equalities_leave_what_elimination_leaves():
    """With x0 = x1 the covariance equals that of the problem with one variable for both."""
    rng = np.random.default_rng(2)
    _, A = random_fit(rng)
    E = np.eye(6)[:, 1:]
    E[0, 0] = 1.0
    normals = np.array([[1., -1., 0, 0, 0, 0]])
    got = information_covariance(A, A, normals, 1, np.zeros(6), np.ones(6, bool))
    np.testing.assert_allclose(got, E @ np.linalg.inv(E.T @ A @ E) @ E.T, rtol=1e-8, atol=1e-12)


def test_frozen_parameters_have_no_variance():
    """Only the free block is uncertain, as if the other parameters were known."""
    rng = np.random.default_rng(4)
    _, A = random_fit(rng)
    free = np.array([True, False, True, True, False, True])
    got = information_covariance(A, A, NOTHING, 0, np.zeros(6), free)
    np.testing.assert_allclose(got[np.ix_(free, free)], np.linalg.inv(A[np.ix_(free, free)]),
                               rtol=1e-9)
    assert np.all(got[~free] == 0)


def test_correlation_length_of_the_default_low_pass():
    """About twelve neighbouring rows of 20 ms carry the information of one independent row."""
    assert 10 < correlation_length(gaussian_kernel(Filter())) < 15
