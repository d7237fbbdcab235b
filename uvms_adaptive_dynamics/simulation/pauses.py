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

"""Axes that stand still for minutes, like those that an operator does not use."""
from __future__ import annotations

import numpy as np

from .motion import Motion, Reference

MOVING = 60.0, 150.0    # [s] shortest and longest span
STANDING = 120.0, 240.0
PAUSE_RAMP = 8.0        # [s] from motion to rest and back
SCHEDULE_LEAD = 60.0    # [s] before time zero at which the schedule begins


class Pauses:
    """When one axis moves: a share from 0 (stands) to 1 (moves), with its first two derivatives."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng
        self._moves_first = bool(rng.random() < 0.5)
        # Time zero falls into the first span.
        self._edges = [-SCHEDULE_LEAD + rng.uniform(*(MOVING if self._moves_first else STANDING))]

    def at(self, t: float) -> np.ndarray:
        """(3,) share, its rate [1/s] and acceleration [1/s^2] at t [s]."""
        while self._edges[-1] + PAUSE_RAMP <= t:
            moves = self._moves_first == (len(self._edges) % 2 == 0)
            self._edges.append(self._edges[-1] + PAUSE_RAMP
                               + self._rng.uniform(*(MOVING if moves else STANDING)))
        k = int(np.searchsorted(self._edges, t, side="right"))
        moves_before = self._moves_first == (max(k - 1, 0) % 2 == 0)
        if k == 0 or t >= self._edges[k - 1] + PAUSE_RAMP:
            moves = self._moves_first == (k % 2 == 0)
            return np.array([float(moves), 0.0, 0.0])
        x = (t - self._edges[k - 1]) / PAUSE_RAMP
        # a quintic from 0 to 1, at rest at both ends
        rise = np.array([x ** 3 * (10 - 15 * x + 6 * x * x),
                         30 * x * x * (1 - x) ** 2 / PAUSE_RAMP,
                         60 * x * (1 - x) * (1 - 2 * x) / PAUSE_RAMP ** 2])
        return np.array([1.0, 0.0, 0.0]) - rise if moves_before else rise


class PausingMotion:
    """A motion whose axes pause at their centre now and then, each on its own schedule."""

    def __init__(self, motion: Motion, rng: np.random.Generator):
        self._motion, self.centre = motion, motion.centre
        self._schedules = [Pauses(axis) for axis in rng.spawn(len(motion.centre))]

    def at(self, t: float) -> Reference:
        """Reference at t [s], consistent with its rate and acceleration."""
        value, rate, acceleration = self._motion.at(t)
        swing = value - self.centre
        s, s_dot, s_ddot = np.array([schedule.at(t) for schedule in self._schedules]).T
        return Reference(self.centre + s * swing, s * rate + s_dot * swing,
                         s * acceleration + 2.0 * s_dot * rate + s_ddot * swing)
