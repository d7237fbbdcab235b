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
import numpy as np
from information_cases import prediction_of

from uvms_adaptive_dynamics.estimation.recent_rows import RowHistory, SpanVariance

C, P = 2, 3


def test_the_newest_rows_are_the_last_ones_added():
    """Oldest first, also after the ring has turned; shorter spans are the ends of longer ones."""
    variance = SpanVariance(np.ones(C), np.ones(C), np.ones(C))
    history = RowHistory(8, 1, C, P, np.zeros((6, 0)))
    for k in range(21):
        history.add(prediction_of(np.full((C, P), float(k)), np.full(C, 100.0 + k), np.zeros(P)),
                    np.ones(C, bool), np.ones(C, bool))
        if k < 3:
            continue
        found = history.newest_of_each([1, 3], variance)
        for rows in (1, 3):
            last = np.arange(k - rows + 1.0, k + 1.0)
            np.testing.assert_array_equal(found[rows].Y[:, 0, 0], last)
            np.testing.assert_array_equal(found[rows].residual[:, 0], 100.0 + last)
        np.testing.assert_array_equal(history.newest(3, variance).Y, found[3].Y)
    assert history.filled == 8
