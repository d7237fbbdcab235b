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

"""Prediction quality of the last seconds per channel, for the node's diagnostics."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..model.metrics import channel_metrics
from ..uncertainty.advisories import parameter_share


class RecentFit:
    """Ring buffer of the last `seconds` of predictions; filled by the worker, read by others."""

    def __init__(self, channels: tuple[str, ...], units: tuple[str, ...], period: float,
                 seconds: float = 10.0):
        self.channels, self.units, self.seconds = channels, units, seconds
        shape = (max(2, round(seconds / period)), len(channels))
        self._measured, self._predicted, self._stddev, self._noise = (
            np.full(shape, np.nan) for _ in range(4))
        self._valid = np.zeros(shape, bool)
        self._next = 0
        self._lock = threading.Lock()

    def add(self, prediction: Any, counted: np.ndarray | None = None) -> None:
        """Add the rows of a tick, predicted before they were used.

        counted (C,): rows to judge; None: all valid rows.
        """
        with self._lock:
            i = self._next % len(self._valid)
            self._measured[i], self._predicted[i] = prediction.measured, prediction.predicted
            self._stddev[i], self._noise[i] = prediction.predicted_stddev, prediction.noise_stddev
            self._valid[i] = prediction.valid if counted is None else prediction.valid & counted
            self._next += 1

    def clear(self) -> None:
        """Drop all rows."""
        with self._lock:
            self._valid[:] = False

    def metrics(self) -> dict[str, dict[str, Any]]:
        """`channel_metrics` of each channel over the buffer, and 'parameter_share': that of the
        prediction's variance due to parameter uncertainty. None where undefined."""
        with self._lock:
            measured, predicted, stddev, noise, valid = (array.copy() for array in (
                self._measured, self._predicted, self._stddev, self._noise, self._valid))
        found = {}
        for c, (channel, unit) in enumerate(zip(self.channels, self.units)):
            rows = valid[:, c]
            found[channel] = {
                **channel_metrics(measured[:, c], predicted[:, c], stddev[:, c], rows, unit),
                "parameter_share": parameter_share(stddev[rows, c], noise[rows, c])}
        return found
