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

"""The present state for a controller, from IMU, DVL, depth and joint sensors.

A small complementary filter: the IMU gives the changes, slower sensors correct them. Unlike the
estimator's signals, which use data from both sides of an instant, it has no delay. It is an example
of what a vehicle's navigation provides and does not replace one. `signals/latest_state.py` does not
suit a PID: it has no position, no gyro between orientations and no smoothed joint speeds.
"""
from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..model.rotations import FRD_FROM_FLU, from_down, from_rotation_vector, to_rotation_vector

# [s] time constant with which the attitude follows the message: a MEMS gyro bias of .14 deg/s
# leaves .04 deg, and one sixth of a message's noise remains at 100 Hz.
ATTITUDE_TIME = 0.3
# Gains of the DVL innovation on the velocity, and per second on the bias of the specific force: the
# steady-state Kalman gain for 1 cm/s at 10 Hz and an IMU that adds some 2 mm/s in between; the loop
# has time constants of .8 s and 4 s.
DVL_INNOVATION_SHARE, BIAS_RATE = 0.15, 0.3
DEPTH_SHARE = 0.2       # gain of the depth innovation; 20 Pa are 2 mm
JOINT_SHARE = 0.6       # gain of the joint innovations; encoders are good, speeds are differences
FILTER_HISTORY = 1.0    # [s] of past velocities for comparison with a late DVL reading
NOISE_READINGS = 50.0   # DVL readings over which its noise is averaged: known to about a tenth
SILENT_AFTER = 0.25     # [s] without IMU or joints until the state is lost: 25 and 12 messages


class MotionState(NamedTuple):
    """position (3,) NED [m] by dead reckoning; R_nb (3, 3); nu (6,) [m/s, rad/s] body FRD; mu,
    mu_dot (n,). place_variance [m^2]: variance of north and of east due to DVL noise since the
    filter started; place_growth [m^2/s]: its rate. A constant DVL error is not included."""

    position: np.ndarray
    R_nb: np.ndarray
    nu: np.ndarray
    mu: np.ndarray
    mu_dot: np.ndarray
    place_variance: float = 0.0
    place_growth: float = 0.0


