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

"""Shift of the estimate by a delay or a scale of the measured efforts, by noise in the measured
motion, by forces that move the vehicle unseen and by effects that the model lacks: errors that no
amount of data averages out (docs/mathematics.md, "Timing and calibration"; `motion_noise`,
`driven_motion` and `lacking_gradient` for the last three).

If efforts tau(c) depend on a calibration c, half the cost's gradient moves by
J_c = sum_k w_k y_k d tau_k / dc and the estimate by G J_c. For a scale, d tau / dc = tau; for
efforts stamped too early by c, d tau / dc = -d tau / dt. All efforts of one sensor share both.
"""
from __future__ import annotations

import numpy as np

from ..config import Uncertainty
from ..model.parameter_set import CAUSES
from .constrained_inverse import ConstrainedInverse
from .driven_motion import DrivenMotion
from .lacking_gradient import LackingGradient
from .motion_noise import AXES, MotionNoise

CALIBRATION = 4         # causes of the efforts' calibration, the first ones
NOISE, DRIVEN = 4, 5    # places of the motion's noise and of unseen forces
# Root mean square of the share of the residual that moves the vehicle, which may be none or all.
UNSEEN_SHARE = 3 ** -0.5


class SystematicGradient:
    """J_c of each cause, accumulated tick by tick with the rows' forgetting and robust weights.

    Sums are in SI units and per channel; channel weights are applied on demand. Two approximations:
    rows in the window count with the robust weight of their arrival, and are mapped together with
    old data when these are; and if a neighbour of a row is invalid, the row's rate counts as zero.

    motion: noise of the vehicle's motion, driven: its motion by unseen forces, both None without a
    vehicle; lacking: the effects that the model lacks."""

    motion: MotionNoise | None
    driven: DrivenMotion | None
    lacking: LackingGradient

    def __init__(self, settings: Uncertainty, vehicle_rows: int, channels: int, size: int,
                 period: float, decay: float, kernel: np.ndarray, memory: float,
                 effects: int = 0):
        """vehicle_rows: 6 or 0; channels: C; size: p; period [s]; decay: a row's weight in the cost
        is decay^age [ticks]; kernel (K,): the rows' low-pass; memory [ticks]: of the motion's
        noise; effects: q that the model lacks."""
        self._deviation = np.array([settings.delay_stddev, settings.scale_stddev] * 2)
        wrench = np.arange(channels) < vehicle_rows
        self._group = np.stack([wrench, ~wrench]).astype(float)
        self._shape, self._period, self._decay = (2, channels, size), period, decay
        self.motion = (MotionNoise(period, kernel, size, decay, memory) if vehicle_rows == AXES
                       else None)
        self.driven = (None if self.motion is None
                       else DrivenMotion(self.motion, period, size, decay))
        self.lacking = LackingGradient(effects, channels, size, len(kernel) // 2, decay)
        self._causes = CAUSES + effects
        self.restart(np.zeros((CAUSES, size)))

    def restart(self, given: np.ndarray) -> None:
        """Start again; given (k, p): shift of half the gradient by one deviation of each cause, in
        the cost that the estimator continues from. Causes that are not given have had no effect on
        it; further ones are kept."""
        self._given = self.padded(given)
        self._new = np.zeros(self._shape)       # delay and scale, rows since the last map
        self._old = np.zeros(self._shape)
        self.break_off()

    def padded(self, causes: np.ndarray) -> np.ndarray:
        """A copy of rows of causes (k, p), with rows of zero for those that are not given."""
        missing = max(self._causes - len(causes), 0)
        return np.concatenate([causes, np.zeros((missing, causes.shape[1]))])

    def break_off(self) -> None:
        """Separate later rows from earlier ones at a gap in time."""
        self._before: tuple[np.ndarray, ...] | None = None
        self._earlier = np.full(self._shape[1], np.nan)
        self.lacking.break_off()
        for part in (self.motion, self.driven):
            if part is not None:
                part.break_off()

    def add_row(self, Y: np.ndarray, tau: np.ndarray, valid: np.ndarray,
                weight: np.ndarray) -> None:
        """Add one tick; call it at every tick.

        Y (C, p): rows, zero where they do not count; tau (C,): measured efforts; valid (C,) bool;
        weight (C,): robust weights, zero where rows do not count."""
        Y = weight[:, None] * Y
        self.lacking.add_row(Y)
        if self.motion is not None:
            self.motion.add_row(weight[:AXES])
        tau = np.where(valid, tau, np.nan)
        if self._decay < 1.0:
            for sums in (self._given, self._new, self._old):
                sums *= self._decay
        self._new[1] += np.where(valid, tau, 0.0)[:, None] * Y
        if self._before is not None:
            # A central difference belongs to the instant in its middle, the previous row's.
            Y_before, tau_before = self._before
            rate = (tau - self._earlier) / (2 * self._period)
            rate[np.isnan(rate)] = 0.0
            self._new[0] -= rate[:, None] * Y_before
            self._earlier = tau_before
        self._before = Y, tau

    def mapped(self, T: np.ndarray, close: bool) -> None:
        """Map the old rows' gradient by T (p, p), like its covariance; close: then turn the new
        rows into old ones."""
        self._given, self._old = self._given @ T.T, self._old @ T.T
        for part in (self.lacking, self.driven, self.motion):
            if part is not None:
                part.mapped(T, close)
        if close:
            self._old += self._new
            self._new = np.zeros(self._shape)

    def of_one_deviation(self, weights: np.ndarray) -> np.ndarray:
        """(k, p) J_c times one standard deviation of each cause; weights (C,) of the rows.

        Causes: delay and scale of the wrench, delay and scale of the joint efforts, the motion's
        noise, here only the part given at the restart, unseen forces, and what the model lacks."""
        sums = self._group * weights @ (self._new + self._old)      # (cause, group, p)
        found = self._given.copy()
        found[:CALIBRATION] += self._deviation[:, None] * sums.transpose(1, 0, 2).reshape(
            CALIBRATION, -1)
        if self.driven is not None:
            found[DRIVEN] += UNSEEN_SHARE * self.driven.gradient(weights[:AXES])
        found[CAUSES:self._causes] += self.lacking.of_one_deviation(weights)
        return found

    def shift(self, inverse: ConstrainedInverse, gradient: np.ndarray, pi: np.ndarray,
              weights: np.ndarray, prior_stddev: np.ndarray) -> np.ndarray:
        """(k, p) shift of the estimate pi (p,) by one deviation of each cause.

        inverse: of half the cost's Hessian; gradient (k, p): `of_one_deviation`; weights (C,) of
        the rows in the cost; prior_stddev (p,)."""
        found = inverse.times(gradient.T).T
        if self.motion is not None:
            found[NOISE] += self.motion.bias(inverse, pi, weights[:AXES], prior_stddev)
        # Where all motion may be due to unseen forces, the data say nothing.
        found[DRIVEN] = np.clip(found[DRIVEN], -prior_stddev, prior_stddev)
        return found
