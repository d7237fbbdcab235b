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

"""Constraints of term sets beyond the paper's in every solver: CVXPY states them, others agree."""
import numpy as np
import pytest
from problems import make_problem

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.config.robot import JOINT_TERMS, VEHICLE_TERMS
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.solvers.clarabel_solver import ClarabelSolver
from uvms_adaptive_dynamics.solvers.cvxpy_solver import CvxpySolver
from uvms_adaptive_dynamics.solvers.native.solver import NativeSolver

CONFIG = Config().with_values({"robot.terms": VEHICLE_TERMS + JOINT_TERMS,
                               "robot.joints": ["axis_e", "axis_d"]})


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_config(CONFIG)


def outside(robot, rng):
    """A problem whose data call for damping, friction and drag of the wrong sign."""
    table = robot.table
    truth = prior_from_config(CONFIG, robot).values.copy()
    places, _, _ = table.term_bounds
    truth[places] = 2.0 * table.scale[places] * rng.normal(size=len(places))
    return make_problem(table, rng, N=12, truth=truth)


def test_native_and_clarabel_find_what_cvxpy_states(robot):
    """The same optimum to 1e-6 of the cost, with many of the further constraints active and the
    optimum changed by them; the answer is inside P."""
    problem = outside(robot, np.random.default_rng(0))
    oracle = CvxpySolver("CLARABEL", compile_once=False).solve(problem)
    for solver in (NativeSolver(None), ClarabelSolver()):
        found = solver.solve(problem)
        assert problem.physical.violation(found.pi) < 1e-7
        assert found.objective == pytest.approx(oracle.objective, rel=1e-6)
    normals = problem.physical.active_normals(found.pi)
    further = robot.table.term_bounds[0]
    assert (np.abs(normals[:, further]).max(axis=1) > 0).sum() >= 5


def test_native_needs_nobody_behind_it(robot):
    """Its own methods answer every tick while the data move in and out of P."""
    solver = NativeSolver(None)
    for seed in range(4):
        found = solver.solve(outside(robot, np.random.default_rng(seed)))
        assert found.status in ("optimal", "deferred")
