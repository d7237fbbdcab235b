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

"""What a DVL's velocities are used for: to correct the integrated specific force or, without one,
alone. Two alternatives with the same methods; `velocity_use` chooses one."""
from __future__ import annotations

import math
from collections.abc import Sequence

from ...config import Config
from .velocity_offset import BIAS_STDDEV, LARGEST_FORCE_BIAS, VelocityOffset

DVL_WANDER = 0.02         # [m/s^2] change of the offset's slope in a second: 0.1 deg of attitude
# For velocities without integrated force [m/s^2]: initial standard deviation of the acceleration,
# its change in a second, its largest value (full thrust gives less than 1 g), and the noise of an
# acceleration that is the velocity's slope.
VEHICLE_SLOPE, VEHICLE_WANDER, LARGEST_ACCELERATION, SLOPE_STDDEV = 0.5, 1.0, 10.0, 0.03
VELOCITY_MEMORY = 0.5     # [s] after which the last accepted velocity predicts nothing


class BesideForce:
    """Velocities that correct the integral of the specific force, by `offset`.

    slope: initial deviation, change in a second and largest value of the slope of what the gate
    judges [m/s^2]; memory [s]: for how long an accepted velocity predicts the next ones; drifts:
    whether they may show that the attitude drifts; acceleration: where linear acceleration comes
    from, as `filter.linear_acceleration`."""

    slope = BIAS_STDDEV, DVL_WANDER, LARGEST_FORCE_BIAS
    memory = math.inf
    drifts = True

    def __init__(self, config: Config, offset: VelocityOffset):
        self.acceleration = config.filter.linear_acceleration
        self._stddev, self._offset = config.dvl.stddev, offset

    def correct(self, t: float, offset: Sequence[float], R_Gb: Sequence[float],
                noise: float) -> None:
        """Correct the integral by an accepted velocity's offset (3,) in G from it; R_Gb (9,);
        noise [m/s]: of accepted velocities."""
        self._offset.note_stddev(max(self._stddev, noise))
        self._offset.add(t, offset, R_Gb)

    def half_window(self, period: float, shortest: float, longest: float) -> float:
        """[s] Half the window over which velocities a period [s] apart are differentiated."""
        return longest


class WithoutForce(BesideForce):
    """Velocities that alone give velocity and acceleration."""

    slope = VEHICLE_SLOPE, VEHICLE_WANDER, LARGEST_ACCELERATION
    memory = VELOCITY_MEMORY
    drifts = False

    def __init__(self, config: Config, offset: VelocityOffset):
        super().__init__(config, offset)
        self.acceleration = "dvl"

    def correct(self, t: float, offset: Sequence[float], R_Gb: Sequence[float],
                noise: float) -> None:
        """See `BesideForce.correct`: there is no integral."""

    def half_window(self, period: float, shortest: float, longest: float) -> float:
        """See `BesideForce.half_window`: as long as SLOPE_STDDEV requires of a slope's noise,
        sqrt(3 / 2 stddev^2 period / half^3)."""
        variance = 1.5 * self._stddev ** 2 * period / SLOPE_STDDEV ** 2
        return min(longest, max(shortest, variance ** (1 / 3)))


def velocity_use(config: Config, offset: VelocityOffset) -> BesideForce:
    """The use that the IMU allows."""
    return (BesideForce if config.imu.measures_force else WithoutForce)(config, offset)
