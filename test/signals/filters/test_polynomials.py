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

"""Local polynomials reproduce polynomials, and agree with numpy's fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.signals.filters.polynomials import motion_at, polynomial_at

COEFFICIENTS = st.lists(st.floats(-2, 2), min_size=5, max_size=5)
GRID = np.linspace(-0.12, 0.12, 13)


@given(COEFFICIENTS, st.floats(-0.05, 0.05))
def test_a_cubic_is_reproduced(coefficients, t):
    """Value and derivative of a cubic at any instant of the window."""
    p = np.polynomial.Polynomial(coefficients[:4])
    value, slope = polynomial_at(GRID, p(GRID)[:, None], t, 3)
    assert value[0] == pytest.approx(p(t), abs=1e-8)
    assert slope[0] == pytest.approx(p.deriv()(t), abs=1e-6)


@given(COEFFICIENTS, st.floats(-0.05, 0.05))
def test_positions_and_velocities_of_a_quartic_give_its_acceleration(coefficients, t):
    """Of one polynomial through both, at any instant of the window."""
    p = np.polynomial.Polynomial(coefficients)
    found = motion_at(GRID, p(GRID)[:, None], p.deriv()(GRID)[:, None], t, 4, 0.1)
    expected = [p(t), p.deriv()(t), p.deriv(2)(t)]
    np.testing.assert_allclose(np.ravel(found), expected, atol=1e-5)


def test_least_squares_is_that_of_numpy():
    """On noisy rows the fit is numpy's polyfit of the same degree."""
    rows = np.random.default_rng(0).normal(size=(13, 3))
    value, slope = polynomial_at(GRID, rows, 0.02, 2)
    for k in range(3):
        p = np.poly1d(np.polyfit(GRID, rows[:, k], 2))
        assert value[k] == pytest.approx(p(0.02)) and slope[k] == pytest.approx(p.deriv()(0.02))


def test_velocities_weigh_by_the_ratio_of_deviations():
    """Positions and velocities that contradict each other are weighed by their deviations: the fit
    is the weighted least squares of both."""
    rng, ratio = np.random.default_rng(1), 0.05
    x, v = rng.normal(size=(13, 1)), rng.normal(size=(13, 1))
    powers = np.vander(GRID, 4, increasing=True)
    slopes = np.zeros_like(powers)
    slopes[:, 1:] = powers[:, :-1] * [1, 2, 3]
    A, b = np.vstack([powers, ratio * slopes]), np.vstack([x, ratio * v])
    expected = np.linalg.lstsq(A, b, rcond=None)[0]
    found = motion_at(GRID, x, v, 0.0, 3, ratio)
    np.testing.assert_allclose(np.ravel(found), np.ravel(expected[:3]) * [1, 1, 2], rtol=1e-8)


@pytest.mark.parametrize("count, degree", [(3, 3), (1, 1), (4, 0)])
def test_none_with_too_few_rows_for_the_degree(count, degree):
    """Neither fit extrapolates from too little."""
    assert polynomial_at(GRID[:count], np.ones((count, 1)), 0.0, degree) is None
    assert motion_at(GRID[:1], np.ones((1, 1)), None, 0.0, 1, 0.1) is None
