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

"""The vehicle of the built-in prior, and its scaling to a similar vehicle of another weight
(docs/robots.md).

A vehicle of twice the length and the same density has 8 times the mass and buoyancy, 32 times the
moments of inertia and 4 times the drag. With a prior and deviations for 11 kg, the data of a
vehicle of 300 kg could never correct the estimate: the estimator would take the misfit for noise
and lower the weight of the rows.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..config import Config
from .parameters import USUAL_WEIGHT_LIMITS, VEHICLE_PARAMETERS

# BlueROV2 by C.-J. Wu, "6-DoF modelling and control of a remotely operated vehicle" (2018), in the
# table's order; values as published with the paper's code.
BLUEROV2_WU2018 = (17.0, 24.2, 26.07, 0.23, -0.23, -0.23, 0.23, 0.28, 0.28, 0.28, -4.03, -6.22,
                   -5.18, -0.07, -0.07, -0.07, -18.18, -21.66, -36.99, -1.55, -1.55, -1.55, 112.815,
                   114.8, 0.0, 0.0, 2.2563)
BLUEROV2_WEIGHT = BLUEROV2_WU2018[[name for name, _, _ in VEHICLE_PARAMETERS].index("W")]   # [N]
# Factor within which the weighed mass of vehicle and arm is the vehicle's: the usual limits are as
# wide. The arm is part of what was weighed; ballast is added and taken off.
WEIGHED_WITHIN = 1.4
# Share of the lightest vehicle's mass along an axis, or of its efforts' power, that thrust must
# explain to be judged there: with less, waves or a tether move the vehicle, and a controller's
# thrust answers.
LEAST_DRIVEN = 0.5
# Exponent of the weight by which quantities of similar vehicles scale, by unit: lengths with the
# cube root, drag with area; each moment and each angular rate adds one length.
POWER_OF_WEIGHT = {
    "kg": 1.0, "kg m": 4 / 3, "kg m^2": 5 / 3, "N": 1.0, "N m": 4 / 3,
    "N s/m": 2 / 3, "N s/rad": 1.0, "N m s/rad": 4 / 3,
    "N s^2/m^2": 2 / 3, "N s^2/m": 1.0, "N m s^2/rad^2": 5 / 3}


def weight_limits(config: Config) -> tuple[float, float]:
    """Least and largest weight [N] of the vehicle in air: as set, else from the mass weighed with
    the arm, else the usual ones."""
    robot, estimation = config.robot, config.estimation
    if estimation.weight_max > 0:
        return estimation.weight_min, estimation.weight_max
    if robot.dry_mass > 0:
        weight = robot.gravity * robot.dry_mass
        return weight / WEIGHED_WITHIN, weight * WEIGHED_WITHIN
    return USUAL_WEIGHT_LIMITS


def least_mass(config: Config) -> float:
    """Least mass [kg] of the vehicle, by its weight in air."""
    return weight_limits(config)[0] / config.robot.gravity


def weight_ratio(limits: tuple[float, float]) -> float:
    """Weight of the configured vehicle over that of the built-in prior: 1 if the prior's weight is
    within the weight limits [N], else from the geometric mean of the limits."""
    low, high = limits
    if low <= BLUEROV2_WEIGHT <= high:
        return 1.0
    return float(np.sqrt(max(low, 1e-3 * high) * high)) / BLUEROV2_WEIGHT


def size_factors(limits: tuple[float, float], units: Sequence[str]) -> np.ndarray:
    """(k,) factors from the built-in vehicle's quantities of these units to one of a weight within
    the limits [N]; 1 for units that do not scale with size, such as a current's speed."""
    ratio = weight_ratio(limits)
    return np.array([ratio ** POWER_OF_WEIGHT.get(unit, 0.0) for unit in units])
