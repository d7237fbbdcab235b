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

"""Wandering quantities: random functions of time, determined by the seed."""
from __future__ import annotations

import numpy as np

WANDER_TONES = 8
SLOWEST = 10.0    # times the shortest period


class Wander:
    """Sum of tones at random periods between `period` and ten times that, one in each section of
    the range so that no two beat for long; it never repeats.

    `rms` (k,) of each component; `period` [s] of the fastest tone.
    """

    def __init__(self, rng: np.random.Generator, rms: np.ndarray, period: float):
        shape = np.size(rms), WANDER_TONES
        place = (np.arange(WANDER_TONES) + rng.uniform(0.25, 0.75, shape)) / WANDER_TONES
        self._omega = 2 * np.pi / (period * SLOWEST ** place)
        self._phase = rng.uniform(0.0, 2 * np.pi, shape)
        self._amplitude = np.asarray(rms, float)[:, None] * np.sqrt(2.0 / WANDER_TONES)

    def at(self, t: float) -> np.ndarray:
        """(k,) at t [s]."""
        return (self._amplitude * np.sin(self._omega * t + self._phase)).sum(axis=1)

    def rate(self, t: float) -> np.ndarray:
        """(k,) derivative [1/s] at t [s]."""
        return (self._amplitude * self._omega
                * np.cos(self._omega * t + self._phase)).sum(axis=1)
