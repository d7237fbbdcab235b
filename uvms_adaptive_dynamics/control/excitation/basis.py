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

"""Coordinates as sums of tones under an envelope: smooth, and at rest at both ends.

    q(t) = centre + w(t) sum_k (a_k sin(2 pi f_k t) + b_k cos(2 pi f_k t)),

w a fifth-degree polynomial from 0 to 1 and back, so that value, rate and acceleration start and end
at zero (Swevers et al., 1997, without periodicity, which a robot in the water cannot keep).
"""
from __future__ import annotations

import numpy as np


def smooth_step(s: np.ndarray | float) -> np.ndarray:
    """(3, ...) s^3 (10 - 15 s + 6 s^2) and its first two derivatives by s, for s from 0 to 1; at
    rest at both ends."""
    return np.array([s ** 3 * (10 - 15 * s + 6 * s ** 2), 30 * s ** 2 * (1 - s) ** 2,
                     60 * s * (1 - s) * (1 - 2 * s)])


def envelope(t: np.ndarray, duration: float, ramp: float) -> np.ndarray:
    """(3, k) w and its first two derivatives at times t (k,) [s]; zero outside the motion."""
    def rise(s: np.ndarray) -> np.ndarray:
        value, slope, curvature = smooth_step(np.clip(s, 0.0, 1.0))
        return np.array([value, slope / ramp, curvature / ramp ** 2])

    up, down = rise(t / ramp), rise((duration - t) / ramp)
    return np.array([up[0] * down[0], up[1] * down[0] - up[0] * down[1],
                     up[2] * down[0] - 2 * up[1] * down[1] + up[0] * down[2]])


def tones(t: np.ndarray, frequencies: np.ndarray, duration: float, ramp: float) -> np.ndarray:
    """(3, k, d, 2h) value, rate and acceleration at times t (k,) [s] of each sine, then each
    cosine, with unit amplitude, for frequencies (d, h) [Hz]."""
    w, w_rate, w_acceleration = envelope(t, duration, ramp)[:, :, None, None]
    omega = 2 * np.pi * np.concatenate([frequencies, frequencies], axis=1)
    angle = 2 * np.pi * frequencies * t[:, None, None]
    wave = np.concatenate([np.sin(angle), np.cos(angle)], axis=2)
    slope = omega * np.concatenate([np.cos(angle), -np.sin(angle)], axis=2)
    return np.array([w * wave, w_rate * wave + w * slope,
                     w_acceleration * wave + 2 * w_rate * slope - w * omega ** 2 * wave])
