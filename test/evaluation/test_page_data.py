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

"""Series for the plots of the report."""
import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.evaluation.page_data import packed
from uvms_adaptive_dynamics.evaluation.parity import SIZE, parity, ticks
from uvms_adaptive_dynamics.evaluation.scene import Axis, thinned


def unpacked(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


def test_a_series_is_base64_of_float32():
    """Values keep seven digits, and NaN stays NaN."""
    values = np.array([0.1, -3e5, np.nan, 1e-12])
    assert np.allclose(unpacked(packed(values)), values, rtol=1e-7, equal_nan=True)


def test_an_axis_has_a_point_of_nothing_in_every_pause():
    """Lines break there, and nowhere else."""
    t = np.r_[np.arange(10) * 0.1, 5.0 + np.arange(10) * 0.1]
    axis = Axis(t, 1000)
    values = axis(np.arange(20.0))
    assert len(axis.t) == 21 and np.flatnonzero(np.isnan(values)).tolist() == [10]
    assert 0.9 < axis.t[10] < 5.0 and (np.diff(axis.t) > 0).all()
    for ours, figures in zip((axis.t, values), thinned(t, np.arange(20.0))):    # of print, too
        assert np.array_equal(ours, figures, equal_nan=True)


@given(st.lists(st.integers(-4000, 4000), max_size=60), st.integers(1, 30))
def test_an_axis_rises_whatever_the_clock_did(steps, most):
    """Times increase even if the clock is set back or stands still, and there are no more points
    than requested, apart from pauses."""
    t = np.cumsum(np.array(steps, float)) / 1000
    axis = Axis(t, most)
    assert (np.diff(axis.t) > 0).all()
    assert np.isfinite(axis(np.ones(len(t)))).sum() <= most


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_round_few_and_inside(low, span):
    """At least three (rounding may remove one), and at most eight."""
    found = ticks(low, low + span)
    assert 2 <= len(found) <= 8
    assert all(low - 1e-6 * span <= v <= low + span * (1 + 1e-6) for v in found)


class Compared:
    measured = predicted = np.linspace(-2.0, 2.0, 41)[:, None]

    def counted(self, c):
        return np.ones(41, bool)


def test_a_perfect_prediction_lies_on_the_diagonal():
    """Identity and regression line coincide, nearly from corner to corner, inside the square."""
    drawn = parity(Compared(), 0, {"slope": 1.0, "bias": 0.0})
    assert drawn.line == pytest.approx(drawn.identity)
    x1, y1, x2, y2 = drawn.identity
    assert x1 == pytest.approx(SIZE - y1) and x2 == pytest.approx(SIZE - y2)
    assert 0 < x1 < 0.1 * SIZE and 0.9 * SIZE < x2 < SIZE
    assert drawn.points.count("M") == 41


def test_a_channel_without_rows_has_no_drawing():
    """Without rows there is no plot."""
    class Empty(Compared):
        def counted(self, c):
            return np.zeros(41, bool)
    assert parity(Empty(), 0, {"slope": None, "bias": None}) is None
