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
