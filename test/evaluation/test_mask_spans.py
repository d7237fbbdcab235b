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

"""When rows were masked, and why."""
from types import SimpleNamespace

import numpy as np

from uvms_adaptive_dynamics.evaluation.mask_spans import (
    NO_REASON,
    MaskSpans,
    Span,
    reasons_between,
    reasons_of_rows,
    runs,
)


def test_a_reason_is_one_span_until_it_ends_or_another_comes():
    """Spans are per channel and per bag; a single sample that counts does not end a span."""
    spans = MaskSpans(2, 0.02)
    for k, reasons in enumerate([("", "rest"), ("a", "rest"), ("a", ""), ("b", "rest"),
                                 ("b", ""), ("", ""), ("", ""), ("b", "")]):
        spans.add(0.02 * k, reasons)
    spans.begin(1)
    spans.add(0.16, ("b", ""))
    found = [[(s.bag, round(s.start, 2), round(s.end, 2), s.reason) for s in each]
             for each in spans.spans]
    assert found == [[(0, 0.02, 0.04, "a"), (0, 0.06, 0.08, "b"), (0, 0.14, 0.14, "b"),
                      (1, 0.16, 0.16, "b")], [(0, 0.0, 0.06, "rest")]]


def test_runs_of_rows_end_where_a_bag_does():
    """Each run has its first and last row."""
    flags = np.array([1, 1, 0, 1, 1, 1, 0], bool)
    assert runs(flags, np.array([0, 0, 0, 0, 0, 1, 1])) == [(0, 1), (3, 4), (5, 5)]
    assert runs(np.zeros(3, bool), np.zeros(3, int)) == []


def test_reasons_of_a_piece_are_those_that_touch_it():
    """Reasons of the same bag, each once, in order."""
    spans = [Span(0, 0.0, 1.0, "a"), Span(0, 2.0, 3.0, "b"), Span(0, 3.0, 4.0, "a"),
             Span(1, 0.0, 9.0, "c")]
    assert reasons_between(spans, 0, 0.5, 3.5) == ["a", "b"]
    assert reasons_between(spans, 0, 1.2, 1.8) == []


def test_each_masked_row_has_one_reason():
    """Samples without a row are not counted; a masked row outside all spans is next to one. The
    second of three bags has no rows, the third a span only."""
    valid = np.ones((8, 2), bool)
    valid[[2, 3, 4, 6], 0] = False
    rows = SimpleNamespace(t=np.r_[np.arange(2.0, 7.0), np.arange(3.0)], valid=valid,
                           bag=np.repeat([0, 2], [5, 3]))
    spans = [[Span(0, 0.0, 1.0, "start"), Span(0, 4.0, 5.0, "a"), Span(1, 0.0, 9.0, "b"),
              Span(2, 1.0, 1.5, "b"), Span(3, 0.0, 9.0, "b")], []]
    assert reasons_of_rows(spans, rows) == [{"a": 2, NO_REASON: 1, "b": 1}, {}]


def test_rows_after_a_clock_was_set_back_have_their_own_reasons():
    """The same times come twice, the second time masked for another reason."""
    spans = MaskSpans(1, period=1.0)
    spans.begin(0)
    for t, reason in ((0.0, "a"), (1.0, "a"), (2.0, ""), (0.5, "b"), (1.5, "b"), (2.5, "b")):
        spans.add(t, [reason])
    rows = SimpleNamespace(t=np.array([0.0, 1.0, 2.0, 0.5, 1.5, 2.5]), bag=np.zeros(6, int),
                           valid=np.array([[False], [False], [True], [False], [False], [False]]))
    assert reasons_of_rows(spans.spans, rows) == [{"b": 3, "a": 2}]
    empty = SimpleNamespace(t=np.zeros(0), bag=np.zeros(0, int), valid=np.zeros((0, 1), bool))
    assert reasons_of_rows(spans.spans, empty) == [{}]
