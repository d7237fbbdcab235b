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

"""Regressors of a motion at many instants, and gradients of their functions by the motion
(docs/excitation.md)."""
from __future__ import annotations

import numpy as np

from ...model.dynamics import rows_of
from ...model.robot import RobotModel
from ...model.state import State
from ..desired_motion import DesiredMotion, desired_motion

# Step in m, rad and s: rounding errors of a gradient are 1e-9, truncation errors 1e-6.
DIFFERENCE_STEP = 1e-6


def regressors(robot: RobotModel, motion: DesiredMotion) -> tuple[np.ndarray, np.ndarray]:
    """(Y (T, C, p), known (T, C)) of a motion at T instants."""
    Y = np.empty((len(motion.nu), robot.table.channels, robot.table.size))
    known = np.empty(Y.shape[:2])
    accelerations = motion.mu_ddot
    if robot.vehicle:
        accelerations = np.concatenate([motion.nu_dot, motion.mu_ddot], axis=1)
    drags = robot.links_drag(motion.mu, motion.mu_dot, motion.R_nb, motion.nu)
    for k, acceleration in enumerate(accelerations):
        raw = rows_of(robot, State(motion.R_nb[k], motion.nu[k], motion.mu[k], motion.mu_dot[k]),
                      acceleration, drag=drags[k])
        Y[k], known[k] = raw.Y, raw.tau_known
    return Y, known


def motion_gradient(robot: RobotModel, coordinates: np.ndarray, Y: np.ndarray, G: np.ndarray,
                    moves: np.ndarray) -> np.ndarray:
    """(3, T, 6 + n) gradient of a function by coordinates, rates and accelerations (3, T, 6 + n),
    where G (T, C, p) is its gradient by the regressors Y (T, C, p).

    One-sided differences, all instants at once, only for coordinates that move. The position does
    not affect the regressors and is skipped.
    """
    found = np.zeros_like(coordinates)
    for order in range(3):
        for k in np.flatnonzero(moves):
            if order == 0 and k < 3:
                continue
            ahead = coordinates.copy()
            ahead[order, :, k] += DIFFERENCE_STEP
            there, _ = regressors(robot, desired_motion(*ahead))
            found[order, :, k] = np.einsum("tcp,tcp->t", G, there - Y) / DIFFERENCE_STEP
    return found
