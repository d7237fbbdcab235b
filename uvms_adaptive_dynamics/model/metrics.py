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

"""Metrics of predictions with intervals, per channel (paper, Results, table of metrics).

Shared by `evaluate`, the studies and the node's diagnostics.
"""
from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from .normal import Z95

# R^2 and the fitted line exist only if the effort varies by this share of the stated deviation
STILL_SHARE = 0.01
METRICS = ("r2", "slope", "bias", "mse", "mae", "rmse", "coverage95", "interval_width", "nll")


def channel_metrics(measured: np.ndarray, predicted: np.ndarray, stddev: np.ndarray,
                    valid: np.ndarray, unit: str) -> dict[str, object]:
    """The metrics of one channel.

    All arrays are (T,); `stddev` is the prediction's, measurement noise included. Only valid and
    finite rows count; the others are `masked`. `slope` and `bias`: least-squares line of predicted
    on measured; `interval_width`: mean full width of the 95 % interval in `unit`; `nll`: mean
    negative log-likelihood [nats]. An undefined metric (no rows, no variance, no stddev) is None.
    """
    counted = compared(measured, predicted, valid)
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
    # A constant channel has no variance to explain: only rounding of its mean, or variation far
    # below the noise such as the tail of a rotor's lag.
    least = 1e-12 * max(1.0, float(np.abs(m).max()))
    if np.isfinite(s).all():
        least = max(least, STILL_SHARE * float(np.median(s)))
    if n >= 2 and total > n * least ** 2:
        slope = float(deviation @ p) / total
        found.update(r2=1.0 - float(residual @ residual) / total, slope=slope,
                     bias=float(p.mean() - slope * m.mean()))
    return {key: _finite(value) for key, value in found.items()}


def compared(measured: np.ndarray, predicted: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """(T,) bool: rows that are valid and finite."""
    return valid & np.isfinite(measured) & np.isfinite(predicted)


def shown(value: float | None, form: str = ".4g") -> str:
    """A figure for people in this format; '-' if it is undefined."""
    return "-" if value is None else format(value, form)


def negative_log_likelihood(residual: np.ndarray, stddev: np.ndarray) -> np.ndarray:
    """Negative log-likelihood [nats] of each Gaussian residual, in the shape of `residual`."""
    return 0.5 * np.log(2 * np.pi * stddev ** 2) + 0.5 * (residual / stddev) ** 2


def all_channels(names: Iterable[str], units: Iterable[str], measured: np.ndarray,
                 predicted: np.ndarray, stddev: np.ndarray,
                 valid: np.ndarray) -> dict[str, dict[str, object]]:
    """`channel_metrics` of each column of (T, C) arrays, by channel name."""
    return {name: channel_metrics(measured[:, c], predicted[:, c], stddev[:, c], valid[:, c], unit)
            for c, (name, unit) in enumerate(zip(names, units))}


def timing(milliseconds: Iterable[float]) -> dict[str, float | None]:
    """Median, 99th percentile and maximum [ms]; None if no value is finite."""
    times = np.asarray(list(milliseconds), float)
    times = times[np.isfinite(times)]
    if times.size == 0:
        return {"median": None, "p99": None, "max": None}
    return {"median": float(np.median(times)), "p99": float(np.percentile(times, 99)),
            "max": float(times.max())}


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
