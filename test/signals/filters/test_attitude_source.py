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

"""Readings completed with an orientation."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals.filters.attitude_source import AttitudeSource


def judged(period, until=12.0, frozen=np.inf):
    """(source, times, errors of the judged roll [rad]) of an IMU at 100 Hz that rocks, whose
    orientation is new every `period` [s] until `frozen` [s]."""
    source, times, errors = AttitudeSource(Config()), 0.01 * np.arange(round(100 * until)), []
    for t in times:
        at = min(np.floor((t + 1e-9) / period) * period, frozen)
        roll, shown = 0.3 * np.sin(2.0 * t), 0.3 * np.sin(2.0 * at)
        row = source.judge(t, [0.0, np.sin(shown), np.cos(shown), 0.6 * np.cos(2.0 * t), 0.0, 0.0,
                               0.0, -9.8 * np.sin(roll), -9.8 * np.cos(roll), 0.1], longest=0.25)
        errors.append(np.arctan2(row[1], row[2]) - roll)
    return source, times, np.array(errors)


@pytest.mark.parametrize("period", [0.1, 1.0])
def test_the_gyro_carries_an_orientation_that_comes_slowly(period):
    """Each is used when it is new, .06 or .6 rad/s of motion are not missing in between, and the
    sentence names how few are new."""
    source, times, errors = judged(period)
    assert np.abs(errors[times > 3.0]).max() < 1e-3
    said = " ".join(source.sentences(100.0))
    if period == 1.0:       # (a dozen intervals are few)
        source, *_ = judged(period, until=20.0)
        said = " ".join(source.sentences(100.0))
    assert said.startswith("imu.topic: its messages come at 100.0 Hz, but only one in "
                           f"{100 * period:.0f} has a new orientation; the gyro carries it")


def test_an_orientation_that_was_always_new_is_not_carried_once_it_freezes():
    """The gates have to see that it does not turn as the gyro says."""
    source, times, errors = judged(0.01, until=5.0, frozen=3.0)
    assert np.abs(errors[times < 3.0]).max() < 1e-9 and source.sentences(100.0) == []
    assert np.abs(errors[times > 3.1]).max() > 0.05
