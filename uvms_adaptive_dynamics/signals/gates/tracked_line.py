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

"""A line through the values of a slowly drifting vector, as a Kalman filter tracks it."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np


class TrackedLine(NamedTuple):
    """A line at t [s]: state (2, 3) with value and slope; variances: of the value, covariance of
    value and slope, of the slope, the same for all axes."""

    t: float
    state: np.ndarray
    variances: tuple[float, float, float]

    def at(self, t: float, q: float) -> TrackedLine:
        """The prediction to t [s]; the slope is a random walk with variance `q` per second."""
        dt, (a, b, c) = t - self.t, self.variances
        return TrackedLine(t, np.array([self.state[0] + dt * self.state[1], self.state[1]]),
                           (a + 2 * dt * b + dt * dt * c + q * dt ** 3 / 3,
                            b + dt * c + q * dt * dt / 2, c + q * dt))

    def with_value(self, value: np.ndarray, variance: float) -> TrackedLine:
        """The Kalman update with a value (3,) at the same time and its variance."""
        a, b, c = self.variances
        k0, k1 = a / (a + variance), b / (a + variance)
        return TrackedLine(self.t, self.state + np.array([[k0], [k1]]) * (value - self.state[0]),
                           ((1 - k0) * a, (1 - k0) * b, c - k1 * b))
