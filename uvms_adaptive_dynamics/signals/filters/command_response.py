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

"""How thrusters respond to commands near neutral: dead zones, and laws that resemble them."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...config.thrusters import ZONE_CUT, ZONE_SHIFT

POWER = "power"     # thrust is a power of the thrust that is expected


class Response(NamedTuple):
    """A response that is tried besides the configured one.

    kind: ZONE_CUT or ZONE_SHIFT, with a dead zone of `value` [share of full command] in place of
    the configured one; POWER, with exponent `value`."""

    kind: str
    value: float


def acting(command: np.ndarray, zone: np.ndarray | float, kind: str) -> np.ndarray:
    """The part of commands about neutral that acts, given a dead zone in the same unit: beyond it
    all of a command (ZONE_CUT), or only what exceeds it (ZONE_SHIFT)."""
    size = np.abs(command)
    if kind == ZONE_CUT:
        return np.where(size < zone, 0.0, command)
    return np.sign(command) * np.maximum(size - zone, 0.0)


class TriedResponses:
    """The thrust that each of K responses gives."""

    def __init__(self, tried: tuple[Response, ...]):
        self._kinds = [(kind, np.array([[one.value] for one in tried if one.kind == kind]),
                        [k for k, one in enumerate(tried) if one.kind == kind])
                       for kind in (ZONE_CUT, ZONE_SHIFT, POWER)]
        self.count = len(tried)

    def acting(self, command: np.ndarray, full: float, expected: np.ndarray) -> np.ndarray:
        """(K, N) commands about neutral that act where N are given; `expected` (N,) for POWER.
        full: the full command."""
        found = np.empty((self.count, len(command)))
        for kind, values, places in self._kinds:
            found[places] = (expected if kind == POWER else acting(command, full * values, kind))
        return found

    def bent(self, thrust: np.ndarray) -> np.ndarray:
        """Thrust (K, N) with the exponents applied."""
        for kind, values, places in self._kinds:
            if kind == POWER:
                thrust[places] = np.sign(thrust[places]) * np.abs(thrust[places]) ** values
        return thrust
