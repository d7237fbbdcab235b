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

"""The rows of the last seconds."""
from dataclasses import replace

import numpy as np
import pytest
from information_cases import prediction_of

from uvms_adaptive_dynamics.estimation.recent_rows import RecentRows, RowHistory, SpanVariance
from uvms_adaptive_dynamics.uncertainty.parameter_covariance import MatrixCovariance

C, P = 2, 3


def test_the_newest_rows_are_the_last_ones_added():
    """Oldest first, also after the ring has turned; shorter spans are the ends of longer ones."""
    variance = SpanVariance(np.ones(C), np.ones(C), np.ones(C))
    history = RowHistory(8, 1, C, P, np.zeros((6, 0)))
    for k in range(21):
        history.add(prediction_of(np.full((C, P), float(k)), np.full(C, 100.0 + k), np.zeros(P)),
                    np.ones(C, bool), np.ones(C, bool), MatrixCovariance(np.zeros((P, P))),
                    None)
        if k < 3:
            continue
        found = history.newest_of_each([1, 3], variance)
        for rows in (1, 3):
            last = np.arange(k - rows + 1.0, k + 1.0)
            np.testing.assert_array_equal(found[rows].Y[:, 0, 0], last)
            np.testing.assert_array_equal(found[rows].residual[:, 0], 100.0 + last)
        np.testing.assert_array_equal(history.newest(3, variance).Y, found[3].Y)
    assert history.filled == 8


def test_rows_are_judged_by_an_estimate_as_uncertain_as_it_was_then():
    """An arm that is moved to a new posture after half a minute at rest shows what was not learnt
    yet, and the estimate learns it at once: by each row's own variance, the first prediction's
    error was evidence of another link, with 63 nats."""
    variance = SpanVariance(np.ones(C), np.ones(C), np.full(C, 1e6))
    history, counts = RowHistory(40, 1, C, P, np.zeros((6, 0))), np.ones(C, bool)
    Y = np.zeros((C, P))
    Y[0, 0] = 2.0
    for k in range(40):
        learnt = k >= 20        # the first parameter is 5, not 0, and its deviation falls by ten
        pi, stddev = np.array([5.0 * learnt, 0.0, 0.0]), 0.5 if learnt else 5.0
        row = prediction_of(Y, np.array([10.0, 0.0]), pi)
        row = replace(row, parameter_covariance=np.diag([(2.0 * stddev) ** 2, 0.0]))
        history.add(row, counts, counts, MatrixCovariance(np.diag([stddev ** 2, 0.0, 0.0])),
                    None)
    for rows in (12, 16, 30):
        newest = history.newest(rows, variance)
        then = history.as_then(newest, variance)
        before = rows > 20
        np.testing.assert_allclose(then.residual[:, 0], 10.0 * before)
        np.testing.assert_allclose(then.predicted[:, 0], 10.0 * (not before))
        # 10 = 2 x 5 +- 10, common to all rows: one independent row, of one deviation
        square = (then.weight * then.residual ** 2).sum(axis=0)[0]
        assert square == pytest.approx(float(before), abs=0.05)
        assert (newest.weight[-5:, 0] == then.weight[-5:, 0]).all() == (not before)


def test_a_robot_whose_model_lacks_nothing_has_no_such_effects(capfd):
    """LAPACK had printed a line for each search, thousands in a run of an arm on a fixed base."""
    rows = RecentRows(np.zeros((9, 2, 1)), np.zeros((9, 2)), np.ones((9, 2)), np.ones((9, 2)),
                      np.full(2, 9.0), unmodelled=np.zeros((9, 2, 0)))
    U, projected = rows.lacking
    assert U.shape == (18, 0) and projected.shape == (0,)
    assert capfd.readouterr() == ("", "")
