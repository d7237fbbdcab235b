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

"""Bias of the estimate due to forces that the model does not explain: they move the vehicle.

Least squares treat the motion as independent of what the model leaves. Whatever acts on the vehicle
unseen (waves, a current, a tether, thrust that was not delivered) also moves it, so the residual r
and the motion dnu that it has caused are correlated: inertia and damping come out too small
(simultaneity; Ljung, System Identification, 1999, sec. 13.4). The motion follows from the residual
and the vehicle's response, and the estimate is off by G J with J = sum_k w_k dy_k r_k, where dy is
the change of the rows by dnu (docs/mathematics.md, "Forces that move the vehicle").
"""
from __future__ import annotations

import numpy as np

from .motion_noise import AXES, MotionNoise

STEP = 5        # ticks of one step of the response, which is slower


class DrivenMotion:
    """J, accumulated with the rows' forgetting and robust weights; each axis of the vehicle
    responds by itself, with the columns of its own motion that `MotionNoise` has.

    With the response of the estimate itself the bias is exact for a single parameter: the residual
    that is left and the inertia that is found are both too small by what was taken for inertia."""

    def __init__(self, motion: MotionNoise, period: float, size: int, decay: float):
        """motion: holds the columns; period [s]; size: p; decay: a row's weight in the cost is
        decay^age [ticks]."""
        self._motion, self._step, self._decay = motion, STEP * period, decay ** STEP
        # of each axis: 1 / inertia, damping, stiffness; no response until they are known
        self._mobility, self._damping, self._stiffness = np.zeros((3, AXES))
        self._new = np.zeros(2 * AXES)          # rows since the last mapping, along the columns
        self._old = np.zeros((2 * AXES, size))
        self.break_off()

    def break_off(self) -> None:
        """After a gap in time the vehicle's motion is not known to be driven."""
        self._speed, self._turned = np.zeros((2, AXES))
        self._sum, self._squares, self._ticks = np.zeros(AXES), np.zeros(AXES), 0

    def set_response(self, axis: int, inertia: float, damping: float, stiffness: float) -> None:
        """Set how an axis responds to a force [kg, N s/m, N/m; kg m^2, N m s/rad, N m/rad]."""
        self._mobility[axis] = 1.0 / inertia if inertia > 0.0 else 0.0
        self._damping[axis], self._stiffness[axis] = max(damping, 0.0), max(stiffness, 0.0)

    def add_row(self, residual: np.ndarray) -> None:
        """Add the residuals (6,) of the vehicle's rows at a tick times their robust weights, zero
        for masked rows; call it at every tick."""
        self._sum += residual
        self._squares += residual * residual
        self._ticks += 1
        if self._ticks < STEP:
            return
        # implicit in the speed: stable for any damping
        h, held = self._step, self._stiffness * self._turned + self._damping * self._speed
        mobility = self._mobility / (
            1.0 + h * self._mobility * (self._damping + h * self._stiffness))
        if self._decay < 1.0:
            self._new *= self._decay
            self._old *= self._decay
        self._new[:AXES] -= mobility * (self._squares + held * self._sum)
        self._new[AXES:] += self._sum * self._speed
        self._speed = self._speed - h * mobility * (self._sum / STEP + held)
        self._turned = self._turned + h * self._speed
        self._sum, self._squares, self._ticks = np.zeros(AXES), np.zeros(AXES), 0

    def mapped(self, T: np.ndarray, close: bool) -> None:
        """Map the gradient of the old rows by T (p, p); close: move the newer rows to the old ones.
        """
        self._old = self._old @ T.T
        if close:
            self._old += self._new[:, None] * self._motion.columns
            self._new = np.zeros(2 * AXES)

    def gradient(self, weights: np.ndarray) -> np.ndarray:
        """(p,) J; weights (6,) of the vehicle's rows in the cost."""
        return np.tile(weights, 2) @ (self._old + self._new[:, None] * self._motion.columns)
