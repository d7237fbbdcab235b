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

"""The DVL's altitude over the bottom, and the mask for a vehicle that may touch it."""
from __future__ import annotations

import math

from ...config import Config
from .series import Series

NEAR_FLOOR = "near the floor"


class Altitude:
    """Altitude [m] at each velocity of the DVL, NaN where it is unknown.

    Its age does not matter: without a recent velocity the vehicle's rows are masked anyway.
    """

    def __init__(self, config: Config):
        self._least = config.dvl.minimum_altitude
        self._series, self._known = Series(1), False

    def change_settings(self, config: Config, gates_change: bool) -> None:
        """Use new settings from now on."""
        self._least = config.dvl.minimum_altitude

    def reset(self) -> None:
        """Forget all altitudes."""
        self._series.clear()
        self._known = False

    def add(self, t: float, altitude: float) -> None:
        """Add an altitude at time t; only later ones than before are used."""
        if t > self._series.last_time:
            self._series.append(t, [altitude])
            self._known |= not math.isnan(altitude)

    def sentences(self) -> list[str]:
        """A warning for the operator if the mask has no altitude to go by."""
        if not self._least or self._known or not len(self._series):
            return []
        return ["dvl: no velocity has come with a valid altitude, so dvl.minimum_altitude masks "
                "nothing; make the driver fill altitude in, or set dvl.minimum_altitude to 0"]

    def mask_reason(self, t: float) -> str:
        """Why the vehicle's rows are masked at t because of its altitude, '' if they are not."""
        latest = self._series.latest(t)
        # (contact with the bottom is an unknown force; NaN is near nothing)
        return NEAR_FLOOR if latest is not None and latest[1][0] < self._least else ""
