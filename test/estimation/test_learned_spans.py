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

"""When data were learnt from, and whether they come again."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.estimation.learned_spans import LearnedSpans


def added(spans, begin, end):
    """Whether each instant was learnt from before."""
    return [spans.add(float(t)) for t in np.arange(begin, end, 0.5)]


def test_new_data_are_no_repetition_and_the_same_ones_are():
    """In the run itself, and in one that goes on from what it saved."""
    spans = LearnedSpans()
    assert not any(added(spans, 100.0, 160.0)) and not any(added(spans, 300.0, 330.0))
    assert spans.lists() == [[100.0, 159.5], [300.0, 329.5]]
    assert all(added(spans, 110.0, 150.0))
    later = LearnedSpans(spans.lists())
    found = added(later, 90.0, 200.0)
    assert not any(found[:20]) and all(found[20:140]) and not any(found[140:])
    assert later.lists() == [[90.0, 199.5], [300.0, 329.5]]


def test_a_short_pause_is_no_end():
    """Of a sensor that drops out, say; the file does not grow with them."""
    spans = LearnedSpans()
    for k in range(100):
        assert not any(added(spans, 20.0 * k, 20.0 * k + 15.0))
    assert spans.lists() == [[0.0, 1994.5]]


@pytest.mark.parametrize("earlier", [None, 3, [1], [["a", "b"]], [[2.0, 1.0]], [[1.0, 2.0, 3.0]],
                                     {"x": 1}])
def test_what_cannot_be_read_is_nothing(earlier):
    """Such as from a file that a person changed."""
    assert LearnedSpans(earlier).lists() == []
