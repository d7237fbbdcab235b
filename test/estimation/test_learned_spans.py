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

"""Which data were learnt from, and whether they are replayed."""
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.estimation.learned_spans import MOST_MARKS, LearnedSpans


def sample(t, dive=0, moves=True):
    """The sample at time t of a dive: noise on a motion common to all dives."""
    rng = np.random.default_rng([dive, round(10 * t)] if moves else 0)
    return SimpleNamespace(
        t=t, nu=np.sin(t) * moves + 0.1 * rng.normal(size=6), mu_dot=0.1 * rng.normal(size=2),
        wrench=np.full(6, 10 * np.cos(t) * moves), joint_torque=rng.normal(size=2))


def added(spans, begin, end, dive=0, moves=True):
    """For each instant, since when its data were already learnt from."""
    return [spans.add(sample(float(t), dive, moves)) for t in np.arange(begin, end, 0.5)]


def saved(spans):
    return LearnedSpans(spans.lists(), spans.mark_lists())


def test_new_data_are_no_repetition_and_the_same_ones_are():
    """In the run itself and in one that continues from its saved estimate; reported within 20 s,
    with the time from which on data repeat."""
    spans = LearnedSpans()
    assert not any(added(spans, 100.0, 160.0)) and not any(added(spans, 300.0, 330.0))
    assert spans.lists() == [[100.0, 159.5], [300.0, 329.5]]
    assert added(spans, 110.0, 150.0)[40:] == [110.0] * 40
    later = saved(spans)
    found = added(later, 90.0, 200.0)
    assert not any(found[:20]) and found[60:139] == [100.0] * 79 and not any(found[150:])
    assert later.lists() == [[90.0, 199.5], [300.0, 329.5]]


def test_other_data_with_the_same_stamps_are_no_repetition():
    """From a computer without a clock battery, whose dives all begin in 1970, even with the same
    commands; a replay of any of them is noticed."""
    spans = LearnedSpans()
    for dive in range(4):
        assert not any(added(spans, 0.0, 100.0, dive))
        spans = saved(spans)
    for dive in range(4):
        assert added(saved(spans), 0.0, 100.0, dive)[-1] == 0.0


def test_a_robot_that_stands_still_reads_the_same_on_any_day():
    """So its readings prove no repetition."""
    spans = LearnedSpans()
    added(spans, 0.0, 50.0, 1)
    added(spans, 100.0, 200.0, moves=False)
    assert not any(added(saved(spans), 100.0, 200.0, moves=False))


def test_stamps_alone_tell_nothing():
    """As in a file saved by a version without marks; and a file does not grow without bound."""
    spans = LearnedSpans()
    added(spans, 0.0, 100.0)
    assert not any(added(LearnedSpans(spans.lists()), 0.0, 100.0))
    for t in np.arange(0.0, 5.0 * MOST_MARKS + 100.0, 2.5):
        spans.add(sample(1000.0 + t))
    assert len(spans.mark_lists()) == MOST_MARKS


def test_a_short_pause_is_no_end():
    """For example of a sensor that drops out; pauses do not enlarge the file."""
    spans = LearnedSpans()
    for k in range(100):
        assert not any(added(spans, 20.0 * k, 20.0 * k + 15.0))
    assert spans.lists() == [[0.0, 1994.5]]


@pytest.mark.parametrize("earlier", [None, 3, [1], [["a", "b"]], [[2.0, 1.0]], [[1.0, 2.0, 3.0]],
                                     {"x": 1}])
def test_what_cannot_be_read_is_nothing(earlier):
    """For example in a file edited by hand."""
    assert LearnedSpans(earlier, "no marks").lists() == []
    assert LearnedSpans(None, earlier).mark_lists() in ([], [[1.0, 2.0, 3.0]])
