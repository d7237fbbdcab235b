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

"""Arrival costs: effect of maps and restarts on the noise of the prior's gradient."""
import numpy as np
import pytest
from problems import make_table

from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.estimation import arrival as module
from uvms_adaptive_dynamics.estimation.arrival import DirectionalArrival, arrival_cost
from uvms_adaptive_dynamics.estimation.forgetting import ParameterWander
from uvms_adaptive_dynamics.estimation.prior_information import PriorInformation


def directional(table, stddev, wander=None):
    """The default arrival cost of a prior at zero with deviations (p,), unit noise."""
    prior = PriorInformation.from_stddev(np.zeros(table.size), stddev, np.ones(table.size, bool))
    arrival = arrival_cost(Estimation(), table, prior, (np.ones(table.channels),),
                           wander)
    assert isinstance(arrival, DirectionalArrival)
    return arrival


@pytest.fixture
def case():
    """(arrival, table, deviations (p,), places of a part)."""
    table = make_table(1)
    stddev = np.random.default_rng(0).uniform(.5, 2, table.size)
    return directional(table, stddev), table, stddev, table.parts["vehicle restoring"]


def test_what_begins_again_has_the_noise_it_began_with(case):
    """Without data, a re-estimated part is where it was: at the prior and its gradient's noise."""
    arrival, table, stddev, places = case
    row_map, factors = arrival.marginalize(places, np.zeros(table.size))
    list(factors)
    np.testing.assert_allclose(arrival.gradient_covariance(), np.diag(stddev ** -2), atol=1e-12)
    np.testing.assert_allclose(arrival.prior(np.zeros(table.size))[:-1, :-1],
                               np.diag(stddev ** -2), atol=1e-12)


def test_the_noise_of_the_prior_is_mapped_with_its_rows(case):
    """After marginalizing a part, the others' gradient contains the prior's noise through the Schur
    complement, like old rows without information about that part."""
    arrival, table, stddev, places = case
    rng = np.random.default_rng(1)
    for _ in range(60):
        arrival.add_row(rng.normal(size=(table.channels, table.size + 1)), 1.0)
    list(arrival.close_block()[1])
    before, H = arrival.gradient_covariance().copy(), arrival.data()[0][:-1, :-1]
    H = H + arrival.prior(np.zeros(table.size))[:-1, :-1]
    list(arrival.marginalize(places, np.zeros(table.size))[1])
    rest = np.setdiff1d(np.arange(table.size), places)
    # Half the gradient of the Schur complement is s_2 - H21 H11^-1 s_1.
    across = -H[np.ix_(rest, places)] @ np.linalg.inv(H[np.ix_(places, places)])
    J = np.zeros((rest.size, table.size))
    J[:, rest], J[:, places] = np.eye(rest.size), across
    found = arrival.gradient_covariance()
    np.testing.assert_allclose(found[np.ix_(rest, rest)], J @ before @ J.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[np.ix_(places, places)], np.diag(stddev[places] ** -2))


def test_a_block_that_cannot_be_closed_changes_nothing(monkeypatch):
    """If wandering parameters cannot wander, nothing has been forgotten either; closing succeeds
    later, and both maps reach sums and noise."""
    table = make_table(1)
    wander = ParameterWander(table.parts["vehicle restoring"], np.full(5, .1), 3000.0)
    arrival = directional(table, np.ones(table.size), wander)
    rng = np.random.default_rng(2)
    for _ in range(60):
        arrival.add_row(rng.normal(size=(table.channels, table.size + 1)), 1.0)
    old, block = arrival.before_block().copy(), arrival.data()[0].copy()
    noise = arrival.gradient_covariance().copy()

    def impossible(*given):
        raise np.linalg.LinAlgError("not positive definite")

    with monkeypatch.context() as broken:
        broken.setattr(module, "wander_map", impossible)
        with pytest.raises(np.linalg.LinAlgError):
            arrival.close_block()
    np.testing.assert_array_equal(arrival.before_block(), old)
    np.testing.assert_array_equal(arrival.data()[0], block)
    np.testing.assert_array_equal(arrival.gradient_covariance(), noise)
    row_map, _ = arrival.close_block()
    fresh = np.zeros(table.size)
    fresh[wander.places] = wander.refreshed(60)
    T = row_map.gradient
    np.testing.assert_allclose(arrival.gradient_covariance(), T @ noise @ T.T + np.diag(fresh),
                               rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        arrival.before_block(), row_map.rows.T @ old @ row_map.rows + block
        + np.diag(np.append(fresh, 0.0)), rtol=1e-9, atol=1e-9)


def test_a_fading_prior_keeps_the_floor_and_its_noise_fades_with_the_square():
    """lambda^age of the prior's rows multiplies its information once and the covariance of its
    gradient twice; both end at the floor."""
    table = make_table(1)
    pi, stddev = np.zeros(table.size), np.random.default_rng(0).uniform(.5, 2, table.size)
    prior = PriorInformation.from_stddev(pi, stddev, np.ones(table.size, bool))
    settings = Estimation(forgetting=.99, information_floor=.1, forgetting_kind="uniform")
    arrival = arrival_cost(settings, table, prior, (np.ones(table.channels),))
    for ticks, share in ((30, .99 ** 30), (300, .1)):
        for _ in range(ticks):
            arrival.tick()
        np.testing.assert_allclose(np.diag(arrival.prior(pi))[:-1], share * stddev ** -2)
        np.testing.assert_allclose(np.diag(arrival.gradient_covariance()),
                                   share ** 2 * stddev ** -2)
        np.testing.assert_allclose(arrival.floor(pi), share * stddev ** -2)
