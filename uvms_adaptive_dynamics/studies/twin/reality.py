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

"""What happened: the true motion of a simulated robot, or the measured motion of a recording."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...control.twin import start_covariance
from ...errors import BagError
from ...model.dynamics import State
from ...model.robot import RobotModel
from ...model.sample import Sample
from ...signals.checks.fits import integral
from ...signals.filters.velocity_offset import TYPICAL_DVL_PERIOD
from ...simulation.robot import Truth
from ...simulation.true_robot import TrueRobot


class Reality(NamedTuple):
    """states and position (T, 3) NED [m] per sample, and their own uncertainty: covariance (d, d)
    of a state, and drift [m^2/s] of the position's variance per axis."""

    states: tuple[State, ...]
    position: np.ndarray
    covariance: np.ndarray
    drift: float


def true_reality(samples: Sequence[Sample], log: Truth, robot: RobotModel) -> Reality:
    """From the truth log of the simulated robot; raises BagError if it belongs to another
    recording."""
    t = np.array([sample.t for sample in samples])
    period = log.t[1] - log.t[0]
    k = np.round((t - log.t[0]) / period).astype(int)
    k = k[k < len(log.t)]
    if not len(k) or k[0] < 0 or np.abs(log.t[k] - t[:len(k)]).max() > 0.1 * period:
        raise BagError("the truth log's times do not match the recording; expected the log that "
                       "was written with it.")
    joints = [TrueRobot().joints.index(joint) for joint in robot.joints]
    states = tuple(State(log.R_nb[i], log.nu[i], log.mu[i, joints], log.mu_dot[i, joints])
                   for i in k)
    d = 2 * robot.table.n + (12 if robot.vehicle else 0)
    return Reality(states, log.position[k], np.zeros((d, d)), 0.0)


def measured_reality(samples: Sequence[Sample], robot: RobotModel, config: Config) -> Reality:
    """From the front end's motion; positions are integrals of the velocity, so that independent DVL
    errors add up."""
    states = tuple(State(s.R_nb, s.nu, s.mu, s.mu_dot) for s in samples)
    velocity = np.array([state.R_nb @ state.nu[:3] for state in states])
    position = integral(np.array([s.t for s in samples]), velocity)
    return Reality(states, position, start_covariance(config, robot),
                   config.dvl.stddev ** 2 * TYPICAL_DVL_PERIOD)
