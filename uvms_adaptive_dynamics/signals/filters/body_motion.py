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

"""Motion of the body at a tick, with the reasons for what is unknown."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...model.rotations import cross

NO_IMU, CONTRADICTS = "no imu", "imu contradicts itself"
NO_DVL, DVL_CONTRADICTS = "no dvl", "dvl contradicts imu"


class BodyMotion(NamedTuple):
    """Motion of the body origin at a tick: R_nb (3, 3), nu (6,), nu_dot (6,) in body FRD.

    `mask_reason`: why the vehicle's rows are masked, '' if they are not. Unknown quantities are
    zero, an unknown attitude is the expected one. `down_covariance`, `velocity_stddev`: see
    `Sample`.
    """

    R_nb: np.ndarray
    nu: np.ndarray
    nu_dot: np.ndarray
    mask_reason: str
    down_covariance: np.ndarray | None = None
    velocity_stddev: float = 0.0


class LinearMotion(NamedTuple):
    """v, v_dot (3,) of the body origin in body axes; mask_reason: why they are unknown, or '';
    stddev: standard deviation of v [m/s], 0 if unknown."""

    v: Sequence[float]
    v_dot: Sequence[float]
    mask_reason: str
    stddev: float = 0.0


def unknown(reason: str) -> LinearMotion:
    """An unknown linear motion."""
    return LinearMotion((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), reason)


def at_body_origin(velocity: Sequence[float], acceleration: Sequence[float], w: Sequence[float],
                   w_dot: Sequence[float], r: Sequence[float]) -> tuple[Sequence[float], ...]:
    """(v, v_dot) of the body origin from velocity and inertial acceleration at a point r (3,).

    All (3,) in body axes; v_dot is the derivative in the rotating body frame.
    """
    (vx, vy, vz), (ax, ay, az) = velocity, acceleration
    bx, by, bz = cross(w, r)
    v = vx - bx, vy - by, vz - bz
    tx, ty, tz = cross(w_dot, r)
    cx, cy, cz = cross(w, (bx, by, bz))
    ux, uy, uz = cross(w, v)
    return v, (ax - tx - cx - ux, ay - ty - cy - uy, az - tz - cz - uz)
