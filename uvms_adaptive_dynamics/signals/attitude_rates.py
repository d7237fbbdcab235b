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

"""Rates about dead gyro axes, from the attitude's own turns (docs/signals.md, "Garbage and
outages").

The slope of a cubic through the attitudes nearby replaces them, so readings come half a window
later while an axis is dead."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..model.rotations import from_down, turned, turned_back
from .checks.imu_check import TURNS
from .decode.decoder import imu_axes
from .decode.readings import Reading
from .decode.sensor_clock import SensorClock
from .filters.pace import half_window
from .filters.polynomials import polynomial_at
from .gates.choose import dead_axes

# [s] Half of the window of attitudes: .03 degrees of noise at 100 Hz make .001 rad/s, and turning
# to and fro at 1 Hz loses 6 %.
RATE_WINDOW = 0.2
RATE_DEGREE = 3


class _Oriented(NamedTuple):
    """A reading and its attitude R_nb (3, 3), NaN without one."""

    reading: Reading
    R_nb: np.ndarray


class AttitudeRates:
    """Completes the IMU's readings; times [s] increase.

    found: [s] since when its readings have been wrong, if the last one has shown that; else None.
    """

    def __init__(self, config: Config, clock: SensorClock):
        self._clock, self._axes = clock, imu_axes(config)
        self._dead = dead_axes(config.filter.gates, self._axes)
        self.reset()

    def change_settings(self, config: Config) -> None:
        """Use new settings from now on; what is known of the axes is forgotten."""
        self._dead = dead_axes(config.filter.gates, self._axes)
        self.reset()

    def reset(self) -> None:
        """Forget all readings."""
        self._dead.reset()
        self.found: float | None = None
        self._near: deque[_Oriented] = deque()
        self._given = -math.inf             # [s] of the last reading that was returned

    @property
    def late(self) -> float:
        """[s] How late readings are now."""
        return 2.0 * self._half() if any(self._is_dead()) else 0.0

    def _half(self) -> float:
        return half_window(RATE_WINDOW, self._clock.period)

    def _is_dead(self) -> list[bool]:
        return [since is not None for since in self._dead.since]

    def add(self, reading: Reading) -> list[Reading]:
        """The readings that an IMU's reading completes; those without an attitude are left out
        while an axis is dead."""
        t, values = reading.t, reading.values
        found = self._dead.add(t, values)
        dead = self._is_dead()
        self.found = min(
            since for since in self._dead.since if since is not None) if found else None
        if found or not any(dead):
            self._near.clear()
            self._given = t
        if not any(dead):
            return [reading]
        R = np.full((3, 3), np.nan) if math.isnan(values[0]) else from_down(values[:3], values[9])
        self._near.append(_Oriented(reading, R))
        half = self._half()
        complete = [self._complete(one.reading, half, dead) for one in self._near
                    if self._given < one.reading.t <= t - half]
        self._given = max(self._given, t - half)
        while self._near[0].reading.t < self._given - half:
            self._near.popleft()
        return [one for one in complete if one is not None]

    def _complete(self, reading: Reading, half: float, dead: Sequence[bool]) -> Reading | None:
        """The reading with the attitude's rates about the dead axes; None if there are too few
        attitudes within half [s] of it."""
        near = [one for one in self._near if abs(one.reading.t - reading.t) <= half]
        R = np.array([one.R_nb for one in near])
        times = np.array([one.reading.t for one in near])
        if times[0] > reading.t - 0.5 * half or not np.isfinite(R).all():
            return None
        turn = R[int(np.searchsorted(times, reading.t))].T @ R
        # (sines of the turns from here: their slope here is the rate)
        sines = 0.5 * np.array([turn[:, 2, 1] - turn[:, 1, 2], turn[:, 0, 2] - turn[:, 2, 0],
                                turn[:, 1, 0] - turn[:, 0, 1]]).T
        fit = polynomial_at(times, sines, reading.t, RATE_DEGREE)
        if fit is None:
            return None
        rates = [slope if is_dead else rate for slope, rate, is_dead in zip(
            turned_back(self._axes, fit[1]), turned_back(self._axes, reading.values[3:6]), dead)]
        return reading._replace(values=[*reading.values[:3], *turned(self._axes, rates),
                                        *reading.values[6:]])

    def sentences(self) -> list[str]:
        """A warning for the operator about dead axes."""
        dead = {k: since for k, since in enumerate(self._dead.since) if since is not None}
        if not dead:
            return []
        names = " and ".join(TURNS[max(range(3), key=lambda row: abs(self._axes[3 * row + k]))]
                             for k in dead)
        since = max(min(dead.values()), 0.0)
        return [f"imu angular velocity: since {since:.0f} s the gyro's {names} rate "
                f"has been {'frozen' if len(dead) == 1 else 'frozen, each'} at one value while the "
                "orientation turns; the orientation's own rate is used instead, which is noisier. "
                "Restart or replace the IMU, and check that its driver fills in all rates"]
