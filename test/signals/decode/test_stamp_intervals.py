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

"""Intervals between a sensor's messages."""
import math

import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.decode.stamp_intervals import JITTER_INTERVALS, StampIntervals


def filled(intervals, of_stamps=True, regularly=True):
    made = StampIntervals(regularly)
    for each in intervals:
        made.add(each, of_stamps)
    made.find_batches()
    return made


def test_the_period_is_a_median_of_positive_intervals():
    """A late message, a repeated stamp and the first message, which has no interval, change
    nothing."""
    made = filled([math.inf, 0.1, 0.0, 0.1, -0.3, 2.0, 0.1])
    assert made.period == 0.1


def test_the_period_is_unknown_before_the_third_message():
    assert filled([math.inf]).period is None and filled([math.inf, 0.1]).period is None


@pytest.mark.parametrize("of_stamps, regularly", [(True, True), (False, True), (True, False)])
def test_batches_are_of_stamps_of_a_regular_sensor(of_stamps, regularly):
    """Four at a time: the period is that of the measurements. Times of reception say nothing of
    when something was measured, and a pilot's commands are not spread."""
    made = filled([0.001, 0.001, 0.001, 0.097] * JITTER_INTERVALS, of_stamps, regularly)
    assert (made.batches is not None) == (of_stamps and regularly)
    if made.batches is None:
        return
    assert made.batches.period == pytest.approx(0.025, rel=0.05)
    assert made.batches.interval == pytest.approx(0.097)
    made.add(0.001, True)
    assert made.period == made.batches.period
    made.reset()
    assert made.period is made.batches is None and made.spread(7.0) == 7.0


def test_messages_without_stamps_that_had_waited_for_each_other_are_bursts():
    """Fifty commands every second: their rate is right, and the sentence says what is unknown. A
    pilot's commands, a fast sensor and a pause are none."""
    made = filled([*[2e-5] * 49, 1.0] * 4, of_stamps=False, regularly=False)
    assert made.period == pytest.approx(0.02, rel=0.05)
    assert "about 50 at a time, every 1.00 s, without stamps" in made.sentence()
    made.add(0.02, of_stamps=False)
    for intervals in ([0.02] * 200, [*[0.02] * 40, 3.0] * 5, [2.5e-4] * 200, [0.02] * 100 + [4.0]):
        assert filled(intervals, of_stamps=False, regularly=False).bursts is None
    for _ in range(JITTER_INTERVALS):
        made.add(0.02, of_stamps=False)
    assert made.bursts is None and made.sentence() == ""


@pytest.mark.parametrize("seed", range(3))
def test_a_dvl_that_loses_its_bottom_lock_has_no_batches(seed):
    """Of a DVL that loses its lock whenever the vehicle tilts, ten messages come at a time every
    few seconds, but as they were measured; or three between shorter losses."""
    rng = np.random.default_rng(seed)
    made = StampIntervals(regularly=True)
    for run in range(100):
        loss, size = ((1.0, 6.0), (5, 20)) if run < 40 else ((0.5, 0.9), (2, 4))
        for each in [rng.uniform(*loss), *(0.08 + rng.uniform(-.02, .02, rng.integers(*size)))]:
            made.add(each, of_stamps=True)
            made.find_batches()
            assert made.batches is None, run


@pytest.mark.parametrize("seed", range(3))
def test_batches_may_be_of_any_size(seed):
    """Of a network that wakes when it likes, each batch holds what was measured meanwhile."""
    rng = np.random.default_rng(seed)
    measured, read = np.arange(0.0, 60.0, 0.02), np.cumsum(rng.uniform(0.04, 0.2, 600))
    places = np.searchsorted(read, measured)
    at = read[places] + 0.002 * rng.random(len(measured))
    made = filled(np.diff(np.sort(at)))
    assert made.batches.period == pytest.approx(0.02, rel=0.1)
