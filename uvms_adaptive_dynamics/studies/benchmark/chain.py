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

"""Robots with any number of joints, and samples of the linear model along multisines, for timing
only.

The motion is not that of a rigid body (attitude, velocity and acceleration are independent sines),
but tau = Y pi still holds.
"""

from __future__ import annotations

import numpy as np

from ...config import Config
from ...model.robot import RobotModel
from ...model.rotations import from_rpy
from ...model.sample import Sample

NOISE_SHARE = 0.5  # of the estimator's initial noise
CHAIN_TONES, LOW, HIGH = 4, 0.05, 0.7  # [Hz]


def chain_urdf(n: int, seed: int = 0) -> str:
    """URDF text with `n` revolute joints j0.., random axes, and physically consistent links of
    0.1-0.5 kg, 5-15 cm long."""
    rng, parts = np.random.default_rng(seed), ['<robot name="chain"><link name="l"/>']
    parent = "l"
    for k in range(n):
        length, mass = rng.uniform(0.05, 0.15), rng.uniform(0.1, 0.5)
        axis, points = rng.normal(size=3), rng.normal(size=(8, 3)) * 0.3 * length
        axis /= np.linalg.norm(axis)
        centre = points.mean(axis=0)
        spread = points - centre
        I = mass / 8 * ((spread ** 2).sum() * np.eye(3) - spread.T @ spread)
        xyz = lambda v: " ".join(f"{x:.8g}" for x in v)
        parts.append(
            f'<joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="l{k}"/>'
            f'<origin xyz="{xyz(rng.normal(size=3) * length / 2)}" '
            f'rpy="{xyz(rng.uniform(-3, 3, 3))}"/><axis xyz="{xyz(axis)}"/>'
            f'<limit lower="-6" upper="6" effort="1" velocity="1"/></joint>'
            f'<link name="l{k}"><inertial><origin '
            f'xyz="{xyz(centre + [0, 0, length / 2])}"/><mass value="{mass:.8g}"/>'
            f'<inertia ixx="{I[0, 0]:.8g}" iyy="{I[1, 1]:.8g}" izz="{I[2, 2]:.8g}" '
            f'ixy="{I[0, 1]:.8g}" ixz="{I[0, 2]:.8g}" '
            f'iyz="{I[1, 2]:.8g}"/></inertial></link>'
        )
        parent = f"l{k}"
    return "".join(parts) + "</robot>"


def chain_robot(config: Config, n: int, seed: int = 0) -> tuple[Config, RobotModel]:
    """(settings, robot): the default vehicle with a chain of `n` joints."""
    config = config.with_values({"robot.urdf": "robot_description",
                                 "robot.joints": [f"j{k}" for k in range(n)]})
    return config, RobotModel.from_config(config, chain_urdf(n, seed))


def chain_samples(config: Config, robot: RobotModel, truth: np.ndarray, count: int,
                  seed: int = 0) -> list[Sample]:
    """`count` noisy samples on the grid, with efforts from the model with parameters `truth`
    (p,)."""
    rng, n, C = np.random.default_rng(seed), robot.table.n, robot.table.channels
    axes = 9 + n  # roll, pitch, yaw; nu; mu
    omega = 2 * np.pi * rng.uniform(LOW, HIGH, (axes, CHAIN_TONES))
    amplitude = (np.r_[[0.35] * 3, [0.5] * 6, [0.5] * n][:, None]
                 * rng.uniform(0.5, 1, (axes, CHAIN_TONES)) / CHAIN_TONES)
    phase = rng.uniform(0, 2 * np.pi, (axes, CHAIN_TONES))
    noise, found = NOISE_SHARE * robot.default_noise(config), []
    for k in range(count):
        t = k * config.filter.period
        value, rate, second = (np.sum(amplitude * omega ** order
                                      * np.sin(omega * t + phase + order * np.pi / 2), axis=1)
                               for order in range(3))
        state = (t, from_rpy(*value[:3]), value[3:9], rate[3:9], value[9:], rate[9:], second[9:])
        valid = np.r_[np.ones(6, bool), np.abs(rate[9:]) > config.joint_states.rest_velocity]
        raw = robot.raw_rows(Sample(*state, np.zeros(6), np.zeros(n), valid))
        tau = raw.Y @ truth + raw.tau_known + noise * rng.normal(size=C)
        found.append(Sample(*state, tau[:6], tau[6:], valid))
    return found
