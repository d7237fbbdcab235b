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

"""Weights of the low-pass, and the correlation length it gives rows (docs/mathematics.md,
"Low-pass")."""
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..config import Filter

KERNEL_REACH = 3.0  # half length of the Gaussian [standard deviations]


def gaussian_kernel(settings: Filter) -> np.ndarray:
    """(K,) symmetric positive weights on the sample grid, K odd, sum one; (1,) without low-pass."""
    half = int(round(KERNEL_REACH * settings.lowpass / settings.period))
    k = np.arange(-half, half + 1) * settings.period
    h = np.exp(-0.5 * (k / settings.lowpass) ** 2) if half else np.ones(1)
    return h / h.sum()


class PassBand(NamedTuple):
    """The low-pass as frequencies: its -3 dB edge [Hz], and its gain at 1 Hz."""

    bandwidth_hz: float
    gain_at_1_hz: float


def pass_band(settings: Filter) -> PassBand | None:
    """The band of motion that rows show; None without low-pass."""
    rate = 2 * math.pi * settings.lowpass
    return PassBand(math.sqrt(math.log(2)) / rate, math.exp(-0.5 * rate ** 2)) if rate else None


def correlation_length(kernel: np.ndarray) -> float:
    """Number of neighbouring low-passed rows that carry the information of one independent row,
    for white noise before the low-pass; kernel (K,)."""
    return float(kernel.sum() ** 2 / (kernel @ kernel))
