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

"""Timestamped rows, compared with plain lists."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.signals.filters.series import CAPACITY, Series

TIMES = st.lists(st.integers(0, 1000), min_size=1, max_size=40, unique=True).map(sorted)


def filled(times):
    """Rows (t, -t) at integer times."""
    series = Series(2)
    for t in times:
        series.append(float(t), [t, -t])
    return series


@given(TIMES, st.integers(-10, 1010), st.integers(0, 100))
def test_window_holds_what_lies_between_both_ends(times, begin, length):
    """Ends included, in order, rows with their times."""
    found, rows = filled(times).window(begin, begin + length)
    assert found.tolist() == [t for t in times if begin <= t <= begin + length]
    np.testing.assert_array_equal(rows[:, 0], found)


@given(TIMES, st.floats(-10, 1010))
def test_interpolation_is_linear_and_none_outside(times, t):
    """Rows that are linear in time are reproduced inside the series."""
    row = filled(times).interpolate(t)
    if times[0] <= t <= times[-1]:
        np.testing.assert_allclose(row, [t, -t], atol=1e-9)
    else:
        assert row is None


@given(TIMES, st.floats(-10, 1010))
def test_latest_and_gap_are_those_of_the_neighbours(times, t):
    """The newest row not after t, and the larger distance to both neighbours."""
    series = filled(times)
    before, after = [x for x in times if x <= t], [x for x in times if x > t]
    latest = series.latest(t)
    assert (latest is None) == (not before) and (latest is None or latest[0] == before[-1])
    gap = max(t - before[-1] if before else math.inf, after[0] - t if after else math.inf)
    assert series.gap_around(t) == (0.0 if before and before[-1] == t else gap)


@given(TIMES, st.integers(-10, 1010))
def test_discard_after_leaves_what_is_not_later(times, t):
    """Rows after t are gone, and new ones can follow."""
    series = filled(times)
    series.discard_after(t)
    left = [x for x in times if x <= t]
    assert len(series) == len(left)
    assert series.last_time == (left[-1] if left else -math.inf)
    series.append(t + 1.0, [t + 1, 0])
    assert series.last_row.tolist() == [t + 1, 0]


def test_a_full_series_keeps_the_newest_rows():
    """Beyond its capacity the oldest rows are dropped, and the rest is intact."""
    series = filled(range(3 * CAPACITY + 10))
    assert CAPACITY // 2 <= len(series) <= CAPACITY
    newest = 3 * CAPACITY + 9
    assert series.last_time == newest
    times, rows = series.window(newest - 100, newest)
    np.testing.assert_array_equal(rows[:, 0], times)
    assert len(times) == 101
    assert series.interpolate(newest - 0.5) == pytest.approx([newest - 0.5, 0.5 - newest])
