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

"""Weights of the low-pass and how far it correlates rows (docs/mathematics.md, "Low-pass")."""
from __future__ import annotations

import numpy as np

from ..config import Filter

KERNEL_REACH = 3.0  # half length of the Gaussian in standard deviations


def gaussian_kernel(settings: Filter) -> np.ndarray:
    """Symmetric positive weights (K,) on the grid, K odd, summing to one; (1,) without low-pass."""
    half = int(round(KERNEL_REACH * settings.lowpass / settings.period))
    k = np.arange(-half, half + 1) * settings.period
    h = np.exp(-0.5 * (k / settings.lowpass) ** 2) if half else np.ones(1)
    return h / h.sum()


def correlation_length(kernel: np.ndarray) -> float:
    """How many neighbouring low-passed rows carry the information of one independent row.

    White noise before the low-pass; `kernel` (K,).
    """
    return float(kernel.sum() ** 2 / (kernel @ kernel))
