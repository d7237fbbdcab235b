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

"""Integrated gyro and accelerometer: attitude, acceleration, velocity in a non-rotating frame
(docs/signals.md, "Acceleration").

The frame G starts as the body's axes and is carried along by the gyro, so it rotates only with the
gyro's drift. In G, gravity's direction is nearly constant and can be averaged against attitude
noise, and specific force plus gravity integrates to a velocity.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...model.rotations import IDENTITY, cross, dot, product, rotation, turned, turned_back
from .series import Series

# Columns of the series. Acceleration and velocity C in G are corrected for accelerometer bias and
# attitude noise; RAW_C is the integral of force and attitude as measured, FORCE_C of force alone.
N3, W, ACC, C, R_GB = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12), slice(12, 21)
YAW, RAW_C, FORCE_C = 21, slice(22, 25), slice(25, 28)
SERIES_COLUMNS = 28


class ImuIntegral:
    """Series of IMU readings with their integrals; times [s] are the front end's.

    `gravity_time` [s]: time over which gravity's direction in G is averaged.
    `series` holds, in the columns named above: down vector, rates [rad/s], acceleration [m/s^2] in
    G, velocity C [m/s] in G, R_Gb (body axes to G, by rows), heading [rad], RAW_C and FORCE_C
    [m/s]. `newest` is its last row, empty without one.
    """

    def __init__(self, gravity: float, gravity_time: float):
        self._gravity, self._gravity_time = gravity, gravity_time
        self.reset()

    def reset(self) -> None:
        """Forget all readings; G starts as the body's axes."""
        self.series = Series(SERIES_COLUMNS)
        self.newest: list[float] = []
        self.R_Gb: Sequence[float] = IDENTITY
        self._C: Sequence[float] = (0.0, 0.0, 0.0)
        self._raw_C: Sequence[float] = (0.0, 0.0, 0.0)
        self._rates: Sequence[float] = (0.0, 0.0, 0.0)
        self._acc: Sequence[float] = (0.0, 0.0, 0.0)
        self._raw_acc: Sequence[float] = (0.0, 0.0, 0.0)
        self._force_C: Sequence[float] = (0.0, 0.0, 0.0)
        self._force: Sequence[float] = (0.0, 0.0, 0.0)
        self.restart_gravity()

    def restart_gravity(self) -> None:
        """Restart the average of gravity's direction, as after a gap."""
        self._down: Sequence[float] = (0.0, 0.0, 0.0)
        self._averaged = 0

    def discard_after(self, t: float) -> None:
        """Remove the readings after t; the integral continues from there."""
        self.series.discard_after(t)
        self.newest = self.series.last_row.tolist() if len(self.series) else []
        if row := self.newest:
            self.R_Gb, self._C, self._raw_C, self._rates = row[R_GB], row[C], row[RAW_C], row[W]
            self._acc = self._raw_acc = row[ACC]
            self._force_C = row[FORCE_C]
            self._force = [a - self._gravity * d
                           for a, d in zip(row[ACC], turned(row[R_GB], row[N3]))]

    def add(self, t: float, reading: Sequence[float], bias: Sequence[float]) -> None:
        """Integrate to a reading later than the last; `bias` (3,) [m/s^2] of the accelerometer.

        Trapezoidal rule throughout; the rotation uses the mean of the two rates.
        """
        n0, n1, n2, p, q, r, fx, fy, fz, yaw = reading
        half = 0.0
        if len(self.series):
            half = 0.5 * (t - self.series.last_time)
            p0, q0, r0 = self._rates
            step = rotation(half * (p0 + p), half * (q0 + q), half * (r0 + r))
            self.R_Gb = product(self.R_Gb, step)
        R, g = self.R_Gb, self._gravity
        down, (bx, by, bz) = self._average_down(2 * half, turned(R, (n0, n1, n2))), bias
        raw_acc = turned(R, (fx + g * n0, fy + g * n1, fz + g * n2))
        force = turned(R, (fx, fy, fz))
        acc = [a + g * d for a, d in zip(turned(R, (fx - bx, fy - by, fz - bz)), down)]
        if half:
            self._raw_C = [c + half * (before + now)
                           for c, before, now in zip(self._raw_C, self._raw_acc, raw_acc)]
            self._force_C = [c + half * (before + now)
                             for c, before, now in zip(self._force_C, self._force, force)]
            self._C = [c + half * (before + now)
                       for c, before, now in zip(self._C, self._acc, acc)]
        self._rates, self._raw_acc, self._acc, self._force = (p, q, r), raw_acc, acc, force
        self.newest = [n0, n1, n2, p, q, r, *acc, *self._C, *R, yaw, *self._raw_C, *self._force_C]
        self.series.append(t, self.newest)

    def walk(self, stddev: Sequence[float], period: float) -> float:
        """[m/s per sqrt(s)] how fast RAW_C departs from the true velocity by the noise of readings
        (10,), as in `add`, of these standard deviations, that come every period [s]."""
        worst = max(math.hypot(f, self._gravity * n) for n, f in zip(stddev[:3], stddev[6:9]))
        return worst * math.sqrt(period)

    def turn_error(self, span: float) -> tuple[float, float, float, float]:
        """Down vector (3) and heading [rad] of the newest reading less the gyro's prediction from
        the reading `span` [s] before it; zeros if there is none, as after a gap."""
        t = self.series.last_time
        earlier = self.series.latest(t - span)
        # (where the span is the sensor's period, jitter makes it two periods and a little)
        if earlier is None or earlier[0] < t - 2.5 * span:
            return 0.0, 0.0, 0.0, 0.0
        return self.turn_error_since(earlier[1].tolist())

    def turn_error_since(self, old: Sequence[float]) -> tuple[float, float, float, float]:
        """The same relative to the gyro's prediction from an earlier row (28,) of the series."""
        new, down = self.newest, turned(old[R_GB], old[N3])
        (n0, n1, n2), (m0, m1, m2) = new[N3], turned_back(new[R_GB], down)
        # The body's x axis, carried by the gyro, turns about the down axis as the heading does.
        x_old, x_new = old[R_GB][0::3], new[R_GB][0::3]
        along = dot(cross(x_old, x_new), down)
        level = dot(x_old, x_new) - dot(x_old, down) * dot(x_new, down)
        heading = new[YAW] - old[YAW] - math.atan2(along, level)
        return n0 - m0, n1 - m1, n2 - m2, math.remainder(heading, 2.0 * math.pi)

    def turn_axes(self, turn: np.ndarray) -> None:
        """Continue in other body axes: `turn` (3, 3) rotates the present ones to those of future
        readings."""
        self.R_Gb = product(self.R_Gb, turn.T.ravel().tolist())
        self._rates = (turn @ self._rates).tolist()

    def _average_down(self, dt: float, measured: Sequence[float]) -> Sequence[float]:
        """Gravity's averaged direction (3,) in G after a measured one, dt [s] after the last."""
        self._averaged += 1
        share = max(1.0 / self._averaged, dt / (dt + self._gravity_time))
        if share == 1.0:
            self._down = measured
        else:
            self._down = [d + share * (m - d) for d, m in zip(self._down, measured)]
        return self._down

    def rotation_at(self, t: float) -> tuple[float, ...]:
        """R_Gb (9,) at t within the series, integrated from the row before t."""
        latest, near = self.series.latest(t), self.series.interpolate(t)
        assert latest is not None and near is not None
        half, before = 0.5 * (t - latest[0]), latest[1].tolist()
        mean = (half * (a + b) for a, b in zip(before[W], near[W].tolist()))
        return product(before[R_GB], rotation(*mean))
