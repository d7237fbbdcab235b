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

"""Which readings of the IMU are trusted, and what they may correct."""

import math
from types import SimpleNamespace

import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals.decode.sensor_clock import SensorClock
from uvms_adaptive_dynamics.signals.filters.attitude_source import AttitudeSource
from uvms_adaptive_dynamics.signals.filters.imu_integral import ImuIntegral
from uvms_adaptive_dynamics.signals.filters.imu_trust import ImuTrust

LEVEL = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -9.81, 0.0]


def test_a_gyro_is_not_judged_by_an_attitude_that_has_not_been_proven():
    """After a contradiction, until the DVL fits again, and while the attitude settles: a bias found
    in that time used to take 5 degrees per second off correct rates."""
    imu, looks = SimpleNamespace(turn_error=lambda span: (0.0,) * 4), []
    trust = ImuTrust(Config(), imu, AttitudeSource(Config()), SensorClock())
    trust.gyro = SimpleNamespace(is_due=lambda t: True, restart=lambda: looks.append("none"),
                                 compare=lambda *_: looks.append("look") or "")
    trust._wrong_turn(1.0, LEVEL, settling=False)
    trust.contradictions.add(1.0, 1.1)
    trust._wrong_turn(1.2, LEVEL, settling=False)
    trust.prove()
    trust._wrong_turn(2.0, LEVEL, settling=False)
    trust._wrong_turn(2.2, LEVEL, settling=True)
    assert looks == ["look", "none", "look", "none"]


@pytest.mark.parametrize("jitter", [0.0, 0.0003, -0.0003])
def test_a_slow_imu_that_is_knocked_has_stepped(jitter):
    """At 20 Hz, the reading before lay a little less than the span of a step ago, so that none was
    compared."""
    imu = ImuIntegral(9.80665, 0.6)
    trust = ImuTrust(Config(), imu, AttitudeSource(Config()), SensorClock())
    for k in range(20):
        imu.add(0.05 * k + {17: -jitter, 18: jitter}.get(k, 0.0),
                [*LEVEL[:9], math.radians(10.0) * (k == 19)], (0.0, 0.0, 0.0))
    assert trust._has_step()


@pytest.mark.parametrize("turn, steps", [(0.095, False), (0.2, True)])
def test_a_slow_imu_whose_gyro_fails_has_not_stepped(turn, steps):
    """At 10 Hz, a vehicle that turns at .95 rad/s turns by more than 5 degrees from one reading to
    the next; with a gyro of zeros "the IMU was knocked" was said."""
    imu = ImuIntegral(9.80665, 0.6)
    trust = ImuTrust(Config(), imu, AttitudeSource(Config()), SensorClock())
    for k in range(20):
        imu.add(0.1 * k, [*LEVEL[:9], turn * k], (0.0, 0.0, 0.0))
    assert trust._has_step() == steps
