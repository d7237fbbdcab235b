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

"""Bias of the estimate due to noise of the vehicle's measured motion: regression dilution.

Least squares treat the regressor as exact. If an axis hardly moves, most of its measured motion is
noise; inertia and damping then come out too small by the share of the motion that is real, and
residuals stay small. With rows y + e and noise of covariance E[e e^T] = sum_j s_j^2 d_j d_j^T, half
the cost's Hessian A is too large by L = sum_j l_j d_j d_j^T, where d_j is the derivative of an
axis' row with respect to its own acceleration or velocity, and l_j the sum of its rows' weights
times s_j^2. The estimate pi is off by (A - L)^-1 L pi (docs/mathematics.md, "Noise of the measured
motion").
"""
from __future__ import annotations

import math
from collections import deque

import numpy as np

from ..model.normal import chi_squared
from .constrained_inverse import ConstrainedInverse

AXES = 6
# [s] over which motion is averaged before taking differences: longer than the memory of the
# acceleration filter, so that neighbours have independent noise, and short compared to motion
BLOCK = 0.2
# Noise density at 1 to 2.5 Hz, where differences of blocks see it, relative to the density at the
# low frequencies of motion; the acceleration filter attenuates it. Measured: .6.
SEEN = 0.5
COLUMNS_EVERY = 5   # blocks between refreshes of an axis' columns, which follow the arm's posture
THIRD = np.array([-1.0, 3.0, -3.0, 1.0])    # third difference, which hardly sees smooth motion
RECENT = 6.0        # [s] of noise kept one by one: the oldest change of the robot that is sought
# Successive third differences of independent values per independent one, for sums of squares:
# 1 + 2 sum of squared correlations.
CORRELATED = 1 + 2 * float(np.sum((np.correlate(THIRD, THIRD, "full")[4:] / 20) ** 2))
FIRST = 5           # differences after which the usual noise is known
SUDDEN_CHANCE = 0.001      # probability that usual noise counts as sudden
FULL = 1 - 1e-9     # largest share of an axis' motion that may be noise


def _by_chance(count: int) -> float:
    """Mean square of `count` differences over the usual one, exceeded by SUDDEN_CHANCE."""
    freedom = max(count / CORRELATED, 1.0)
    return chi_squared(1.0 - SUDDEN_CHANCE, freedom) / freedom


NOISIER = [math.inf, *map(_by_chance, range(1, 1 + round(RECENT / BLOCK)))]


