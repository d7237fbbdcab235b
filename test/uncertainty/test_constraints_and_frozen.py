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

"""When a bound narrows the covariance, and how frozen and estimated parameters covary."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.uncertainty.constrained_inverse import ConstrainedInverse, share_inside
from uvms_adaptive_dynamics.uncertainty.parameter_covariance import (
    MatrixCovariance,
    SandwichCovariance,
)


@pytest.fixture
def information():
    """A well-conditioned (6, 6)."""
    Y = np.random.default_rng(0).normal(size=(40, 6))
    return Y.T @ Y


@pytest.mark.parametrize("push", [0.0, 0.5, 2.0, 5.0, 40.0, 1e4])
def test_a_bound_narrows_as_the_data_push_against_it(push, information):
    """The variance about the bound is the second moment of a normal distribution about -push,
    truncated at the bound."""
    A, normal, free = information, np.eye(6)[:1], np.ones(6, bool)
    # The multiplier is n A^-1 g / (n A^-1 n), its deviation (n A^-1 n)^-1/2 where B = A.
    gradient = push * normal[0] / np.sqrt(np.linalg.inv(A)[0, 0])
    G = ConstrainedInverse(A, A, normal, 0, gradient, free).matrix
    x = np.linspace(0, 12 / (1 + push), 200001)
    density = np.exp(-.5 * x ** 2 - push * x)
    share = np.sum(x ** 2 * density) / np.sum(density)
    assert (G @ A @ G)[0, 0] == pytest.approx(share * np.linalg.inv(A)[0, 0], rel=1e-3)
    if push == 0:
        np.testing.assert_allclose(G, np.linalg.inv(A), rtol=1e-9)


@pytest.mark.parametrize("inside", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0])
def test_a_truth_anywhere_behind_a_bound_is_covered(inside):
    """At least 95 % of the intervals about an estimate clipped to the bound cover a truth that lies
    `inside` deviations behind it."""
    free = inside + np.random.default_rng(0).normal(size=200000)
    share = share_inside(np.maximum(-free, 0.0))
    covered = np.abs(np.maximum(free, 0.0) - inside) <= 1.96 * share
    assert covered.mean() > .949


def test_a_constraint_that_is_said_twice_narrows_once(information):
    """Equal, nearly equal and opposite normals count once; independent ones count in full."""
    A, free = information, np.ones(6, bool)
    normals, gradient = np.eye(6)[:2], np.array([9.0, 4.0, 0, 0, 0, 0])
    once = ConstrainedInverse(A, A, normals, 0, gradient, free).matrix
    twice = np.concatenate([normals, -2 * normals, normals + 1e-9])
    doubled = ConstrainedInverse(A, A, twice, 0, gradient, free).matrix
    np.testing.assert_allclose(doubled, once, rtol=1e-6, atol=1e-12)
    swapped = ConstrainedInverse(A, A, normals[::-1], 0, gradient, free).matrix
    np.testing.assert_allclose(swapped, once, rtol=1e-9, atol=1e-15)


def test_products_with_it_are_those_with_its_matrix(information):
    """With constraints and frozen parameters; entries of frozen ones are zero."""
    rng, A = np.random.default_rng(3), information
    for free in (np.ones(6, bool), np.array([True, True, False, True, False, True])):
        normals, columns = rng.normal(size=(2, 6)), rng.normal(size=(6, 3))
        G = ConstrainedInverse(A, A, normals, 1, rng.normal(size=6), free)
        np.testing.assert_allclose(G.times(columns), G.matrix @ columns, rtol=1e-10, atol=1e-15)
        assert not G.times(columns)[~free].any() and not G.matrix[:, ~free].any()
        # no variance is left along the equality's normal
        assert np.abs(normals[0] @ G.matrix).max() < 1e-12


def test_an_error_of_frozen_values_moves_the_estimate_against_it(information):
    """The covariance of estimated and frozen parameters is that of least squares with wrong frozen
    values: u = A_uu^-1 (g_u - A_uf f), so Sigma_uf = -A_uu^-1 A_uf Sigma_ff; predictions agree."""
    A, free = information, np.array([True, True, False, True, False, True])
    u, f = np.flatnonzero(free), np.flatnonzero(~free)
    spread = np.array([[0.4, 0.1], [0.1, 0.3]])
    G = ConstrainedInverse(A, A, np.zeros((0, 6)), 0, np.zeros(6), free)
    covariance = SandwichCovariance(G, A, A, free, spread, A)
    inverse = np.linalg.inv(A[np.ix_(u, u)])
    moved = -inverse @ A[np.ix_(u, f)]
    expected = np.zeros((6, 6))
    expected[np.ix_(u, u)] = inverse + moved @ spread @ moved.T
    expected[np.ix_(u, f)] = moved @ spread
    expected[np.ix_(f, u)] = expected[np.ix_(u, f)].T
    expected[np.ix_(f, f)] = spread
    np.testing.assert_allclose(covariance.matrix, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(covariance.stddev, np.sqrt(np.diag(expected)))
    Y = np.random.default_rng(1).normal(size=(3, 6))
    np.testing.assert_allclose(covariance.of_rows(Y), Y @ expected @ Y.T, rtol=1e-9)


def test_the_part_by_noise_is_without_prior_and_frozen_parameters(information):
    """Y G B_rows G Y^T; a covariance that is only given has no such part."""
    A, free = information, np.array([True, True, False, True, False, True])
    rows, Y = 0.3 * A, np.random.default_rng(1).normal(size=(3, 6))
    G = ConstrainedInverse(A, A, np.zeros((0, 6)), 0, np.zeros(6), free)
    covariance = SandwichCovariance(G, A, A, free, np.eye(2), rows)
    expected = Y @ G.matrix @ rows @ G.matrix @ Y.T
    np.testing.assert_allclose(covariance.by_noise(Y), np.diag(expected), rtol=1e-9)
    assert (covariance.by_noise(Y) < np.diag(covariance.of_rows(Y))).all()
    assert not MatrixCovariance(A).by_noise(Y).any()
