"""Noisy, delayed, asynchronous sensor messages of the simulated robot, in REP-103 axes (DESIGN sections 10 and 11)."""
from __future__ import annotations

from typing import Callable, NamedTuple

import numpy as np
import pinocchio as pin

from .physics import FLU_TO_FRD, Instant
from .true_robot import TrueRobot

ENU_FROM_NED = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])

ATTITUDE_NOISE = np.radians(0.2)  # [rad] each axis
GYRO_NOISE, GYRO_BIAS = 0.003, 0.002  # [rad/s]
ACCELEROMETER_NOISE, ACCELEROMETER_BIAS = 0.03, 0.02  # [m/s^2]
DVL_NOISE, DVL_DROPOUT = 0.01, 0.03  # [m/s], share of samples
PRESSURE_NOISE = 20.0  # [Pa]
JOINT_NOISE, JOINT_SPEED_NOISE = 0.001, 0.01  # [rad], [rad/s]
EFFORT_NOISE_SHARE, EFFORT_NOISE = 0.02, 0.02  # of the effort, [N m]
STAMP_JITTER = 0.0003  # [s] of the instant of measurement about its schedule


class Message(NamedTuple):
    """A message before it has a ROS library: `stamp` [ns] of the measurement, `receive_time` [ns] at the subscriber.

    `payload` holds the message's figures by field name (plain tuples and floats, names as in the message type);
    covariances as the three variances of their diagonal. `stamp` of a type without header is its time of sending.
    """

    topic: str
    type: str
    stamp: int
    receive_time: int
    payload: dict


class _Channel:
    """One sensor's clock: when it measures next, and how late its message arrives."""

    def __init__(self, rng, topic, type_name, rate, latency, measure: Callable[[Instant], dict | None]):
        self.rng, self.topic, self.type, self.measure = rng, topic, type_name, measure
        self._period, self._latency = 1.0 / rate, latency
        self._count, self._phase = 0, rng.uniform(0.1, 0.9) / rate
        self._schedule()

    def _schedule(self) -> None:
        jitter = np.clip(self.rng.normal(0, STAMP_JITTER), -3 * STAMP_JITTER, 3 * STAMP_JITTER)
        self.due = self._phase + self._count * self._period + jitter
        self._count += 1

    def take(self, instant: Instant, start_ns: int) -> Message | None:
        payload = self.measure(instant)
        late = self._latency * (1.0 + 0.1 * abs(self.rng.standard_normal()))
        message = None if payload is None else Message(self.topic, self.type, start_ns + round(self.due * 1e9),
                                                       start_ns + round((self.due + late) * 1e9), payload)
        self._schedule()
        return message


