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

"""Velocity of a captured point of the body, as a motion capture driver derives it from poses.

Each velocity is the slope of a parabola fitted to seven neighbouring positions, in body axes, at
the middle of the window: it is half a window late.
"""
from __future__ import annotations

from collections import deque

import numpy as np

MOCAP_RATE = 20.0         # [Hz]
POSITION_NOISE = 0.002    # [m] each axis: cameras behind glass above water, or a few under water
HALF_WIDTH = 3            # positions on either side of the middle
MOCAP_LAG = HALF_WIDTH / MOCAP_RATE    # [s] lag of a velocity behind the newest position
# [m/s] noise of the slope through evenly spaced positions, sigma / (T sqrt(sum k^2))
MOCAP_VELOCITY_NOISE = POSITION_NOISE * MOCAP_RATE / np.sqrt(
    2 * sum(k * k for k in range(1, HALF_WIDTH + 1)))


class MotionCapture:
    """Turns positions of one point into its velocity in body axes; `rng` draws the noise."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng
        self._poses: deque[tuple[float, np.ndarray, np.ndarray]] = deque(
            maxlen=2 * HALF_WIDTH + 1)

    def add(self, t: float, point: np.ndarray, R_nb: np.ndarray) -> np.ndarray | None:
        """Velocity (3,) [m/s] FRD at MOCAP_LAG before t [s]; None while the window fills.

        `point` (3,) NED [m] and `R_nb` (3, 3) are the truth; noise is added here.
        """
        self._poses.append(
            (t, point + POSITION_NOISE * self._rng.standard_normal(3), np.array(R_nb)))
        if len(self._poses) <= 2 * HALF_WIDTH:
            return None
        lag = np.array([pose[0] for pose in self._poses]) - (t - MOCAP_LAG)
        positions = np.array([pose[1] for pose in self._poses])
        design = np.column_stack([np.ones_like(lag), lag, lag * lag])
        slope = np.linalg.lstsq(design, positions, rcond=None)[0][1]
        return self._poses[HALF_WIDTH][2].T @ slope
