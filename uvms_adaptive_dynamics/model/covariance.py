"""What a covariance says of single quantities."""
from __future__ import annotations

import numpy as np


def deviations(covariance: np.ndarray) -> np.ndarray:
    """(..., p) standard deviations on the diagonals of covariances (..., p, p).

    What rounding left below zero is zero.
    """
    return np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0))
