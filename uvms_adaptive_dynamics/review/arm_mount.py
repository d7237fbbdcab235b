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

"""Check whether the arm is mounted in another attitude than `robot.mount_rpy` says.

The arm's own rows hardly tell: with gravity the other way round its links float. But the vehicle
tilts and turns, and carries the arm. So the rows of both are fitted with the arm in other
attitudes, and their likelihood decides.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..config import Config
from ..config.estimation import Filter
from ..model.manipulator import Mount
from ..model.robot import RobotModel
from ..model.rotations import from_rotation_vector, from_rpy
from ..model.sample import Sample
from ..signals.checks.effort_scale import MOUNT
from ..signals.checks.fits import listed, rpy_setting, to_rpy
from ..uncertainty.added_direction import RobustFit
from ..uncertainty.arm_evidence import LEAST_COST_GAIN
from ..uncertainty.evidence import ReportedFinding
from .arm_exchange import (
    COMPARED_SAMPLES,
    effort_scale_of,
    fitted,
    likely_order,
    mistaken_joint,
    reordered,
    room_of,
    whole_config,
    with_lacking,
)

# Turns of the arm's base by 90 and 180 degrees about the vehicle's axes.
QUARTER_TURNS = [from_rotation_vector(angle * axis) for axis in np.eye(3)
                 for angle in (math.pi, 0.5 * math.pi, -0.5 * math.pi)]

LONGER = 10     # times as many rows confirm an attitude
Attitude = tuple[int, ...]      # the entries of a rotation made of QUARTER_TURNS


class ArmMistake(NamedTuple):
    """What is wrong with an arm, and the settings that put it right, none if these are not known.
    """

    finding: ReportedFinding
    values: Mapping[str, Any]


def mistaken_arm(samples: Sequence[Sample], config: Config, robot: RobotModel,
                 period: float) -> ArmMistake | None:
    """An arm that is mounted otherwise, whose joints come in another order, or one of whose joints
    is mirrored, whichever explains the rows best; None if nothing does.

    An attitude must explain the rows better than the setting with odds of 1000, both the arm's and
    the vehicle's, also without the witness that speaks for it most, and beyond what they vary by
    over time, and no joint may deny it with as much; the rows of five minutes must show it as those
    of the last half do, since an arm is mounted as it is from the start. All attitudes that it does
    not exceed by as much are named with it. samples: `period` [s] apart; robot: the settings'."""
    order = likely_order(samples, config, robot, period)
    by_order = None if order is None else ArmMistake(order.finding(config, robot),
                                                     order.values(config, robot))
    if not robot.vehicle:   # (its attitude is `arm_check`'s, and `gravity_direction`'s)
        return by_order or _of_joint(samples, config, robot, period)
    longer, samples = samples[-LONGER * COMPARED_SAMPLES:], samples[-COMPARED_SAMPLES:]
    settings = replace(config.filter, period=period)
    mounts, whole = _Mounts(samples, config, robot, settings), with_lacking(config, robot)
    best = mounts.likeliest()
    if best == AS_SET or not mounts.exceeds(best, AS_SET):
        return by_order
    if len(longer) > len(samples) and not _Mounts(longer, config, robot, settings).show(best):
        return by_order
    fits = mounts.fits
    if order is not None:
        scale = effort_scale_of(config, robot)
        own = fitted([reordered(sample, order.order, scale) for sample in samples], whole, settings)
        if own is not None and own.cost < fits[best].cost:
            return by_order
    gain = (fits[AS_SET].cost - fits[best].cost) / float(fits[AS_SET].valid.sum())
    of_joint = _of_joint(samples, config, robot, period, gain)
    if of_joint is not None:
        return of_joint
    rivals = [one for one in fits if one not in (best, AS_SET) and mounts.exceeds(one, AS_SET)
              and not mounts.exceeds(best, one)]
    right = [mounts.setting(one) for one in (best, *rivals)]
    return ArmMistake(ReportedFinding(MOUNT, (
        f"{MOUNT}: arm and vehicle together show that the arm is mounted otherwise; set {MOUNT} to "
        f"{' or '.join(map(listed, right))} (now {listed(config.robot.mount_rpy)}), or correct the "
        "attitude of its base in robot.urdf")), {} if rivals else {MOUNT: right[0]})


