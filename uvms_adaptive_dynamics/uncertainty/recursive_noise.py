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

"""The paper's channel noise, an exponentially weighted mean of squared residuals, as an alternative
to the calibrated noise (paper, "Inverse Dynamics": "estimated from residual statistics";
docs/mathematics.md, "Prediction")."""
from __future__ import annotations

import numpy as np

from ..config import Uncertainty
from .channel_noise import ChannelNoise


class RecursiveNoise(ChannelNoise):
    """Interval noise s from the recursion s^2 <- (1 - alpha) s^2 + alpha r^2 over earlier rows.

    The paper's public code includes the residual of the row that the interval must cover, so no
    residual can exceed 1.41 deviations; here the recursion stops one row earlier. Row weights and
    the saved noise are those of `ChannelNoise`, over all data."""

    def __init__(self, initial: np.ndarray, period: float, time_constant: float, memory: float,
                 adapt: bool, alpha: float):
        """See `ChannelNoise`; alpha: weight of the newest squared residual."""
        self._alpha = alpha
        super().__init__(initial, period, time_constant, memory, adapt)

    def restart(self, saved: np.ndarray | None = None, long_run: np.ndarray | None = None,
                rows_known: float = 0.0, effort: np.ndarray | None = None) -> None:
        """See `ChannelNoise.restart`."""
        super().restart(saved, long_run, rows_known, effort)
        self._recursive = (self._default if saved is None else np.array(saved, float)) ** 2

    @property
    def interval_stddev(self) -> np.ndarray:
        """(C,) noise of the next row's interval."""
        return np.sqrt(self._recursive)

    @property
    def lasting_stddev(self) -> np.ndarray:
        """(C,) noise for rows at another time, about which the newest residual says nothing."""
        return self.long_run

    def add_residual(self, residual: np.ndarray, valid: np.ndarray, predicted_stddev: np.ndarray,
                     informative: np.ndarray | None = None,
                     unlearnt: np.ndarray | None = None) -> None:
        """See `ChannelNoise.add_residual`."""
        super().add_residual(residual, valid, predicted_stddev, informative, unlearnt)
        if self._adapt:
            new = (1 - self._alpha) * self._recursive + self._alpha * residual ** 2
            self._recursive = np.where(valid, new, self._recursive)


def channel_noise(settings: Uncertainty, initial: np.ndarray, period: float, time_constant: float,
                  memory: float, adapt: bool) -> ChannelNoise:
    """The noise model that the settings select; arguments as for `ChannelNoise`."""
    if settings.noise == "recursive":
        return RecursiveNoise(initial, period, time_constant, memory, adapt, settings.noise_alpha)
    return ChannelNoise(initial, period, time_constant, memory, adapt)
