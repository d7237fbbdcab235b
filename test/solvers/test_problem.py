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

"""The moving horizon problem: solvers against each other, against closed forms, and against the
constraints."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
from campaign_cases import first
from problems import Unconstrained, admissible, make_problem, make_table

from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.solvers import projection_problem
from uvms_adaptive_dynamics.solvers.clarabel_solver import ClarabelSolver
from uvms_adaptive_dynamics.solvers.cvxpy_solver import CvxpySolver
from uvms_adaptive_dynamics.solvers.native.solver import NativeSolver
from uvms_adaptive_dynamics.solvers.problem import HorizonProblem, huber, huber_threshold


def test_huber_is_the_papers_norm_huber():
    """Quadratic within rho, 2 rho |r| - rho^2 beyond; value and slope are continuous at rho."""
    r = np.linspace(0, 5, 1001)
    value = huber(r, np.array(2.0))
    np.testing.assert_allclose(value[r <= 2], r[r <= 2] ** 2)
    np.testing.assert_allclose(value[r > 2], 4 * r[r > 2] - 4)
    assert np.max(np.abs(np.diff(value, 2))) < 1e-4


@pytest.mark.parametrize("rows, rho", [(1, 1.96), (10, 4.28), (1000, 32.8)])
def test_threshold_is_the_quantile_of_the_norm(rows, rho):
    """2.0 for a channel, 4.3 for ten rows, 33 for a stack of a thousand."""
    assert huber_threshold(rows, 0.95) == pytest.approx(rho, abs=0.05)
    assert huber_threshold(rows, 1.0) == np.inf


@pytest.mark.parametrize("grouping", ["sample", "channel", "horizon"])
def test_a_threshold_given_as_a_number_counts_instead_of_the_quantile(grouping):
    """Every group has the given rho, whatever the quantile and the number of rows, and solvers
    agree on that problem to 1e-7 of its objective."""
    rng = np.random.default_rng(31)
    table = make_table(vehicle=False)
    problem = replace(make_problem(table, rng, N=12, grouping=grouping, quantile=1.0), rho=0.7)
    norms, rho, weight = problem.group_norms(problem.residuals(problem.pi))
    assert set(rho[np.isfinite(rho)]) == {0.7} and not problem.is_quadratic
    by_hand = np.where(norms > rho, 2 * 0.7 * norms - 0.7 ** 2, norms ** 2)
    expected = problem.arrival(problem.pi) + weight @ by_hand
    assert problem.objective(problem.pi) == pytest.approx(expected, rel=1e-12)
    ours, oracle = (s.solve(problem) for s in (NativeSolver(), CvxpySolver("CLARABEL")))
    assert ours.objective == pytest.approx(oracle.objective, rel=1e-7)


def normalized_before(problem):
    """The same problem with normalized rows."""
    return replace(problem, Y=problem.normalized_Y(), tau=problem.scale * problem.tau,
                   scale=np.ones_like(problem.scale))


@pytest.mark.parametrize("grouping", ["sample", "channel", "horizon"])
@pytest.mark.parametrize("solver", [NativeSolver, ClarabelSolver, lambda: CvxpySolver("CLARABEL")],
                         ids=["native", "clarabel", "cvxpy"])
def test_rows_in_si_units_are_weighed_by_the_noise(solver, grouping):
    """A problem with noise deviations from 0.02 to 50 has the same answer as the one with
    normalized rows."""
    rng = np.random.default_rng(21)
    table = make_table()
    scale = 10 ** rng.uniform(-1.7, 1.7, table.channels)
    problem = make_problem(table, rng, N=12, grouping=grouping, scale=scale, frozen=(3, 6, 30))
    before = normalized_before(problem)
    np.testing.assert_allclose(problem.residuals(problem.pi), before.residuals(problem.pi),
                               atol=1e-9)
    assert problem.objective(problem.pi) == pytest.approx(before.objective(problem.pi), rel=1e-10)
    ours, expected = solver().solve(problem), solver().solve(before)
    assert ours.objective == pytest.approx(expected.objective, rel=1e-8)
    np.testing.assert_allclose(ours.pi / table.scale, expected.pi / table.scale, atol=1e-4)


@pytest.mark.parametrize("solver", [NativeSolver, lambda: CvxpySolver("CLARABEL")])
def test_without_huber_and_constraints_it_is_least_squares(solver):
    """rho infinite and P inactive: the closed-form solution, parameters to 1e-6 (well conditioned).
    """
    rng = np.random.default_rng(0)
    table = make_table(vehicle=False)
    for _ in range(5):
        problem = make_problem(table, rng, quantile=1.0, outliers=0, noise=0.01)
        problem = HorizonProblem(**{**vars(problem), "physical": Unconstrained(table)})
        solution = solver().solve(problem)
        exact = np.linalg.solve(problem.total.H, problem.total.g)
        np.testing.assert_allclose(solution.pi / table.scale, exact / table.scale, rtol=1e-6,
                                   atol=1e-6)


def test_rank_deficient_problems_agree_in_objective_and_prediction():
    """Data that determine few directions: objective to 1e-8, Y pi to 1e-5 of its RMS, against
    the closed form."""
    rng = np.random.default_rng(1)
    table = make_table(vehicle=False)
    for _ in range(5):
        problem = make_problem(table, rng, quantile=1.0, outliers=0, rank=6, prior=1e-3)
        problem = HorizonProblem(**{**vars(problem), "physical": Unconstrained(table)})
        pi = NativeSolver().solve(problem).pi
        exact = np.linalg.solve(problem.total.H, problem.total.g)
        assert problem.objective(pi) == pytest.approx(problem.objective(exact), rel=1e-8)
        prediction = problem.Y.reshape(-1, table.size) @ exact
        assert np.max(np.abs(problem.Y.reshape(-1, table.size) @ (pi - exact))) < 1e-5 * np.sqrt(
            np.mean(prediction ** 2)
        )


@pytest.mark.parametrize("grouping", ["sample", "channel", "horizon"])
@pytest.mark.parametrize("case",
                         ["plain", "rank deficient", "frozen", "many outliers", "forgetting"])
def test_direct_solver_equals_the_readable_statement(grouping, case):
    """Clarabel on the condensed problem and CVXPY's statement: objective to 1e-6, Y pi to 1e-5
    of its RMS, P kept to 1e-8."""
    rng = np.random.default_rng(zlib.crc32(f"{grouping} {case}".encode()))
    table = make_table()
    options = {
        "plain": {},
        "rank deficient": {"rank": 5, "prior": 0.1},
        "frozen": {"frozen": (3, 6, 22, 30, 31, 40)},
        "many outliers": {"outliers": 0.3},
        "forgetting": {"weight": 0.95 ** np.arange(20)[::-1]},
    }[case]
    # The true parameters are on the edge of P, so that constraints are active at the optimum.
    truth = admissible(table, rng)
    truth[table.nonpositive[::2]] = 0
    truth[table.nonnegative[0]] = 0
    problem = make_problem(table, rng, grouping=grouping, truth=truth, **options)
    fast, oracle = NativeSolver().solve(problem), CvxpySolver("CLARABEL").solve(problem)
    assert fast.objective == pytest.approx(oracle.objective, rel=1e-6)
    Y = problem.Y.reshape(-1, table.size)
    rms = np.sqrt(np.mean((Y @ oracle.pi) ** 2))
    assert np.sqrt(np.mean((Y @ (fast.pi - oracle.pi)) ** 2)) < 1e-5 * rms
    assert problem.physical.violation(fast.pi) < 1e-8
    frozen = list(options.get("frozen", ()))
    assert np.array_equal(fast.pi[frozen], problem.pi[frozen])


@pytest.mark.parametrize("grouping", ["sample", "channel", "horizon"])
def test_each_grouping_follows_its_definition(grouping):
    """At the optimum, the gradient of the definition written out by hand is zero (no constraints).
    """
    rng = np.random.default_rng(4)
    table = make_table(vehicle=False)
    problem = make_problem(table, rng, grouping=grouping, outliers=0.1, N=30)
    problem = HorizonProblem(**{**vars(problem), "physical": Unconstrained(table)})
    pi = NativeSolver().solve(problem).pi

    def cost(pi):
        r = problem.tau - problem.Y @ pi
        value = (pi - pi0) @ problem.arrival.H @ (pi - pi0)
        if grouping == "sample":
            groups = [(np.linalg.norm(r[k]), problem.valid[k].sum()) for k in range(30)]
        elif grouping == "channel":
            groups = [(abs(x), 1) for x in r[problem.valid]]
        else:
            groups = [(np.linalg.norm(r), problem.valid.sum())]
        for norm, rows in groups:
            rho = huber_threshold(int(rows), 0.95)
            value += norm ** 2 if norm <= rho else 2 * rho * norm - rho ** 2
        return value

    pi0 = np.linalg.solve(problem.arrival.H, problem.arrival.g)
    best = cost(pi)
    assert best == pytest.approx(problem.objective(pi), rel=1e-9)
    for _ in range(50):
        step = 1e-3 * rng.normal(size=table.size) * table.scale
        assert cost(pi + step) >= best - 1e-7 * best


def test_outliers_are_rejected_by_sample_groups_and_not_by_the_stack():
    """The paper's definition, one norm over the horizon, cannot reject single outliers; one norm
    per instant does."""
    rng = np.random.default_rng(5)
    table = make_table()
    truth = admissible(table, rng)
    error = {}
    for grouping in ("sample", "horizon"):
        problem = make_problem(table, np.random.default_rng(6), N=60, grouping=grouping,
                               truth=truth, outliers=0.01, noise=0.1, prior=0.01)
        pi = NativeSolver().solve(problem).pi
        error[grouping] = np.linalg.norm((pi - truth) / table.scale)
    assert error["sample"] < 0.5 * error["horizon"]


@pytest.mark.parametrize("count", first(1, [80, 400]))
def test_random_problems_keep_every_constraint(count):
    """Random problems of every kind: no exception, each constraint met to 1e-7 (scaled)."""
    rng = np.random.default_rng(7)
    tables = [make_table(1), make_table(2), make_table(3, vehicle=False), make_table(0)]
    worst = 0.0
    solver = NativeSolver(behind=ClarabelSolver())
    for k in range(count):
        table = tables[k % 4]
        truth = admissible(table, rng) * rng.choice([1, 1, 1, -1, 0, 3], size=table.size)
        problem = make_problem(table, rng, N=int(rng.integers(0, 8)),
                               grouping=["sample", "channel", "horizon"][k % 3], truth=truth,
                               outliers=rng.uniform(0, 0.3), prior=10 ** rng.uniform(-2, 1),
                               noise=10 ** rng.uniform(-3, 1))
        start = admissible(table, rng)
        problem = HorizonProblem(**{**vars(problem), "pi": start})
        worst = max(worst, problem.physical.violation(solver.solve(problem).pi))
    assert worst < 1e-7


def test_projection_leaves_admissible_points_and_repairs_others():
    """An admissible prior stays; an inadmissible one is moved to the edge of P."""
    rng = np.random.default_rng(8)
    table = make_table()
    physical = PhysicalSet(table, Estimation())
    inside = admissible(table, rng)
    np.testing.assert_allclose(NativeSolver().solve(projection_problem(table, physical, inside)).pi,
                               inside, rtol=1e-6, atol=1e-7)
    outside = -inside
    repaired = NativeSolver().solve(projection_problem(table, physical, outside)).pi
    assert physical.violation(outside) > 1 and physical.violation(repaired) < 1e-8
