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

"""Times by two clocks: wall clock, and processor time, which other processes do not lengthen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Times(NamedTuple):
    """Wall-clock and processor time [ms]."""

    wall: float
    cpu: float


class Stopwatch:
    """Starts when it is created."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def read(self) -> Times:
        """Time since its creation."""
        return Times(1e3 * (time.perf_counter() - self._wall),
                     1e3 * (time.process_time() - self._cpu))


def spread(name: str, times: Sequence[Times]) -> dict[str, dict[str, float] | None]:
    """{name_ms, name_cpu_ms}: median, 99th percentile and maximum of each clock; None without
    times."""
    return {
        f"{name}{unit}": _figures([getattr(t, clock) for t in times])
        for clock, unit in (("wall", "_ms"), ("cpu", "_cpu_ms"))
    }


def _figures(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {
        "median": float(np.median(values)),
        "p99": float(np.percentile(values, 99)),
        "max": float(np.max(values)),
    }
