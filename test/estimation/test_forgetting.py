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

"""Directional forgetting and marginalization: information without excitation stays, with excitation
it fades, and the estimate does not move."""
import numpy as np
import pytest
from information_cases import add, state_of
from problems import make_table

from uvms_adaptive_dynamics.estimation.arrival import FORGETTING_BLOCK
from uvms_adaptive_dynamics.estimation.forgetting import (
    ParameterWander,
    directional_map,
    marginal_map,
    solution,
    wander_map,
)


def products(rng, rows, p=8):
    """[Y tau]^T [Y tau] of random rows."""
    whole = rng.normal(size=(rows, p + 1))
    return whole.T @ whole


def mapped(quadratic, row_map):
    return row_map.rows.T @ quadratic @ row_map.rows


def test_solution_is_the_same_after_forgetting():
    """The minimizer stays, whatever the new data."""
    rng = np.random.default_rng(0)
    old, new = products(rng, 30), products(rng, 3)
    left = mapped(old, directional_map(old, new, .3))
    np.testing.assert_allclose(solution(left), solution(old), rtol=1e-9)
    pi = np.append(solution(old), -1.0)
    assert pi @ left @ pi == pytest.approx(pi @ old @ pi, rel=1e-9), "residuals are as they were"


def test_rows_of_a_part_are_mapped_alike():
    """Mapping the rows of two channels separately equals mapping their sum."""
    rng = np.random.default_rng(1)
    one, two, new = products(rng, 20), products(rng, 15), products(rng, 12)
    row_map = directional_map(one + two, new, .2)
    np.testing.assert_allclose(
        mapped(one, row_map) + mapped(two, row_map), mapped(one + two, row_map), rtol=1e-9)


def test_the_gradients_noise_is_that_of_the_mapped_equations():
    """T H is the remaining information and T g the right-hand side: noise of g becomes T noise."""
    rng = np.random.default_rng(1)
    old, new = products(rng, 30), products(rng, 12)
    for row_map in (directional_map(old, new, .2), marginal_map(old, np.array([5, 1]))):
        left = mapped(old, row_map)
        np.testing.assert_allclose(row_map.gradient @ old[:-1, :-1], left[:-1, :-1], atol=1e-9)
        np.testing.assert_allclose(row_map.gradient @ old[:-1, -1], left[:-1, -1], atol=1e-9)


def test_full_excitation_forgets_uniformly():
    """If every direction gains more than it may lose, all lose the same share."""
    rng = np.random.default_rng(2)
    old, new = products(rng, 30), products(rng, 60)
    left = mapped(old, directional_map(old, new, .05))
    np.testing.assert_allclose(left[:-1, :-1], .95 * old[:-1, :-1], rtol=1e-9)


def test_information_never_becomes_less():
    """Old information after forgetting plus new is at least the old, in every direction."""
    rng = np.random.default_rng(3)
    for rows in (1, 3, 8, 40):
        old, new = products(rng, 30), .02 * products(rng, rows)
        left = mapped(old, directional_map(old, new, .3))
        assert np.linalg.eigvalsh((left + new - old)[:-1, :-1]).min() > -1e-9 * np.trace(old)


def test_marginal_is_the_schur_complement():
    """No information is left about the marginalized parameters; about the others, all that the rows
    have with those unknown."""
    rng = np.random.default_rng(3)
    p, places = 8, np.array([5, 1, 6])
    rest = np.setdiff1d(np.arange(p), places)
    old = products(rng, 30)
    H, left = old[:-1, :-1], mapped(old, marginal_map(old, places))
    expected = H[np.ix_(rest, rest)] - H[np.ix_(rest, places)] @ np.linalg.solve(
        H[np.ix_(places, places)], H[np.ix_(places, rest)])
    np.testing.assert_allclose(left[np.ix_(rest, rest)], expected, atol=1e-10)
    assert np.abs(left[places]).max() < 1e-10
    np.testing.assert_allclose(np.linalg.solve(left[np.ix_(rest, rest)], left[rest, -1]),
                               solution(old)[rest], atol=1e-9)


def run(kind, count, excite, forgetting=.9995, seed=4, drift=None):
    """(H, minimizer, true parameters) of a state after `count` ticks; excite(k) gives the
    parameters that the row of tick k excites."""
    rng = np.random.default_rng(seed)
    table = make_table(1, vehicle=False)
    p = table.size
    state = state_of(table, np.zeros(p), np.full(p, 10.0), horizon=20, forgetting=forgetting,
                     forgetting_kind=kind, rho_quantile=1.0, information_floor=1e-9)
    truth, pi = rng.normal(size=p), np.zeros(p)
    for k in range(count):
        Y = rng.normal(size=(1, p)) * excite(k, p)
        now = truth + (0.0 if drift is None else drift(k))
        add(state, Y, Y @ now + .1 * rng.normal(size=1), pi)
        state.forget()
    problem = state.problem(pi, np.ones(p, bool))
    return problem.total.H, np.linalg.solve(problem.total.H, problem.total.g), truth


