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

"""Search for a motion's tones: random starts, the best of which is improved by a quasi-Newton
method (L-BFGS; Nocedal and Wright, 2006) until its iterations or its time run out."""
from __future__ import annotations

import math
import time

import numpy as np
from scipy.optimize import minimize

from .limits import MotionLimits
from .objective import Objective, Tones
from .trajectory import Trajectory

FIRST_SIZE = 0.5            # size of a random motion, as a share of the limits


class _TimeIsUp(Exception):
    """The search has used up its time."""


class Search:
    """Holds the best tones found so far."""

    def __init__(self, objective: Objective, limits: MotionLimits, band: tuple[float, float],
                 harmonics: int, until: float, seed: int):
        self._objective, self._limits, self._band = objective, limits, band
        self._harmonics, self._until, self._seed = harmonics, until, seed
        self._best: tuple[float, np.ndarray, Tones] | None = None
        self.evaluations, self.stopped = 0, False

    def start(self, count: int) -> None:
        """Try `count` random motions."""
        for k in range(count):
            rng = np.random.default_rng([self._seed, 3, k])
            tones = self._tones(rng)
            self._objective.use(tones)
            amplitudes, centres = self._objective.size()
            size = FIRST_SIZE / math.sqrt(self._harmonics)
            x = np.concatenate([size * rng.standard_normal(amplitudes), np.zeros(centres)])
            try:
                self._value(x, tones)
            except _TimeIsUp:
                return

    def improve(self, iterations: int) -> None:
        """Improve the best motion so far."""
        assert self._best is not None
        _, x, tones = self._best
        if self.stopped or not iterations:
            return
        self._objective.use(tones)
        try:
            minimize(self._value, x, args=(tones,), jac=True, method="L-BFGS-B",
                     options={"maxiter": iterations, "maxfun": 2 * iterations})
        except _TimeIsUp:
            return

    def gain(self) -> float:
        """Gain [nats] of the best motion, before it is fitted into its limits."""
        assert self._best is not None
        return -self._best[0]

    def trajectory(self, joints: tuple[str, ...], duration: float, ramp: float) -> Trajectory:
        """The best motion as a trajectory."""
        assert self._best is not None
        _, x, tones = self._best
        self._objective.use(tones)
        centre, amplitudes = self._objective.motion(x)
        amplitudes = amplitudes * np.concatenate([tones.unit, tones.unit], axis=1)
        h = tones.unit.shape[1]
        return Trajectory(joints, duration, ramp, centre, tones.frequencies, amplitudes[:, :h],
                          amplitudes[:, h:])

    def _value(self, x: np.ndarray, tones: Tones) -> tuple[float, np.ndarray]:
        value, slope = self._objective.value(x)
        self.evaluations += 1
        if self._best is None or value < self._best[0]:
            self._best = value, x.copy(), tones
        if time.thread_time() > self._until:
            self.stopped = True
            raise _TimeIsUp
        return value, slope

    def _tones(self, rng: np.random.Generator) -> Tones:
        """Random tones: frequencies spaced evenly on the logarithm, distinct between coordinates;
        a tone's unit is the largest amplitude that speed and range allow."""
        limits, d, h = self._limits, self._limits.low.size, self._harmonics
        slots = np.tile((np.arange(d) + rng.uniform(0.2, 0.8)) / d, (h, 1))
        place = (np.arange(h) + rng.permuted(slots, axis=1).T) / h
        frequencies = self._band[0] * (self._band[1] / self._band[0]) ** place
        unit = np.minimum(limits.fastest[:, None] / (2 * np.pi * frequencies),
                          limits.reach[:, None])
        return Tones(frequencies, unit)
