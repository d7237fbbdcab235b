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

"""PID gains that move from the prior's inertias to the estimated ones.

A prior may be wrong by any factor, so its loop must be slow; measured inertias allow a fast one.
In between, each axis interpolates by how much of its prior standard deviation is gone. No estimate
makes a gain smaller than the prior's: a tether that pulls while the vehicle holds still can look
like an inertia of nearly zero.
"""
from __future__ import annotations

import math

import numpy as np

from ..model.parameter_set import ParameterSet
from .feedforward import Feedforward
from .motion_controller import Gains, gains_of, loads

# Factor above the prior's inertia or friction (or its deviation if that is larger) to which an
# estimate is clipped.
BELIEVED = 10.0
LEAST_FRICTION = 1e-9  # keeps the logarithm of a zero friction finite


class GainSchedule:
    """One per arming; call `at` at the controller's rate."""

    def __init__(self, nominal: ParameterSet, joints: tuple[str, ...],
                 unknown: tuple[float, ...], known: tuple[float, ...],
                 feedforward: Feedforward | None):
        """nominal: the prior; unknown, known: bandwidths (3,) [rad/s] of translation, rotation and
        joints with the prior's inertias and friction, and with measured ones; feedforward: source
        of the trusted estimate, None to stay with the prior."""
        names = loads(joints)
        place = {name: k for k, name in enumerate(nominal.names)}
        prior = np.log(np.maximum(nominal.values[[place[name] for name in names]], LEAST_FRICTION))
        slow, fast = (np.log(np.repeat(each, (3, 3, len(joints)))) for each in (unknown, known))
        self._prior, self._slow, self._fast = prior, slow, fast
        self._feedforward = feedforward
        if feedforward is not None:
            self._places = [feedforward.robot.table.index[name] for name in names]
            self._fresh = feedforward.prior_stddev[self._places]
        self._load, self._bandwidth = prior, slow       # logarithms of the acting values
        self._before: float | None = None

    def at(self, t: float) -> Gains:
        """Gains at time t [s]: they approach those of the present estimate with the time constant
        of the feedforward (feedforward.blend_time)."""
        load, bandwidth = self._wanted(t)
        share = self._share(t)
        self._load = self._load + share * (load - self._load)
        self._bandwidth = self._bandwidth + share * (bandwidth - self._bandwidth)
        return self.present

    @property
    def present(self) -> Gains:
        """Gains of the last call of `at`; before any, those of the prior."""
        return gains_of(np.exp(self._load), np.exp(self._bandwidth))

    def _wanted(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        trusted = None if self._feedforward is None else self._feedforward.trusted(t)
        if trusted is None:
            return self._prior, self._slow
        pi, stddev = (each[self._places] for each in trusted)
        known = np.clip(1.0 - stddev / self._fresh, 0.0, 1.0)
        nominal = np.exp(self._prior)
        found = np.log(np.clip(pi, nominal * np.exp(self._slow - self._fast),
                               np.maximum(nominal, self._fresh) * BELIEVED))
        return (self._prior + known * (found - self._prior),
                self._slow + known * (self._fast - self._slow))

    def _share(self, t: float) -> float:
        """Share of the way to cover since the last call; 0 at the first one."""
        before, self._before = self._before, t
        if before is None or self._feedforward is None:
            return 0.0
        time = self._feedforward.settings.blend_time
        return 1.0 if time == 0.0 else -math.expm1(-max(t - before, 0.0) / time)
