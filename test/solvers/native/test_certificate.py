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

"""The stated gap is a bound: no answer's cost exceeds the optimum by more, and a wrong constant in
the bound makes the tests fail."""

from dataclasses import replace

import numpy as np
import pytest
from campaign_cases import first
from problems import admissible, make_problem, make_table

from uvms_adaptive_dynamics.solvers.native import robust_cost
from uvms_adaptive_dynamics.solvers.native.active_set import solve_active_set
from uvms_adaptive_dynamics.solvers.native.answer import Certified
from uvms_adaptive_dynamics.solvers.native.cones import Cones
from uvms_adaptive_dynamics.solvers.native.huber_groups import groups_of
from uvms_adaptive_dynamics.solvers.native.interior_point import solve_interior, strictly_inside
from uvms_adaptive_dynamics.solvers.native.optimality import suboptimality
from uvms_adaptive_dynamics.solvers.native.robust_cost import RobustCost

TABLES = [make_table(1), make_table(1, vehicle=False), make_table(0)]
GROUPINGS = ["sample", "channel", "horizon"]
ROUNDING = 1e-12  # of the cost


def random_case(rng, k, floor=None):
    """(cost, cones, x of an interior point) of a random problem, with or without a known floor."""
    table = TABLES[k % len(TABLES)]
    truth = admissible(table, rng) * rng.choice([1, 1, 1, -1, 0], size=table.size)
    prior = 10 ** rng.uniform(-1, 1)
    problem = make_problem(table, rng, N=int(rng.integers(1, 8)), grouping=GROUPINGS[k % 3],
                           truth=truth, outliers=rng.uniform(0, 0.3), prior=prior,
                           noise=10 ** rng.uniform(-1, 1))
    with_floor = rng.random() < 0.7 if floor is None else floor
    problem = replace(problem, pi=admissible(table, rng),
                      floor=(prior / table.scale) ** 2 if with_floor else None)
    cones = Cones(problem.physical, problem.free, problem.pi, strictly_inside)
    cost = RobustCost(problem, cones.coordinates, groups_of(problem, cones.coordinates))
    return cost, cones, cones.coordinates.reduce(problem.pi)


def optimum(cost, cones, start):
    """The interior point's answer, made exact to 1e-9 by the active set; None if either fails."""
    near = solve_interior(cost, cones, start, 1e-9)
    if not isinstance(near, Certified):
        return None
    exact = solve_active_set(cost, cones, near.x, near.active)
    return exact if isinstance(exact, Certified) else None


def tolerance(cost, point, best):
    """Excess explained by rounding and by the optimum's own gap. A nearly zero optimum is the
    difference of large terms, whose rounding counts."""
    terms = abs(point.x @ cost.P @ point.x) + 2 * abs(cost.q @ point.x) + abs(cost.constant)
    return (ROUNDING * cost.size(point.value) + 4 * np.finfo(float).eps * terms
            + best.gap * cost.size(best.value))


def bounds_and_truths(count, seed):
    """[(stated bound, true excess, tolerance)] at points near the optimum, with perturbed
    multipliers."""
    rng, found = np.random.default_rng(seed), []
    for k in range(count):
        cost, cones, start = random_case(rng, k)
        best = optimum(cost, cones, start)
        if best is None:
            continue
        for share in (1e-6, 1e-4, 1e-2, 0.3):
            # perturbed multipliers, possibly negative before the projection
            x = cones.pulled_inside(best.x + share * rng.uniform() * (start - best.x))
            point = cost.at(x)
            z = best.active.multipliers + share * rng.normal(size=best.active.multipliers.size)
            Z = best.active.Z + share * rng.normal(size=(cones.count, 1, 1)) * np.eye(4)
            bound = suboptimality(cost, cones, point, z, Z)
            found.append((bound, point.value - best.value, tolerance(cost, point, best)))
    return found


@pytest.mark.parametrize("count", first(1, [120, 600]))
def test_no_point_is_further_from_the_optimum_than_its_bound(count):
    """Points of random problems, with every grouping, with and without a floor."""
    found = bounds_and_truths(count, seed=1)
    assert len(found) > 3.4 * count
    for bound, excess, allowed in found:
        assert excess <= bound + allowed
    # The bound is useful, too: near the optimum it is a small multiple of the true excess.
    ratios = [bound / excess for bound, excess, allowed in found
              if np.isfinite(bound) and excess > 1e3 * allowed]
    assert np.median(ratios) < 30


