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

"""Attitude from gyro, accelerometer and velocity, for an IMU that publishes none (docs/signals.md,
"An IMU without orientation").

The frame G starts as the body's axes and is carried along by the gyro. In G, velocity less
integrated specific force is an offset that grows with gravity: its slope is g times the down axis,
however the vehicle accelerates. A Kalman filter estimates offset, slope and the biases of gyro and
accelerometer from the DVL or, while that is silent, from the bound on a vehicle's speed. Heading
starts at zero, since it is unobservable without a magnetometer.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...model.rotations import IDENTITY, cross, product, rotation, skew, turned, turned_back
from .series import Series

# Initial standard deviations: tilt by the direction of one force [rad]; biases of a cheap gyro
# [rad/s] and of a cheap accelerometer [m/s^2].
START_TILT, START_GYRO_BIAS, START_FORCE_BIAS = 0.3, 0.01, 0.05
# Random walks per sqrt(s): of the integrated force [m/s], of gravity in G due to gyro noise
# [m/s^2], of the biases of accelerometer [m/s^2] and gyro [rad/s].
WALKS = 0.005, 0.005, 1e-3, 1e-4
# Pseudo-measurements of zero velocity without a DVL: standard deviation per axis [m/s], an
# unmeasured vehicle's speed; period [s], in which a vehicle reverses; silence [s] after which they
# are used.
UNMEASURED_SPEED, UNMEASURED_PERIOD, UNMEASURED_AFTER = 0.5, 2.0, 1.0
GOOD_TILT = math.radians(0.5)   # standard deviation below which the attitude is known
# [m/s^2] Standard deviation of gravity less accelerometer bias below which the acceleration is
# known: a tenth of what a vehicle at work reaches.
GOOD_ACCELERATION = 0.02
GRAVITY_TOLERANCE = 0.05        # of g: largest error of the slope's magnitude for a known attitude
ATTITUDE_OUTLIER_SIGMAS = 5.0   # for a velocity, before the attitude is known
LONGEST_PREDICTION = 0.2        # [s] per step, in which a vehicle turns little
# [s] between stored rows at least: a series keeps 1024 of them, which must reach back to the last
# update however fast the IMU is.
STORED_PERIOD = 0.004
ATTITUDE_LOST_AFTER = 5         # consecutive outliers after which the filter restarts

# Parts of the state: velocity less integrated force, gravity [m/s^2] (both in G), biases of
# accelerometer and gyro (both in the body).
OFFSET_PART, GRAVITY_PART = slice(0, 3), slice(3, 6)
FORCE_PART, GYRO_PART = slice(6, 9), slice(9, 12)
SLOPE = slice(3, 9)
FORCE_INTEGRAL, ROTATION = slice(0, 3), slice(3, 12)  # columns of the series


class OwnAttitude:
    """Completes IMU readings with an attitude and subtracts their biases; times [s] increase.

    `gravity` [m/s^2]; `stddev` [m/s] of a velocity. `tilt_since` [s]: since when the tilt is known
    to GOOD_TILT; `good_since` [s]: since when the acceleration is also known to GOOD_ACCELERATION.
    Both are infinite otherwise.
    """

    def __init__(self, gravity: float, stddev: float):
        self._g, self._stddev = gravity, stddev
        self.reset()

    def reset(self) -> None:
        """Forget everything, including the biases."""
        self._gyro_bias = [0.0, 0.0, 0.0]
        self._force_bias = [0.0, 0.0, 0.0]
        self._P = np.diag([0.0] * 6 + [START_FORCE_BIAS ** 2] * 3 + [START_GYRO_BIAS ** 2] * 3)
        self._series = Series(12)
        self._R: Sequence[float] = IDENTITY
        self._integral: Sequence[float] = (0.0, 0.0, 0.0)
        self._rates: Sequence[float] = (0.0, 0.0, 0.0)
        self._force: Sequence[float] = (0.0, 0.0, 0.0)     # in G
        self._t = -math.inf                                # [s] of the newest reading
        self._last_velocity = -math.inf
        self.restart()

    def restart(self) -> None:
        """Forget the attitude, as after a gap in the IMU; the biases stay."""
        self.tilt_since = self.good_since = math.inf
        self._series.clear()
        self._gravity: Sequence[float] | None = None       # (3,) [m/s^2] in G
        self._offset: np.ndarray | None = None             # (3,) [m/s] in G
        self._updated = -math.inf                          # [s] of the last update
        self._outliers = 0

    def add(self, t: float, rates: Sequence[float], force: Sequence[float]) -> list[float]:
        """Add rates [rad/s] and specific force [m/s^2] in body axes, later than the last; returns
        [down vector (3,), rates (3,), force (3,), heading]."""
        half = 0.5 * (t - self._t) if len(self._series) else 0.0
        if half:
            step = rotation(*(half * (a + b) for a, b in zip(self._rates, rates)))
            self._R = product(self._R, step)
        force_G = turned(self._R, force)
        self._integral = [c + half * (a + b)
                          for c, a, b in zip(self._integral, self._force, force_G)]
        self._t, self._rates, self._force = t, rates, force_G
        if t - self._series.last_time >= STORED_PERIOD:
            self._store_newest()
        if self._gravity is None:
            self._start(t, force_G)
        silent = t - self._last_velocity > UNMEASURED_AFTER
        if silent and t - self._updated > UNMEASURED_PERIOD:
            self._update(t, (0.0, 0.0, 0.0), UNMEASURED_SPEED)
        down, heading = self._down_and_heading(t)
        return [*down, *(w - b for w, b in zip(rates, self._gyro_bias)),
                *(f - b for f, b in zip(force, self._force_bias)), heading]

    def add_velocity(self, t: float, velocity: Sequence[float]) -> None:
        """Add a velocity (3,) [m/s] at the IMU in body axes, later than the last but not later than
        the newest reading."""
        self._last_velocity = t
        self._update(t, velocity, self._stddev)

    # --- the filter -------------------------------------------------------------------------------

    def _store_newest(self) -> None:
        self._series.append(self._t, [*self._integral, *self._R])

    def _start(self, t: float, force_G: Sequence[float]) -> None:
        """Start as if the force were the reaction to gravity alone."""
        size = math.sqrt(_dot(force_G, force_G)) or 1.0
        self._gravity = [-self._g * f / size for f in force_G]
        self._offset, self._updated = None, t
        self._P[:6] = self._P[:, :6] = 0.0
        self._P[GRAVITY_PART, GRAVITY_PART] = (START_TILT * self._g) ** 2 * np.eye(3)
        # Heading refers to the axis of G that is closest to horizontal.
        level = min(range(3), key=lambda k: abs(force_G[k]))
        self._north = [float(k == level) for k in range(3)]

    def _update(self, t: float, velocity: Sequence[float], stddev: float) -> None:
        """One step of the Kalman filter with a velocity (3,) in body axes."""
        if self._t > self._series.last_time:
            self._store_newest()
        row = self._series.interpolate(t)
        if row is None or t <= self._updated:
            return
        R = row[ROTATION]
        in_G = turned(R.tolist(), velocity)
        measured = np.array(in_G) - row[FORCE_INTEGRAL]
        assert self._gravity is not None
        if self._offset is None:
            self._offset, self._updated = measured, t
            self._P[OFFSET_PART, OFFSET_PART] = stddev ** 2 * np.eye(3)
            return
        while self._updated < t:
            self._predict(min(t - self._updated, LONGEST_PREDICTION), in_G)
        S = self._P[OFFSET_PART, OFFSET_PART] + stddev ** 2 * np.eye(3)
        error = measured - self._offset
        if math.isinf(self.good_since) and stddev < UNMEASURED_SPEED and (
                error @ np.linalg.solve(S, error) > ATTITUDE_OUTLIER_SIGMAS ** 2):
            self._outliers += 1
            if self._outliers >= ATTITUDE_LOST_AFTER:
                self.restart()
            return
        self._outliers = 0
        K = np.linalg.solve(S, self._P[OFFSET_PART]).T
        step = K @ error
        self._offset = self._offset + step[OFFSET_PART]
        self._gravity = _sum(self._gravity, step[GRAVITY_PART])
        self._force_bias = _sum(self._force_bias, step[FORCE_PART])
        self._gyro_bias = _sum(self._gyro_bias, step[GYRO_PART])
        self._P = self._P - K @ self._P[OFFSET_PART]
        self._judge(t, R.reshape(3, 3))

    def _predict(self, dt: float, velocity: Sequence[float]) -> None:
        """Predict by dt [s]; `velocity` (3,) [m/s] in G."""
        near = self._series.interpolate(self._updated + 0.5 * dt)
        assert near is not None and self._gravity is not None and self._offset is not None
        R, gravity = near[ROTATION].reshape(3, 3), np.array(self._gravity)
        # The gyro's bias rotates G, so fixed directions rotate in G.
        turn = R @ self._gyro_bias
        slope = gravity - R @ self._force_bias + np.cross(turn, velocity)
        self._offset = self._offset + dt * slope
        self._gravity = (gravity + dt * np.cross(turn, gravity)).tolist()
        self._updated += dt
        F = np.eye(12)
        F[OFFSET_PART, GRAVITY_PART], F[OFFSET_PART, FORCE_PART] = dt * np.eye(3), -dt * R
        F[GRAVITY_PART, GYRO_PART] = -dt * skew(gravity) @ R
        F[OFFSET_PART, GYRO_PART] = 0.5 * dt * F[GRAVITY_PART, GYRO_PART]
        P = F @ self._P @ F.T + np.diag(dt * np.repeat(np.square(WALKS), 3))
        self._P = 0.5 * (P + P.T)

    def _judge(self, t: float, R: np.ndarray) -> None:
        """Note since when tilt and acceleration are known; R (3, 3) is R_Gb."""
        assert self._gravity is not None
        size = math.sqrt(_dot(self._gravity, self._gravity))
        tilt = math.sqrt(_largest(self._P[GRAVITY_PART, GRAVITY_PART])) / self._g
        slope = np.hstack([np.eye(3), -R])
        force = math.sqrt(_largest(slope @ self._P[SLOPE, SLOPE] @ slope.T))
        level = tilt < GOOD_TILT and abs(size / self._g - 1) < GRAVITY_TOLERANCE
        self.tilt_since = min(self.tilt_since, t) if level else math.inf
        good = level and force < GOOD_ACCELERATION
        self.good_since = min(self.good_since, t) if good else math.inf

    def _down_and_heading(self, t: float) -> tuple[Sequence[float], float]:
        """(down vector (3,) in the body, heading [rad]) at the newest reading."""
        assert self._gravity is not None
        bias, since = turned(self._R, self._gyro_bias), t - self._updated
        now = [x + since * y for x, y in zip(self._gravity, cross(bias, self._gravity))]
        size = math.sqrt(_dot(now, now))
        down = [x / size for x in now]
        forward, east = self._R[0::3], cross(down, self._north)
        along = _dot(self._north, forward) - _dot(self._north, down) * _dot(forward, down)
        return turned_back(self._R, down), math.atan2(_dot(east, forward), along)


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b))


def _sum(a: Sequence[float], b: np.ndarray) -> list[float]:
    return [x + y for x, y in zip(a, b.tolist())]


def _largest(covariance: np.ndarray) -> float:
    """Largest variance of a covariance (3, 3) in any direction."""
    return float(np.linalg.eigvalsh(covariance)[-1])
