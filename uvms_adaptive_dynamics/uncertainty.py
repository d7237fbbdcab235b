"""Uncertainty of parameters: the paper's covariance of increments, and the information of the robust fit.

Paper, "Uncertainty Quantification"; DESIGN section 7.
"""
from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from .config import Uncertainty
from .errors import SolverError


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


STRONG = 2.0   # a constraint takes its direction out of the covariance when its multiplier is this many deviations from zero


def information_covariance(information: np.ndarray, score: np.ndarray, normals: np.ndarray, equalities: int, gradient: np.ndarray,
                           free: np.ndarray) -> np.ndarray:
    """Covariance (p, p) of the constrained fit: G B G, where G is the inverse information on what constraints leave free.

    information A (p, p): half the Hessian of the cost, prior included; score B (p, p): covariance of half its gradient;
    normals (k, p): gradients of the constraints that hold with equality, the first `equalities` of them always;
    gradient (p,): half the cost's gradient at the estimate, which the constraints' multipliers balance; free (p,).
    An inequality counts as a constraint only where the data push against it clearly: where they do not, the truth may
    as well lie inside, and an interval of width zero at the bound would be a lie. Raises SolverError where A is singular.
    """
    every = bool(free.all())
    A, B, N, g = (information, score, normals, gradient) if every else (
        information[np.ix_(free, free)], score[np.ix_(free, free)], normals[:, free], gradient[free])
    scale = 1 / np.sqrt(np.diag(A))
    scales = scale[:, None] * scale
    A = A * scales
    A.flat[::len(A) + 1] += 1e-13
    factor, info = dpotrf(A.T, lower=1, clean=1, overwrite_a=1)
    if info or not np.isfinite(factor.diagonal()).all():     # LAPACK lets numbers pass that are none
        raise SolverError("the information matrix is not positive definite, so that the estimate has no covariance", "singular")
    root, _ = dtrtri(factor, lower=1, overwrite_c=1)          # A^-1 = root^T root
    B = root @ (B * scales) @ root.T                          # of the whitened gradient
    U = root @ (N * scale).T
    lengths = np.sqrt(np.einsum("pk,pk->k", U, U))
    keep = lengths > 1e-9
    keep[equalities:] &= _strong(U[:, equalities:], lengths[equalities:], root @ (g * scale), B)
    if keep.any():
        Q, R = np.linalg.qr(U[:, keep] / lengths[keep])
        Q = Q[:, np.abs(np.diag(R)) > 1e-9]
        B = B - Q @ (Q.T @ B)
        B = B - (B @ Q) @ Q.T
    inner = (root.T @ B @ root) * scales
    inner = 0.5 * (inner + inner.T)
    if every:
        return inner
    covariance = np.zeros_like(information)
    covariance[np.ix_(free, free)] = inner
    return covariance


def _strong(U: np.ndarray, lengths: np.ndarray, gradient: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(k,) whether the gradient along each whitened normal is more than its noise explains."""
    usable = lengths > 1e-9
    u = U / np.where(usable, lengths, 1.0)
    spread = np.sqrt(np.maximum(np.einsum("pk,pk->k", u, B @ u), 1e-300))
    return usable & (np.abs(u.T @ gradient) > STRONG * spread)


MEASURED, WEAK = 0.3, 0.9   # share of the prior's standard deviation that is left


def known_from(stddev: np.ndarray, prior_stddev: np.ndarray) -> tuple[str, ...]:
    """For each parameter (p,): 'measured', 'weak', 'prior' by how much of the prior's deviation is left; 'frozen' without one."""
    share = stddev / np.where(prior_stddev > 0, prior_stddev, np.inf)
    return tuple("frozen" if before <= 0 else "measured" if left < MEASURED else "weak" if left < WEAK else "prior"
                 for left, before in zip(share, prior_stddev))
