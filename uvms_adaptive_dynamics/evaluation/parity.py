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

"""Parity plots as SVG: predicted against measured, with identity, regression line and the rows as
points (paper, parity analysis)."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .run_log import Rows

POINTS = 1200
SIZE = 200.0    # side of the plot, without labels


class Parity(NamedTuple):
    """A channel's plot: SVG path of the points in a square of side SIZE, ticks (position, text)
    shared by both axes, identity and regression line as (x1, y1, x2, y2)."""

    points: str
    ticks: list[tuple[float, str]]
    identity: tuple[float, ...]
    line: tuple[float, ...] | None


def parity(rows: Rows, c: int, channel: Mapping[str, Any]) -> Parity | None:
    """The plot of channel c, with metrics `channel`; None if no row counts."""
    measured, predicted = rows.measured[:, c], rows.predicted[:, c]
    counted = rows.counted(c)
    step = max(1, -(-int(counted.sum()) // POINTS))
    m, p = measured[counted][::step], predicted[counted][::step]
    if not m.size:
        return None
    # Predictions of the first seconds may be far off; leave them outside, as in the time plots.
    low, high = min(m.min(), np.percentile(p, 2)), max(m.max(), np.percentile(p, 98))
    margin = 0.05 * (high - low) or 1.0
    low, high = low - margin, high + margin

    def x(value: float | np.ndarray) -> Any:
        return np.round((value - low) / (high - low) * SIZE, 1)

    inside = (p >= low) & (p <= high)
    points = "".join(f"M{a:g} {b:g}h0" for a, b in zip(x(m[inside]), SIZE - x(p[inside])))
    ends = np.array([m.min(), m.max()])
    line = None
    if channel["slope"] is not None:
        fitted = channel["slope"] * ends + channel["bias"]
        line = tuple(float(v) for v in (x(ends[0]), SIZE - x(fitted[0]), x(ends[1]),
                                        SIZE - x(fitted[1])))
    return Parity(points, [(float(x(v)), f"{v:g}") for v in ticks(low, high)],
                  (float(x(ends[0])), float(SIZE - x(ends[0])), float(x(ends[1])),
                   float(SIZE - x(ends[1]))), line)


def ticks(low: float, high: float) -> list[float]:
    """Three to five round numbers between `low` and `high`."""
    step = 10.0 ** np.floor(np.log10((high - low) / 3.0))
    # Default 1: rounding may leave slightly less than three steps.
    step *= next((k for k in (5.0, 2.0) if (high - low) / (k * step) >= 3.0), 1.0)
    return [float(np.round(k * step, 12)) + 0.0
            for k in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]
