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

"""The moving horizon problem: the cost minimized over P at each tick (paper, eq.
(adapt_optimization); docs/mathematics.md, "Horizon problem").

    minimize  pi^T H pi - 2 g^T pi + c  +  sum_k weight_k phi_rho(r_k),   r = scale (tau - Y pi)

phi_rho is the paper's norm-Huber of each group of rows: |r|^2 within rho, 2 rho |r| - rho^2
beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from ..model.arguments import read_only
from ..model.normal import chi_squared
from ..model.parameters import ParameterTable
from ..model.physical_set import PhysicalSet

# share of the cost at pi = 0: a smaller objective is a difference of large numbers
NEGLIGIBLE_COST = 1e-7
# statuses of answers that did not reach the optimum in their tick (estimation.deadline)
OUT_OF_TIME = ("deadline", "deferred")


def is_panic(error: BaseException) -> bool:
    """Whether a solver's Rust code has panicked, as it does if an eigenvalue problem does not
    converge. A panic is not an Exception, and would end the node."""
    return type(error).__name__ == "PanicException"


@lru_cache(maxsize=4096)
def huber_threshold(rows: int, quantile: float, rho: float = 0.0) -> float:
    """rho if given (above 0), else the quantile of the norm of `rows` independent standard normal
    residuals; infinite for quantile 1 or without rows."""
    if rho > 0 and rows > 0:
        return rho
    if quantile >= 1.0 or rows == 0:
        return np.inf
    return float(np.sqrt(chi_squared(quantile, rows)))


@lru_cache(maxsize=256)
def huber_thresholds(rows: int, quantile: float, rho: float = 0.0) -> np.ndarray:
    """(rows + 1,) thresholds of groups with 0, 1, ... rows."""
    return read_only(np.array([huber_threshold(m, quantile, rho) for m in range(rows + 1)]))


def huber(norms: np.ndarray, rho: np.ndarray | float) -> np.ndarray:
    """The paper's norm-Huber phi_rho, elementwise."""
    rho = np.broadcast_to(rho, norms.shape)
    # within rho both branches are |r|^2; rho may be infinite there
    rho = np.where(norms > rho, rho, norms)
    return 2 * rho * norms - rho ** 2


def huber_weight(norms: np.ndarray | float, rho: np.ndarray | float) -> np.ndarray:
    """Weight of |r|^2 that gives it the gradient of phi_rho: 1 within rho, rho / |r| beyond."""
    return np.where(norms > rho, rho / np.maximum(norms, 1e-300), 1.0)


@dataclass(frozen=True)
class Quadratic:
    """pi^T H pi - 2 g^T pi + c."""

    H: np.ndarray
    g: np.ndarray
    c: float

    def __call__(self, pi: np.ndarray) -> float:
        return float(pi @ self.H @ pi - 2 * self.g @ pi + self.c)

    def __add__(self, other: Quadratic) -> Quadratic:
        return Quadratic(self.H + other.H, self.g + other.g, self.c + other.c)

    def __sub__(self, other: Quadratic) -> Quadratic:
        return Quadratic(self.H - other.H, self.g - other.g, self.c - other.c)


