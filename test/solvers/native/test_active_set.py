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

"""The active-set method alone: it confirms right guesses, corrects wrong ones and gives up hopeless
ones."""

import numpy as np
import pytest
from campaign_cases import first
from problems import admissible, make_problem, make_table
from test_interior_point import prepared

from uvms_adaptive_dynamics.solvers.native.active_set import (
    ACTIVE_SET_GAP,
    _Search,
    solve_active_set,
)
from uvms_adaptive_dynamics.solvers.native.answer import Certified, SolveClock, Stopped
from uvms_adaptive_dynamics.solvers.native.interior_point import solve_interior

TABLE = make_table(1)


def solved(seed):
    """(cost, cones, certified optimum) with bounds active at it."""
    rng = np.random.default_rng(seed)
    truth = admissible(TABLE, rng)
    truth[TABLE.nonpositive[::2]] = 0
    cost, cones = prepared(make_problem(TABLE, rng, N=20, truth=truth))
    near = solve_interior(cost, cones, cones.coordinates.reduce(truth), 1e-8)
    best = solve_active_set(cost, cones, near.x, near.active)
    assert isinstance(best, Certified)
    return cost, cones, best


@pytest.mark.parametrize("seed", range(3))
def test_a_right_guess_is_confirmed_in_few_steps(seed):
    """From a nearby point: the same optimum within the gap, the same active bounds, multipliers of
    the right sign."""
    cost, cones, best = solved(seed)
    assert best.active.bounds.any()
    start = best.x + 1e-6 * np.random.default_rng(9).normal(size=best.x.size)
    again = solve_active_set(cost, cones, start, best.active)
    assert isinstance(again, Certified) and again.gap < ACTIVE_SET_GAP and again.steps < 8
    assert np.array_equal(again.active.bounds, best.active.bounds)
    assert (again.active.multipliers >= 0).all()
    np.testing.assert_allclose(again.x, best.x, atol=1e-5)


def test_the_guess_given_is_not_changed():
    """The search leaves the caller's guess unchanged."""
    cost, cones, best = solved(0)
    guess = best.active.copy()
    guess.bounds[:] = False
    solve_active_set(cost, cones, best.x, guess)
    assert not guess.bounds.any() and np.array_equal(guess.Z, best.active.Z)


def test_without_time_it_says_where_it_stopped():
    """It does not make up an answer."""
    cost, cones, best = solved(1)
    found = solve_active_set(cost, cones, best.x, best.active, SolveClock(0.0))
    assert isinstance(found, Stopped) and np.array_equal(found.x, best.x)


def test_groups_that_leave_the_outlier_set_before_another_guess_are_taken_note_of(monkeypatch):
    """A check that removes a group within rho from the set changes no value; the search continues
    with the smaller set."""
    cost, cones, best = solved(0)
    outliers, confirmed, left = cost._groups.outliers, _Search._confirmed, []
    away = np.setdiff1d(np.arange(20), outliers.group[:outliers.count])[:1]
    cost._groups.outliers.add(away, cost._groups._R[away], cost._groups._tau[away],
                              cost._groups._rho[away], cost._groups._weights(away))

    def checked(search, conditions, state, gap):
        if left:
            return confirmed(search, conditions, state, gap)
        left.append(outliers.count)
        outliers.remove(outliers.place[away])
        return "again"

    monkeypatch.setattr(_Search, "_confirmed", checked)
    again = solve_active_set(cost, cones, best.x, best.active)
    assert isinstance(again, Certified) and left == [outliers.count + 1]
    np.testing.assert_allclose(again.x, best.x, atol=1e-5)


def ticks(seed, steps=40, reach=2.0):
    """Successive problems whose truth moves from inside the set across its boundary and back."""
    rng = np.random.default_rng(seed)
    begin, end = admissible(TABLE, rng), admissible(TABLE, rng)
    there = np.linspace(0.0, reach, steps)
    for share in (*there, *there[::-1]):
        yield make_problem(TABLE, np.random.default_rng(seed), N=40, outliers=0.0, noise=0.1,
                           truth=begin + share * (end - begin))


@pytest.mark.parametrize("seed", first(2, range(4)))
def test_the_active_set_is_followed_as_directions_become_null_and_free(seed):
    """Every tick is answered by the active set alone, whichever inequality becomes singular or
    regular, and every answer equals the interior point's. With the Schur complement alone, every
    other change of rank ended the search."""
    found, ranks = None, set()
    for problem in ticks(seed):
        cost, cones = prepared(problem)
        if found is None:
            found = solve_interior(cost, cones, cones.coordinates.reduce(problem.pi), 1e-8)
        cost.refresh(found.x)
        found = solve_active_set(cost, cones, found.x, found.active)
        assert isinstance(found, Certified) and found.gap < ACTIVE_SET_GAP
        oracle = solve_interior(cost, cones, found.x, 1e-9)
        assert found.value - oracle.value < 1e-8 * cost.size(oracle.value)
        assert cones.violation(found.x) < 1e-12
        ranks.add(tuple(found.active.rank))
    assert len(ranks) > 1
