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

"""Baseline for designed motions: a multisine as one would make it by hand."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...config import Config
from ...control.desired_motion import desired_motion
from ...control.excitation.design import fitted
from ...control.excitation.limits import MotionLimits
from ...control.excitation.rows import regressors
from ...control.excitation.trajectory import Trajectory
from ...model.robot import RobotModel

MULTISINE_RATE = 10  # per second, for peaks and energy


def multisine(robot: RobotModel, limits: MotionLimits, draws: np.ndarray, posture: np.ndarray,
              duration: float, config: Config) -> Trajectory:
    """Tones of equal speed, evenly spaced in the band, distinct between coordinates, with
    Schroeder's phases (1970). Each coordinate is as large as its limits allow; then all are fitted
    into the limits together.

    limits: those of the wanted motion; draws (k, p): parameters for which they must hold; posture
    (n,): centre of the arm's motion.
    """
    settings, d = config.excitation, limits.low.size
    h, (low, high) = settings.harmonics, settings.band
    low = max(low, 1 / duration)
    slot = (np.arange(h)[None, :] + (np.arange(d)[:, None] + 0.5) / d) / h
    frequencies = low + (high - low) * slot
    phase = -np.pi * np.arange(h) * (np.arange(h) - 1) / h
    unit = 1 / (2 * np.pi * frequencies)
    centre = np.concatenate([np.zeros(6), posture])
    motion = Trajectory(robot.joints, duration, settings.ramp, centre, frequencies,
                        unit * np.cos(phase), unit * np.sin(phase))
    t = np.arange(0.0, duration, 1 / MULTISINE_RATE)
    value, rate, _ = motion.coordinates_at(t)
    room = np.minimum(limits.high - centre, centre - limits.low)
    room[3:5] = limits.tilt / np.sqrt(2)
    scale = np.minimum(limits.fastest / np.abs(rate).max(axis=0),
                       room / np.abs(value - motion.centre).max(axis=0))[:, None]
    return fitted(replace(motion, sine=scale * motion.sine, cosine=scale * motion.cosine), robot,
                  limits, draws, centre)


def energy(trajectory: Trajectory, robot: RobotModel, limits: MotionLimits,
           pi: np.ndarray) -> float:
    """Mean square of the actuators' shares of their limits, for parameters pi (p,)."""
    t = np.arange(0.0, trajectory.duration, 1 / MULTISINE_RATE)
    Y, known = regressors(robot, desired_motion(*trajectory.coordinates_at(t)))
    return float((limits.effort_uses(Y @ pi + known) ** 2).mean())


def with_energy(trajectory: Trajectory, robot: RobotModel, limits: MotionLimits, pi: np.ndarray,
                most: float) -> Trajectory:
    """The motion, shrunk until its energy is at most `most`."""
    size = 1.0
    while True:
        smaller = replace(trajectory, sine=size * trajectory.sine, cosine=size * trajectory.cosine)
        if energy(smaller, robot, limits, pi) <= most or size < 0.05:
            return smaller
        size *= 0.97
