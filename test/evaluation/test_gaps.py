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

"""The longest gaps without a sample and without a vehicle row."""
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.evaluation.gaps import Gaps


def sample(t, vehicle=True):
    return SimpleNamespace(t=t, valid=np.r_[np.full(6, vehicle), True])


def test_gaps_lie_between_ticks_and_at_the_ends_of_recordings():
    """Stamps of another clock do not matter: between samples their own times count, at the ends of
    recordings the times of reception."""
    gaps = Gaps(True)
    gaps.begin(100.0)
    for t, vehicle in ((5000.0, True), (5000.5, False), (5002.5, True)):
        gaps.add(sample(t, vehicle), 101.0 + t - 5000.0)
    gaps.end(104.0)
    assert gaps.figures() == {"sample": 2.0, "vehicle_row": 2.5}
    gaps.begin(200.0)
    gaps.add(sample(6000.0), 201.0)
    gaps.end(205.0)
    assert gaps.figures() == {"sample": 4.0, "vehicle_row": 4.0}


def test_a_recording_without_rows_is_one_gap_and_a_fixed_base_has_no_vehicle():
    """Its whole length counts."""
    gaps = Gaps(False)
    gaps.begin(10.0)
    gaps.end(22.0)
    assert gaps.figures() == {"sample": pytest.approx(12.0), "vehicle_row": None}
