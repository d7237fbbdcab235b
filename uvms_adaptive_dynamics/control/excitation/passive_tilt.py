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

"""Tilt about axes that the thrusters cannot turn the vehicle about, such as the pitch of a BlueROV2
with six thrusters (docs/excitation.md, "Axes without thrust").

There the vehicle is a pendulum: the moment that a motion needs and nobody gives tilts it against
its restoring moment.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...model.robot import RobotModel
from ..desired_motion import desired_motion
from .limits import MotionLimits
from .rows import regressors

# Small tilt, rate and angular acceleration [rad, rad/s, rad/s^2] by which the pendulum is known.
TILT, RATE, ACCELERATION = 0.05, 0.1, 1.0


class PassiveTilt(NamedTuple):
    """Pendulum about `axes` (r,), 3 for roll and 4 for pitch, by each of k parameter sets.

    missing (6, 6): see `MotionLimits`; at_rest (k, r) [N m]: moment missing at rest; gain, peak
    (k, r) [rad/(N m)]: tilt per constant moment, and most tilt per largest moment of any course."""

    axes: np.ndarray
    missing: np.ndarray
    at_rest: np.ndarray
    gain: np.ndarray
    peak: np.ndarray

    @property
    def resting(self) -> np.ndarray:
        """(k,) tilt at rest [rad]."""
        return np.linalg.norm(self.gain * np.abs(self.at_rest), axis=-1)

    def most(self, efforts: np.ndarray) -> np.ndarray:
        """(T,) tilt [rad] that a motion stays below if it needs no more than the efforts (T, k, C)
        of its instants, for the worst parameters."""
        moved = np.abs((efforts[..., :6] @ self.missing)[..., self.axes] - self.at_rest)
        each = self.gain * np.abs(self.at_rest) + self.peak * moved
        return np.linalg.norm(each, axis=-1).max(axis=-1)


def passive_tilt(robot: RobotModel, limits: MotionLimits, place: np.ndarray,
                 parameters: np.ndarray) -> PassiveTilt:
    """The pendulum at rest at `place` (6 + n,), for parameters (k, p); infinite gains if it does
    not return to rest."""
    axes = limits.passive
    turned = np.zeros((1 + 3 * axes.size, place.size))
    turned[1:, axes] = np.tile(np.eye(axes.size), (3, 1))
    of = np.repeat([0, 1, 2], axes.size)
    size = np.concatenate([[0.0], np.array([TILT, RATE, ACCELERATION])[of]])[:, None] * turned
    order = np.concatenate([[0], of])[:, None]
    poses, rates, accelerations = (np.where(order == k, size, 0.0) for k in range(3))
    Y, known = regressors(robot, desired_motion(place + poses, rates, accelerations))
    efforts = np.einsum("tcp,kp->tkc", Y, parameters) + known[:, None]
    moments = np.moveaxis(efforts[1:, :, axes] - efforts[0][:, axes], 0, -1)     # (k, r, 3 r)
    own = np.stack([moments[:, range(axes.size), k * axes.size + np.arange(axes.size)]
                    for k in range(3)])
    K, D, inertia = own / np.array([TILT, RATE, ACCELERATION])[:, None, None]
    stable = (K > 0) & (D > 0) & (inertia > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        damping = np.minimum(D / (2 * np.sqrt(K * inertia)), 1 - 1e-9)
        # the integral of the magnitude of its impulse response, over that of the response itself
        overshoot = 1 / np.tanh(0.5 * np.pi * damping / np.sqrt(1 - damping ** 2))
        gain = np.where(stable, 1 / K, np.inf)
        peak = np.where(stable, overshoot / K, np.inf)
    return PassiveTilt(axes, limits.missing, (efforts[0][:, :6] @ limits.missing)[:, axes], gain,
                       peak)
