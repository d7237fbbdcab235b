"""Where a bound begins to narrow the covariance, and how frozen and estimated parameters vary
together."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.uncertainty.parameter_covariance import (
    SandwichCovariance,
    constrained_inverse,
)


@pytest.fixture
def information():
    """A well-conditioned (6, 6)."""
    Y = np.random.default_rng(0).normal(size=(40, 6))
    return Y.T @ Y


@pytest.mark.parametrize("deviations, narrows", [(0.5, False), (1.8, False), (2.2, True)])
def test_a_bound_narrows_from_two_deviations_of_its_multiplier(deviations, narrows, information):
    """Up to there chance explains that the data push against it, and the truth may lie inside."""
    A, normal, free = information, np.eye(6)[:1], np.ones(6, bool)
    # The multiplier is n A^-1 g / (n A^-1 n), its deviation (n A^-1 n)^-1/2 where B = A.
    gradient = deviations * normal[0] / np.sqrt(np.linalg.inv(A)[0, 0])
    G = constrained_inverse(A, A, normal, 0, gradient, free)
    variance = (G @ A @ G)[0, 0]
    if narrows:
        assert variance < 1e-9 * np.linalg.inv(A)[0, 0]
    else:
        assert variance == pytest.approx(np.linalg.inv(A)[0, 0])


def test_an_error_of_frozen_values_moves_the_estimate_against_it(information):
    """Covariance of estimated and frozen parameters is what least squares does with wrong frozen
    values: u = A_uu^-1 (g_u - A_uf f), so Sigma_uf = -A_uu^-1 A_uf Sigma_ff; predictions alike."""
    A, free = information, np.array([True, True, False, True, False, True])
    u, f = np.flatnonzero(free), np.flatnonzero(~free)
    spread = np.array([[0.4, 0.1], [0.1, 0.3]])
    G = constrained_inverse(A, A, np.zeros((0, 6)), 0, np.zeros(6), free)
    covariance = SandwichCovariance(G, A, A, free, spread)
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
