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

"""Which rows of a doubted sensor the frame checks get."""

import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.checks.bursts import BURST_MEMORY, LASTING_DOUBT, BurstFilter


def shown(doubted, period=0.5):
    """Times that are passed on, in order; doubted times are noted at once."""
    rows, noted = [], []
    bursts = BurstFilter("imu", lambda name, t: (rows if name == "imu" else noted).append(t))
    for k, doubt in enumerate(doubted):
        bursts.add(doubt, period * k)
    assert noted == [period * k for k, doubt in enumerate(doubted) if doubt]
    return rows


def test_bursts_are_not_shown():
    """Five seconds of doubt in a minute."""
    doubted = [10 <= k < 20 for k in range(120)]
    assert shown(doubted) == [0.5 * k for k, doubt in enumerate(doubted) if not doubt]


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_doubt_that_lasts_is_shown_whole(share):
    """Constant doubt, or four rows in ten again and again: no row of the last minute is left out.
    """
    rng = np.random.default_rng(0)
    count = int(2 * BURST_MEMORY / 0.5)
    found = shown(list(rng.random(count) < share))
    assert sorted(found) == [0.5 * k for k in range(count)]
    assert LASTING_DOUBT < BURST_MEMORY
