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

"""What velocities are used for, with and without a specific force."""
import math

import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals.filters.velocity_offset import VelocityOffset
from uvms_adaptive_dynamics.signals.filters.velocity_use import (
    SLOPE_STDDEV,
    BesideForce,
    WithoutForce,
    velocity_use,
)

LEVEL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def test_only_beside_a_force_velocities_correct_anything():
    """Without one there is no integral, whose offset would be reported as the accelerometer's."""
    for kind, corrects in ((BesideForce, True), (WithoutForce, False)):
        config = Config()
        offset = VelocityOffset(1.0, config.dvl.stddev)
        use = kind(config, offset)
        for k in range(20):
            use.correct(0.1 * k, [0.05 * k, 0.0, 0.0], LEVEL, 0.01)
        assert (offset.bias != (0.0, 0.0, 0.0)) == corrects == use.drifts


def test_the_imus_messages_choose():
    """Odometry has no specific force."""
    offset = VelocityOffset(1.0, 0.01)
    assert type(velocity_use(Config(), offset)) is BesideForce
    odometry = Config().with_values({"imu.type": "nav_msgs/msg/Odometry"})
    assert type(velocity_use(odometry, offset)) is WithoutForce


def test_without_a_force_the_acceleration_comes_from_velocities():
    """Whatever the setting says."""
    use = WithoutForce(Config().with_values({"filter.linear_acceleration": "fused"}),
                       VelocityOffset(1.0, 0.01))
    assert use.acceleration == "dvl" and not math.isinf(use.memory)


@pytest.mark.parametrize("period", [0.05, 0.1, 0.2])
def test_the_window_is_as_long_as_the_slopes_noise_requires(period):
    """A line's slope over 2 h / period velocities has the variance 3 / 2 stddev^2 period / h^3."""
    config = Config()
    use = WithoutForce(config, VelocityOffset(1.0, config.dvl.stddev))
    half = use.half_window(period, 0.0, 10.0)
    assert 1.5 * config.dvl.stddev ** 2 * period / half ** 3 == pytest.approx(SLOPE_STDDEV ** 2)
    assert use.half_window(period, 3.0, 10.0) == 3.0 and use.half_window(period, 0.0, 0.1) == 0.1
    assert BesideForce(config, VelocityOffset(1.0, 0.01)).half_window(period, 0.0, 0.5) == 0.5
