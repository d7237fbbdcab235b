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

"""Effects that a real vehicle has and the model lacks: tether, current, uneven thrusters, pauses.

`Roughness` sets their size, zero by default. `RoughWater` is drawn from the seed of a run,
`RoughThrusters` from the number of the robot.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .combine import combined
from .true_robot import TrueRobot
from .wander import Wander


@dataclass(frozen=True)
class Roughness:
    """Size of each effect; none by default.

    tether_force    [N] rms pull of the tether along north, east and down
    tether_period   [s] of its fastest change
    tether_place    [m] FLU, its attachment
    current_speed   [m/s] rms of the current along north and east, a quarter of it along down
    current_period  [s] of its fastest change
    asymmetry       each thruster's thrust forward and astern is off by up to this share
    interaction     share of a thruster's thrust lost to the others when all run at full thrust
    off_axis        factor on the off-axis damping, for which the model has no column
    dvl_rate        [Hz] of the DVL, None: the sensor's default
    dvl_noise       [m/s] of each axis, None: the sensor's default
    mocap           velocity from 20 Hz motion capture in place of the DVL
    pauses          each axis and joint stands still for two to four minutes now and then
    """

    tether_force: float = 0.0
    tether_period: float = 15.0
    tether_place: tuple = (-0.20, 0.0, 0.12)
    current_speed: float = 0.0
    current_period: float = 30.0
    asymmetry: float = 0.0
    interaction: float = 0.0
    off_axis: float = 1.0
    dvl_rate: float | None = None
    dvl_noise: float | None = None
    mocap: bool = False
    pauses: bool = False


# Choices of `simulate --rough`. An 8 mm tether with 10 m across a flow of 0.2 m/s pulls with 2 N.
ROUGH_PARTS = {
    "tether": Roughness(tether_force=2.0),
    "current": Roughness(current_speed=0.08),
    "asymmetry": Roughness(asymmetry=0.2),
    "interaction": Roughness(interaction=0.15),
    "damping": Roughness(off_axis=2.0),
    "dvl": Roughness(dvl_rate=4.0, dvl_noise=0.05),
    "mocap": Roughness(mocap=True),
    "pauses": Roughness(pauses=True),
}


def roughness(parts: Iterable[str]) -> Roughness:
    """The named parts combined; raises KeyError for a name that is not in ROUGH_PARTS."""
    return combined(parts, ROUGH_PARTS, Roughness())


# `simulate --rough` without a part: everything but motion capture, which replaces the DVL.
ROUGH = roughness(part for part in ROUGH_PARTS if part != "mocap")


def roughened(robot: TrueRobot, rough: Roughness) -> TrueRobot:
    """The robot with its off-axis damping multiplied by `rough.off_axis`."""
    if rough.off_axis == 1.0:
        return robot

    def scaled(matrix: np.ndarray) -> np.ndarray:
        diagonal = np.diag(np.diag(matrix))
        return diagonal + rough.off_axis * (matrix - diagonal)

    return replace(robot, linear_damping=scaled(robot.linear_damping),
                   quadratic_damping=scaled(robot.quadratic_damping))


class Surroundings(NamedTuple):
    """Water and tether at an instant, NED: current (3,) [m/s], its rate (3,) [m/s^2], the tether's
    pull (3,) [N]."""

    current: np.ndarray
    current_rate: np.ndarray
    pull: np.ndarray


class StillWater:
    """No current and no tether."""

    place = np.zeros(3)
    _still = Surroundings(np.zeros(3), np.zeros(3), np.zeros(3))

    def at(self, t: float) -> Surroundings:
        """Current and pull at t [s]: zero."""
        return self._still


class RoughWater:
    """A wandering current and tether force; `place` (3,) [m] FLU is where the tether pulls."""

    def __init__(self, rough: Roughness, rng: np.random.Generator):
        current, tether = rng.spawn(2)
        self.place = np.array(rough.tether_place, float)
        self._current = Wander(current, rough.current_speed * np.array([1.0, 1.0, 0.25]),
                               rough.current_period)
        self._tether = Wander(tether, np.full(3, rough.tether_force), rough.tether_period)

    def at(self, t: float) -> Surroundings:
        """Current and pull at t [s]."""
        return Surroundings(self._current.at(t), self._current.rate(t), self._tether.at(t))


class EvenThrusters:
    """Each thruster follows its curve."""

    def thrust(self, alone: np.ndarray) -> np.ndarray:
        """(k,) actual thrust [N] for thrust `alone` (k,) [N] according to the curve."""
        return alone


class RoughThrusters:
    """Thrusters that differ from their curve, forward and astern, and disturb each other's flow.

    `full` [N] is the thrust of a thruster at full command.
    """

    def __init__(self, rough: Roughness, rng: np.random.Generator, count: int, full: float):
        self._forward, self._astern = rng.uniform(
            1.0 - rough.asymmetry, 1.0 + rough.asymmetry, (2, count))
        taken = rng.uniform(0.0, 1.0, (count, count))
        np.fill_diagonal(taken, 0.0)
        self._taken = rough.interaction * taken / taken.sum(axis=1, keepdims=True) / full

    def thrust(self, alone: np.ndarray) -> np.ndarray:
        """(k,) actual thrust [N] for thrust `alone` (k,) [N] according to the curve."""
        own = alone * np.where(alone >= 0.0, self._forward, self._astern)
        return own * (1.0 - np.minimum(self._taken @ np.abs(alone), 1.0))
