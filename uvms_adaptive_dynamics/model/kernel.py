"""Weights of the low-pass and how far it correlates rows (docs/mathematics.md, "Low-pass")."""
from __future__ import annotations

import numpy as np

from ..config import Filter

REACH = 3.0   # half length of the Gaussian in standard deviations


def gaussian_kernel(settings: Filter) -> np.ndarray:
    """Symmetric positive weights (K,) on the grid, K odd, summing to one; (1,) without low-pass."""
    half = int(round(REACH * settings.lowpass / settings.period))
    k = np.arange(-half, half + 1) * settings.period
    h = np.exp(-0.5 * (k / settings.lowpass) ** 2) if half else np.ones(1)
    return h / h.sum()


def correlation_length(kernel: np.ndarray) -> float:
    """How many neighbouring low-passed rows carry the information of one independent row.

    White noise before the low-pass; `kernel` (K,).
    """
    return float(kernel.sum() ** 2 / (kernel @ kernel))
