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

"""Huber groups beyond rho: those kept from tick to tick give the same as a check of all groups."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
from information_cases import add, state_of
from problems import make_problem, make_table

from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.model.coordinates import Coordinates
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.solvers.native.huber_groups import groups_of
from uvms_adaptive_dynamics.solvers.native.robust_cost import RobustCost
from uvms_adaptive_dynamics.solvers.native.solver import NativeSolver
from uvms_adaptive_dynamics.solvers.problem import Quadratic


def coordinates_of(problem):
    return Coordinates(problem.physical.table, problem.free, np.array(problem.physical.table.scale))


@pytest.mark.parametrize("grouping", ["sample", "channel", "horizon"])
def test_cost_is_the_definition_with_its_derivatives(grouping):
    """The value is the problem's objective, gradient and Hessian match finite differences, near to
    and far from the last refresh."""
    rng = np.random.default_rng(0)
    problem = make_problem(make_table(), rng, N=40, grouping=grouping, outliers=0.1)
    at = coordinates_of(problem)
    cost, x = RobustCost(problem, at, groups_of(problem, at)), at.reduce(problem.pi)
    for size in (1e-6, 1e-3, 1e-1, 1.0):
        x = x + size * rng.normal(size=x.size)
        point = cost.at(x)
        hessian = cost.hessian(point, exact=True)
        assert point.value == pytest.approx(problem.objective(at.expand(x, problem.pi)), rel=1e-10)
        direction, h = rng.normal(size=x.size), 1e-6
        ahead, behind = cost.slope(x + h * direction), cost.slope(x - h * direction)
        assert point.gradient @ direction == pytest.approx((ahead.value - behind.value) / (2 * h),
                                                           rel=1e-5)
        np.testing.assert_allclose(hessian @ direction,
                                   (ahead.gradient - behind.gradient) / (2 * h), rtol=1e-4,
                                   atol=1e-6 * np.abs(hessian @ direction).max())


@pytest.mark.parametrize("grouping", ["sample", "channel"])
def test_what_is_kept_from_tick_to_tick_is_right(grouping):
    """While the window slides, fades and is cleared, cost, curvature and solution equal those of a
    problem solved for the first time."""
    rng, table = np.random.default_rng(1), make_table()
    truth = make_problem(table, rng, N=1).pi
    state = state_of(table, truth, np.abs(truth) + 0.1, physical=PhysicalSet(table, Estimation()),
                     horizon=30, forgetting=0.98, grouping=grouping)
    kept, pi, free = NativeSolver(), truth, np.ones(table.size, bool)
    answered = Counter()
    for k in range(120):
        if k == 70:
            state.break_off(pi, close_window=True)
        valid = rng.random(table.channels) < 0.9
        Y = rng.normal(size=(table.channels, table.size))
        tau = Y @ truth + rng.normal(size=table.channels) * (10.0 if rng.random() < 0.15 else 1.0)
        add(state, Y, tau, pi, valid)
        state.forget()
        problem = state.problem(pi, free)
        a = kept.solve(problem)
        answered[a.method] += 1
        if k % 3 == 0:
            fresh = dataclasses.replace(problem, source=None, born=None)
            b = NativeSolver().solve(fresh)
            if a.status == "deferred":
                assert (a.objective - b.objective) / b.objective < a.gap
                pi = a.pi
                continue
            assert a.objective == pytest.approx(b.objective, rel=1e-8)
            assert a.objective == pytest.approx(
                problem.objective(a.pi), rel=1e-7
            )  # looser: the answer was moved inside the constraints
            np.testing.assert_allclose(Y @ a.pi, Y @ b.pi,
                                       atol=1e-5 * np.sqrt(np.mean((Y @ b.pi) ** 2)))
            at = coordinates_of(problem)
            x = at.reduce(a.pi)
            costs = (RobustCost(problem, at, groups)
                     for groups in (kept._warm.groups, groups_of(fresh, at)))
            old, new = (cost.hessian(cost.at(x), exact=True) for cost in costs)
            np.testing.assert_allclose(old, new, rtol=1e-9, atol=1e-9 * np.abs(new).max())
        pi = a.pi
    assert answered["active set"] > 60


@pytest.mark.parametrize("grouping", ["sample", "channel"])
def test_a_kept_window_follows_the_noise(grouping):
    """A tick with changed noise deviations, and those after it, are solved like a first tick."""
    rng, table = np.random.default_rng(22), make_table()
    source, solver, born = object(), NativeSolver(), np.arange(30)
    truth = make_problem(table, rng, N=1).pi
    given = make_problem(table, rng, N=30, grouping=grouping, truth=truth)
    for k, scale in enumerate((np.ones(8), np.ones(8), rng.uniform(0.2, 5, 8),
                               rng.uniform(0.2, 5, 8))):
        # the same rows in SI units with new weights
        stack, target = ((given.Y * scale[:, None]).reshape(-1, table.size),
                         (given.tau * scale).ravel())
        total = given.arrival + Quadratic(stack.T @ stack, stack.T @ target, float(target @ target))
        problem = dataclasses.replace(given, scale=scale, total=total, source=source, born=born)
        ours, fresh = solver.solve(problem), NativeSolver().solve(problem)
        assert ours.objective == pytest.approx(fresh.objective, rel=1e-8), k
        assert ours.objective == pytest.approx(problem.objective(ours.pi), rel=1e-8)


@pytest.mark.parametrize("grouping", ["sample", "channel"])
def test_a_new_instant_enters_the_set_only_if_it_may_be_an_outlier(grouping):
    """Before the next refresh, an instant without residual at the last one is outside the set, and
    one of many deviations is inside; the cost is that of a first tick with the same rows."""
    rng = np.random.default_rng(23)
    problem = dataclasses.replace(make_problem(make_table(), rng, N=40, grouping=grouping),
                                  source=object(), born=np.arange(40))
    at = coordinates_of(problem)
    groups, x = groups_of(problem, at), at.reduce(problem.pi)
    RobustCost(problem, at, groups).refresh(x)
    for k, size in ((3, 0.0), (4, 30.0)):
        born, tau, valid = problem.born.copy(), problem.tau.copy(), problem.valid.copy()
        born[k], valid[k], tau[k] = 100 + k, True, problem.Y[k] @ problem.pi
        tau[k, 0] += size / problem.scale[0]
        problem = dataclasses.replace(problem, born=born, tau=tau, valid=valid)
        assert groups_of(problem, at, groups) is groups
        first = k * (1 if grouping == "sample" else problem.scale.size)
        assert (first in groups.outliers.group) == (size > 0)
        fresh = dataclasses.replace(problem, source=None, born=None)
        value = RobustCost(problem, at, groups).slope(x).value
        assert value == pytest.approx(RobustCost(fresh, at, groups_of(fresh, at)).at(x).value)


def test_an_outlier_outside_the_set_is_found():
    """A refresh changes the revision if and only if it finds a group beyond rho outside the set."""
    rng = np.random.default_rng(2)
    problem = make_problem(make_table(), rng, N=40, outliers=0.1)
    at = coordinates_of(problem)
    groups = groups_of(problem, at)
    cost, x = RobustCost(problem, at, groups), at.reduce(problem.pi)
    cost.refresh(x)
    few, revision = groups.outliers.count, cost.revision
    assert 0 < few < 40
    cost.refresh(x + 3.0)
    assert groups.outliers.count > few and cost.revision == revision + 1
    cost.refresh(x + 3.0)
    assert cost.revision == revision + 1


def test_a_refresh_is_skipped_only_where_no_group_can_be_beyond_rho():
    """Wherever the outlier set claims to cover a step, no group beyond rho is outside it."""
    rng = np.random.default_rng(3)
    problem = make_problem(make_table(), rng, N=60, outliers=0.1)
    at = coordinates_of(problem)
    groups = groups_of(problem, at)
    cost, x = RobustCost(problem, at, groups), at.reduce(problem.pi)
    cost.refresh(x)
    skipped = 0
    for size in np.repeat([1e-4, 3e-4, 1e-3, 3e-3], 25):
        x = x + size * rng.normal(size=x.size)
        skipped += groups.covers(x, cost.P)
        cost.refresh(x)
        norms, rho, _ = problem.group_norms(problem.residuals(at.expand(x, problem.pi)))
        assert (groups.outliers.place[np.flatnonzero(norms > rho)] >= 0).all()
    assert 10 < skipped < 90


@pytest.mark.parametrize("grouping", ["sample", "channel", "horizon"])
def test_reweighted_least_squares_is_above_the_cost_and_touches_it(grouping):
    """Value and gradient agree at the point; the quadratic is nowhere below the cost."""
    rng = np.random.default_rng(4)
    problem = make_problem(make_table(), rng, N=30, grouping=grouping, outliers=0.2)
    at = coordinates_of(problem)
    cost, x = RobustCost(problem, at, groups_of(problem, at)), at.reduce(problem.pi)
    point = cost.at(x)
    H = cost.majorizer(point)
    for size in (1e-3, 1e-2, 1e-1, 1.0, 10.0):
        d = size * rng.normal(size=x.size)
        quadratic = point.value + point.gradient @ d + 0.5 * d @ H @ d
        assert problem.objective(at.expand(x + d, problem.pi)) <= quadratic * (1 + 1e-9)
        cost.refresh(x)