def half(k, p):
    """All parameters for 2000 ticks, then only the first six."""
    return np.ones(p) if k < 2000 else (np.arange(p) < 6).astype(float)


def test_what_is_not_excited_is_kept():
    """After 6000 ticks without excitation of six parameters, their information is complete; uniform
    forgetting leaves exp(-3)."""
    # once the last rows that excite them have become old data
    before, _, _ = run("directional", 2100, half)
    kept, _, _ = run("directional", 8000, half)
    lost, _, _ = run("uniform", 8000, half)
    spread = lambda H: np.sqrt(np.diag(np.linalg.inv(H)))[6:12]
    assert np.all(spread(kept) < 1.02 * spread(before))
    assert np.all(spread(lost) > 4 * spread(before))


@pytest.mark.campaign
def test_what_is_excited_fades_as_it_does_uniformly():
    """Under constant excitation the information settles where uniform forgetting does, or up to
    40 % above, since each direction keeps the information of its most exciting block (12 directions
    of 1000 random rows differ by 20 %)."""
    everything = lambda k, p: np.ones(p)
    a, _, _ = run("directional", 20_000, everything, .9998)
    b, _, _ = run("uniform", 20_000, everything, .9998)
    ratio = np.diag(a) / np.diag(b)
    assert ratio.min() > .95 and ratio.max() < 1.4


def test_change_is_followed():
    """An excited parameter that changes is followed as closely as with uniform forgetting."""
    everything = lambda k, p: np.ones(p)
    step = lambda k: np.where((np.arange(12) == 2) & (k > 1500), 5.0, 0.0)
    found = {
        kind: run(kind, 5000, everything, .998, drift=step)[1:]
        for kind in ("directional", "uniform")
    }
    for kind, (pi, truth) in found.items():
        assert abs(pi[2] - truth[2] - 5.0) < .1, kind


def test_without_forgetting_nothing_is_taken():
    """lambda = 1: both kinds give the plain sum of all data."""
    a, pi_a, _ = run("directional", 3 * FORGETTING_BLOCK, half, forgetting=1.0)
    b, pi_b, _ = run("uniform", 3 * FORGETTING_BLOCK, half, forgetting=1.0)
    np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_allclose(pi_a, pi_b, rtol=1e-9)


def test_what_wanders_gains_the_variance_of_its_walk():
    """Covariance H^-1 grows by Q at the drifting parameters only; the solution stays."""
    rng = np.random.default_rng(3)
    old, places, variance = products(rng, 40), np.array([2, 5]), np.array([0.3, 0.01])
    left = mapped(old, wander_map(old, places, variance))
    grown = np.linalg.inv(old[:-1, :-1])
    grown[places, places] += variance
    np.testing.assert_allclose(np.linalg.inv(left[:-1, :-1]), grown, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(solution(left), solution(old), rtol=1e-8)


def test_two_maps_are_one_after_the_other():
    """`then` gives the same rows and gradient as both maps in turn."""
    rng = np.random.default_rng(4)
    old, new = products(rng, 40), products(rng, 5)
    first = directional_map(old, new, .3)
    second = wander_map(mapped(old, first), np.array([1]), np.array([0.2]))
    both = first.then(second)
    np.testing.assert_allclose(mapped(old, both), mapped(mapped(old, first), second), rtol=1e-9)
    np.testing.assert_allclose(both.gradient, second.gradient @ first.gradient)


def test_nothing_learnt_is_known_of_it_in_the_end():
    """Without new rows the variance stays the stationary one; what was learnt is gone after a few
    time constants."""
    wander = ParameterWander(np.array([0]), np.array([0.04]), 3000.0)
    added, refreshed = wander.added(FORGETTING_BLOCK)[0], wander.refreshed(FORGETTING_BLOCK)[0]
    information = 1 / 0.04 + 1e4
    for _ in range(20):
        information = 1 / (1 / information + added) + refreshed
    assert information == pytest.approx(1 / 0.04, rel=1e-3)
    assert 1 / (0.04 + added) + refreshed == pytest.approx(25.0)


@pytest.mark.parametrize("rows", [1, 40, 1000])
def test_what_wanders_keeps_its_stationary_variance(rows):
    """A first-order process of time constant T has lost the factor exp(-rows / T) of its value
    after so many rows, and gained the rest of its variance."""
    wander = ParameterWander(np.array([0]), np.array([0.3]), 250.0)
    kept = np.exp(-rows / 250.0)
    np.testing.assert_allclose(kept ** 2 * 0.3 + wander.added(rows), 0.3, rtol=1e-12)
