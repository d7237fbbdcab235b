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

"""Averaging of sensors that are faster than necessary."""

import numpy as np

from uvms_adaptive_dynamics.signals.filters.thinning import AVERAGED_SPAN, BlockAverage


def thinned(rate, seconds=1.0, newest=()):
    block = BlockAverage(newest)
    times = np.arange(round(rate * seconds)) / rate
    rows = [block.add(t, [10.0 * t, 1.0, -t]) for t in times]
    return [row for row in rows if row is not None]


def test_a_slow_sensor_passes_as_it_is():
    """Up to 500 Hz nothing is changed."""
    rows = thinned(500.0)
    assert len(rows) == 500 and rows[7] == (7 / 500, [10.0 * 7 / 500, 1.0, -7 / 500])


def test_a_fast_one_is_averaged_without_delay():
    """4 kHz: blocks no shorter than AVERAGED_SPAN, each row and its time the mean of the same
    readings."""
    rows = thinned(4000.0, newest=[2])
    t = np.array([at for at, _ in rows])
    assert AVERAGED_SPAN < np.median(np.diff(t)) < 2 * AVERAGED_SPAN
    assert 1.0 / len(rows) > AVERAGED_SPAN
    np.testing.assert_allclose([row[0] for _, row in rows], 10.0 * t, atol=1e-9)
    assert all(-row[2] > at for at, row in rows[1:])      # the newest, not the mean