def quadratic_case(rng, floor):
    """An unconstrained quadratic: its distance from the optimum is known in closed form and equals
    the bound."""
    table = TABLES[1]
    problem = make_problem(table, rng, N=0, prior=10 ** rng.uniform(-1, 1))
    h = problem.arrival.H.diagonal()
    problem = replace(problem, floor=h if floor else None, quantile=1.0, pi=admissible(table, rng))
    cones = Cones(problem.physical, problem.free, problem.pi)
    cost = RobustCost(problem, cones.coordinates, groups_of(problem, cones.coordinates))
    return cost, np.linalg.solve(cost.P, cost.q), rng


@pytest.mark.parametrize("floor", [True, False])
def test_the_bound_is_exact_for_a_quadratic(floor):
    """If the curvature is the floor (or the arrival cost) itself, the bound equals the distance: no
    smaller constant is possible."""
    for seed in range(50):
        cost, best, rng = quadratic_case(np.random.default_rng(seed), floor)
        point = cost.at(best + rng.normal(size=best.size))
        excess = point.value - cost.at(best).value
        bound = cost.residual_bound(point, point.gradient, 0.0)
        assert bound == pytest.approx(excess, rel=1e-9)


@pytest.mark.parametrize("constant, value", [("QUARTER", 0.25 * 0.9), ("QUARTER", 0.125)])
def test_a_wrong_constant_is_noticed(constant, value, monkeypatch):
    """With it the test above fails: the bound would be below the distance."""
    monkeypatch.setattr(robust_cost, constant, value)
    with pytest.raises(AssertionError):
        test_the_bound_is_exact_for_a_quadratic(True)


def test_the_local_bound_counts_inliers_only_where_they_stay_so():
    """With a tiny floor the bound comes from the window's groups, but not if the residual can carry
    them beyond rho."""
    rng, tight = np.random.default_rng(5), 0
    for _ in range(100):
        table = TABLES[1]
        problem = make_problem(table, rng, N=30, outliers=0.1, prior=1e-4,
                               truth=admissible(table, rng))
        problem = replace(problem, floor=(1e-4 / table.scale) ** 2)
        cones = Cones(problem.physical, problem.free, problem.pi, strictly_inside)
        cost = RobustCost(problem, cones.coordinates, groups_of(problem, cones.coordinates))
        start = cones.coordinates.reduce(problem.pi)
        best = optimum(cost, cones, start)
        if best is None:
            continue
        for size in (1e-6, 1e-3, 1e-1, 10.0):
            point = cost.at(cones.pulled_inside(best.x
                                                + size * rng.normal(size=best.x.size)
                                                / np.sqrt(np.diag(cost.P))))
            bound = suboptimality(cost, cones, point, best.active.multipliers, best.active.Z)
            excess = point.value - best.value
            assert excess <= bound + tolerance(cost, point, best)
            tight += bound < 10 * excess
    assert tight > 50


@pytest.mark.parametrize("grouping", first(1, GROUPINGS))
def test_answers_of_both_methods_keep_their_word(grouping):
    """The gap stated by an answer holds against an optimum with a hundred times smaller gap."""
    rng, count = np.random.default_rng(3), 0
    for k in range(150):
        cost, cones, start = random_case(rng, GROUPINGS.index(grouping) + 3 * k)
        best = optimum(cost, cones, start)
        if best is None:
            continue
        rough = solve_interior(cost, cones, start, 1e-4)
        if isinstance(rough, Certified):
            excess = (rough.value - best.value) / cost.size(best.value)
            assert -best.gap - ROUNDING <= excess <= rough.gap + best.gap + ROUNDING
            assert cones.violation(rough.x) < 1e-12
            count += 1
    assert count > 80


def test_an_active_set_of_the_wrong_sign_is_no_answer():
    """From a guess with wrong active constraints, the search never certifies a wrong optimum."""
    rng, certified = np.random.default_rng(4), 0
    for k in range(120):
        cost, cones, start = random_case(rng, k)
        best = optimum(cost, cones, start)
        if best is None:
            continue
        guess = best.active.copy()
        flipped = rng.random(guess.bounds.size) < 0.05
        guess.bounds ^= flipped
        guess.rank = (np.minimum(guess.rank + (rng.random(cones.count) < 0.2), 3) if cones.count
                      else guess.rank)
        cost.refresh(start)
        found = solve_active_set(cost, cones, best.x + 1e-5 * rng.normal(size=best.x.size), guess)
        if isinstance(found, Certified):
            assert found.value - best.value <= (found.gap + best.gap + ROUNDING) * cost.size(
                best.value
            )
            assert cones.violation(found.x) < 1e-12
            certified += 1
    assert certified > 20
