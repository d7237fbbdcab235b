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

"""The paper's arrival cost: any Q, and the bound on the random walk in directions without data."""
import numpy as np
import pytest
from information_cases import add, state_of
from problems import make_table

from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.estimation.increment_arrival import RelativeQ


def general(table, numbers):
    """A state with the given Q, about a prior at zero with deviations of one."""
    return state_of(table, np.zeros(table.size), np.ones(table.size), arrival="general",
                    arrival_matrix=tuple(numbers), horizon=5, rho_quantile=1.0)


@pytest.mark.parametrize("whole", [False, True])
def test_general_arrival_is_the_papers_cost_with_any_q(whole):
    """||pi - pi_prev||_Q^2 for a diagonal and for a full Q, plus the window's rows and the weak
    prior; the floor given to solvers is below the Hessian."""
    rng = np.random.default_rng(2)
    table = make_table(1, vehicle=False)
    root = rng.normal(size=(table.size, 2 * table.size))
    Q = root @ root.T if whole else np.diag(rng.uniform(.1, 10, table.size))
    state = general(table, Q.ravel() if whole else np.diag(Q))
    pi, other = rng.normal(size=(2, table.size))
    rows = [(rng.normal(size=(1, table.size)), rng.normal(size=1)) for _ in range(8)]
    for Y, tau in rows:
        add(state, Y, tau, pi)
    problem = state.problem(pi, np.ones(table.size, bool))
    expected = (other - pi) @ Q @ (other - pi) + Estimation().information_floor * other @ other
    expected += sum(float(((tau - Y @ other) ** 2).sum()) for Y, tau in rows[-5:])
    assert problem.objective(other) == pytest.approx(expected, rel=1e-10)
    assert np.linalg.eigvalsh(problem.arrival.H - np.diag(problem.floor))[0] > -1e-9


@pytest.mark.parametrize("numbers, word", [
    (lambda p: np.ones(p - 1), "numbers"), (lambda p: (), "numbers"),
    (lambda p: -np.ones(p), "positive eigenvalues"),
    (lambda p: (np.eye(p) + np.eye(p, k=1)).ravel(), "symmetric")])
def test_what_is_no_q_is_refused(numbers, word):
    """Too few numbers, a negative one, an asymmetric matrix: the message names the setting."""
    table = make_table(1, vehicle=False)
    with pytest.raises(ConfigError, match=rf"arrival_matrix.*{word}"):
        general(table, numbers(table.size))


def without_data(start, ticks, **settings):
    """A parameter that no row depends on, starting far off where noise has driven it, in deviations
    of the prior."""
    table = make_table(1, vehicle=False)
    state = state_of(table, np.ones(table.size), np.ones(table.size), arrival="relative",
                     horizon=5, **settings)
    pi, Y = np.ones(table.size), np.eye(1, table.size)
    pi[4] = start
    for _ in range(ticks):
        add(state, Y, np.ones(1), pi)
        problem = state.problem(pi, np.ones(table.size, bool))
        pi = np.linalg.solve(problem.total.H, problem.total.g)
    return pi[4]


def test_what_data_do_not_determine_cannot_run_away():
    """A relative Q holds a parameter the less, the larger it is: with the smallest prior a tonne
    stays a tonne. The default share brings it back below thirty deviations within ten ticks."""
    assert without_data(1e3, 10, information_floor=1e-9) > 900
    assert abs(without_data(1e3, 10)) < 1 / np.sqrt(Estimation().information_floor)


def test_the_bound_is_little_beside_the_papers_cost():
    """Within one prior deviation of the prior, a second covers less than a twentieth of the way
    back: what was learnt from dropped rows is not forgotten at once."""
    assert without_data(2.0, 50) > 1.8


def test_a_parameter_near_zero_is_not_held_by_its_own_size():
    """Q = q / max(|pi|, eps scale)^2: without eps a parameter at zero could never leave it."""
    table = make_table(1, vehicle=False)
    settings = Estimation(relative_weight=2.0, relative_epsilon=.1)
    scale = np.array(table.scale)
    Q = RelativeQ(settings, table)
    for share, size in ((0.0, .1), (.05, .1), (-.05, .1), (3.0, 3.0), (-3.0, 3.0)):
        np.testing.assert_allclose(np.diag(Q.Q(share * scale)), 2.0 / (size * scale) ** 2)
