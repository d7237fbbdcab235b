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

"""Noisy, delayed, asynchronous sensor messages of the simulated robot, in REP-103 axes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ..model.rotations import FRD_FROM_FLU, NED_FROM_ENU, cross
from .motion_capture import MOCAP_LAG, MOCAP_RATE, MOCAP_VELOCITY_NOISE, MotionCapture
from .physics import Instant
from .rough import Roughness
from .true_robot import TrueRobot

# The estimator's role for each topic of the simulated robot.
ROLE_OF_TOPIC = {"imu/data": "imu", "dvl/twist": "dvl", "depth": "depth",
                 "joint_states": "joint_states", "thruster_commands": "thrusters"}

BODY_FRAME, DVL_FRAME = "base_link", "dvl_link"     # of its messages

ATTITUDE_NOISE = np.radians(0.2)  # [rad] each axis
GYRO_NOISE, GYRO_BIAS = 0.003, 0.0024  # [rad/s]
ACCELEROMETER_NOISE, ACCELEROMETER_BIAS = 0.03, 0.02  # [m/s^2]
DVL_RATE, DVL_NOISE, DVL_DROPOUT = 10.0, 0.0112, 0.03  # [Hz], [m/s], share of samples
DVL_LATENCY, MOCAP_LATENCY = 0.1, 0.02  # [s]
PRESSURE_NOISE = 20.0  # [Pa]
JOINT_NOISE, JOINT_SPEED_NOISE = 0.0011, 0.0092  # [rad], [rad/s]
EFFORT_NOISE_SHARE, EFFORT_NOISE = 0.02, 0.02  # share of the effort, [N m]
STAMP_JITTER = 0.0003  # [s] jitter of the measurement time
MOST_STAMP_JITTER = 3 * STAMP_JITTER
THREE_EYE = 3.0 * np.eye(3)


class Message(NamedTuple):
    """A message without a ROS library.

    `stamp` [ns] is the time of measurement (of sending, for a type without header), `receive_time`
    [ns] the time at the subscriber. `payload` holds the values by the message's field names, as
    plain tuples and floats; covariances as their diagonal.
    """

    topic: str
    type: str
    stamp: int
    receive_time: int
    payload: dict


class _Channel:
    """One sensor's schedule: `due` [s], its next measurement, and its latency [s].

    `lag` [s]: how far a message's timestamp lies before its measurement time.
    """

    def __init__(self, rng: np.random.Generator, topic: str, type_name: str, rate: float,
                 latency: float, measure: Callable[[Instant], dict | None], lag: float = 0.0):
        self._rng, self._topic, self._type, self._measure = rng, topic, type_name, measure
        self._period, self._latency, self._lag = 1.0 / rate, latency, lag
        self._count, self._phase = 0, rng.uniform(0.1, 0.9) / rate
        self._schedule()

    def _schedule(self) -> None:
        jitter = self._rng.normal(0, STAMP_JITTER)
        jitter = min(max(jitter, -MOST_STAMP_JITTER), MOST_STAMP_JITTER)
        self.due = self._phase + self._count * self._period + jitter
        self._count += 1

    def measure(self, instant: Instant, start_ns: int) -> Message | None:
        """The message of the measurement that is due; None for a dropout."""
        payload = self._measure(instant)
        latency = self._latency * (1.0 + 0.1 * abs(self._rng.standard_normal()))
        stamp = start_ns + round((self.due - self._lag) * 1e9)
        receive_time = start_ns + round((self.due + latency) * 1e9)
        self._schedule()
        if payload is None:
            return None
        return Message(self._topic, self._type, stamp, receive_time, payload)


class Sensors:
    """All sensors of the robot.

    `rng` draws noise, biases and phases; `start_ns` [ns since the epoch] is simulated time zero.
    With `rough.mocap`, motion capture of a point at the DVL's position publishes on its topic.
    """

    def __init__(self, robot: TrueRobot, rng: np.random.Generator, start_ns: int = 0,
                 rough: Roughness = Roughness()):
        self.robot, self.start_ns = robot, start_ns
        self._dvl_noise = DVL_NOISE if rough.dvl_noise is None else rough.dvl_noise
        self._imu, self._dvl, self._depth, self._joints, self._link = rng.spawn(5)
        self.gyro_bias = self._imu.choice([-1, 1], 3) * GYRO_BIAS
        self.accelerometer_bias = self._imu.choice([-1, 1], 3) * ACCELEROMETER_BIAS
        self._gravity_ned = np.array([0.0, 0.0, robot.gravity])
        self._dvl_place = FRD_FROM_FLU @ np.array(robot.dvl_place)
        self._channels = [
            _Channel(self._imu, "imu/data", "sensor_msgs/msg/Imu", 100.0, 0.002, self.imu),
            self._velocity(rough),
            _Channel(self._depth, "depth", "sensor_msgs/msg/FluidPressure", 10.0, 0.005,
                     self.depth),
            _Channel(self._joints, "joint_states", "sensor_msgs/msg/JointState", 50.0, 0.004,
                     self.joints),
        ]

    def restart_clock(self, start_ns: int) -> None:
        """Set simulated time zero to `start_ns` [ns since the epoch]."""
        self.start_ns = start_ns

    def _velocity(self, rough: Roughness) -> _Channel:
        """The DVL, or the motion capture that replaces it."""
        topic, type_name = "dvl/twist", "geometry_msgs/msg/TwistWithCovarianceStamped"
        if not rough.mocap:
            rate = DVL_RATE if rough.dvl_rate is None else rough.dvl_rate
            return _Channel(self._dvl, topic, type_name, rate, DVL_LATENCY, self.dvl)
        self._capture = MotionCapture(self._dvl)
        return _Channel(self._dvl, topic, type_name, MOCAP_RATE, MOCAP_LATENCY, self.mocap,
                        MOCAP_LAG)

    def measure(self, before: Instant, after: Instant) -> list[Message]:
        """Messages measured up to `after.t`, from states interpolated between the two instants."""
        messages = []
        for channel in self._channels:
            while channel.due <= after.t:
                instant = between(before, after, channel.due)
                message = channel.measure(instant, self.start_ns)
                if message is not None:
                    messages.append(message)
        return messages

    def thruster_command(self, t: float, pwm: np.ndarray) -> Message:
        """The command sent at t [s]: it has no header and is received 0.3 to 1 ms later."""
        sent = self.start_ns + round(t * 1e9)
        received = sent + round(self._link.uniform(3e5, 1e6))
        return Message("thruster_commands", "std_msgs/msg/Float64MultiArray", sent, received,
                       {"data": tuple(map(float, pwm))})

    def imu(self, x: Instant) -> dict:
        """Orientation x y z w (ENU<-FLU), rates [rad/s] and specific force [m/s^2] in FLU.

        At rest the specific force is +g up.
        """
        noise = self._imu.standard_normal((3, 3))
        inertial = x.nu_dot[:3] + cross(x.nu[3:], x.nu[:3])
        specific = inertial - x.R_nb.T @ self._gravity_ned
        tilt = pin.exp3(ATTITUDE_NOISE * noise[0])
        attitude = pin.Quaternion(NED_FROM_ENU.T @ x.R_nb @ FRD_FROM_FLU @ tilt)
        rates = FRD_FROM_FLU @ x.nu[3:] + self.gyro_bias + GYRO_NOISE * noise[1]
        force = FRD_FROM_FLU @ specific + self.accelerometer_bias + ACCELEROMETER_NOISE * noise[2]
        return {"orientation": tuple(attitude.normalized().coeffs().tolist()),
                "orientation_variance": (ATTITUDE_NOISE**2,) * 3,
                "angular_velocity": tuple(rates.tolist()),
                "angular_velocity_variance": (GYRO_NOISE**2,) * 3,
                "linear_acceleration": tuple(force.tolist()),
                "linear_acceleration_variance": (ACCELEROMETER_NOISE**2,) * 3}

    def dvl(self, x: Instant) -> dict | None:
        """Velocity [m/s] at the DVL's position, axes forward-right-down; None for a dropout."""
        noise = self._dvl_noise * self._dvl.standard_normal(3)
        lost = self._dvl.random() < DVL_DROPOUT
        velocity = x.nu[:3] + cross(x.nu[3:], self._dvl_place) + noise
        if lost:
            return None
        return {"linear": tuple(velocity.tolist()), "linear_variance": (self._dvl_noise**2,) * 3}

    def mocap(self, x: Instant) -> dict | None:
        """Velocity [m/s] at the DVL's position, MOCAP_LAG ago, forward-right-down, from poses."""
        point = x.position + x.R_nb @ self._dvl_place
        velocity = self._capture.add(x.t, point, x.R_nb)
        if velocity is None:
            return None
        return {"linear": tuple(velocity.tolist()),
                "linear_variance": (float(MOCAP_VELOCITY_NOISE**2),) * 3}

    def depth(self, x: Instant) -> dict:
        """Absolute pressure [Pa] at the body origin."""
        robot = self.robot
        pressure = robot.surface_pressure + robot.water_density * robot.gravity * x.position[2]
        noise = PRESSURE_NOISE * self._depth.standard_normal()
        return {"fluid_pressure": float(pressure + noise), "variance": PRESSURE_NOISE**2}

    def joints(self, x: Instant) -> dict:
        """Position [rad], speed [rad/s], motor torque at the output shaft [N m] of every joint."""
        noise = self._joints.standard_normal((4, x.mu.size))
        effort = x.joint_torque * (1.0 + EFFORT_NOISE_SHARE * noise[2]) + EFFORT_NOISE * noise[3]
        return {"name": tuple(self.robot.joints),
                "position": tuple((x.mu + JOINT_NOISE * noise[0]).tolist()),
                "velocity": tuple((x.mu_dot + JOINT_SPEED_NOISE * noise[1]).tolist()),
                "effort": tuple(effort.tolist())}


def between(before: Instant, after: Instant, t: float) -> Instant:
    """The instant at t [s] by linear interpolation; the rotation is orthonormalized."""
    part = (t - before.t) / (after.t - before.t)
    pairs: list[tuple[Any, Any]] = list(zip(before, after))
    mixed = [(1.0 - part) * a + part * b for a, b in pairs]
    R_nb = mixed[2]
    mixed[2] = 0.5 * R_nb @ (THREE_EYE - R_nb.T @ R_nb)
    return Instant(*mixed)
