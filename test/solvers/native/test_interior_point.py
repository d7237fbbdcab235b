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

"""The interior-point method alone starts anywhere, ends in time and finds a point inside."""

import numpy as np
import pytest
from problems import admissible, make_problem, make_table

from uvms_adaptive_dynamics.solvers.native.answer import Certified, SolveClock, Stopped
from uvms_adaptive_dynamics.solvers.native.cones import Cones
from uvms_adaptive_dynamics.solvers.native.huber_groups import groups_of
from uvms_adaptive_dynamics.solvers.native.interior_point import solve_interior, strictly_inside
from uvms_adaptive_dynamics.solvers.native.robust_cost import RobustCost

TABLE = make_table(1)


def prepared(problem):
    cones = Cones(problem.physical, problem.free, problem.pi, strictly_inside)
    return RobustCost(problem, cones.coordinates, groups_of(problem, cones.coordinates)), cones


@pytest.mark.parametrize("grouping", ["sample", "channel", "horizon"])
def test_the_start_does_not_decide_the_end(grouping):
    """From inside, outside and far away it reaches the same cost, inside all cones."""
    rng = np.random.default_rng(1)
    problem = make_problem(TABLE, rng, N=20, grouping=grouping)
    cost, cones = prepared(problem)
    inside = cones.coordinates.reduce(problem.pi)
    starts = (inside, -inside, inside + 10 * rng.normal(size=inside.size))
    answers = [solve_interior(cost, cones, start, 1e-8) for start in starts]
    assert all(isinstance(answer, Certified) for answer in answers)
    for answer in answers:
        assert answer.value == pytest.approx(answers[0].value, rel=1e-6)
        assert cones.violation(answer.x) < 1e-12


def test_a_first_solve_far_from_the_data_takes_few_iterations():
    """Groups far beyond rho have no curvature to guide Newton's method; reweighted least squares
    has."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        problem = make_problem(TABLE, rng, N=3, outliers=0.0, noise=0.1, prior=1.0)
        cost, cones = prepared(problem)
        far = cones.coordinates.reduce(admissible(TABLE, rng) * 3)
        answer = solve_interior(cost, cones, far, 1e-8)
        assert isinstance(answer, Certified) and answer.steps < 30


def test_without_time_it_says_where_it_stopped():
    """It does not make up an answer."""
    cost, cones = prepared(make_problem(TABLE, np.random.default_rng(3), N=10))
    stopped = solve_interior(cost, cones, np.zeros(cones.coordinates.size), 1e-8, SolveClock(0.0))
    assert isinstance(stopped, Stopped) and np.isfinite(stopped.x).all()
