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

"""The grid of ticks."""

from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.signals.ticks import MAX_TICKS_AT_ONCE, TickGrid

PERIOD = 0.02


@given(st.integers(0, 10**9), st.lists(st.floats(0.0, 3.0), min_size=1, max_size=30))
def test_every_tick_comes_once_and_in_order(origin, steps):
    """However time advances, ticks are consecutive and none is later than now."""
    grid, now, ticks = TickGrid(PERIOD), float(origin), []
    for step in steps:
        now += step
        due = grid.due(float(origin), now, 0.35)
        assert not due.skipped
        ticks += due.ticks
    assert ticks == list(range(ticks[0], ticks[0] + len(ticks))) if ticks else True
    assert not ticks or ticks[0] * PERIOD >= origin - 1e-3
    assert not ticks or ticks[-1] * PERIOD <= now - 0.35 + 1e-3


def test_time_that_goes_back_a_little_gives_no_tick_twice():
    """The estimated clock offset may shrink: no tick is repeated."""
    grid = TickGrid(PERIOD)
    first = grid.due(100.0, 110.0, 0.35).ticks
    assert not grid.due(100.0, 109.9, 0.35).ticks
    assert grid.due(100.0, 110.02, 0.35).ticks[0] == first[-1] + 1


def test_a_long_pause_is_skipped_live_and_not_in_a_recording():
    """Live, at most the newest MAX_TICKS_AT_ONCE at once; at the end of a recording, all."""
    grid = TickGrid(PERIOD)
    due = grid.due(100.0, 200.35, 0.35)
    assert due.skipped and len(due.ticks) == MAX_TICKS_AT_ONCE and due.ticks[-1] == 10000
    grid.reset()
    due = grid.due(100.0, 200.0, 0.0)
    assert not due.skipped and len(due.ticks) == 5001
