"""A wanted motion of vehicle and arm in the body's own velocities and accelerations."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.rotations import from_rpy


class DesiredMotion(NamedTuple):
    """position (3,) NED [m]; R_nb (3, 3) body FRD to NED; nu (6,) [m/s, rad/s] and its derivative
    nu_dot in the body; mu, mu_dot, mu_ddot (n,) of the joints [rad or m]."""

    position: np.ndarray
    R_nb: np.ndarray
    nu: np.ndarray
    nu_dot: np.ndarray
    mu: np.ndarray
    mu_dot: np.ndarray
    mu_ddot: np.ndarray


def desired_motion(value: np.ndarray, rate: np.ndarray, acceleration: np.ndarray) -> DesiredMotion:
    """The motion of a pose (6 + n,) NED [m], roll-pitch-yaw [rad], joints, with its two
    derivatives.

    Fossen (2021), section 2.2: omega = T^-1 d(rpy)/dt, and nu = R^T dp/dt turns with the body.
    """
    R = from_rpy(*value[3:6])
    (sr, sp), (cr, cp) = np.sin(value[3:5]), np.cos(value[3:5])
    roll_rate, pitch_rate, yaw_rate = rate[3:6]
    to_body = np.array([[1.0, 0.0, -sp], [0.0, cr, cp * sr], [0.0, -sr, cp * cr]])
    omega = to_body @ rate[3:6]
    turning = np.array([
        -cp * pitch_rate * yaw_rate,
        -sr * roll_rate * pitch_rate + (cp * cr * roll_rate - sp * sr * pitch_rate) * yaw_rate,
        -cr * roll_rate * pitch_rate - (cp * sr * roll_rate + sp * cr * pitch_rate) * yaw_rate])
    velocity = R.T @ rate[:3]
    return DesiredMotion(
        value[:3], R, np.concatenate([velocity, omega]),
        np.concatenate([R.T @ acceleration[:3] - np.cross(omega, velocity),
                        to_body @ acceleration[3:6] + turning]),
        value[6:], rate[6:], acceleration[6:])
