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

"""A small artificial problem of a given robot, for solvers to run once before the first tick."""

from __future__ import annotations

import numpy as np

from ..model.physical_set import PhysicalSet
from .problem import HorizonProblem, Quadratic

SAMPLES = 16
WARM_UP_NOISE, WARM_UP_OUTLIER = 0.5, 30.0  # in standard deviations


def warm_up_problem(physical: PhysicalSet, free: np.ndarray, pi: np.ndarray) -> HorizonProblem:
    """A problem with random rows of the parameters 2 pi (p,), damping with the wrong sign, and one
    outlier."""
    table, rng = physical.table, np.random.default_rng(0)
    C, p = table.channels, table.size
    truth = 2 * pi
    truth[table.nonpositive] *= -1
    Y = rng.normal(size=(SAMPLES, C, p)) / table.scale
    tau = Y @ truth + WARM_UP_NOISE * rng.normal(size=(SAMPLES, C))
    tau[SAMPLES // 2] += WARM_UP_OUTLIER
    h = table.scale ** -2.0
    arrival = Quadratic(np.diag(h), h * pi, float(h @ pi ** 2))
    rows = Y.reshape(-1, p)
    total = arrival + Quadratic(rows.T @ rows, rows.T @ tau.ravel(), float(np.sum(tau ** 2)))
    return HorizonProblem(
        physical, arrival, total, Y, tau, scale=np.ones(C), valid=np.ones((SAMPLES, C), bool),
        weight=np.ones(SAMPLES), grouping="sample", quantile=0.95, free=free, pi=pi, floor=h,
        source=Y, born=np.arange(SAMPLES))
