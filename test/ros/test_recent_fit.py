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

"""Figures of the last seconds equal those of `evaluate` for the same rows."""
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.model.metrics import channel_metrics
from uvms_adaptive_dynamics.ros.recent_fit import RecentFit


def test_figures_are_those_of_the_same_rows():
    """Coverage, width and NLL of the ring buffer; older rows are dropped."""
    rng, recent, kept = np.random.default_rng(1), RecentFit(("surge",), ("N",), 0.02), []
    for _ in range(700):
        row = rng.normal(size=3)
        kept.append(row)
        stddev = np.exp(row[2:])
        recent.add(SimpleNamespace(measured=row[:1], predicted=row[1:2], predicted_stddev=stddev,
                                   noise_stddev=stddev, valid=np.ones(1, bool)))
    measured, predicted, spread = np.array(kept)[-500:].T
    expected = channel_metrics(measured, predicted, np.exp(spread), np.ones(500, bool), "N")
    found = recent.metrics()["surge"]
    for key in ("n", "coverage95", "interval_width", "nll"):
        assert found[key] == pytest.approx(expected[key])
    assert found["parameter_share"] == pytest.approx(0.0)
