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

"""Figures of merit of predictions with intervals, per channel (paper, Results, table of metrics).

Shared by `evaluate`, the studies and the node's diagnostics.
"""
from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from .normal import Z95

# share of the stated deviation by which an effort must vary to be explained at all
STILL_SHARE = 0.01
METRICS = ("r2", "slope", "bias", "mse", "mae", "rmse", "coverage95", "interval_width", "nll")


def channel_metrics(measured: np.ndarray, predicted: np.ndarray, stddev: np.ndarray,
                    valid: np.ndarray, unit: str) -> dict[str, object]:
    """The metrics of one channel.

    All arrays are (T,); `stddev` is that of the prediction, measurement noise included. Rows that
    are valid and finite count, the rest is `masked`. `slope` and `bias`: least-squares line of
    predicted on measured; `interval_width`: mean full width of the 95 % interval in `unit`; `nll`:
    mean negative log-likelihood [nats]. A figure that does not exist (no rows, no variance, no
    stddev) is None.
    """
    counted = valid & np.isfinite(measured) & np.isfinite(predicted)
    m, p, s = measured[counted], predicted[counted], stddev[counted]
    n = int(m.size)
    found: dict[str, object] = {"unit": unit, "n": n, "masked": int(measured.size) - n,
                                **dict.fromkeys(METRICS)}
    if n == 0:
        return found
    residual = m - p
    mse = float(np.mean(residual ** 2))
    found.update(mse=mse, mae=float(np.mean(np.abs(residual))), rmse=math.sqrt(mse))
    if np.isfinite(s).all() and (s > 0).all():
        found.update(
            coverage95=float(np.mean(np.abs(residual) <= Z95 * s)),
            interval_width=float(2 * Z95 * np.mean(s)),
            nll=float(np.mean(negative_log_likelihood(residual, s))))
    deviation = m - m.mean()
    total = float(deviation @ deviation)
    # A constant channel has no variance to explain, only the rounding of its mean, or what is far
    # below the noise: the end of a rotor's lag.
    least = 1e-12 * max(1.0, float(np.abs(m).max()))
    if np.isfinite(s).all():
        least = max(least, STILL_SHARE * float(np.median(s)))
    if n >= 2 and total > n * least ** 2:
        slope = float(deviation @ p) / total
        found.update(r2=1.0 - float(residual @ residual) / total, slope=slope,
                     bias=float(p.mean() - slope * m.mean()))
    return {key: _finite(value) for key, value in found.items()}


def negative_log_likelihood(residual: np.ndarray, stddev: np.ndarray) -> np.ndarray:
    """[nats] Of each Gaussian residual with its deviation, in the shape of both."""
    return 0.5 * np.log(2 * np.pi * stddev ** 2) + 0.5 * (residual / stddev) ** 2


def all_channels(names: Iterable[str], units: Iterable[str], measured: np.ndarray,
                 predicted: np.ndarray, stddev: np.ndarray,
                 valid: np.ndarray) -> dict[str, dict[str, object]]:
    """`channel_metrics` of every column of (T, C) arrays, by channel name."""
    return {name: channel_metrics(measured[:, c], predicted[:, c], stddev[:, c], valid[:, c], unit)
            for c, (name, unit) in enumerate(zip(names, units))}


def timing(milliseconds: Iterable[float]) -> dict[str, float | None]:
    """Median, 99th percentile and maximum [ms]; None without a finite value."""
    times = np.asarray(list(milliseconds), float)
    times = times[np.isfinite(times)]
    if times.size == 0:
        return {"median": None, "p99": None, "max": None}
    return {"median": float(np.median(times)), "p99": float(np.percentile(times, 99)),
            "max": float(times.max())}


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
