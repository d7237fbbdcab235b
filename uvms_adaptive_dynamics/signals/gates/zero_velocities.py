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

"""Velocities of exactly zero on all axes, which many DVLs and drivers publish without bottom lock.

They fit the IMU whenever the vehicle happens to be slow. A noisy sensor, however, hardly ever
measures exactly zero, as the number of its single zeros tells; a coarse or a simulated one does.
"""
from __future__ import annotations

from collections.abc import Sequence

ZERO_WITHOUT_LOCK = "zero on all axes, as without bottom lock"
# Probability of zeros on all axes, by how often each is zero alone, below which they are no
# measurement: a sensor that gives no single zero needs 33 velocities before.
ZERO_CHANCE = 1e-6


class ZeroVelocities:
    """Counts zeros in the velocities of one sensor."""

    def __init__(self) -> None:
        self._values = self._zeros = 0      # of velocities that are not zero on all axes

    def are_unlikely(self, velocity: Sequence[float]) -> bool:
        """Add a velocity (3,); returns whether it is zero on all axes though the sensor does not
        measure exact zeros."""
        if any(velocity):
            self._values += len(velocity)
            self._zeros += sum(v == 0.0 for v in velocity)
            return False
        # Laplace's rule: without any velocity before, zero is as likely as not.
        return bool(((self._zeros + 1) / (self._values + 2)) ** len(velocity) < ZERO_CHANCE)
