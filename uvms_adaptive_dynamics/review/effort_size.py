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

"""Size and direction of the efforts against what the masses of the URDF need for the same motion.

The need is gravity's load plus the rest of the rigid-body efforts. A URDF may be wrong by an order
of magnitude, in which case either part is, and the two may cancel out, as in an arm that swings
freely. Friction, a payload and noise only add to what the masses need. So efforts of all joints
that vary less than every such combination does are in another unit: torques of the motors before
the gears, currents, per cent.

Nor can masses reverse an effort: one that certainly opposes both gravity's part and the motion's
has the wrong sign, or gravity another direction.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..model.normal import Z999
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..signals.checks.effort_scale import MOST_OF_IT, MOUNT
from ..signals.checks.joint_effort_check import EFFORT_WINDOW, SCALES
from ..uncertainty.channel_answers import JUDGED_SECONDS
from ..uncertainty.evidence import ReportedFinding
from .arm_check import checked_period

NEXT_TO_ONE = 1.0 - 1e-9    # largest correlation, so that its transformation is finite
MASS_FACTOR = 10.0      # by which the masses of a URDF, or its lengths, may be wrong


class _Size(NamedTuple):
    """Standard deviations [N m or N] of a joint's effort, of what the masses of the URDF need, and
    of the least that they may need; and the effort's certain correlation with what they need, 0 if
    it may be chance or be due to one of both parts alone."""

    measured: float
    needed: float
    least: float
    along: float


def effort_size(samples: Sequence[Sample], config: Config,
                robot: RobotModel) -> ReportedFinding | None:
    """A finding if the efforts of all joints that move are too small for the URDF's masses, or
    oppose what these need.

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
    period = checked_period(config)
    sizes = {name: _size(load[rows, j], moved[rows, j], effort[rows, j], period / EFFORT_WINDOW)
             for j, (name, rows) in enumerate(zip(robot.joints, valid.T))
             if rows.sum() * period >= JUDGED_SECONDS}
    if sizes and all(one.measured < one.least for one in sizes.values()):
        return _too_small(sizes)
    # (with an IMU gravity's direction is measured, and buoyancy lifts)
    return None if robot.vehicle or robot.knows_buoyancy else _opposed(sizes)


def _too_small(sizes: Mapping[str, _Size]) -> ReportedFinding:
    """The finding on the efforts of these joints."""
    times = [one.needed / max(one.measured, 1e-9 * one.needed) for one in sizes.values()]
    several = len(times) > 1
    return ReportedFinding(SCALES, (
        f"{SCALES}: the effort{'s' * several} of {', '.join(sizes)} "
        f"var{'y' if several else 'ies'} by {', '.join(f'1/{_digits(one)}' for one in times)} of "
        "what the masses of robot.urdf need for this motion, so the unit is not N m at the joint "
        "(torque of the motor before its gear, current, per cent); set joint_states.effort_scale "
        "to the gear ratios or to the factor of the unit"))


def _opposed(sizes: Mapping[str, _Size]) -> ReportedFinding | None:
    """A finding if all efforts that certainly follow what the masses need do so in reverse, at
    least two. (A single one may be a joint that another swings, or have its own wrong sign.)"""
    along = {name: one.along for name, one in sizes.items() if one.along}
    if len(along) < 2 or max(along.values()) > 0.0:
        return None
    each = ", ".join(f"{one:.2f}" for one in along.values())
    return ReportedFinding(MOUNT, (
        f"{MOUNT}: the efforts of {', '.join(along)} oppose what the masses of robot.urdf need for "
        f"this motion (correlation {each}), so gravity points the other way in the arm's base "
        f"than the setting says; correct {MOUNT}, or, if the driver reverses all efforts, "
        f"{SCALES}"))


def _digits(value: float) -> str:
    """The value with two digits and no exponent."""
    return f"{float(f'{value:.2g}'):.0f}"


def _size(load: np.ndarray, moved: np.ndarray, effort: np.ndarray, independent: float) -> _Size:
    """Of one joint: load and moved (k,) by gravity and motion, effort (k,); `independent`: share of
    the rows that are."""
    (g, both), (_, m) = np.cov(load, moved)
    least = math.inf
    # the variance of a load + b moved is least where a or b is: smaller factors shrink both
    for one, other in ((g, m), (m, g)):
        a = 1.0 / MASS_FACTOR
        b = np.clip(-a * both / other if other > 0.0 else 0.0, a, MASS_FACTOR)
        least = min(least, a * a * one + 2.0 * a * b * both + b * b * other)
    needed = load + moved
    return _Size(float(effort.std()), float(needed.std()), math.sqrt(max(least, 0.0)),
                 _certain(needed, load, moved, effort, independent * len(effort)))


def _certain(needed: np.ndarray, load: np.ndarray, moved: np.ndarray, effort: np.ndarray,
             count: float) -> float:
    """See `_Size.along`; count: of independent rows."""
    by_both, by_load, by_motion = (
        float(np.mean((part - part.mean()) * (effort - effort.mean())))
        for part in (needed, load, moved))
    power = float(needed.std() * effort.std())
    found = by_both / power if power > 0.0 else 0.0
    # Fisher's transformation makes a correlation normal, with variance 1 / (count - 3).
    certain = count > 3.0 and (math.atanh(min(abs(found), NEXT_TO_ONE))
                               * math.sqrt(count - 3.0) > Z999)
    alike = by_load * by_both >= 0.0 and by_motion * by_both >= 0.0
    return found if certain and alike and found ** 2 >= MOST_OF_IT else 0.0
