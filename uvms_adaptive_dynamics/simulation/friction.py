"""Joint friction with the Stribeck effect, and joint stops: torque and slope, for the implicit step of `physics`."""
from __future__ import annotations

import numpy as np

from .true_robot import TrueRobot


def joint_friction(robot: TrueRobot, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Friction torque (n,) [N m] that opposes joint speed (n,) [rad/s], and a slope (n,) [N m s/rad] for the solver.

    The falling part of the Stribeck curve is left out of the slope, which therefore is never negative.
    """
    viscous, coulomb, static = (np.asarray(x) for x in (robot.viscous, robot.coulomb, robot.static))
    height = coulomb + (static - coulomb) * np.exp(-(speed / robot.stribeck_speed) ** 2)
    sign = np.tanh(speed / robot.stiction_speed)
    return viscous * speed + height * sign, viscous + height * (1.0 - sign * sign) / robot.stiction_speed


def joint_stops(robot: TrueRobot, lower: np.ndarray, upper: np.ndarray, angle: np.ndarray,
                speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Torque (n,) [N m] that a stop takes off the joint (positive resists motion upward), and its slope in speed (n,).

    `lower`, `upper`, `angle` (n,) [rad]. A stop pushes and never pulls: leaving it is free.
    """
    beyond = np.maximum(angle - upper, 0.0) + np.minimum(angle - lower, 0.0)
    if not beyond.any():
        return np.zeros(angle.size), np.zeros(angle.size)
    torque = robot.stop_stiffness * beyond + robot.stop_damping * speed * (beyond != 0.0)
    pushes = torque * beyond > 0.0
    return np.where(pushes, torque, 0.0), np.where(pushes, robot.stop_damping, 0.0)