class MotionNoise:
    """Noise of the vehicle's measured motion, and how far it moves the estimate.

    columns (12, p): derivatives of each axis' row by its own acceleration, then by its velocity;
    variance (12,): noise of the low-passed accelerations, then of the velocities, by axis; speed
    (6,): mean absolute velocities. The noise is an upper bound: any motion left in third
    differences counts as noise."""

    def __init__(self, period: float, kernel: np.ndarray, size: int, decay: float,
                 memory: float):
        """period [s]; kernel (K,): low-pass of the rows, of sum one; size: p; decay: a row's weight
        in the cost is decay^age; memory [ticks]: of variance and speed."""
        self._block = max(1, round(BLOCK / period))
        self._keep = 1 - min(self._block / memory, 0.5)
        # factor from squared third differences of block means to the variance of low-passed values
        self._to_row = self._block * float(kernel @ kernel) / (SEEN * float(THIRD @ THIRD))
        self._decay = decay
        self._squares, self._speeds, self._blocks = np.zeros(2 * AXES), np.zeros(AXES), 0.0
        self._usual = np.zeros(2 * AXES)        # of squares without bursts
        self._recent: deque[np.ndarray] = deque(maxlen=round(RECENT / BLOCK))
        self._velocity_variance = 0.0
        self.columns = np.zeros((2 * AXES, size))
        self._new = np.zeros(AXES)              # robust weights of rows since the last mapping
        self._old = np.zeros((2 * AXES, size))  # earlier weights times their columns, mapped
        self._differences = 0
        self.break_off()

    def break_off(self) -> None:
        """Start new blocks after a gap in time."""
        self._filled, self._sum = 0, np.zeros(2 * AXES)
        self._means: list[np.ndarray] = []

    @property
    def variance(self) -> np.ndarray:
        """(12,) of low-passed accelerations [m/s^2, rad/s^2] squared and velocities squared."""
        found = self._squares * (self._to_row / max(self._blocks, 1.0))
        found[AXES:AXES + 3] = np.maximum(found[AXES:AXES + 3], self._velocity_variance)
        return found

    def sudden_effort_variance(self, pi: np.ndarray, seconds: float) -> np.ndarray:
        """(6,) variance of the predicted efforts with parameters pi (p,) due to noise of the motion
        over the last `seconds` beyond the usual noise, where chance cannot explain it (99.9 %)."""
        count = min(max(1, math.ceil(seconds / BLOCK)), len(self._recent))
        if not count:
            return np.zeros(AXES)
        now = np.mean(list(self._recent)[-count:], axis=0)
        usual = self._usual / max(self._blocks, 1.0)
        excess = np.where(now > NOISIER[count] * usual, now - usual, 0.0) * self._to_row
        change = (self.columns @ pi) ** 2 * excess
        return change[:AXES] + change[AXES:]

    @property
    def speed(self) -> np.ndarray:
        """(6,) mean absolute velocities [m/s, rad/s]."""
        return self._speeds / max(self._blocks, 1.0)

    def add_motion(self, nu_dot: np.ndarray, nu: np.ndarray, velocity_stddev: float) -> int | None:
        """Add the measured motion (6,) and (6,) of a tick, before the low-pass.

        velocity_stddev [m/s]: slow noise of linear velocities by the velocity filter, which
        differences do not see. Returns the axis whose columns to refresh now, or None."""
        self._sum[:AXES] += nu_dot
        self._sum[AXES:] += nu
        self._filled += 1
        if self._filled < self._block:
            return None
        mean, self._sum, self._filled = self._sum / self._block, np.zeros(2 * AXES), 0
        self._means = [*self._means[-3:], mean]
        if len(self._means) < THIRD.size:
            return None
        square = (THIRD @ self._means) ** 2
        self._recent.append(square)
        usual = self._usual / max(self._blocks, 1.0)
        # the first ones have nothing to be compared with
        clipped = np.minimum(square, NOISIER[1] * usual) if self._blocks > FIRST else square
        self._usual = self._keep * self._usual + clipped
        self._squares = self._keep * self._squares + square
        self._speeds = self._keep * self._speeds + np.abs(mean[AXES:])
        self._blocks = self._keep * self._blocks + 1
        self._velocity_variance = velocity_stddev ** 2
        turn, waits = divmod(self._differences, COLUMNS_EVERY)
        self._differences += 1
        return None if waits else turn % AXES

    def set_columns(self, axis: int, columns: np.ndarray) -> None:
        """Set the columns (2, p) of an axis: its `RobotModel.by_own_motion`."""
        self.columns[[axis, AXES + axis]] = columns

    def add_row(self, weight: np.ndarray) -> None:
        """Add the robust weights (6,) of the vehicle's rows at a tick, zero for masked rows."""
        if self._decay < 1.0:
            self._new *= self._decay
            self._old *= self._decay
        self._new += weight

    def mapped(self, T: np.ndarray, close: bool) -> None:
        """Map the gradient of the old rows by T (p, p); close: move the newer rows to the old ones.
        """
        self._old = self._old @ T.T
        if close:
            self._old += np.tile(self._new, 2)[:, None] * self.columns
            self._new = np.zeros(AXES)

    def bias(self, inverse: ConstrainedInverse, pi: np.ndarray, weights: np.ndarray,
             prior_stddev: np.ndarray) -> np.ndarray:
        """(p,) bias of the estimate pi (p,) due to the noise. inverse: of the cost's Hessian;
        weights (6,): of the vehicle's rows in the cost; prior_stddev (p,).

        If noise may be all of an axis' motion, the data say nothing about its inertia, and the bias
        is limited to the prior's deviation, either way. Independent motions therefore add in
        quadrature, so that none hides another."""
        columns, variance = self.columns, prior_stddev ** 2
        # number of rows that forgetting has left, in the directions that they inform
        own = np.einsum("kp,kp,p->k", columns, columns, variance)
        left = np.einsum("kp,kp,p->k", self._old, columns, variance)
        rows = np.tile(self._new, 2) + np.maximum(left, 0.0) / np.maximum(own, 1e-300)
        noise = np.sqrt(rows * np.tile(weights, 2) * self.variance)
        off = noise[:, None] * columns
        spread = inverse.times(off.T)
        share, modes = np.linalg.eigh(off @ spread)
        along = modes.T @ off
        bias = along @ pi / (1 - np.clip(share, 0.0, FULL))
        most = np.sqrt(along ** 2 @ variance) / np.maximum(share, 1e-12)
        each = np.clip(bias, -most, most) * (spread @ modes)
        return np.copysign(np.sqrt(np.einsum("pk,pk->p", each, each)), each.sum(axis=1))
