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

"""Huber groups kept from tick to tick while their weight lambda^age fades."""
from dataclasses import replace

import numpy as np
import pytest
from problems import make_problem, make_table

from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.solvers.native.cones import Cones
from uvms_adaptive_dynamics.solvers.native.huber_groups import groups_of
from uvms_adaptive_dynamics.solvers.native.outlier_set import OutlierSet
from uvms_adaptive_dynamics.solvers.native.robust_cost import RobustCost
from uvms_adaptive_dynamics.solvers.problem import Quadratic

N, FORGETTING, TICKS = 20, 0.9, 12


def with_total(problem):
    """The problem with the condensed quadratic recomputed from its own rows and weights."""
    C, p = problem.valid.shape[1], problem.pi.size
    root = np.sqrt(problem.weight)[:, None]
    rows = (root[..., None] * problem.normalized_Y()).reshape(N * C, p)
    tau = (root * problem.scale * problem.tau).ravel()
    window = Quadratic(rows.T @ rows, rows.T @ tau, float(tau @ tau))
    return replace(problem, total=problem.arrival + window)


@pytest.mark.parametrize("grouping", ["sample", "channel"])
def test_outliers_fade_like_all_other_rows(grouping):
    """Over twelve ticks, each with one new row, the cost of kept groups stays equal to its
    definition, with outliers ten times lighter than when they came."""
    rng, table = np.random.default_rng(0), make_table(1)
    problem = make_problem(table, rng, N=N, grouping=grouping, outliers=0.4)
    new = make_problem(table, rng, N=N, grouping=grouping, outliers=0.4)
    Y, tau, valid, born = (problem.Y.copy(), problem.tau.copy(), problem.valid.copy(),
                           np.arange(N))
    coordinates = Cones(PhysicalSet(table, Estimation()), problem.free, problem.pi).coordinates
    groups = None
    for tick in range(N - 1, N + TICKS):
        if tick >= N:
            k = tick % N
            Y[k], tau[k], valid[k], born[k] = new.Y[k], new.tau[k], new.valid[k], tick
        now = with_total(replace(problem, Y=Y.copy(), tau=tau.copy(), valid=valid.copy(),
                                 born=born.copy(), source=problem,
                                 weight=FORGETTING ** (tick - born).astype(float)))
        before, groups = groups, groups_of(now, coordinates, groups)
        assert before is None or groups is before
        cost = RobustCost(now, coordinates, groups)
        x = coordinates.reduce(now.pi) + 0.01 * rng.normal(size=coordinates.size)
        pi = coordinates.expand(x, now.pi)
        assert cost.at(x).value == pytest.approx(now.objective(pi), rel=1e-9)
        assert groups.outliers.count > 3


def test_the_kept_curvature_fades_with_the_weights():
    """After `fade` it is that of the fainter groups, so nothing is left when they are removed."""
    rng = np.random.default_rng(3)
    outliers = OutlierSet(groups=6, rows=2, size=4)
    groups = np.array([0, 2, 5])
    outliers.add(groups, rng.normal(size=(3, 2, 4)), rng.normal(size=(3, 2)), np.ones(3),
                 np.ones(3))
    outliers.recompute(np.arange(3), *rng.uniform(.1, 1, (2, 3)), rng.normal(size=(3, 2)))
    before = outliers.curvature.copy()
    outliers.fade(0.7)
    np.testing.assert_allclose(outliers.curvature, 0.7 * before, rtol=1e-12)
    outliers.remove(np.arange(3))
    np.testing.assert_allclose(outliers.curvature, 0.0, atol=1e-12)
