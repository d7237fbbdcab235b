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

"""A motion in closed form, and the noise-free messages of sensors with real rates and delays."""
from dataclasses import replace
from types import SimpleNamespace as Message

import numpy as np

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import FRD_FROM_FLU, NED_FROM_ENU, from_rpy
from uvms_adaptive_dynamics.model.sample import Sample

START = 1_700_000_000.0


class MultiSine:
    """Sum of sines per axis, with derivatives."""

    def __init__(self, rng, axes, low, high, amplitude, tones=4, offset=0.0):
        self.f = rng.uniform(low, high, (axes, tones)) * 2 * np.pi
        self.a = np.asarray(amplitude)[..., None] * rng.uniform(.5, 1, (axes, tones)) / tones
        self.phase = rng.uniform(0, 2 * np.pi, (axes, tones))
        self.offset = offset

    def __call__(self, t, order=0):
        waves = self.a * self.f ** order * np.sin(self.f * t + self.phase + order * np.pi / 2)
        value = np.sum(waves, axis=1)
        return value + (self.offset if order == 0 else 0.0)


class AnalyticMotion:
    """Vehicle and arm moved by multi-sines between `low` and `high` Hz."""

    def __init__(self, seed=0, low=.05, high=.7, config=None, joints=4):
        rng = np.random.default_rng(seed)
        self.config = config or Config()
        self.rpy = MultiSine(rng, 3, low, high, np.full(3, .35))
        self.v = MultiSine(rng, 3, low, high, np.full(3, .6))
        self.mu = MultiSine(rng, joints, low, high, np.full(joints, .3), offset=2.0)

    def sample(self, t, robot, pi=None) -> Sample:
        """The exact state at time t after the start; efforts from the model if pi is given."""
        phi, theta, psi = angles = self.rpy(t)
        d = self.rpy(t, 1)
        R = from_rpy(*angles)

        def rates(angles, d):
            phi, theta, _ = angles
            return np.array([d[0] - np.sin(theta) * d[2],
                             np.cos(phi) * d[1] + np.cos(theta) * np.sin(phi) * d[2],
                             -np.sin(phi) * d[1] + np.cos(theta) * np.cos(phi) * d[2]])

        h = 1e-5
        w = rates(angles, d)
        w_dot = (rates(self.rpy(t + h), self.rpy(t + h, 1))
                 - rates(self.rpy(t - h), self.rpy(t - h, 1))) / (2 * h)
        nu, nu_dot = np.concatenate([self.v(t), w]), np.concatenate([self.v(t, 1), w_dot])
        n, C = robot.table.n, robot.table.channels
        mu = (self.mu(t), self.mu(t, 1), self.mu(t, 2)) if n else (np.zeros(0),) * 3
        sample = Sample(START + t, R, nu, nu_dot, *mu, np.zeros(6), np.zeros(n), np.ones(C, bool))
        if pi is None:
            return sample
        raw = robot.raw_rows(sample)
        tau = raw.Y @ pi + raw.tau_known
        head = 6 if robot.vehicle else 0
        return Sample(START + t, R, nu, nu_dot, *mu, tau[:6] if head else np.zeros(6), tau[head:],
                      np.ones(C, bool))


def reordered(sample, order):
    """The sample whose joint j has all readings of joint order[j]."""
    order = list(order)
    return replace(sample, mu=sample.mu[order], mu_dot=sample.mu_dot[order],
                   mu_ddot=sample.mu_ddot[order], joint_torque=sample.joint_torque[order])


def stamp(t):
    """A header with time t [s since the epoch]."""
    return Message(stamp=Message(sec=int(t), nanosec=int(round((t - int(t)) * 1e9))), frame_id="")


def vector(x):
    return Message(x=float(x[0]), y=float(x[1]), z=float(x[2]))


def quaternion(R):
    import pinocchio as pin
    q = pin.Quaternion(R).coeffs()
    return Message(x=q[0], y=q[1], z=q[2], w=q[3])


def imu_message(s, config, t=None):
    """IMU at its configured place, REP-103."""
    r = FRD_FROM_FLU @ np.array(config.imu.xyz)
    v, w, w_dot = s.nu[:3], s.nu[3:], s.nu_dot[3:]
    force = (s.nu_dot[:3] + np.cross(w, v) + np.cross(w_dot, r) + np.cross(w, np.cross(w, r))
             - config.robot.gravity * s.R_nb[2])
    R_flu = NED_FROM_ENU @ s.R_nb @ FRD_FROM_FLU
    return Message(header=stamp(s.t if t is None else t), orientation=quaternion(R_flu),
                   angular_velocity=vector(FRD_FROM_FLU @ w),
                   linear_acceleration=vector(FRD_FROM_FLU @ force))


def dvl_message(s, config, covariance=1e-4):
    """DVL at its configured place, in forward-right-down axes."""
    r = FRD_FROM_FLU @ np.array(config.dvl.xyz)
    velocity = s.nu[:3] + np.cross(s.nu[3:], r)
    return Message(header=stamp(s.t),
                   twist=Message(twist=Message(linear=vector(velocity)),
                                 covariance=np.diag([covariance] * 6).ravel()))


def joint_message(s, names=("axis_e", "axis_d", "axis_c", "axis_b")):
    return Message(header=stamp(s.t), name=list(names), position=s.mu.copy(),
                   velocity=s.mu_dot.copy(), effort=s.joint_torque.copy())


def wrench_message(s):
    return Message(header=stamp(s.t),
                   wrench=Message(force=vector(FRD_FROM_FLU @ s.wrench[:3]),
                                  torque=vector(FRD_FROM_FLU @ s.wrench[3:])))


def pressure_message(s, depth=5.0):
    """A sensor that measures has noise: a constant one would be frozen."""
    noise = 1e-3 * np.sin(7.0 * s.t)
    return Message(header=stamp(s.t), fluid_pressure=101325.0 + 9806.65 * (depth + noise))


# Rate [Hz], lateness [s] and phase [s] of each role.
RATES = {
    "imu": (100, .003, .001),
    "dvl": (10, .1, .013),
    "joint_states": (50, .004, .007),
    "wrench": (50, .004, .002),
    "depth": (10, .01, .05),
}


def stream(motion: AnalyticMotion, robot: RobotModel, pi, duration, rates=RATES):
    """[(role, message, receive time)] in the order of reception."""
    config, found = motion.config, []
    make = {
        "imu": lambda s: imu_message(s, config),
        "dvl": lambda s: dvl_message(s, config),
        "joint_states": joint_message,
        "wrench": wrench_message,
        "depth": pressure_message,
    }
    for role, (rate, late, phase) in rates.items():
        for k in range(int(duration * rate)):
            s = motion.sample(phase + k / rate, robot, pi)
            found.append((role, make[role](s), s.t + late))
    return sorted(found, key=lambda item: item[2])
