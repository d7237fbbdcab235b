"""Uncertainty of parameters: the paper's covariance of increments, and the information of the robust fit; noise of channels.

Paper, "Uncertainty Quantification"; DESIGN section 7.
"""
from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .config import Uncertainty

WINSOR = 2.0
INITIAL_ROWS = 25   # how many rows the initial noise counts for
# Mean of min(z^2, WINSOR^2) for a standard normal z, so that the scale is right for Gaussian noise.
WINSOR_MEAN = 0.7737


class IncrementCovariance:
    """The paper's exponentially weighted covariance of normalized increments w_t = pi_t - pi_{t-1}.

    Sigma_pi = L S Sigma_w S with S = diag(max(|pi_{t-1}|, eps)) and L = 2 / alpha - 1, as published.
    """

    def __init__(self, settings: Uncertainty, floor: np.ndarray):
        """floor (p,): the eps of each parameter."""
        self._alpha, self._epsilon, self._floor = settings.alpha, settings.epsilon, floor
        self.reset()

    def reset(self) -> None:
        """Forget all increments."""
        p = self._floor.size
        self._mean, self._covariance = np.zeros(p), np.zeros((p, p))
        self._scale = self._floor.copy()

    def update(self, pi_before: np.ndarray, pi: np.ndarray) -> None:
        """Take in one increment."""
        a = self._alpha
        self._scale = np.maximum(np.abs(pi_before), self._floor)
        w = (pi - pi_before) / self._scale
        mean = (1 - a) * self._mean + a * w
        self._covariance *= 1 - a
        self._covariance += a * np.outer(w - self._mean, w - mean)
        self._covariance[np.diag_indices_from(self._covariance)] += self._epsilon
        self._mean = mean

    def covariance(self) -> np.ndarray:
        """Sigma_pi (p, p)."""
        return (2 / self._alpha - 1) * self._covariance * np.outer(self._scale, self._scale)


def information_covariance(information: np.ndarray, score: np.ndarray, normals: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Covariance (p, p) of the constrained fit: A^-1 B A^-1 on what active constraints and freezing leave free.

    information A (p, p): Hessian of the cost (half of it), prior included; score B (p, p): covariance of its gradient;
    normals (k, p): gradients of the constraints that hold with equality; free (p,).
    """
    scale = 1 / np.sqrt(np.diag(information)[free])
    A = information[np.ix_(free, free)] * np.outer(scale, scale)
    N = normals[:, free] * scale
    N = N[np.linalg.norm(N, axis=1) > 1e-12]
    factor = cho_factor(A + 1e-13 * np.eye(A.shape[0]))
    G = cho_solve(factor, np.eye(A.shape[0]))
    if len(N):
        GN = G @ N.T
        G = G - GN @ np.linalg.pinv(N @ GN, rcond=1e-10, hermitian=True) @ GN.T
    B = score[np.ix_(free, free)] * np.outer(scale, scale)
    covariance = np.zeros_like(information)
    covariance[np.ix_(free, free)] = (G @ B @ G) * np.outer(scale, scale)
    return (covariance + covariance.T) / 2


class ChannelNoise:
    """Noise of each channel, tracked causally from residuals of earlier predictions; winsorized against outliers."""

    def __init__(self, initial: np.ndarray, period: float, time_constant: float, adapt: bool):
        self._initial, self._adapt = np.array(initial, float), adapt
        self._rate = min(1.0, period / time_constant)
        self._floor = 1e-3 * self._initial
        self.reset()

    def reset(self) -> None:
        """Back to the initial noise."""
        self._variance = self._initial ** 2
        self._count = np.full(self._initial.size, INITIAL_ROWS)

    @property
    def stddev(self) -> np.ndarray:
        """(C,) in the channels' units."""
        return np.sqrt(self._variance)

    def set(self, stddev: np.ndarray) -> None:
        """Go on from a known noise, as from a parameter file."""
        self._variance = np.array(stddev, float) ** 2

    def update(self, residual: np.ndarray, valid: np.ndarray) -> None:
        """Take in the residual of a prediction made before its row was seen."""
        if not self._adapt:
            return
        clipped = np.minimum(residual ** 2, WINSOR ** 2 * self._variance) / WINSOR_MEAN
        # A plain mean at first, so that a wrong initial noise is not remembered for several time constants.
        rate = np.maximum(self._rate, 1 / (self._count + 1))
        new = (1 - rate) * self._variance + rate * clipped
        self._count = self._count + valid
        self._variance = np.where(valid, np.maximum(new, self._floor ** 2), self._variance)
