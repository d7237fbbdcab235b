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

"""Velocity of a body from motion capture with glitches and gaps: a robust local polynomial, no
filter that smears them."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

HALF_WIDTH = 0.3        # [s] half of the window of one fit
SHARE = 0.5             # of the window's samples that must agree with the fit
AGREEMENT = 4.0         # samples farther from the fit than this many scales are glitches
# times the believed noise: beyond it the parabola does not describe the motion
MAX_NOISE = 10.0
ITERATIONS = 8


class LocalFit(NamedTuple):
    """Value and slope of a signal at one instant, and the standard deviation of the slope."""

    value: float
    slope: float
    slope_stddev: float


def local_fit(time: np.ndarray, signal: np.ndarray, at: float, floor: float) -> LocalFit | None:
    """Quadratic through the samples within HALF_WIDTH of `at`, glitches weighted to zero (Tukey's
    biweight).

    `floor` is the smallest scale of the noise that is believed, in the signal's unit. None where
    the window has a gap longer than half of it, or where fewer than SHARE of its samples agree with
    one parabola.
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
        # Weights of zero can leave fewer samples than coefficients; lstsq then answers with the
        # smallest solution.
        coefficient = np.linalg.lstsq(design * root[:, None], value * root, rcond=None)[0]
        residual = value - design @ coefficient
        scale = max(1.4826 * float(np.median(np.abs(residual))), floor)
        weight = np.clip(1.0 - (residual / (AGREEMENT * scale)) ** 2, 0.0, None) ** 2
    if np.mean(weight > 0.0) < SHARE or scale > MAX_NOISE * floor:
        return None
    information = design.T @ (design * weight[:, None])
    covariance = scale**2 * np.linalg.inv(information)
    return LocalFit(float(coefficient[0]), float(coefficient[1]), float(np.sqrt(covariance[1, 1])))
