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

"""A desired motion of vehicle and arm, in body velocities and accelerations."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.rotations import from_rpy


class DesiredMotion(NamedTuple):
    """position (3,) NED [m]; R_nb (3, 3) body FRD to NED; body velocity nu (6,) [m/s, rad/s] and
    its derivative nu_dot; joints mu, mu_dot, mu_ddot (n,) [rad or m]."""

    position: np.ndarray
    R_nb: np.ndarray
    nu: np.ndarray
    nu_dot: np.ndarray
    mu: np.ndarray
    mu_dot: np.ndarray
    mu_ddot: np.ndarray


def placed(motion: DesiredMotion, position: np.ndarray, heading: float) -> DesiredMotion:
    """Move a motion about the origin with heading north to a position (3,) NED [m] and a heading
    [rad, from north to east]."""
    turn = from_rpy(0.0, 0.0, heading)
    return motion._replace(position=position + turn @ motion.position, R_nb=turn @ motion.R_nb)


def desired_motion(value: np.ndarray, rate: np.ndarray, acceleration: np.ndarray) -> DesiredMotion:
    """The motion of a pose (..., 6 + n): NED [m], roll-pitch-yaw [rad], joints, and its first two
    derivatives. Leading axes, such as many instants, carry over to all results.

    Fossen (2021), section 2.2: omega = T^-1 d(rpy)/dt, and nu = R^T dp/dt turns with the body.
    """
    angles = value[..., 3:6]
    R = np.array([from_rpy(*each) for each in angles.reshape(-1, 3).tolist()]).reshape(
        *angles.shape, 3)
    sr, sp, cr, cp = np.sin(angles[..., 0]), np.sin(angles[..., 1]), np.cos(
        angles[..., 0]), np.cos(angles[..., 1])
    roll_rate, pitch_rate, yaw_rate = np.moveaxis(rate[..., 3:6], -1, 0)

    def to_body(rates: np.ndarray) -> np.ndarray:
        roll, pitch, yaw = np.moveaxis(rates, -1, 0)
        return np.stack([roll - sp * yaw, cr * pitch + cp * sr * yaw,
                         cp * cr * yaw - sr * pitch], axis=-1)

    omega = to_body(rate[..., 3:6])
    turning = np.stack([
        -cp * pitch_rate * yaw_rate,
        -sr * roll_rate * pitch_rate + (cp * cr * roll_rate - sp * sr * pitch_rate) * yaw_rate,
        -cr * roll_rate * pitch_rate - (cp * sr * roll_rate + sp * cr * pitch_rate) * yaw_rate],
        axis=-1)
    velocity = np.einsum("...ji,...j->...i", R, rate[..., :3])
    linear = np.einsum("...ji,...j->...i", R, acceleration[..., :3])
    return DesiredMotion(
        value[..., :3], R, np.concatenate([velocity, omega], axis=-1),
        np.concatenate([linear - np.cross(omega, velocity),
                        to_body(acceleration[..., 3:6]) + turning], axis=-1),
        value[..., 6:], rate[..., 6:], acceleration[..., 6:])