@dataclass(frozen=True)
class HorizonProblem:
    """Data of one tick's problem; solvers only read the arrays.

    arrival: quadratic of everything outside the window. Y (N, C, p), tau (N, C): the window's rows
    in SI units, zero if not valid; scale (C,): reciprocal noise deviation of each channel, so that
    the normalized rows are `scale[:, None] * Y` and `scale * tau`; valid (N, C); weight (N,):
    lambda^age or one. total: arrival plus all normalized window rows as if none were an outlier
    (for solvers that condense; the window keeps it up to date anyway). free (p,): parameters to
    estimate; pi (p,): previous estimate, with the values of frozen parameters. floor (p,): a
    diagonal matrix below the arrival's H, if known: with it, the remaining gradient bounds the
    distance from the optimum. source, born (N,): the buffer that holds the window, and the instant
    at which each place in it was written, by which a solver recognizes rows that it has seen; None
    if rows change from tick to tick. quantile, rho: the groups' threshold, see `huber_threshold`.
    """

    physical: PhysicalSet
    arrival: Quadratic
    total: Quadratic
    Y: np.ndarray
    tau: np.ndarray
    scale: np.ndarray
    valid: np.ndarray
    weight: np.ndarray
    grouping: str
    quantile: float
    free: np.ndarray
    pi: np.ndarray
    floor: np.ndarray | None = None
    source: object | None = None
    born: np.ndarray | None = None
    rho: float = 0.0

    def residuals(self, pi: np.ndarray) -> np.ndarray:
        """Normalized residuals (N, C), zero if not valid."""
        N, C, p = self.Y.shape
        return self.scale * (self.tau - (self.Y.reshape(N * C, p) @ pi).reshape(N, C))

    @cached_property
    def is_frozen(self) -> bool:
        """Whether no parameter is free; freezing one parameter of a tied pair freezes both."""
        if self.free.all():
            return False
        free = self.free.copy()
        for a, b in self.physical.table.equal_pairs:
            free[a] = free[b] = free[a] and free[b]
        return not free.any()

    def normalized_Y(self) -> np.ndarray:
        """(N, C, p) rows divided by their noise deviation; a new array."""
        return self.scale[:, None] * self.Y

    def threshold(self, rows: int) -> float:
        """rho of a group with `rows` valid rows."""
        return huber_threshold(rows, self.quantile, self.rho)

    def thresholds(self, rows: int) -> np.ndarray:
        """(rows + 1,) rho of groups with 0, 1, ... valid rows."""
        return huber_thresholds(rows, self.quantile, self.rho)

    @property
    def is_quadratic(self) -> bool:
        """Whether no group has a threshold."""
        return np.isinf(self.threshold(1))

    @cached_property
    def sample_thresholds(self) -> np.ndarray:
        """(N,) rho of each instant, by its number of valid rows."""
        return self.thresholds(self.valid.shape[1])[self.valid.sum(axis=1)]

    def group_norms(self, residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(norms, thresholds, weights) of the groups: (N,) for 'sample', (N*C,) for 'channel',
        (1,) for 'horizon'.

        With 'horizon', lambda^age is inside the norm, so the group's weight is one.
        """
        if self.grouping == "sample":
            return (np.sqrt(np.einsum("kc,kc->k", residuals, residuals)), self.sample_thresholds,
                    self.weight)
        if self.grouping == "channel":
            C = self.valid.shape[1]
            rho = np.where(self.valid.ravel(), self.threshold(1), np.inf)
            return np.abs(residuals).ravel(), rho, np.repeat(self.weight, C)
        norm = np.sqrt(np.einsum("k,kc,kc->", self.weight, residuals, residuals))
        return (np.array([norm]), np.array([self.threshold(int(self.valid.sum()))]), np.ones(1))

    def cost_size(self, objective: float) -> float:
        """Reference of relative gaps: the objective, or its rounding error if it is nearly zero."""
        return max(abs(objective), NEGLIGIBLE_COST * abs(self.total.c), 1e-300)

    def objective(self, pi: np.ndarray) -> float:
        """Value of the whole cost at pi (p,)."""
        norms, rho, weight = self.group_norms(self.residuals(pi))
        return self.arrival(pi) + float(weight @ huber(norms, rho))


@dataclass(frozen=True)
class Solution:
    """A solver's answer: pi (p,), objective, iterations, seconds; gap: bound of the objective's
    distance from the optimum, relative to `HorizonProblem.cost_size`, None if the solver has none.

    status: 'optimal'; 'near-optimal', short of the solver's tolerance but within an accepted
    one; 'deadline', the best feasible point when the time was over; 'deferred', the previous
    estimate, certified near the optimum: a second method is deferred to the next tick.
    method: the method that answered, such as 'active set', 'interior point', 'clarabel', 'mosek'.
    """

    pi: np.ndarray
    objective: float
    iterations: int
    seconds: float
    status: str = "optimal"
    gap: float | None = None
    method: str = ""


class Solver(Protocol):
    """Interface of every solver."""

    @property
    def name(self) -> str:
        """The solver's name for users."""

    def solve(self, problem: HorizonProblem, deadline: float | None = None) -> Solution:
        """Minimize over P within `deadline` [s]; raises SolverError with the solver's status if
        there is no usable answer, 'deadline' if no feasible point was found in time."""


def projection_problem(table: ParameterTable, physical: PhysicalSet,
                       pi: np.ndarray) -> HorizonProblem:
    """The problem whose solution is the point of P nearest to pi (p,), with distances relative to
    each parameter's size."""
    H = np.diag(1 / np.maximum(np.abs(pi), 0.1 * table.scale) ** 2)
    quadratic = Quadratic(H, H @ pi, float(pi @ H @ pi))
    nothing = np.zeros((0, table.channels))
    return HorizonProblem(
        physical, quadratic, quadratic, np.zeros((0, table.channels, table.size)), nothing,
        scale=np.ones(table.channels), valid=nothing.astype(bool), weight=np.zeros(0),
        grouping="sample", quantile=1.0, free=np.ones(table.size, bool), pi=pi)
