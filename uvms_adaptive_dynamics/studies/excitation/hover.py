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

"""Noise of a robot that holds its position while its arm moves slowly, for a first promise."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...config import Config
from ...control.excitation.limits import MotionLimits
from ...control.excitation.noise import measured_noise, noise_of
from ...control.excitation.prior_knowledge import Knowledge
from ...control.excitation.trajectory import Trajectory
from ...errors import BagError, ParameterError
from ...estimation.low_pass import RowFilter
from ...evaluation.bags import read_messages
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from ...model.sample import Sample
from ...signals.front_end import SignalFrontEnd
from ...signals.samples import samples_of
from ...signals.topics import inputs
from .dry_run import dry_run

HOVER_LENGTH = 20.0  # [s]
CREEP_SHARE = 0.25  # of the joints' speed limits


def noise_of_recording(path: str | Path, known: ParameterSet, robot: RobotModel,
                       config: Config) -> np.ndarray:
    """(C,) noise [N, N m]; raises BagError or ParameterError for an unsuitable recording."""
    samples = samples_of(SignalFrontEnd(config, robot), read_messages(path, inputs(config)))
    if not samples:
        raise BagError(f"'{path}' gave no usable sample; run `evaluate` to see why.")
    try:
        return noise_of_samples(samples, known, robot, config)
    except ParameterError as error:
        raise ParameterError(f"'{path}': {error}") from None


def noise_of_samples(samples: Sequence[Sample], known: ParameterSet, robot: RobotModel,
                     config: Config) -> np.ndarray:
    """(C,) noise [N, N m] of the estimator's rows; see `measured_noise`."""
    low_pass = RowFilter(config.filter, robot.table.channels, robot.table.size)
    rows, last = [], None
    for sample in samples:
        # The low-pass must not extend across a gap.
        if last is not None and not 0 < sample.t - last < 1.5 * config.filter.period:
            low_pass.reset()
        last = sample.t
        row = low_pass.add_row(sample.t, robot.raw_rows(sample, known.values), sample.valid)
        if row is not None:
            rows.append((row.Y, row.tau - row.tau_known, row.valid))
    if not rows:
        raise ParameterError("it has no row behind the low-pass; expected ten seconds or more "
                             "without gaps.")
    Y, tau, valid = (np.array(each) for each in zip(*rows))
    free = np.ones(robot.table.size, bool)
    return measured_noise(Y, tau, valid, Knowledge(robot, known, free, config),
                          noise_of(known, robot, config))


def hover(config: Config, robot: RobotModel, limits: MotionLimits, known: ParameterSet,
          seed: int) -> list[Sample]:
    """Samples of the simulated robot holding its position; each joint moves back and forth once."""
    n = len(robot.joints)
    centre = np.concatenate([np.zeros(6), limits.middle[6:]])
    amplitude = np.zeros((6 + n, 1))
    amplitude[6:, 0] = np.minimum(CREEP_SHARE * limits.joint_speed * HOVER_LENGTH / (2 * np.pi),
                                  0.5 * limits.reach[6:])
    motion = Trajectory(robot.joints, HOVER_LENGTH, config.excitation.ramp, centre,
                        np.full((6 + n, 1), 1 / HOVER_LENGTH), amplitude, np.zeros((6 + n, 1)))
    return dry_run(config, robot, motion, limits, known, seed).samples
