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

"""Expected attitude of a vehicle while its IMU is silent, on which the arm's rows rely.

A vehicle that was tilted a while ago may not be tilted now. The best linear prediction of its down
vector from the last known one, and its covariance, are

    n3(t + lag) = mean + rho(lag) (n3(t) - mean),    (1 - rho(lag)^2) cov(n3)

with mean, covariance and autocorrelation rho over the last minute: at first the last attitude,
later the mean one. A joint cannot distinguish gravity from acceleration (g n3 - a), so unknown
acceleration is equivalent to tilt. docs/mathematics.md, "Unknown attitude".
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np

from ...model.rotations import from_down

# [s] between the attitudes kept, and how long they are kept
ATTITUDE_SPACING, ATTITUDE_MEMORY = 0.1, 60.0


class ExpectedAttitude:
    """Learns from attitudes while they are known; times [s] increase. `gravity` [m/s^2]."""

    def __init__(self, gravity: float) -> None:
        self._gravity = gravity
        self.reset()

    def reset(self) -> None:
        """Forget all attitudes."""
        size = round(ATTITUDE_MEMORY / ATTITUDE_SPACING)
        self._down: deque[np.ndarray] = deque(maxlen=size)                  # (3,) each
        self._accelerations: deque[Sequence[float]] = deque(maxlen=size)    # (3,) each
        self._kept_at = self._t = -math.inf
        self._last: np.ndarray | None = None                # (3, 3) R_nb at _t
        self._heading = 0.0
        self._habits: _Habits | None = None                 # None until needed

    def add(self, t: float, R_nb: np.ndarray, acceleration: Sequence[float] | None) -> None:
        """Add a known attitude (3, 3) and, if known, the acceleration (3,) [m/s^2] of the body
        origin in body axes."""
        self._last, self._t, self._habits = R_nb, t, None
        if t - self._kept_at > 0.99 * ATTITUDE_SPACING:
            self._kept_at = t
            self._down.append(R_nb[2])
            if acceleration is not None:
                self._accelerations.append(acceleration)

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray] | None:
        """(expected R_nb (3, 3) at t, with the last heading; covariance (3, 3) of the direction in
        which the arm feels its weight, body axes); None if no attitude was ever known."""
        if self._last is None:
            return None
        if self._habits is None:
            self._habits = _Habits(np.array(self._down), np.array(self._accelerations),
                                   self._gravity)
            self._heading = math.atan2(self._last[1, 0], self._last[0, 0])
        mean, covariance, by_acceleration, rho = self._habits.after(t - self._t)
        down = mean + rho * (self._last[2] - mean)
        return (from_down(down.tolist(), self._heading),
                (1.0 - rho * rho) * covariance + by_acceleration)


class _Habits:
    """Statistics of down vectors (k, 3), ATTITUDE_SPACING apart, and of accelerations (l, 3)."""

    def __init__(self, down: np.ndarray, accelerations: np.ndarray, gravity: float):
        self._mean = down.mean(axis=0)
        self._covariance = np.cov(down.T, bias=True)
        self._by_acceleration = np.zeros((3, 3))
        if len(accelerations):
            self._by_acceleration = np.cov(accelerations.T, bias=True) / gravity ** 2
        self._correlation = _autocorrelation(down - self._mean)
        self._lags = ATTITUDE_SPACING * np.arange(len(self._correlation))

    def after(self, lag: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """(mean (3,), covariance (3, 3), covariance (3, 3) due to accelerations, correlation [-]
        over the lag)."""
        rho = float(np.interp(lag, self._lags, self._correlation, left=1.0, right=0.0))
        return self._mean, self._covariance, self._by_acceleration, rho


def _autocorrelation(x: np.ndarray) -> np.ndarray:
    """Autocorrelation (K,) of the rows of x (k, 3) with mean zero, up to its first zero crossing.
    """
    full = np.sum([np.correlate(column, column, "full")[len(x) - 1:] for column in x.T], axis=0)
    if full[0] <= 0.0:
        return np.ones(1)
    gone = np.flatnonzero(full <= 0.0)
    return full[:gone[0] if gone.size else len(full)] / full[0]
