"""The active-set method alone: right guesses are confirmed, wrong ones corrected, hopeless ones
given up."""

import numpy as np
import pytest
from problems import admissible, make_problem, make_table
from test_interior_point import prepared

from uvms_adaptive_dynamics.solvers.native.active_set import GAP, solve_active_set
from uvms_adaptive_dynamics.solvers.native.answer import Answer, Clock, Stopped
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
    assert isinstance(best, Answer)
    return cost, cones, best


@pytest.mark.parametrize("seed", range(3))
def test_a_right_guess_is_confirmed_in_few_steps(seed):
    """From a point near by: the same optimum within the gap, the same active bounds, multipliers
    of the right sign."""
    cost, cones, best = solved(seed)
    assert best.active.bounds.any()
    start = best.x + 1e-6 * np.random.default_rng(9).normal(size=best.x.size)
    again = solve_active_set(cost, cones, start, best.active)
    assert isinstance(again, Answer) and again.gap < GAP and again.steps < 8
    assert np.array_equal(again.active.bounds, best.active.bounds)
    assert (again.active.multipliers >= 0).all()
    np.testing.assert_allclose(again.x, best.x, atol=1e-5)


def test_the_guess_given_is_not_changed():
    """A caller that keeps its guess keeps it as it was."""
    cost, cones, best = solved(0)
    guess = best.active.copy()
    guess.bounds[:] = False
    solve_active_set(cost, cones, best.x, guess)
    assert not guess.bounds.any() and np.array_equal(guess.Z, best.active.Z)


def test_without_time_it_says_where_it_stopped():
    """No answer is made up."""
    cost, cones, best = solved(1)
    found = solve_active_set(cost, cones, best.x, best.active, Clock(0.0))
    assert isinstance(found, Stopped) and np.array_equal(found.x, best.x)
