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

"""Variants of a robot: another copy of the same kind, trimmed differently, on another day."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from .true_robot import TrueRobot

WATER_SHARE = 0.15       # of added mass and damping, along each axis
FRICTION_SHARE = 0.2     # of each joint's friction
LAG_SHARE = 0.15         # of the rotors' lag
MOUNT_ERROR = 0.002      # [m] of mounts and sensors, as measured with a ruler
TRIM = 0.001             # [m] shift of the centre of mass
ALLOCATION_SHARE = 0.015   # of each lever and direction of a thruster
GRAVITY_RANGE = 9.780, 9.832  # [m/s^2] equator, poles
DENSITY_RANGE = 996.0, 1030.0  # [kg/m^3] warm pool, cold sea
PRESSURE_RANGE = 98500.0, 103500.0  # [Pa] weather
VOLTAGE = 0.3            # [V] of the battery


def individual(robot: TrueRobot, number: int) -> TrueRobot:
    """The variant of that number; number 0 is `robot` itself.

    Vehicle, friction, thrusters, mounts, water and battery differ, links do not. The net buoyancy
    stays the same in the other water.
    """
    if number == 0:
        return robot
    rng = np.random.default_rng([number, 0])

    def off(value, share: float) -> np.ndarray:
        """The value with each number off by up to `share` of itself."""
        return np.asarray(value) * rng.uniform(1.0 - share, 1.0 + share, np.shape(value))

    def moved(place, by: float) -> tuple:
        return tuple(np.asarray(place) + rng.uniform(-by, by, 3))

    # D A D with a diagonal D keeps a matrix positive definite.
    added, linear, quadratic = np.sqrt(rng.uniform(1.0 - WATER_SHARE, 1.0 + WATER_SHARE, (3, 6)))
    gravity, density = rng.uniform(*GRAVITY_RANGE), rng.uniform(*DENSITY_RANGE)
    arm_volume = sum(link.volume for link in robot.links)
    arm_mass = sum(link.mass for link in robot.links)
    net = robot.buoyancy + robot.gravity * (
        robot.water_density * arm_volume - arm_mass - robot.mass)
    voltage = rng.uniform(-VOLTAGE, VOLTAGE)
    friction = rng.uniform(1.0 - FRICTION_SHARE, 1.0 + FRICTION_SHARE, (2, len(robot.joints)))
    return replace(
        robot, com=moved(robot.com, TRIM), gravity=gravity, water_density=density,
        buoyancy=net + gravity * (arm_mass + robot.mass - density * arm_volume),
        added_mass=added[:, None] * robot.added_mass * added,
        linear_damping=linear[:, None] * robot.linear_damping * linear,
        quadratic_damping=quadratic[:, None] * robot.quadratic_damping * quadratic,
        viscous=tuple(friction[0] * robot.viscous), coulomb=tuple(friction[1] * robot.coulomb),
        static=tuple(friction[1] * robot.static), rotor_lag=float(off(robot.rotor_lag, LAG_SHARE)),
        allocation=off(robot.allocation, ALLOCATION_SHARE),
        mount_xyz=moved(robot.mount_xyz, MOUNT_ERROR),
        dvl_place=moved(robot.dvl_place, MOUNT_ERROR),
        surface_pressure=rng.uniform(*PRESSURE_RANGE), battery_full=robot.battery_full + voltage,
        battery_empty=robot.battery_empty + voltage)
