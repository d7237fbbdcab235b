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

"""Intervals of single parameters within P: bounds match a convex program, and no coverage is lost.
"""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.normal import Z95
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.uncertainty.parameter_intervals import parameter_intervals

CONFIG = Config()
ROBOT = RobotModel.from_config(CONFIG)
PHYSICAL = PhysicalSet(ROBOT.table, CONFIG.estimation)
TRUTH = prior_from_config(CONFIG, ROBOT).values


def extreme(place, sign):
    """The largest sign * pi[place] in P, by CVXPY; inf if unbounded."""
    cvxpy = pytest.importorskip("cvxpy")
    pi = cvxpy.Variable(PHYSICAL.table.size)
    finite = np.isfinite(PHYSICAL.lower), np.isfinite(PHYSICAL.upper)
    constraints = [pi[finite[0]] >= PHYSICAL.lower[finite[0]],
                   pi[finite[1]] <= PHYSICAL.upper[finite[1]],
                   *(pi[a] == pi[b] for a, b in PHYSICAL.table.equal_pairs)]
    for lmi in PHYSICAL.inequalities:
        d = lmi.basis.shape[1]
        matrix = sum(pi[k] * basis for k, basis in zip(lmi.places, lmi.basis))
        constraints.append(matrix - PHYSICAL.epsilon * np.eye(d) >> 0)
    problem = cvxpy.Problem(cvxpy.Maximize(sign * pi[place]), constraints)
    problem.solve(solver="CLARABEL")
    return np.inf if problem.status.startswith("unbounded") else problem.value


@pytest.mark.parametrize("name", ["W", "B", "m_X_du", "mzg_X_dq", "m_Z_dw", "X_u", "axis_d.m",
                                  "axis_d.mlx", "axis_d.Iyy", "axis_d.Ixz", "axis_d.fs"])
def test_bounds_are_the_extremes_of_the_set(name):
    """Bounds are the extreme values of a parameter in P, by an independent formulation."""
    k = PHYSICAL.table.index[name]
    lower, upper = (bounds[k] for bounds in PHYSICAL.single_bounds)
    assert -lower == pytest.approx(extreme(k, -1.0), abs=1e-6)
    assert upper == pytest.approx(extreme(k, 1.0), abs=1e-6)


def test_an_interval_lies_in_its_bounds_and_holds_the_estimate():
    """Even if the deviation exceeds every bound, or if the estimate is at one."""
    pi = TRUTH.copy()
    pi[PHYSICAL.table.index["X_u"]] = 0.0
    low, high = parameter_intervals(PHYSICAL, pi, np.full(pi.size, 100.0))
    lower, upper = PHYSICAL.single_bounds
    assert (low >= lower).all() and (high <= upper).all()
    assert (low <= pi).all() and (pi <= high).all()
    weight = PHYSICAL.table.index["W"]
    assert (low[weight], high[weight]) == (90.0, 180.0)
    assert low[PHYSICAL.table.index["B"]] == pi[PHYSICAL.table.index["B"]] - 100.0 * Z95


def test_coverage_is_that_of_the_uncut_interval():
    """For estimates about a truth in P, clipped to P, cutting never changes whether an interval
    covers the truth."""
    rng = np.random.default_rng(0)
    lower, upper = PHYSICAL.single_bounds
    stddev = np.abs(TRUTH) * rng.uniform(0.1, 3.0, TRUTH.size) + 1e-3
    pi = np.clip(TRUTH + stddev * rng.normal(size=(500, TRUTH.size)), lower, upper)
    low, high = parameter_intervals(PHYSICAL, pi, np.broadcast_to(stddev, pi.shape))
    uncut = np.abs(pi - TRUTH) <= Z95 * stddev
    assert ((low <= TRUTH) & (high >= TRUTH) == uncut).all()
    assert (high - low < 2 * Z95 * stddev * (1 - 1e-9)).mean() > 0.2      # many are cut
