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

"""Joint friction with the Stribeck effect, and joint stops: torques and slopes by joint speed."""
from __future__ import annotations

import numpy as np

from .true_robot import TrueRobot


def joint_friction(robot: TrueRobot, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Friction torque (n,) [N m] against joint speed (n,) [rad/s], and its slope (n,) [N m s/rad].

    The slope is for the implicit step of `physics`; it omits the falling part of the Stribeck curve
    and is therefore never negative.
    """
    viscous, _, _ = robot.friction
    height, sign = _height_and_sign(robot, speed)
    slope = viscous + height * (1.0 - sign * sign) / robot.stiction_speed
    return viscous * speed + height * sign, slope


def friction_torque(robot: TrueRobot, speed: np.ndarray) -> np.ndarray:
    """The torque (n,) of `joint_friction` alone."""
    viscous, _, _ = robot.friction
    height, sign = _height_and_sign(robot, speed)
    return viscous * speed + height * sign


def _height_and_sign(robot: TrueRobot, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) each: friction of the Stribeck curve without viscous friction [N m]; its smooth sign."""
    _, coulomb, breakaway = robot.friction
    height = coulomb + breakaway * np.exp(-(speed / robot.stribeck_speed) ** 2)
    return height, np.tanh(speed / robot.stiction_speed)


def joint_stops(robot: TrueRobot, lower: np.ndarray, upper: np.ndarray, angle: np.ndarray,
                speed: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Resisting torque (n,) [N m] of the stops (positive: against upward motion), and its slope
    (n,); None if no joint is at one.

    `lower`, `upper`, `angle` (n,) [rad], `speed` (n,) [rad/s]. Stops only push.
    """
    if not np.logical_or(angle > upper, angle < lower).any():
        return None
    beyond = np.maximum(angle - upper, 0.0) + np.minimum(angle - lower, 0.0)
    torque = robot.stop_stiffness * beyond + robot.stop_damping * speed * (beyond != 0.0)
    pushes = torque * beyond > 0.0
    return np.where(pushes, torque, 0.0), np.where(pushes, robot.stop_damping, 0.0)