class Sensors:
    """All sensors of the robot. `rng` decides noise, biases and phases; `start_ns` [ns since the epoch] is sim time zero."""

    def __init__(self, robot: TrueRobot, rng: np.random.Generator, start_ns: int = 0):
        self.robot, self.start_ns = robot, start_ns
        self._imu, self._dvl, self._depth, self._joints, self._link = streams = rng.spawn(5)
        self.gyro_bias = streams[0].choice([-1, 1], 3) * GYRO_BIAS
        self.accelerometer_bias = streams[0].choice([-1, 1], 3) * ACCELEROMETER_BIAS
        self._gravity_ned = np.array([0.0, 0.0, robot.gravity])
        self._dvl_place = FLU_TO_FRD @ np.array(robot.dvl_place)
        self._channels = [
            _Channel(self._imu, "imu/data", "sensor_msgs/msg/Imu", 100.0, 0.002, self.imu),
            _Channel(self._dvl, "dvl/twist", "geometry_msgs/msg/TwistWithCovarianceStamped", 10.0, 0.1, self.dvl),
            _Channel(self._depth, "depth", "sensor_msgs/msg/FluidPressure", 10.0, 0.005, self.depth),
            _Channel(self._joints, "joint_states", "sensor_msgs/msg/JointState", 50.0, 0.004, self.joints),
        ]

    def take(self, before: Instant, after: Instant) -> list[Message]:
        """Messages measured up to `after.t`, the state taken between the two instants."""
        messages = []
        for channel in self._channels:
            while channel.due <= after.t:
                message = channel.take(between(before, after, channel.due), self.start_ns)
                if message is not None:
                    messages.append(message)
        return messages

    def thruster_command(self, t: float, pwm: np.ndarray) -> Message:
        """The command sent at t [s]: it has no header, and is received 0.3 to 1 ms later."""
        sent = self.start_ns + round(t * 1e9)
        return Message("thruster_commands", "std_msgs/msg/Float64MultiArray", sent,
                       sent + round(self._link.uniform(3e5, 1e6)), {"data": tuple(map(float, pwm))})

    def imu(self, x: Instant) -> dict:
        """Orientation quaternion x y z w ENU<-FLU, rates [rad/s] and specific force [m/s^2] FLU; +g up at rest."""
        noise = self._imu.standard_normal((3, 3))
        specific = x.nu_dot[:3] + np.cross(x.nu[3:], x.nu[:3]) - x.R_nb.T @ self._gravity_ned
        attitude = pin.Quaternion(ENU_FROM_NED @ x.R_nb @ FLU_TO_FRD @ pin.exp3(ATTITUDE_NOISE * noise[0]))
        return {"orientation": tuple(attitude.normalized().coeffs().tolist()), "orientation_variance": (ATTITUDE_NOISE**2,) * 3,
                "angular_velocity": tuple((FLU_TO_FRD @ x.nu[3:] + self.gyro_bias + GYRO_NOISE * noise[1]).tolist()),
                "angular_velocity_variance": (GYRO_NOISE**2,) * 3,
                "linear_acceleration": tuple((FLU_TO_FRD @ specific + self.accelerometer_bias
                                              + ACCELEROMETER_NOISE * noise[2]).tolist()),
                "linear_acceleration_variance": (ACCELEROMETER_NOISE**2,) * 3}

    def dvl(self, x: Instant) -> dict | None:
        """Velocity [m/s] of the DVL's own place in its axes forward-right-down; None for a dropout."""
        noise, lost = DVL_NOISE * self._dvl.standard_normal(3), self._dvl.random() < DVL_DROPOUT
        velocity = x.nu[:3] + np.cross(x.nu[3:], self._dvl_place) + noise
        return None if lost else {"linear": tuple(velocity.tolist()), "linear_variance": (DVL_NOISE**2,) * 3}

    def depth(self, x: Instant) -> dict:
        """Absolute pressure [Pa] at the body origin."""
        pressure = self.robot.surface_pressure + self.robot.water_density * self.robot.gravity * x.position[2]
        return {"fluid_pressure": float(pressure + PRESSURE_NOISE * self._depth.standard_normal()), "variance": PRESSURE_NOISE**2}

    def joints(self, x: Instant) -> dict:
        """Position [rad], speed [rad/s] and motor torque at the output shaft [N m] of every joint."""
        noise = self._joints.standard_normal((4, x.mu.size))
        effort = x.joint_torque * (1.0 + EFFORT_NOISE_SHARE * noise[2]) + EFFORT_NOISE * noise[3]
        return {"name": tuple(self.robot.joints), "position": tuple((x.mu + JOINT_NOISE * noise[0]).tolist()),
                "velocity": tuple((x.mu_dot + JOINT_SPEED_NOISE * noise[1]).tolist()), "effort": tuple(effort.tolist())}


def between(before: Instant, after: Instant, t: float) -> Instant:
    """The instant at t [s], linear between two neighbouring ones; the rotation is brought back to orthonormal."""
    part = (t - before.t) / (after.t - before.t)
    mixed = [(1.0 - part) * a + part * b for a, b in zip(before, after)]
    R_nb = mixed[2]
    mixed[2] = 0.5 * R_nb @ (3.0 * np.eye(3) - R_nb.T @ R_nb)
    return Instant(*mixed)
