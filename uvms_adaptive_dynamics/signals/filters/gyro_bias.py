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

"""A constant error of the gyro, found by the turn of the attitude.

An attitude that is held by gravity and a magnetometer does not drift, so that what the gyro turns
more in a second, and again in the next, is the gyro's. A step of the attitude is in one of them
alone. Errors that come and go, as of a late orientation, widen the scatter that a bias must exceed.
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np

from ...model.normal import NORMAL_MEDIAN
from ...model.rotations import cross
from ..checks.imu_check import MIN_GYRO_BIAS

BIAS_SPAN = 1.0           # [s] over which turns are compared
LOOKS = 4                 # in a span
SIGMAS = 5.0              # of the scatter, beyond which it is not chance
SCATTER_FLOOR = 0.003     # [rad/s] attitude noise of .1 degrees at both ends
DIFFERENCES_REMEMBERED = 60  # differences between spans that make the scatter,
MIN_REMEMBERED = 12       # and so many before anything is judged
# [s] Steel turns a heading for so long; a bias stays. Gravity cannot be turned so.
HEADING_PATIENCE = 15.0
LARGEST_GYRO_BIAS = 0.35  # [rad/s] of the cheapest gyros; more is another scale, or another axis
RATES, HEADING = "rates", "heading"     # what is wrong at a look
FOLLOWED = 0.05           # of what is left, at a look, once a bias is known: it may wander


class GyroBias:
    """`bias` (3,) [rad/s] to be taken off the rates, body axes: zeros until one is found; `since`
    [s] is when the present one began. Times [s] increase."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the bias and all turns."""
        self.bias: tuple[float, ...] = (0.0, 0.0, 0.0)
        self.since: float | None = None
        self._differences: deque[np.ndarray] = deque(maxlen=DIFFERENCES_REMEMBERED)
        self.restart()

    def restart(self) -> None:
        """Forget the turns, as across a gap or a contradiction; the bias stays."""
        self._errors: deque[np.ndarray] = deque(maxlen=LOOKS + 1)
        self._next = -math.inf
        self._heading_since: float | None = None

    def is_due(self, t: float) -> bool:
        """Whether there is to be a look at t, for which the turn error is needed."""
        return t >= self._next

    def look(self, t: float, turn_error: Sequence[float], down: Sequence[float]) -> str:
        """What has been wrong for two spans: the rates, by a bias that is found now, unless it is
        too large for one; or the heading, as long as an error about the vertical may be its own;
        '' nothing.

        `turn_error` (4,) [rad]: down vector and heading less those that the rates predict over
        BIAS_SPAN, `down` (3,): the measured down vector.
        """
        self._next = t + BIAS_SPAN / LOOKS
        tilt = cross(down, turn_error[:3])
        error = np.array([(a - turn_error[3] * n) / BIAS_SPAN for a, n in zip(tilt, down)])
        if len(self._errors) < LOOKS + 1:
            self._errors.append(error)
            return ""
        before = self._errors[1]
        self._errors.append(error)
        known = len(self._differences) >= MIN_REMEMBERED
        scatter = self._scatter() if known else np.full(3, math.inf)
        self._differences.append(np.abs(error - before))
        mean, limit = 0.5 * (error + before), SIGMAS * scatter * math.sqrt(0.5)
        both = (np.abs(mean) - limit > MIN_GYRO_BIAS) & (np.abs(error - before) < 2 * limit)
        if not both.any():
            self._heading_since = None
            if self.since is not None and known:
                self._follow(FOLLOWED * np.clip(error, -limit, limit))
            return ""
        begin = self._heading_since or t - 2 * BIAS_SPAN
        if self._is_heading(t, mean, limit, np.array(down)):
            self._heading_since = begin
            return HEADING
        if np.max(np.abs(mean)) < LARGEST_GYRO_BIAS:
            self._follow(mean)
            self.since = begin
            self.restart()
        return RATES

    def _is_heading(self, t: float, mean: np.ndarray, limit: np.ndarray, down: np.ndarray) -> bool:
        """Whether the error is about the vertical alone and has not lasted yet."""
        level = mean - down * (down @ mean)
        if (np.abs(level) > limit).any():
            return False
        return self._heading_since is None or t - self._heading_since < HEADING_PATIENCE

    def _follow(self, more: np.ndarray) -> None:
        self.bias = tuple((np.array(self.bias) + more).tolist())

    def _scatter(self) -> np.ndarray:
        """(3,) [rad/s] of one span's error; differences of two are free of a bias."""
        size = np.median(np.array(self._differences), axis=0) / NORMAL_MEDIAN
        return np.maximum(size * math.sqrt(0.5), SCATTER_FLOOR)

    def sentences(self) -> list[str]:
        """What an operator should know."""
        if self._heading_since is not None:
            return ["imu angular velocity: the gyro's turn about the vertical is not the heading's;"
                    " either the gyro has a bias, or steel or a current turns the heading. Rows of "
                    f"the vehicle are masked for up to {HEADING_PATIENCE:g} s; keep off metal, or "
                    "calibrate the gyro at rest"]
        if max(map(abs, self.bias)) < 0.5 * MIN_GYRO_BIAS:
            return []
        shown = ", ".join(f"{b:.3f}" for b in self.bias)
        return [f"imu angular velocity: since {self.since:.0f} s the rates have been off by "
                f"[{shown}] rad/s (roll, pitch, yaw) against the orientation; this is corrected. "
                "Calibrate the gyro at rest, and check that nothing shakes or heats it"]
