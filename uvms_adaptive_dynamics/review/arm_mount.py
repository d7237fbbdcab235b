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
from ..model.robot import RobotModel
from ..model.rotations import from_rotation_vector, from_rpy
from ..model.sample import Sample
from ..signals.checks.effort_scale import MOUNT
from ..signals.checks.fits import listed, to_rpy
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
    with_lacking,
)

# Turns of the arm's base by 90 and 180 degrees about the vehicle's axes [rad].
QUARTER_TURNS = [from_rotation_vector(angle * axis) for axis in np.eye(3)
         for angle in (math.pi, 0.5 * math.pi, -0.5 * math.pi)]

Attitude = tuple[int, ...]      # the entries of a rotation made of QUARTER_TURNS


class ArmMistake(NamedTuple):
    """What is wrong with an arm, and the settings that put it right, none if these are not known.
    """

    finding: ReportedFinding
    values: Mapping[str, Any]


def mistaken_arm(samples: Sequence[Sample], config: Config, robot: RobotModel,
                 period: float) -> ArmMistake | None:
    """An arm that is mounted otherwise, or whose joints come in another order or one
    of them mirrored, whichever explains the rows best, or None.

    The arm's base is turned by one of QUARTER_TURNS as long as the cost falls. What is found must
    explain the rows better than the setting with odds of 1000, both the arm's and the vehicle's,
    also without the witness that speaks for it most, and beyond what they vary by over time; all
    attitudes that it does not exceed by as much are named with it. What the model lacks is fitted
    too: drag of the links is larger than their weight. samples: `period` [s] apart; robot: the
    settings'."""
    order = likely_order(samples, config, robot, period)
    by_order = None if order is None else ArmMistake(order.finding(config, robot),
                                                     order.values(config, robot))
    samples, settings = samples[-COMPARED_SAMPLES:], replace(config.filter, period=period)
    mount = np.array(from_rpy(*config.robot.mount_rpy))
    terms, whole = (*config.robot.terms, *robot.table.lacking), with_lacking(config, robot)
    fits: dict[Attitude, RobustFit] = {}

    def add(turn: np.ndarray) -> None:
        key = _key(turn)
        if key not in fits:
            turned = config.with_values({MOUNT: to_rpy(turn @ mount), "robot.terms": terms})
            own = fitted(samples, RobotModel.from_config(turned), settings)
            if own is not None:
                fits[key] = own

    def exceeds(one: Attitude, other: Attitude) -> bool:
        # (to an arm at rest the vehicle's errors fit in some attitude)
        gains = fits[other].channel_costs - fits[one].channel_costs
        both = (gains[robot.vehicle_rows].sum(), gains[robot.arm_rows].sum())
        return min(both) > LEAST_COST_GAIN and fits[one].explains_more(
            fits[other], np.ones(len(robot.channels), bool), LEAST_COST_GAIN)

    here, best = None, (as_set := _key(np.eye(3)))
    add(np.eye(3))
    while fits and here != best:
        here = best
        for turn in QUARTER_TURNS:
            add(turn @ np.reshape(here, (3, 3)))
        best = min(fits, key=lambda attitude: fits[attitude].cost)
    if best == as_set or not exceeds(best, as_set):
        return by_order
    if order is not None:
        scale = effort_scale_of(config, robot)
        own = fitted([reordered(sample, order.order, scale) for sample in samples], whole, settings)
        if own is not None and own.cost < fits[best].cost:
            return by_order
    gain = fits[as_set].cost - fits[best].cost
    of_joint = mistaken_joint(samples, config, whole, period, room_of(samples, config, robot),
                              gain / float(fits[as_set].valid.sum()))
    if of_joint is not None:
        return ArmMistake(of_joint, {})
    rivals = [one for one in fits if one not in (best, as_set) and exceeds(one, as_set)
              and not exceeds(best, one)]
    attitudes = [tuple(round(angle, 4) + 0.0 for angle in to_rpy(np.reshape(one, (3, 3)) @ mount))
                 for one in (best, *rivals)]
    return ArmMistake(ReportedFinding(MOUNT, (
        f"{MOUNT}: arm and vehicle together show that the arm is mounted otherwise; set {MOUNT} to "
        f"{' or '.join(map(listed, attitudes))} (now {listed(config.robot.mount_rpy)}), or correct "
        "the attitude of its base in robot.urdf")), {} if rivals else {MOUNT: attitudes[0]})


def _key(turn: np.ndarray) -> Attitude:
    return tuple(int(round(entry)) for entry in turn.ravel())
