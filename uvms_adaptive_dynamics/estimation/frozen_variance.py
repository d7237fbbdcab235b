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

"""Variance of each channel's rows that is due to frozen parameters: their error is not noise, yet
rows dominated by it are hardly informative about the free parameters (docs/identification.md, "What
freezing does")."""
from __future__ import annotations

import numpy as np


class FrozenVariance:
    """variance (C,): mean of y Sigma_h y^T over a channel's rows y, with Sigma_h the covariance of
    the frozen parameters.

    It is added to the noise variance that weighs rows. The stored rows stay unchanged: once the
    parameters are freed, this variance is zero and all rows count in full."""

    def __init__(self, channels: int, memory: float):
        """memory: largest number of rows in the mean."""
        self._memory = memory
        self._root = np.zeros((0, 0))
        self._places = np.zeros(0, int)
        self.variance, self._rows = np.zeros(channels), np.zeros(channels)

    def hold(self, places: np.ndarray, covariance: np.ndarray, Y: np.ndarray,
             valid: np.ndarray) -> None:
        """Hold the parameters at `places` (h,) with this covariance (h, h); the mean starts from
        rows Y (N, C, p), valid (N, C)."""
        values, vectors = np.linalg.eigh(covariance)
        self._root = vectors * np.sqrt(np.maximum(values, 0.0))
        self._places = places
        self._rows = valid.sum(axis=0).astype(float)
        square = np.sum((Y[..., places] @ self._root) ** 2, axis=-1)
        self.variance = np.sum(square * valid, axis=0) / np.maximum(self._rows, 1.0)

    def add_row(self, Y: np.ndarray, learnt: np.ndarray) -> None:
        """Add the rows Y (C, p) of an instant; learnt (C,) bool."""
        if self.holds:
            self._rows = np.minimum(self._rows + learnt, self._memory)
            square = np.sum((Y[:, self._places] @ self._root) ** 2, axis=1)
            self.variance = self.variance + learnt / np.maximum(self._rows, 1.0) * (
                square - self.variance)

    @property
    def holds(self) -> bool:
        """Whether anything is frozen."""
        return bool(self._places.size)

    def dominates(self, noise: np.ndarray) -> np.ndarray:
        """(C,) bool: channels where the frozen parameters' error exceeds the noise (C,)."""
        return self.variance > noise ** 2

    def joined(self, noise: np.ndarray) -> np.ndarray:
        """(C,) deviations that weigh rows: of noise (C,) and the frozen parameters together."""
        return np.sqrt(noise ** 2 + self.variance) if self.holds else noise
