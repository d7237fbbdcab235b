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

"""Velocity of a body from motion capture with glitches and gaps, by a robust local polynomial; a
filter would smear the glitches."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

HALF_WIDTH = 0.3        # [s] half the window of a fit
SHARE = 0.5             # share of the window's samples that must agree with the fit
AGREEMENT = 4.0         # samples farther from the fit than this many scales are glitches
# times the noise floor, above which the parabola does not describe the motion
MAX_NOISE = 10.0
ITERATIONS = 8


class LocalFit(NamedTuple):
    """Value and slope of a signal at one instant, and the standard deviation of the slope."""

    value: float
    slope: float
    slope_stddev: float


def local_fit(time: np.ndarray, signal: np.ndarray, at: float, floor: float) -> LocalFit | None:
    """Fit a parabola to the samples within HALF_WIDTH of `at`, with glitches weighted to zero
    (Tukey's biweight).

    floor: lower bound on the noise scale, in the signal's unit. Returns None if the window has a
    gap longer than half of it, or if fewer than SHARE of its samples agree with one parabola.
    """
    first, end = np.searchsorted(time, [at - HALF_WIDTH, at + HALF_WIDTH])
    edges = np.concatenate([[at - HALF_WIDTH], time[first:end], [at + HALF_WIDTH]])
    if end - first < 8 or np.max(np.diff(edges)) > HALF_WIDTH:
        return None
    lag, value = time[first:end] - at, signal[first:end]
    design = np.column_stack([np.ones_like(lag), lag, lag * lag])
    weight = np.ones_like(lag)
    for _ in range(ITERATIONS):
        root = np.sqrt(weight)
        # Zero weights can leave fewer samples than coefficients; lstsq then returns the
        # minimum-norm solution.
        coefficient = np.linalg.lstsq(design * root[:, None], value * root, rcond=None)[0]
        residual = value - design @ coefficient
        scale = max(1.4826 * float(np.median(np.abs(residual))), floor)
        weight = np.clip(1.0 - (residual / (AGREEMENT * scale)) ** 2, 0.0, None) ** 2
    if np.mean(weight > 0.0) < SHARE or scale > MAX_NOISE * floor:
        return None
    information = design.T @ (design * weight[:, None])
    covariance = scale**2 * np.linalg.inv(information)
    return LocalFit(float(coefficient[0]), float(coefficient[1]), float(np.sqrt(covariance[1, 1])))