def remounted(config: Config, robot: RobotModel, rpy: Sequence[float]) -> RobotModel:
    """The robot by these settings, which are those of `robot` or have further terms, but with the
    arm's base at roll, pitch and yaw rpy [rad]."""
    assert robot.arm is not None
    xyz, now = config.robot.mount_xyz, config.robot.mount_rpy
    arm = robot.arm.remounted(Mount(xyz, now), Mount(xyz, tuple(rpy)))
    return RobotModel(config.with_values({MOUNT: tuple(rpy)}), arm)


def _of_joint(samples: Sequence[Sample], config: Config, robot: RobotModel, period: float,
              gain: float = 0.0) -> ArmMistake | None:
    """What is wrong with one joint or two, if that lowers the cost per row by more than `gain`."""
    found = mistaken_joint(samples, config, with_lacking(config, robot), period,
                           room_of(samples, config, robot), gain)
    return found and ArmMistake(found, {})


def _key(turn: np.ndarray) -> Attitude:
    return tuple(int(round(entry)) for entry in turn.ravel())


AS_SET = _key(np.eye(3))


class _Mounts:
    """Fits of the rows with the arm's base turned from its setting; `fits`, by the turn.

    What the model lacks is fitted too: drag of the links may be larger than their weight."""

    def __init__(self, samples: Sequence[Sample], config: Config, robot: RobotModel,
                 settings: Filter):
        self._samples, self._robot, self._settings = samples, robot, settings
        self._config = whole_config(config, robot)
        self._mount = np.array(from_rpy(*config.robot.mount_rpy))
        self.fits: dict[Attitude, RobustFit] = {}

    def likeliest(self) -> Attitude:
        """The attitude that is reached by turns as long as the cost falls."""
        here, best = None, AS_SET
        self._add(np.eye(3))
        while self.fits and here != best:
            here = best
            for turn in QUARTER_TURNS:
                self._add(turn @ np.reshape(here, (3, 3)))
            best = min(self.fits, key=lambda attitude: self.fits[attitude].cost)
        return best

    def show(self, one: Attitude) -> bool:
        """Whether these rows alone show an attitude beyond doubt."""
        for attitude in (AS_SET, one):
            self._add(np.reshape(attitude, (3, 3)))
        return self.fits.keys() >= {AS_SET, one} and self.exceeds(one, AS_SET)

    def exceeds(self, one: Attitude, other: Attitude) -> bool:
        """Whether one attitude explains the rows better than another one beyond doubt."""
        # (to an arm at rest the vehicle's errors fit in some attitude)
        gains = self.fits[other].channel_costs - self.fits[one].channel_costs
        both = (gains[self._robot.vehicle_rows].sum(), gains[self._robot.arm_rows].sum())
        # (nor does the true attitude make any joint's rows fit worse beyond doubt)
        worst = gains[self._robot.arm_rows].min(initial=0.0)
        return (min(both) > LEAST_COST_GAIN and worst > -LEAST_COST_GAIN
                and self.fits[one].explains_more(self.fits[other], np.ones(len(gains), bool),
                                                 LEAST_COST_GAIN))

    def setting(self, attitude: Attitude) -> tuple[float, ...]:
        """Roll, pitch, yaw [rad] of the arm's base, as in the setting."""
        return rpy_setting(np.reshape(attitude, (3, 3)) @ self._mount)

    def _add(self, turn: np.ndarray) -> None:
        key = _key(turn)
        if key in self.fits:
            return
        turned = remounted(self._config, self._robot, to_rpy(turn @ self._mount))
        own = fitted(self._samples, turned, self._settings)
        if own is not None:
            self.fits[key] = own
