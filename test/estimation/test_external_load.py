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

"""An external force is tracked by least squares with forgetting, and ends with its evidence."""
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.estimation.change_evidence import LoadSums
from uvms_adaptive_dynamics.estimation.external_load import LOAD_MEMORY, ExternalLoad
from uvms_adaptive_dynamics.estimation.low_pass import Row
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.model.vehicle import load_columns

PERIOD, NOISE = .02, .5
STDDEV = np.r_[np.full(3, 50.0), np.full(9, 10.0)]
FORCE, PLACE = np.array([6.0, -3.0, 2.0]), np.array([-.2, 0.0, .1])
PULL = np.concatenate([FORCE, np.outer(PLACE, FORCE).ravel()])
NOTHING = LoadSums(np.zeros((12, 12)), np.zeros(12), np.full(6, NOISE ** -2), STDDEV)


@pytest.fixture
def load():
    found = ExternalLoad(PERIOD)
    # a little evidence, as a detector has at the beginning
    found.begin(NOTHING._replace(A=1e-3 * np.eye(12), b=1e-3 * PULL))
    return found


def predicted(load, R, measured, valid=np.ones(6)):
    """The prediction for a vehicle that needs efforts only against the load."""
    row = load.counted_as_known(Row(0.0, np.zeros((6, 1)), np.zeros(6), measured, np.ones(6, bool),
                                    R_nb=R))
    return SimpleNamespace(R_nb=R, residual=measured - row.tau_known, valid=valid > 0)


def follow(load, pull, seconds, seed=0, valid=np.ones(6)):
    """Add rows of a turning vehicle, whose residual is the part of a pull (12,) that the load does
    not explain."""
    rng = np.random.default_rng(seed)
    for k in range(round(seconds / PERIOD)):
        R = from_rpy(.2 * np.sin(k / 40), .2 * np.sin(k / 60), .01 * k)
        measured = np.where(valid > 0, NOISE * rng.normal(size=6) - load_columns(R) @ pull, 99.0)
        load.add_row(predicted(load, R, measured, valid))


def test_it_is_followed(load):
    """Force and place to a few standard errors of ten seconds of rows; then another force, once the
    first is forgotten."""
    follow(load, PULL, 20.0)
    assert load.lasts and load.evidence > 1e3
    np.testing.assert_allclose(load.load, PULL, atol=.2)
    follow(load, -PULL, 4 * LOAD_MEMORY, seed=1)
    np.testing.assert_allclose(load.load, -PULL, atol=.4)


def test_it_is_the_least_squares_solution_with_exponential_weights(load):
    """For ten rows, written out."""
    rng, keep = np.random.default_rng(2), np.exp(-PERIOD / LOAD_MEMORY)
    A, b = 1e-3 * np.eye(12), 1e-3 * PULL
    for _ in range(10):
        R = from_rpy(*rng.normal(size=3))
        measured = rng.normal(size=6)
        columns = load_columns(R)
        A = keep * A + columns.T @ columns / NOISE ** 2
        b = keep * b - columns.T @ measured / NOISE ** 2
        load.add_row(predicted(load, R, measured))
    np.testing.assert_allclose(load.load, np.linalg.solve(A + np.diag(STDDEV ** -2.0), b))


def test_it_ends_with_its_evidence(load):
    """A few memory times after a pull has ended, the evidence is against it."""
    follow(load, PULL, 10.0)
    follow(load, np.zeros(12), 12 * LOAD_MEMORY, seed=3)
    assert load.evidence < 0
    load.end()
    assert not load.lasts and not load.load.any()


def test_masked_rows_say_nothing(load):
    """Masked surge rows have no effect, whatever their values, and without any row nothing is
    forgotten."""
    follow(load, PULL, 20.0, valid=np.array([0.0, 1, 1, 1, 1, 1]))
    np.testing.assert_allclose(load.load[:3], FORCE, atol=.5)
    before = load.load.copy()
    load.add_row(predicted(load, np.eye(3), np.full(6, 99.0), np.zeros(6)))
    np.testing.assert_array_equal(load.load, before)
