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

"""The current state for a controller, from the newest readings, without the front end's latency.

The front end waits for readings on both sides of an instant; an estimator can wait, a controller
cannot. Here attitude, rates and joints are the newest readings; the velocity is the DVL's,
propagated by the IMU's specific force. There are no gates: the decoder refuses values that no
sensor can measure, the filter rejects a DVL that contradicts the IMU, but a spike passes. The
example controller has a filter of its own, `control/state_filter.py`: feedback needs a position and
less noise, whereas the feedforward needs foreign clocks, lever arms and robots without a sensor.
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..config import Config
from ..errors import ConfigError, MessageError
from ..model.robot import RobotModel
from ..model.rotations import FRD_FROM_FLU, cross, from_down
from ..model.state import State
from .decode.timed import TimedDecoder
from .filters.attitude import OwnAttitude

Vector: TypeAlias = Sequence[float]     # (3,)
ZERO: Vector = (0.0, 0.0, 0.0)
STATE_ROLES = ("imu", "dvl", "joint_states")
# [m/s^2] Error of the IMU's acceleration: half a degree of tilt and a cheap accelerometer's bias;
# without specific force, the acceleration of a vehicle at work.
FORCE_ERROR, NO_FORCE_ERROR = 0.1, 1.0
# [s] Time constant with which the velocity decays once the DVL is silent: an unmeasured vehicle
# moves at up to half a metre per second and reverses within seconds.
FADE_TIME = 2.0
DVL_OUTLIER_SIGMAS = 5.0  # from the propagated velocity, beyond which the DVL's is rejected
VELOCITY_LOST_AFTER = 5  # rejections in a row that show that the propagated velocity is wrong
VELOCITY_HISTORY = 1.0  # [s] of past velocities that a late DVL is compared with
LONGEST_IMU_INTERVAL = 0.2  # [s] between IMU readings that is integrated over


class LatestState(NamedTuple):
    """state; nu_dot (6,): filtered [m/s^2, rad/s^2]; t [s]: time of its oldest part, IMU or joints;
    velocity_t [s]: time of the newest DVL reading, -inf before any. Times are on the clock of
    `LatestStateFilter.now`."""

    state: State
    nu_dot: np.ndarray
    t: float
    velocity_t: float


class LatestStateFilter:
    """Keeps the newest state from the messages passed to `add_message`."""

    def __init__(self, config: Config, robot: RobotModel):
        """Raises ConfigError if IMU or velocity would have to be differentiated from a pose."""
        for section in (config.imu, config.dvl) if robot.vehicle else ():
            if section.enabled and "Pose" in section.type:
                raise ConfigError(f"setting '{section.NAME}.type' is {section.type!r}; the "
                                  "feedforward expects measured rates and velocities. Give it an "
                                  "IMU or odometry.")
        self._config, self._vehicle = config, robot.vehicle
        self._n = len(robot.joints)
        self._decoder = TimedDecoder(config, STATE_ROLES, self.reset, robot.table.prismatic)
        self._imu_place = (FRD_FROM_FLU @ np.array(config.imu.xyz)).tolist()
        self._dvl_from_imu = _less((FRD_FROM_FLU @ np.array(config.dvl.xyz)).tolist(),
                                   self._imu_place)
        self._filter_time = config.feedforward.acceleration_time
        self._attitude = OwnAttitude(config.robot.gravity, config.dvl.stddev)
        self.reset()

    def change_settings(self, config: Config) -> None:
        """See `Decoder.change_settings`."""
        self._config = config
        self._decoder.change_settings(config)

    def reset(self) -> None:
        """Forget everything, as after a clock jump."""
        self._decoder.reset()
        self._attitude.reset()
        self._imu_t = self._dvl_t = self._joints_t = -math.inf
        self._down, self._heading = [0.0, 0.0, 1.0], 0.0
        self._rates: Vector = ZERO
        # at the IMU, FRD: velocity, its derivative and that of the rates, both low-passed
        self._velocity: Vector = ZERO
        self._acceleration: Vector = ZERO
        self._angular: Vector = ZERO
        self._error, self._variance, self._outliers = NO_FORCE_ERROR, math.inf, 0
        self._past: deque[tuple[float, Vector, Vector]] = deque()    # t, velocity, rates
        self._mu, self._mu_dot = np.zeros(self._n), np.zeros(self._n)
        self._known = True     # whether the attitude is known

    def add_message(self, role: str, message: Any, receive: float) -> None:
        """Add a message of imu, dvl or joint_states received at `receive` [s]; one older than the
        last is ignored. Raises MessageError for an unusable message."""
        reading = self._decoder.decode(role, message, receive)
        if reading is not None:
            getattr(self, f"_add_{role}")(*reading)

    def now(self, receive: float) -> float | None:
        """The receiver's time `receive` [s] on the clock of the states; None until it is known."""
        return self._decoder.now(receive)

    def latest(self) -> LatestState | None:
        """The newest state; None before the first readings of IMU and joints, or while an attitude
        estimated here is not known yet."""
        t = min(self._imu_t if self._vehicle else math.inf,
                self._joints_t if self._n else math.inf)
        if math.isinf(t) or not self._known:
            return None
        down, rates, place = self._down, self._rates, self._imu_place
        R_nb = from_down(down, self._heading)
        # to the body's origin: v_o = v_i - w x r, and its derivative in the body's own axes
        velocity = _less(self._velocity, cross(rates, place))
        angular = self._angular
        linear = _less(self._acceleration, cross(angular, place))
        return LatestState(State(R_nb, np.array([*velocity, *rates]), self._mu, self._mu_dot),
                           np.array([*linear, *angular]), t, self._dvl_t)

    # --- by role; plain floats for speed, since this runs at every message ------------------------

    def _add_imu(self, t: float, reading: list[float]) -> None:
        if t <= self._imu_t:
            return
        has_force = math.isfinite(reading[6])
        oriented = math.isfinite(reading[0])
        if not oriented:
            if not has_force:
                raise MessageError("imu: neither orientation nor force")
            if t - self._imu_t > LONGEST_IMU_INTERVAL:
                self._attitude.restart()
            reading = self._attitude.add(t, reading[3:6], reading[6:9])
        # A driver's first messages may lack the orientation of the later ones.
        self._known = oriented or math.isfinite(self._attitude.tilt_since)
        dt, self._imu_t = t - self._imu_t, t
        down, rates, force = reading[:3], reading[3:6], reading[6:9]
        self._error = FORCE_ERROR if has_force else NO_FORCE_ERROR
        acceleration: Vector = ZERO
        if has_force:
            g = self._config.robot.gravity
            acceleration = _less([f + g * d for f, d in zip(force, down)],
                                 cross(rates, self._velocity))
        if dt > LONGEST_IMU_INTERVAL:
            self._velocity, self._variance = ZERO, math.inf
            self._acceleration = self._angular = ZERO
            self._past.clear()
        else:
            silent = t - self._dvl_t > self._config.dvl.timeout
            kept = math.exp(-dt / FADE_TIME) if silent else 1.0
            self._velocity = [kept * (v + dt * a) for v, a in zip(self._velocity, acceleration)]
            share = -math.expm1(-dt / self._filter_time) if self._filter_time else 1.0
            self._acceleration = [old + share * (new - old)
                                  for old, new in zip(self._acceleration, acceleration)]
            self._angular = [old + share * ((now - before) / dt - old)
                             for old, now, before in zip(self._angular, rates, self._rates)]
        self._down, self._rates, self._heading = down, rates, reading[9]
        self._past.append((t, self._velocity, rates))
        while t - self._past[0][0] > VELOCITY_HISTORY:
            self._past.popleft()

    def _add_dvl(self, t: float, velocity: list[float]) -> None:
        if t <= self._dvl_t or not self._past:
            return
        _, then, rates = min(self._past, key=lambda past: abs(past[0] - t))
        of_imu = _less(velocity, cross(rates, self._dvl_from_imu))
        self._attitude.add_velocity(min(t, self._imu_t), of_imu)
        noise = self._config.dvl.stddev ** 2
        elapsed = t - self._dvl_t
        if math.isfinite(elapsed):
            self._variance += (self._error * elapsed) ** 2
        innovation = _less(of_imu, then)
        if sum(e * e for e in innovation) > 3 * DVL_OUTLIER_SIGMAS ** 2 * (self._variance + noise):
            self._outliers += 1
            if self._outliers < VELOCITY_LOST_AFTER:
                return
        self._outliers, self._dvl_t = 0, t
        gain = 1.0 if math.isinf(self._variance) else self._variance / (self._variance + noise)
        self._variance = noise * gain
        # The error then is still the error now, but for a turn of the axes by some degrees.
        wrong = [-gain * e for e in innovation]
        self._velocity = _less(self._velocity, wrong)
        self._past = deque((s, _less(v, wrong), w) for s, v, w in self._past)

    def _add_joint_states(self, t: float, reading: list[float]) -> None:
        if t <= self._joints_t:
            return
        mu, mu_dot = np.array(reading[:self._n]), np.array(reading[self._n:2 * self._n])
        if not np.isfinite(mu_dot).all():
            dt = t - self._joints_t
            mu_dot = (mu - self._mu) / dt if dt < LONGEST_IMU_INTERVAL else np.zeros(self._n)
        self._joints_t, self._mu, self._mu_dot = t, mu, mu_dot


def _less(a: Vector, b: Vector) -> list[float]:
    return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
