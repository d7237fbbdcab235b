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

"""The cost that an estimate minimizes, as a file keeps it to resume from (docs/mathematics.md,
"Restart from a saved estimate")."""
from __future__ import annotations

import logging

import numpy as np

from .arrival import DirectionalArrival
from .information import UNUSABLE, InformationState
from .robust_weight import weight_of_rows

log = logging.getLogger(__name__)


def present_cost(information: InformationState, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(A (p, p), gradient (p,)): half the Hessian and half the gradient of the cost at pi (p,),
    with the window's robust weights there."""
    problem = information.problem(pi, np.ones(pi.size, bool))
    rows = problem.normalized_Y().reshape(-1, pi.size)
    weighted = weight_of_rows(problem, pi).reshape(-1, 1) * rows
    arrival = problem.arrival
    gradient = arrival.H @ pi - arrival.g - problem.residuals(pi).ravel() @ weighted
    return arrival.H + rows.T @ weighted, gradient


def cost_to_save(information: InformationState,
                 pi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(A, gradient, B): `present_cost` at pi (p,) and the gradient's covariance (p, p), after
    forgetting what the unfinished block replaces: for the run that resumes from them, block and
    older rows are one sum."""
    A, gradient = present_cost(information, pi)
    B, arrival = information.gradient_covariance(), information.arrival
    if not isinstance(arrival, DirectionalArrival):
        return A, gradient, B
    try:
        row_map = arrival.closing_map()
    except UNUSABLE as error:
        log.warning("saving without forgetting old data (%s)", error)
        return A, gradient, B
    M, T, old = row_map.rows, row_map.gradient, arrival.before_block()
    change = M.T @ old @ M - old
    noise = information.gradient.of_old + arrival.gradient_covariance()
    return (A + change[:-1, :-1], gradient + change[:-1, :-1] @ pi - change[:-1, -1],
            B + T @ noise @ T.T - noise)
