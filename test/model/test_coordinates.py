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

"""Coordinates of the free parameters against the dense matrix E of pi = fixed + E x."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.coordinates import Coordinates
from uvms_adaptive_dynamics.model.robot import RobotModel

TABLE = RobotModel.from_config(Config()).table
P = TABLE.size
RNG = np.random.default_rng(7)
ROOT, LINEAR, VALUES = RNG.normal(size=(P, P)), RNG.normal(size=P), RNG.normal(size=P)
H = ROOT @ ROOT.T
FREE = st.lists(st.booleans(), min_size=P, max_size=P).map(np.array)


def dense(at):
    """E (p, m), column by column from `expand`."""
    zero = np.zeros(P)
    return np.column_stack([at.expand(unit, zero) for unit in np.eye(at.size)] or
                           [np.zeros((P, 0))])


@given(FREE)
def test_every_reduction_is_a_product_with_E(free):
    """Columns, quadratics and diagonals, for any subset of free parameters."""
    at = Coordinates(TABLE, free, np.array(TABLE.scale))
    E, fixed = dense(at), np.where(at.free, 0.0, VALUES)
    np.testing.assert_allclose(at.columns(ROOT), ROOT @ E, atol=1e-9)
    np.testing.assert_allclose(np.diag(at.diagonal(LINEAR)), E.T @ np.diag(LINEAR) @ E, atol=1e-9)
    size, q, c = at.condense(H, LINEAR, 3.0, VALUES)
    np.testing.assert_allclose(size, E.T @ H @ E, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(q, E.T @ (LINEAR - H @ fixed), rtol=1e-12, atol=1e-9)
    x = np.arange(1.0, at.size + 1)
    pi = at.expand(x, VALUES)
    assert x @ size @ x - 2 * q @ x + c == pytest.approx(pi @ H @ pi - 2 * LINEAR @ pi + 3.0)
    np.testing.assert_allclose(at.reduce(pi), x, rtol=1e-12)


@given(FREE)
def test_frozen_values_come_back_to_the_bit_and_tied_ones_are_equal(free):
    """Freezing one parameter of a tied pair freezes both."""
    at = Coordinates(TABLE, free, np.array(TABLE.scale))
    pi = at.expand(np.ones(at.size), VALUES)
    assert np.array_equal(pi[~at.free], VALUES[~at.free]) and not (at.free & ~free).any()
    for a, b in TABLE.equal_pairs:
        assert at.free[a] == at.free[b] == (free[a] and free[b])
        assert not at.free[a] or pi[a] == pi[b]


def test_the_given_arrays_stay_as_they_are():
    """Neither the quadratic nor the fixed values are written to."""
    at = Coordinates(TABLE, np.ones(P, bool), np.array(TABLE.scale))
    arrays = [H.copy(), LINEAR.copy(), VALUES.copy()]
    for array in arrays:
        array.setflags(write=False)
    made = [*at.condense(arrays[0], arrays[1], 0.0, arrays[2])[:2],
            at.expand(np.ones(at.size), arrays[2])]
    for one in made:
        one[...] = np.nan       # results belong to the caller, who may overwrite them
    for array, given_value in zip(arrays, (H, LINEAR, VALUES)):
        np.testing.assert_array_equal(array, given_value)
