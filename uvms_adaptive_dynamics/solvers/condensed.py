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

"""The horizon problem for conic solvers: one quadratic, and cones only for groups of rows near the
Huber threshold rho or beyond it (docs/mathematics.md, "Horizon problem").

With d = x - x0, x0 the previous estimate in the solver's free coordinates:

    minimize    d^T P d + 2 g^T d + c + sum_k w_k (u_k^2 + 2 rho_k v_k)
    subject to  |r_k - R_k d| <= u_k + v_k,  v_k >= 0

If a group in the quadratic ends beyond rho, it gets a cone too and the problem is solved again, so
that the answer is that of the whole problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import SolverError
from .native.cones import Cones
from .problem import HorizonProblem

CONE_SHARE = 0.7  # share of rho from which a group gets a cone; then one solve is usually enough
NEAR_OPTIMAL_GAP = 1e-4  # largest relative gap of a near-optimal answer
CONDENSED_ROUNDS = 10  # most solves until no condensed group is beyond rho


class Condensed(NamedTuple):
    """A condensed problem: x0 (m,), P (m, m), g (m,), c; of the k groups with a cone: rows R (k,
    rows, m), residual r (k, rows), rho (k,), weight (k,); size: `HorizonProblem.cost_size`."""

    x0: np.ndarray
    P: np.ndarray
    g: np.ndarray
    c: float
    rows: np.ndarray
    residual: np.ndarray
    rho: np.ndarray
    weight: np.ndarray
    size: Callable[[float], float]


class Round(NamedTuple):
    """A conic solver's answer to one condensed problem: x (m,), relative duality gap, iterations,
    status."""

    x: np.ndarray
    gap: float
    iterations: int
    status: str


def near_groups(problem: HorizonProblem) -> np.ndarray:
    """(groups,) bool: groups that get a cone in the first round."""
    norms, rho, _ = problem.group_norms(problem.residuals(problem.pi))
    return norms > CONE_SHARE * rho


def solve_in_rounds(problem: HorizonProblem, cones: Cones, solve_once: Callable[[Condensed], Round],
                    name: str) -> tuple[np.ndarray, Round]:
    """(pi (p,), last round with the iterations of all rounds); raises SolverError if the set of
    groups with a cone does not settle.

    An answer with too large a gap becomes the point about which the problem is solved once more:
    the solver's tolerances are relative to the step, which is much shorter then."""
    chosen, iterations, about = near_groups(problem), 0, problem
    for _ in range(CONDENSED_ROUNDS):
        found = solve_once(condense(about, cones, np.flatnonzero(chosen)))
        iterations += found.iterations
        pi = cones.coordinates.expand(found.x, problem.pi)
        norms, rho, _ = problem.group_norms(problem.residuals(pi))
        missed = (norms > rho) & ~chosen
        settled = not missed.any()
        improved = found.gap < NEAR_OPTIMAL_GAP or about is not problem
        if found.status == "deadline" or settled and improved:
            return pi, found._replace(iterations=iterations)
        if settled:
            about = replace(problem, pi=pi)
        chosen |= missed
    raise SolverError(
        f"{name}: the set of outlying groups did not settle in {CONDENSED_ROUNDS} solves",
        "stalled")


def condense(problem: HorizonProblem, cones: Cones, groups: np.ndarray) -> Condensed:
    """The problem with everything but `groups` (k,) in one quadratic about the previous estimate.
    """
    at = cones.coordinates
    pi = at.expand(at.reduce(problem.pi), problem.pi)
    residuals = problem.residuals(pi)
    _, rho, weight = problem.group_norms(residuals)
    N, C, p = problem.Y.shape
    normalized = problem.normalized_Y()
    if problem.grouping == "horizon":
        root = np.sqrt(problem.weight)
        Y, r = ((root[:, None, None] * normalized).reshape(1, N * C, p),
                (root[:, None] * residuals).reshape(1, N * C))
    elif problem.grouping == "channel":
        Y, r = normalized.reshape(N * C, 1, p), residuals.reshape(N * C, 1)
    else:
        Y, r = normalized, residuals
    rows, r, rho, weight = at.columns(Y[groups]), r[groups], rho[groups], weight[groups]
    quadratic = problem.arrival if problem.grouping == "horizon" and groups.size else problem.total
    P, g = at.columns(at.columns(quadratic.H).T), at.columns(quadratic.H @ pi - quadratic.g)
    c = quadratic(pi)
    if problem.grouping == "horizon":
        # One norm over the whole stack; its QR factor has the same norm and a size independent of
        # the horizon.
        R = np.zeros((1, at.size + 1, at.size + 1))
        if groups.size:
            factor = np.linalg.qr(np.column_stack([rows[0], r[0]]), mode="r")
            R[0, : len(factor)] = factor
        rows, r = R[:groups.size, :, :-1], R[:groups.size, :, -1]
    elif groups.size:
        weighted = weight[:, None, None] * rows
        P -= np.einsum("kcm,kcn->mn", weighted, rows, optimize=True)
        g += np.einsum("kcm,kc->m", weighted, r)
        c -= float(weight @ np.einsum("kc,kc->k", r, r))
    return Condensed(at.reduce(problem.pi), P, g, c, rows, r, rho, weight, problem.cost_size)
