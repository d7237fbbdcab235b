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

"""The certificate's local bound where it would be wrong: rows that leave rho on the way."""
import numpy as np
import pytest
from problems import admissible, make_table

from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.solvers.native.cones import Cones
from uvms_adaptive_dynamics.solvers.native.huber_groups import groups_of
from uvms_adaptive_dynamics.solvers.native.robust_cost import RobustCost, _inverse_norm
from uvms_adaptive_dynamics.solvers.problem import HorizonProblem, Quadratic

RESIDUAL = 1.45     # far enough below rho = 1.96 that no row is in the outlier set


def test_rows_that_leave_rho_on_the_way_are_no_curvature():
    """One free parameter; at x all rows are inliers, eight at +1.45 and two at -1.45 deviations.
    Their parabola ends 4 % above the optimum, where the two are outliers, so it is not a bound."""
    table = make_table(1, vehicle=False)
    place, N = table.index["j0.fv"], 10
    pi = admissible(table, np.random.default_rng(0))
    pi[place] = 5.0
    Y = np.zeros((N, 1, table.size))
    Y[:, 0, place] = 1.0
    residual = np.where(np.arange(N) < 8, RESIDUAL, -RESIDUAL)
    tau = Y @ pi + residual[:, None]
    tiny = np.full(table.size, 1e-9)
    arrival = Quadratic(np.diag(tiny), tiny * pi, float(tiny @ pi ** 2))
    rows = Y[:, 0]
    total = arrival + Quadratic(rows.T @ rows, rows.T @ tau[:, 0], float(tau[:, 0] @ tau[:, 0]))
    problem = HorizonProblem(PhysicalSet(table, Estimation()), arrival, total, Y, tau, np.ones(1),
                             np.ones((N, 1), bool), np.ones(N), "channel", 0.95,
                             np.arange(table.size) == place, pi, tiny)
    cones = Cones(problem.physical, problem.free, pi)
    cost = RobustCost(problem, cones.coordinates, groups_of(problem, cones.coordinates))
    slope = cost.at(cones.coordinates.reduce(pi))
    lowest = min(problem.objective(pi + step * np.eye(table.size)[place])
                 for step in np.linspace(0, 2, 401))
    assert cost.residual_bound(slope, slope.gradient, 0.0) >= slope.value - lowest


def test_a_curvature_that_rounding_may_have_made_bounds_nothing():
    """The second matrix is singular but for one unit in the last place, and yet can be factorized:
    true curvature in that direction may be zero, so the cost may fall without limit."""
    r = np.array([1.0, -1.0])
    assert _inverse_norm(np.diag([4.0, 9.0]), r) == pytest.approx(np.sqrt(1 / 4 + 1 / 9))
    assert _inverse_norm(np.array([[1.0, 1.0], [1.0, 1.0 + np.finfo(float).eps]]), r) == np.inf
