"""The moving horizon problem: what is minimised over P at a tick (paper, eq. (adapt_optimization); DESIGN section 6).

    minimise  pi^T H pi - 2 g^T pi + c  +  sum_k weight_k phi_rho(r_k),   r = tau - Y pi   (rows normalized by noise)

phi_rho is the paper's norm-Huber of each group of rows: |r|^2 within rho, 2 rho |r| - rho^2 beyond.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import gammaincinv

from ..model.physical_set import PhysicalSet


@lru_cache(maxsize=4096)
def huber_threshold(rows: int, quantile: float) -> float:
    """rho as the quantile of the norm of `rows` standard normal rows; infinite for quantile 1 or no rows."""
    if quantile >= 1.0 or rows == 0:
        return np.inf
    return float(np.sqrt(2 * gammaincinv(rows / 2, quantile)))     # of chi squared; scipy.stats takes long to load


@lru_cache(maxsize=256)
def huber_thresholds(rows: int, quantile: float) -> np.ndarray:
    """(rows + 1,) thresholds of groups with 0, 1, ... rows."""
    table = np.array([huber_threshold(m, quantile) for m in range(rows + 1)])
    table.setflags(write=False)
    return table


def huber(norms: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """The paper's norm-Huber phi_rho of norms, elementwise."""
    rho = np.broadcast_to(rho, norms.shape)
    beyond = norms > rho
    return np.where(beyond, 2 * np.where(beyond, rho, 0.0) * norms - np.where(beyond, rho, 0.0) ** 2, norms ** 2)


def huber_weight(norms: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """Weight that makes |r|^2 have phi's gradient: 1 within rho, rho / |r| beyond."""
    return np.where(norms > rho, rho / np.maximum(norms, 1e-300), 1.0)


@dataclass(frozen=True)
class Quadratic:
    """pi^T H pi - 2 g^T pi + c."""

    H: np.ndarray
    g: np.ndarray
    c: float

    def __call__(self, pi: np.ndarray) -> float:
        return float(pi @ self.H @ pi - 2 * self.g @ pi + self.c)

    def __add__(self, other: "Quadratic") -> "Quadratic":
        return Quadratic(self.H + other.H, self.g + other.g, self.c + other.c)

    def __sub__(self, other: "Quadratic") -> "Quadratic":
        return Quadratic(self.H - other.H, self.g - other.g, self.c - other.c)


@dataclass(frozen=True)
class HorizonProblem:
    """Data of one tick's problem; arrays are read, never written, by solvers.

    arrival: quadratic of everything that is not in the window. Y (N, C, p), tau (N, C): the window's normalized rows,
    zero where not valid; valid (N, C); weight (N,): lambda^age or one. total: arrival plus all window rows as if
    none were an outlier (solvers that condense need it; it is what the buffer keeps up to date anyway).
    free (p,): parameters to estimate; pi (p,): previous estimate, which gives the frozen ones their value.
    floor (p,): diagonal matrix that the arrival's H exceeds, if one is known: it turns a left-over gradient into a bound of
    the distance from the optimum. source and born (N,): the buffer that the window lies in and the instant that each of
    its places was written at, by which a solver can keep what it knows of a row; None where rows change from tick to tick.
    """

    physical: PhysicalSet
    arrival: Quadratic
    total: Quadratic
    Y: np.ndarray
    tau: np.ndarray
    valid: np.ndarray
    weight: np.ndarray
    grouping: str
    quantile: float
    free: np.ndarray
    pi: np.ndarray
    floor: np.ndarray | None = None
    source: object | None = None
    born: np.ndarray | None = None

    def residuals(self, pi: np.ndarray) -> np.ndarray:
        """Normalized residuals (N, C), zero where not valid."""
        N, C, p = self.Y.shape
        return self.tau - (self.Y.reshape(N * C, p) @ pi).reshape(N, C)

    @cached_property
    def sample_thresholds(self) -> np.ndarray:
        """(N,) rho of each instant, by how many of its rows are valid."""
        return huber_thresholds(self.valid.shape[1], self.quantile)[self.valid.sum(axis=1)]

    def group_norms(self, residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(norms, thresholds, weights) of the groups: (N,) for 'sample', (N*C,) for 'channel', (1,) for 'horizon'.

        In 'horizon' lambda^age is inside the one norm, so that its own weight is one.
        """
        if self.grouping == "sample":
            return np.sqrt(np.einsum("kc,kc->k", residuals, residuals)), self.sample_thresholds, self.weight
        if self.grouping == "channel":
            C = self.valid.shape[1]
            rho = np.where(self.valid.ravel(), huber_threshold(1, self.quantile), np.inf)
            return np.abs(residuals).ravel(), rho, np.repeat(self.weight, C)
        norm = np.sqrt(np.einsum("k,kc,kc->", self.weight, residuals, residuals))
        return np.array([norm]), np.array([huber_threshold(int(self.valid.sum()), self.quantile)]), np.ones(1)

    def objective(self, pi: np.ndarray) -> float:
        """Value of the whole cost at pi."""
        norms, rho, weight = self.group_norms(self.residuals(pi))
        return self.arrival(pi) + float(weight @ huber(norms, rho))


@dataclass(frozen=True)
class Solution:
    """A solver's answer: pi (p,), objective, iterations, seconds, a plain status and, where the solver gives one,
    a bound of the relative distance of the objective from the optimum."""

    pi: np.ndarray
    objective: float
    iterations: int
    seconds: float
    status: str = "optimal"
    gap: float | None = None
