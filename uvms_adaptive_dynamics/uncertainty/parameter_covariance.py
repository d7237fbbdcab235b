"""Covariance of parameters: what the robust, constrained fit leaves uncertain, and the paper's, of
increments.

docs/mathematics.md, "Covariance"; paper, "Uncertainty Quantification".
"""
from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dpotrf, dtrtri
from scipy.special import erfcx

from ..config import Uncertainty
from ..errors import SolverError
from ..model.covariance import deviations


class ParameterCovariance(Protocol):
    """A covariance of the parameters, formed as far as it is asked for."""

    @property
    def matrix(self) -> np.ndarray:
        """(p, p), read-only."""

    @property
    def stddev(self) -> np.ndarray:
        """(p,), read-only."""

    def of_rows(self, Y: np.ndarray) -> np.ndarray:
        """Y Sigma Y^T (C, C) for rows Y (C, p)."""


class MatrixCovariance:
    """A covariance that is known as a matrix."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = matrix.copy()
        self.matrix.setflags(write=False)

    @cached_property
    def stddev(self) -> np.ndarray:
        """See `ParameterCovariance`."""
        return _read_only(deviations(self.matrix))

    def of_rows(self, Y: np.ndarray) -> np.ndarray:
        """See `ParameterCovariance`."""
        return Y @ self.matrix @ Y.T


class SandwichCovariance:
    """G B G of what is estimated, and what the uncertainty of frozen parameters adds.

    With A the information, u free and f frozen: an error of the frozen values moves the estimate by
    K = -G A_uf, so Sigma = G B G + J Sigma_ff J^T with J = [K; I] ('consider' parameters; Schmidt,
    1966). Data teach nothing of frozen parameters, and predictions count that they are uncertain.
    """

    def __init__(self, inverse: np.ndarray, gradient: np.ndarray, information: np.ndarray,
                 free: np.ndarray, frozen_covariance: np.ndarray):
        """inverse G (p, p), zero where frozen; gradient B (p, p): covariance of half the cost's
        gradient; information A (p, p); free (p,); frozen_covariance (f, f): of the parameters that
        are not free."""
        self._G, self._B = inverse, gradient
        self._J: np.ndarray | None = None
        if frozen_covariance.any():
            frozen = np.flatnonzero(~free)
            values, vectors = np.linalg.eigh(frozen_covariance)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            self._J = -inverse @ (information[:, frozen] @ root)
            self._J[frozen] = root
            self._frozen, self._frozen_covariance = frozen, frozen_covariance

    @cached_property
    def matrix(self) -> np.ndarray:
        """See `ParameterCovariance`."""
        covariance = self._G @ self._B @ self._G
        covariance = 0.5 * (covariance + covariance.T)
        if self._J is not None:
            covariance += self._J @ self._J.T
            covariance[np.ix_(self._frozen, self._frozen)] = self._frozen_covariance   # to the bit
        return _read_only(covariance)

    @cached_property
    def stddev(self) -> np.ndarray:
        """See `ParameterCovariance`."""
        if self._J is not None:
            return _read_only(deviations(self.matrix))
        return _read_only(
            np.sqrt(np.maximum(np.einsum("ij,ij->i", self._G @ self._B, self._G), 0.0)))

    def of_rows(self, Y: np.ndarray) -> np.ndarray:
        """See `ParameterCovariance`."""
        across = Y @ self._G
        covariance = across @ self._B @ across.T
        if self._J is not None:
            along = Y @ self._J
            covariance += along @ along.T
        return covariance


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


PENDING = 64        # increments that are summed at once


class IncrementCovariance:
    """The paper's exponentially weighted covariance of normalized increments w_t = pi_t - pi_{t-1}.

    Sigma_pi = L S Sigma_w S with S = diag(max(|pi_{t-1}|, eps)) and L = 2 / alpha - 1, as
    published. The sums are formed when they are asked for, or of many increments at once: a matrix
    product costs little more than a single increment."""

    def __init__(self, settings: Uncertainty, floor: np.ndarray):
        """floor (p,): the eps of each parameter."""
        self._alpha, self._epsilon, self._floor = settings.alpha, settings.epsilon, floor
        self.reset()

    def reset(self) -> None:
        """Drop all increments."""
        p = self._floor.size
        self._mean, self._summed = np.zeros(p), np.zeros((p, p))
        self._pending, self._count = np.empty((PENDING, p)), 0
        self._scale = self._floor.copy()

    def add_increment(self, pi_before: np.ndarray, pi: np.ndarray) -> None:
        """Add one increment."""
        if self._count == PENDING:
            self._sum()
        self._scale = np.maximum(np.abs(pi_before), self._floor)
        off = (pi - pi_before) / self._scale - self._mean
        self._pending[self._count] = off
        self._count += 1
        self._mean = self._mean + self._alpha * off

    def _sum(self) -> None:
        """Sigma_w = (1 - a) Sigma_w + a (w - mean before) (w - mean after)^T + eps I, for each that
        is pending."""
        a, off = self._alpha, self._pending[:self._count]
        ages = (1 - a) ** np.arange(self._count)[::-1]
        self._summed = (1 - a) ** self._count * self._summed + (off.T * (a * (1 - a) * ages)) @ off
        self._summed.flat[::len(self._summed) + 1] += self._epsilon * ages.sum()
        self._count = 0

    def covariance(self) -> np.ndarray:
        """Sigma_pi (p, p)."""
        self._sum()
        return (2 / self._alpha - 1) * self._summed * np.outer(self._scale, self._scale)


# of a unit normal, what earlier ones leave of it, below which it says nothing new
DEPENDENT = 1e-6
FIRST = 1e3         # an equality's push, in pushes of the strongest inequality
FAR_OUTSIDE = 30.0  # deviations from which the series of `share_inside` is exact to 1e-6


def constrained_inverse(information: np.ndarray, gradient_covariance: np.ndarray,
                        normals: np.ndarray, equalities: int, gradient: np.ndarray,
                        free: np.ndarray) -> np.ndarray:
    """G (p, p): the inverse information on what constraints leave free; the estimate's covariance
    is G B G.

    information A (p, p): half the Hessian of the cost, prior included; B (p, p): covariance of half
    its gradient; normals (k, p): gradients of the constraints that hold with equality, the first
    `equalities` of them always; gradient (p,): half the cost's gradient at the estimate, which the
    constraints' multipliers balance; free (p,). Along an inequality's normal the deviation shrinks
    with its multiplier (`share_inside`): by nothing where the data hardly push against it, since
    the truth may then lie well inside, and towards zero where they push hard. Normals are taken one
    after the other, the strongest first, each as far as the earlier ones leave it free. Raises
    SolverError where A is singular."""
    if not free.any():
        return np.zeros_like(information)
    every = bool(free.all())
    A, B, N, g = (information, gradient_covariance, normals,
                  gradient) if every else (information[np.ix_(free, free)],
                                           gradient_covariance[np.ix_(free, free)],
                                           normals[:, free], gradient[free])
    scale = 1 / np.sqrt(np.diag(A))
    scales = scale[:, None] * scale
    A = A * scales
    A.flat[::len(A) + 1] += 1e-13
    factor, info = dpotrf(A.T, lower=1, clean=1, overwrite_a=1)
    if info or not np.isfinite(factor.diagonal()).all():     # LAPACK does not reject NaN
        raise SolverError(
            "the information matrix is not positive definite, so that the estimate has no "
            "covariance",
            "singular")
    root, _ = dtrtri(factor, lower=1, overwrite_c=1)          # A^-1 = root^T root
    inverse = (root.T @ root) * scales
    if len(N):
        narrowed, share = _narrowed(N, root * scale, g, B, equalities)
        inverse -= (narrowed * (1 - share)) @ narrowed.T
    if every:
        return inverse
    whole = np.zeros_like(information)
    whole[np.ix_(free, free)] = inverse
    return whole


def share_inside(z: np.ndarray) -> np.ndarray:
    """Share (k,) of a deviation that is left of it at a bound against which the data push by z (k,)
    deviations.

    The truth x >= 0 has the density of a normal distribution about -z, cut off at zero. The root
    of its mean square is the deviation about the bound, where the estimate is; with the hazard
    h(z) of the standard normal distribution its square is 1 + z^2 - z h(z), about 2 / z^2 for large
    z. Intervals of that width cover an x >= 0 wherever it lies at least as often as without the
    bound, since z + 1.96 share_inside(z) >= 1.96."""
    z = np.minimum(z, 1e6)
    hazard = np.sqrt(2 / np.pi) / erfcx(z / np.sqrt(2))
    far = np.maximum(z, FAR_OUTSIDE)
    return np.sqrt(np.where(z > FAR_OUTSIDE, 2 / far ** 2 - 10 / far ** 4, 1 + z ** 2 - z * hazard))


def _narrowed(N: np.ndarray, root: np.ndarray, gradient: np.ndarray, B: np.ndarray,
              equalities: int) -> tuple[np.ndarray, np.ndarray]:
    """(directions (p, k) orthonormal in the metric of A, share (k,) of the deviation that is left
    along each); root (p, p) with A^-1 = root^T root."""
    def pushed(directions: np.ndarray) -> np.ndarray:
        spread = np.sqrt(np.maximum(np.einsum("pk,pk->k", directions, B @ directions), 1e-300))
        return np.abs(gradient @ directions) / spread

    whitened = root @ N.T
    whitened /= np.maximum(np.linalg.norm(whitened, axis=0), 1e-300)
    push = pushed(root.T @ whitened)
    push[:equalities] = FIRST * (1 + push.max())
    # Pivoting takes at each step the normal of which the earlier ones leave most.
    Q, R, order = qr(whitened * push, mode="economic", pivoting=True, check_finite=False)
    narrowed = root.T @ Q
    order = order[:Q.shape[1]]      # of more normals than directions the last say nothing new
    share = share_inside(pushed(narrowed))
    share[order < equalities] = 0.0
    share[np.abs(R.diagonal()) <= DEPENDENT * push[order]] = 1.0
    return narrowed, share
