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

"""Size of the efforts against what the masses of the URDF need for the same motion.

The need is gravity's load plus the rest of the rigid-body efforts. A URDF may be wrong by an order
of magnitude, in which case either part is, and the two may cancel out, as in an arm that swings
freely. Friction, a payload and noise only add to what the masses need. So efforts of all joints
that vary less than every such combination does are in another unit: torques of the motors before
the gears, currents, per cent.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..signals.checks.joint_effort_check import SCALES
from ..uncertainty.channel_answers import JUDGED_SECONDS
from ..uncertainty.evidence import ReportedFinding
from .arm_check import checked_period

MASS_FACTOR = 10.0      # by which the masses of a URDF, or its lengths, may be wrong


class _Size(NamedTuple):
    """Standard deviations [N m or N] of a joint's effort, of what the masses of the URDF need, and
    of the least that they may need."""

    measured: float
    needed: float
    least: float


def effort_size(samples: Sequence[Sample], config: Config,
                robot: RobotModel) -> ReportedFinding | None:
    """A finding if the efforts of all joints that move are too small for the URDF's masses.

    samples: each CHECKED_EVERY-th. None as well without an arm, or if buoyancy may carry it."""
    arm = robot.arm
    if arm is None or (robot.vehicle and not robot.knows_buoyancy):
        return None
    links = np.column_stack([arm.inertials(), np.zeros((arm.n, 2))]).ravel()    # no friction
    load = np.array([robot.resting_load(s.mu, s.R_nb) for s in samples])
    moved = np.array([arm.regressor(s.mu, s.mu_dot, s.mu_ddot, s.R_nb, s.nu, s.nu_dot)
                      @ links - arm.resting_load(s.mu, s.R_nb) for s in samples])
    effort = np.array([s.joint_torque for s in samples])
    valid = np.array([s.valid[robot.arm_rows] for s in samples])
    sizes = {name: _size(load[rows, j], moved[rows, j], effort[rows, j])
             for j, (name, rows) in enumerate(zip(robot.joints, valid.T))
             if rows.sum() * checked_period(config) >= JUDGED_SECONDS}
    if not sizes or not all(one.measured < one.least for one in sizes.values()):
        return None
    times = [one.needed / max(one.measured, 1e-9 * one.needed) for one in sizes.values()]
    several = len(times) > 1
    return ReportedFinding(SCALES, (
        f"{SCALES}: the effort{'s' * several} of {', '.join(sizes)} "
        f"var{'y' if several else 'ies'} by {', '.join(f'1/{_digits(one)}' for one in times)} of "
        "what the masses of robot.urdf need for this motion, so the unit is not N m at the joint "
        "(torque of the motor before its gear, current, per cent); set joint_states.effort_scale "
        "to the gear ratios or to the factor of the unit"))


def _digits(value: float) -> str:
    """The value with two digits and no exponent."""
    return f"{float(f'{value:.2g}'):.0f}"


def _size(load: np.ndarray, moved: np.ndarray, effort: np.ndarray) -> _Size:
    """Of one joint: load and moved (k,) by gravity and motion, effort (k,)."""
    (g, both), (_, m) = np.cov(load, moved)
    least = math.inf
    # the variance of a load + b moved is least where a or b is: smaller factors shrink both
    for one, other in ((g, m), (m, g)):
        a = 1.0 / MASS_FACTOR
        b = np.clip(-a * both / other if other > 0.0 else 0.0, a, MASS_FACTOR)
        least = min(least, a * a * one + 2.0 * a * b * both + b * b * other)
    return _Size(float(effort.std()), float((load + moved).std()), math.sqrt(max(least, 0.0)))
