"""Which groups are beyond rho: what is kept from tick to tick gives what looking at all groups anew gives."""
import dataclasses

import numpy as np
import pytest

from problems import make_problem, make_table
from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.model.physical_set import Coordinates, PhysicalSet
from uvms_adaptive_dynamics.estimation.horizon import Horizon
from uvms_adaptive_dynamics.solvers.native import huber_groups as module
from uvms_adaptive_dynamics.solvers.native.solver import ClarabelSolver
from uvms_adaptive_dynamics.solvers.native.huber_groups import groups_of
from uvms_adaptive_dynamics.solvers.native.robust_cost import RobustCost


def coordinates_of(problem):
    return Coordinates(problem.physical.table, problem.free, np.array(problem.physical.table.scale))


@pytest.mark.parametrize("grouping", ["sample", "channel", "horizon"])
@pytest.mark.parametrize("long", [False, True], ids=["double", "single precision"])
def test_cost_is_the_definition_with_its_derivatives(grouping, long, monkeypatch):
    """Value as the problem states it; gradient and Hessian by finite differences; near and far from where it was looked at."""
    if long:
        monkeypatch.setattr(module, "LONG", 0)
    rng = np.random.default_rng(0)
    problem = make_problem(make_table(), rng, N=40, grouping=grouping, outliers=.1)
    at = coordinates_of(problem)
    cost, x = RobustCost(problem, at, groups_of(problem, at)), at.reduce(problem.pi)
    for size in (1e-6, 1e-3, 1e-1, 1.0):
        x = x + size * rng.normal(size=x.size)
        point = cost.at(x)
        assert point.value == pytest.approx(problem.objective(at.expand(x, problem.pi)), rel=1e-10)
        direction, h = rng.normal(size=x.size), 1e-6
        ahead, behind = cost.slope(x + h * direction), cost.slope(x - h * direction)
        assert point.gradient @ direction == pytest.approx((ahead.value - behind.value) / (2 * h), rel=1e-5)
        np.testing.assert_allclose(point.hessian @ direction, (ahead.gradient - behind.gradient) / (2 * h), rtol=1e-4,
                                   atol=1e-6 * np.abs(point.hessian @ direction).max())


@pytest.mark.parametrize("grouping", ["sample", "channel"])
@pytest.mark.parametrize("long", [False, True], ids=["double", "single precision"])
def test_what_is_kept_from_tick_to_tick_is_right(grouping, long, monkeypatch):
    """While the window slides, fades and is emptied, cost, curvature and solution equal those of a problem seen for the first time."""
    if long:
        monkeypatch.setattr(module, "LONG", 0)
    rng, table = np.random.default_rng(1), make_table()
    physical = PhysicalSet(table, Estimation())
    truth = make_problem(table, rng, N=1).pi
    settings = Estimation(horizon=30, forgetting=.98, grouping=grouping)
    horizon, kept, pi, free = Horizon(settings, physical, truth, np.abs(truth) + .1), ClarabelSolver(), truth, np.ones(table.size, bool)
    for k in range(120):
        if k == 70:
            horizon.empty(pi)
        valid = rng.random(table.channels) < .9
        Y = rng.normal(size=(table.channels, table.size))
        tau = Y @ truth + rng.normal(size=table.channels) * (10.0 if rng.random() < .15 else 1.0)
        horizon.push(Y, tau, valid, pi)
        problem = horizon.problem(pi, free)
        a = kept.solve(problem)
        if k % 3 == 0:
            fresh = dataclasses.replace(problem, source=None, born=None)
            b = ClarabelSolver().solve(fresh)
            assert a.objective == pytest.approx(b.objective, rel=1e-8)
            assert a.objective == pytest.approx(problem.objective(a.pi), rel=1e-7)   # moved inside the constraints since
            np.testing.assert_allclose(Y @ a.pi, Y @ b.pi, atol=1e-5 * np.sqrt(np.mean((Y @ b.pi) ** 2)))
            at = coordinates_of(problem)
            x = at.reduce(a.pi)
            old, new = (RobustCost(problem, at, groups).at(x) for groups in (kept._groups, groups_of(fresh, at)))
            np.testing.assert_allclose(old.hessian, new.hessian, rtol=1e-9, atol=1e-9 * np.abs(new.hessian).max())
        pi = a.pi
    assert kept.ticks["active set"] > 60


def test_an_outlier_nobody_looked_at_is_found():
    """An answer does not count while a group beyond rho was left out of the cost."""
    rng = np.random.default_rng(2)
    problem = make_problem(make_table(), rng, N=40, outliers=.1)
    at = coordinates_of(problem)
    groups = groups_of(problem, at)
    cost, x = RobustCost(problem, at, groups), at.reduce(problem.pi)
    cost.look(x)
    few = groups.members.count
    assert 0 < few < 40
    assert cost.look(x + 3.0)
    assert groups.members.count > few
    assert not cost.look(x + 3.0)


def test_no_look_is_needed_where_no_group_can_have_come_beyond():
    """Wherever looking is left out after a step, no group beyond rho is missing among the members."""
    rng = np.random.default_rng(3)
    problem = make_problem(make_table(), rng, N=60, outliers=.1)
    at = coordinates_of(problem)
    groups = groups_of(problem, at)
    cost, x = RobustCost(problem, at, groups), at.reduce(problem.pi)
    cost.look(x)
    left_out = 0
    for size in np.repeat([1e-4, 3e-4, 1e-3, 3e-3], 25):
        x = x + size * rng.normal(size=x.size)
        before = groups._looked_at
        cost.look(x)
        left_out += groups._looked_at is before
        norms, rho, _ = problem.group_norms(problem.residuals(at.expand(x, problem.pi)))
        assert (groups.members.place[np.flatnonzero(norms > rho)] >= 0).all()
    assert 10 < left_out < 90
