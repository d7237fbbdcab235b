"""Quantiles against scipy's."""
import numpy as np
from scipy.stats import norm

from uvms_adaptive_dynamics.model.normal import Z95, Z999, Z999_ABOVE


def test_quantiles_are_those_of_the_normal_distribution():
    """Two-sided 95 % and 99.9 %, one-sided 99.9 %."""
    np.testing.assert_allclose([Z95, Z999, Z999_ABOVE], norm.ppf([.975, .9995, .999]), rtol=1e-12)
