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

"""Estimate of a gyro's bias from the attitude's change (docs/signals.md, "Garbage and outages").

An attitude held by gravity and a magnetometer does not drift. If the gyro turns more than the
attitude in one second, and again in the next, the excess is gyro bias; a step of the attitude
appears in only one of them. Errors that come and go, as with a late orientation, widen the scatter
that a bias must exceed.
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
COMPARISONS = 4           # comparisons per span
SIGMAS = 5.0              # of the scatter, beyond which an error is not chance
SCATTER_FLOOR = 0.003     # [rad/s] attitude noise of .1 degrees at both ends
DIFFERENCES_REMEMBERED = 60  # differences between spans from which the scatter is estimated
MIN_REMEMBERED = 12       # differences before anything is judged
# [s] Longest disturbance of a heading by steel; a bias lasts. Gravity cannot be disturbed so.
HEADING_PATIENCE = 15.0
LARGEST_GYRO_BIAS = 0.35  # [rad/s] of the cheapest gyros; more is a wrong scale or axis
RATES, HEADING = "rates", "heading"     # what a comparison finds wrong
FOLLOWED = 0.05           # share of the remaining error that a known bias follows per comparison


class GyroBias:
    """`bias` (3,) [rad/s] to be subtracted from the rates, body axes, zero until one is found;
    `since` [s]: when the present one began. Times [s] increase."""

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
        self._errors: deque[np.ndarray] = deque(maxlen=COMPARISONS + 1)
        self._next = -math.inf
        self._heading_since: float | None = None

    def is_due(self, t: float) -> bool:
        """Whether a comparison is due at t, for which the turn error is needed."""
        return t >= self._next

    def compare(self, t: float, turn_error: Sequence[float], down: Sequence[float]) -> str:
        """Compare attitude and rates; returns what has been wrong for two spans.

        RATES: the rates; the error becomes the bias now, unless that is then too large for one.
        HEADING: possibly the heading, for an error about the vertical that has not lasted yet. '':
        nothing. `turn_error` (4,) [rad]: down vector and heading less their predictions by the
        rates over BIAS_SPAN; `down` (3,): the measured down vector.
        """
        self._next = t + BIAS_SPAN / COMPARISONS
        tilt = cross(down, turn_error[:3])
        error = np.array([(a - turn_error[3] * n) / BIAS_SPAN for a, n in zip(tilt, down)])
        if len(self._errors) < COMPARISONS + 1:
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
        if np.max(np.abs(self.bias + mean)) < LARGEST_GYRO_BIAS:
            self._follow(mean)
            self.since = begin
            self.restart()
        else:                       # nor was what has been found of it before a bias
            self.bias, self.since = (0.0, 0.0, 0.0), None
        return RATES

    def _is_heading(self, t: float, mean: np.ndarray, limit: np.ndarray, down: np.ndarray) -> bool:
        """Whether the error is only about the vertical and has not lasted HEADING_PATIENCE yet."""
        level = mean - down * (down @ mean)
        if (np.abs(level) > limit).any():
            return False
        return self._heading_since is None or t - self._heading_since < HEADING_PATIENCE

    def _follow(self, more: np.ndarray) -> None:
        self.bias = tuple((np.array(self.bias) + more).tolist())

    def _scatter(self) -> np.ndarray:
        """(3,) [rad/s] scatter of a span's error, from differences, which contain no bias."""
        size = np.median(np.array(self._differences), axis=0) / NORMAL_MEDIAN
        return np.maximum(size * math.sqrt(0.5), SCATTER_FLOOR)

    def sentences(self) -> list[str]:
        """Warnings for the operator about the gyro."""
        if self._heading_since is not None:
            return ["imu angular velocity: the gyro's turn about the vertical disagrees with the "
                    "heading; either the gyro has a bias, or steel or an electric current disturbs "
                    "the heading. The vehicle's rows are masked for up to "
                    f"{HEADING_PATIENCE:g} s. Keep away from metal, or calibrate the gyro at rest"]
        if max(map(abs, self.bias)) < 0.5 * MIN_GYRO_BIAS:
            return []
        shown = ", ".join(f"{b:.3f}" for b in self.bias)
        return [f"imu angular velocity: since {self.since:.0f} s the gyro has had a bias of "
                f"[{shown}] rad/s (roll, pitch, yaw) relative to the orientation; this is "
                "corrected. Calibrate the gyro at rest, and check that nothing shakes or heats it"]
