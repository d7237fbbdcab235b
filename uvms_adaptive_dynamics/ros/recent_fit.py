"""How well the last seconds were predicted, per channel: the node's own eye on itself, shown in its diagnostics."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..evaluation.metrics import channel_metrics
from ..uncertainty.advisories import doubt


class RecentFit:
    """A ring of the last `seconds` of predictions; filled on the worker's thread, read on the executor's."""

    def __init__(self, channels: tuple[str, ...], units: tuple[str, ...], period: float, seconds: float = 10.0):
        self.channels, self.units, self.seconds = channels, units, seconds
        shape = (max(2, round(seconds / period)), len(channels))
        self._measured, self._predicted, self._stddev, self._noise = (np.full(shape, np.nan) for _ in range(4))
        self._valid = np.zeros(shape, bool)
        self._next = 0
        self._lock = threading.Lock()

    def add(self, prediction: Any) -> None:
        """Take in the rows of a tick; they were predicted before they were used."""
        with self._lock:
            i = self._next % len(self._valid)
            self._measured[i], self._predicted[i] = prediction.measured, prediction.predicted
            self._stddev[i], self._noise[i], self._valid[i] = prediction.predicted_stddev, prediction.noise_stddev, prediction.valid
            self._next += 1

    def metrics(self) -> dict[str, dict[str, Any]]:
        """The figures of `evaluate` for each channel over the window, and 'doubt', the share of the parameters in the
        predictions' variance (None where a figure does not exist)."""
        with self._lock:
            measured, predicted, stddev, noise, valid = (array.copy() for array in (self._measured, self._predicted, self._stddev, self._noise, self._valid))
        return {channel: {**channel_metrics(measured[:, c], predicted[:, c], stddev[:, c], valid[:, c], unit),
                          "doubt": doubt(stddev[valid[:, c], c], noise[valid[:, c], c])}
                for c, (channel, unit) in enumerate(zip(self.channels, self.units))}
