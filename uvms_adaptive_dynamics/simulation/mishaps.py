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
"""Mishaps in the middle of a run: a taut tether, a failing thruster."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .rough import Roughness, RoughWater, StillWater, Surroundings

TAUT_AFTER = 2.0        # [s] until a tether pulls with its full force


class Pull(NamedTuple):
    """A force (3,) NED [N] at the tether's attachment, from `begin` [s] on."""

    force: tuple[float, float, float]
    begin: float


class ThrusterFailure(NamedTuple):
    """The thruster of this index gives only a share of its thrust, from `begin` [s] on."""

    thruster: int
    share: float
    begin: float


class Held(NamedTuple):
    """Something holds the vehicle where it is, from `begin` to `end` [s]."""

    begin: float
    end: float


class Mishaps(NamedTuple):
    """All mishaps of a run; none by default."""

    pulls: tuple[Pull, ...] = ()
    failures: tuple[ThrusterFailure, ...] = ()
    held: tuple[Held, ...] = ()

    def thrust_share(self, t: float, count: int) -> np.ndarray:
        """(count,) share of its thrust that each thruster gives at t [s]."""
        share = np.ones(count)
        for failure in self.failures:
            if t >= failure.begin:
                share[failure.thruster] *= failure.share
        return share


class PulledWater:
    """Water with pulls in addition to its own tether; `place` (3,) [m] FLU is where both pull."""

    def __init__(self, water: StillWater | RoughWater, pulls: tuple[Pull, ...], rough: Roughness):
        self.place = np.array(rough.tether_place, float)
        self._water, self._pulls = water, pulls

    def at(self, t: float) -> Surroundings:
        """Current and pull at t [s]."""
        found = self._water.at(t)
        taut = [np.clip((t - pull.begin) / TAUT_AFTER, 0.0, 1.0) * np.array(pull.force)
                for pull in self._pulls]
        return found._replace(pull=found.pull + np.sum(taut, axis=0))