class StateFilter:
    """Takes readings in the decoder's form (signals/decode/decoder.py) with their timestamps [s];
    `position` (3,) NED [m] is the initial position."""

    def __init__(self, config: Config, position: np.ndarray):
        self._gravity = np.array([0.0, 0.0, config.robot.gravity])
        # The velocity is integrated, and compared with the DVL, at the IMU's place.
        self._imu_place = FRD_FROM_FLU @ np.array(config.imu.xyz)
        self._dvl_from_imu = FRD_FROM_FLU @ np.array(config.dvl.xyz) - self._imu_place
        self._depth_place = FRD_FROM_FLU @ np.array(config.depth.xyz)
        self._position, self._depth_known = np.array(position, float), False
        self._R, self._omega, self._velocity = np.eye(3), np.zeros(3), np.zeros(3)
        self._bias = np.zeros(3)
        n = len(config.robot.joints)
        self._mu, self._mu_dot = np.zeros(n), np.zeros(n)
        self._imu_at = self._dvl_at = self._joints_at = -math.inf
        # DVL noise per axis [m^2/s^2], prior weighted as one reading; variance of the position.
        self._dvl_variance, self._dvl_readings = config.dvl.stddev ** 2, 1.0
        self._place_variance = self._place_growth = 0.0
        self._past: deque[tuple[float, np.ndarray, np.ndarray]] = deque()    # t, v, omega

    def add(self, role: str, t: float, values: list[float]) -> None:
        """Add the reading of a role (imu, dvl, depth, joint_states) at time t. Other roles, and
        readings not later than the last one, are ignored."""
        reading = np.array(values, float)
        if role == "imu" and t > self._imu_at and np.isfinite(reading).all():
            self._add_imu(t, reading)
        elif role == "dvl" and t > self._dvl_at and np.isfinite(reading).all():
            self._add_dvl(t, reading)
        elif role == "depth" and np.isfinite(reading).all():
            depth = self._position[2] + (self._R @ self._depth_place)[2]
            # (from a wrong depth, corrections would take seconds)
            self._position[2] += ((DEPTH_SHARE if self._depth_known else 1.0)
                                  * (reading[0] - depth))
            self._depth_known = True
        elif role == "joint_states" and t > self._joints_at:
            n = self._mu.size
            if np.isfinite(reading[:2 * n]).all():
                self._add_joints(t, reading[:n], reading[n:2 * n])

    def motion(self, t: float) -> MotionState | None:
        """The state extrapolated to t [s]; None without recent IMU or joints, or any DVL."""
        silent = t - min(self._imu_at, self._joints_at if self._mu.size else t)
        if silent > SILENT_AFTER or math.isinf(self._dvl_at):
            return None
        ahead = t - self._imu_at
        R = self._R @ from_rotation_vector(self._omega * ahead)
        velocity = self._of_origin(self._velocity)
        return MotionState(
            self._position + ahead * (R @ velocity), R,
            np.concatenate([velocity, self._omega]),
            self._mu + (t - self._joints_at) * self._mu_dot if self._mu.size else self._mu,
            self._mu_dot, self._place_variance, self._place_growth)

    def _of_origin(self, velocity: np.ndarray) -> np.ndarray:
        """Velocity of the body's origin (3,) from that of the IMU's place, at the present rates."""
        return velocity - np.cross(self._omega, self._imu_place)

    def _add_imu(self, t: float, reading: np.ndarray) -> None:
        down, omega, force, heading = reading[:3], reading[3:6], reading[6:9], reading[9]
        measured = from_down(down.tolist(), heading)
        dt = t - self._imu_at
        self._imu_at = t
        if dt > SILENT_AFTER:
            self._R, self._omega = measured, omega
            self._past.clear()
            return
        R = self._R @ from_rotation_vector(0.5 * dt * (self._omega + omega))
        share = -math.expm1(-dt / ATTITUDE_TIME)
        self._R = R @ from_rotation_vector(share * to_rotation_vector(R.T @ measured))
        self._omega = omega
        acceleration = (force - self._bias + self._R.T @ self._gravity
                        - np.cross(omega, self._velocity))
        middle = self._velocity + 0.5 * dt * acceleration
        self._velocity = self._velocity + dt * acceleration
        self._position += dt * (self._R @ self._of_origin(middle))
        self._past.append((t, self._velocity, omega))
        while t - self._past[0][0] > FILTER_HISTORY:
            self._past.popleft()

    def _add_dvl(self, t: float, velocity: np.ndarray) -> None:
        dt, self._dvl_at = t - self._dvl_at, t
        if not self._past:
            return
        _, then, omega = min(self._past, key=lambda past: abs(past[0] - t))
        of_imu = velocity - np.cross(omega, self._dvl_from_imu)
        if dt > FILTER_HISTORY:  # the first after a start or an outage
            correction = of_imu - then
        else:
            self._doubt_place(dt, of_imu - then)
            correction = DVL_INNOVATION_SHARE * (of_imu - then)
            self._bias -= BIAS_RATE * dt * (of_imu - then)
        self._velocity = self._velocity + correction
        # Positions integrated since then had the same error; all of them at the first reading.
        since = self._past[0][0] if math.isinf(dt) else t
        self._position += max(self._imu_at - since, 0.0) * (self._R @ correction)
        self._past = deque((s, v + correction, w) for s, v, w in self._past)

    def _doubt_place(self, dt: float, innovation: np.ndarray) -> None:
        """Grow the position variance: the velocity follows the DVL, so that the noise of each
        reading shifts the position by noise times dt, a random walk."""
        self._dvl_readings = min(self._dvl_readings + 1.0, NOISE_READINGS)
        self._dvl_variance += (np.mean(innovation ** 2) - self._dvl_variance) / self._dvl_readings
        self._place_growth = float(dt * self._dvl_variance)
        self._place_variance += dt * self._place_growth

    def _add_joints(self, t: float, mu: np.ndarray, mu_dot: np.ndarray) -> None:
        dt, self._joints_at = t - self._joints_at, t
        if dt > SILENT_AFTER:
            self._mu, self._mu_dot = mu, mu_dot
            return
        guess = self._mu + dt * self._mu_dot
        self._mu = guess + JOINT_SHARE * (mu - guess)
        self._mu_dot = self._mu_dot + JOINT_SHARE * (mu_dot - self._mu_dot)
