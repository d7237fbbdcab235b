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

"""Review the last minutes of one recording: whether the efforts are of the size and sign that the
arm's masses need, what explains what the estimate leaves, whether the joints come in another order
or the arm is mounted otherwise, and what the coupling of arm and vehicle tells."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..config import Config
from ..model.manipulator import ManipulatorModel
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..signals.checks.effort_scale import MOUNT
from ..signals.checks.finding import OF_POSITIONS, SIGN, Harm
from ..signals.checks.joint_effort_check import OF_EFFORTS, SCALES
from ..signals.front_end import SignalFrontEnd
from ..uncertainty.evidence import MATTERING_SHARE, ReportedFinding
from .arm_check import CHECKED_EVERY, CheckedRows, arm_check, checked_period, rows_of
from .arm_exchange import telling
from .arm_mount import mistaken_arm
from .effort_size import effort_size
from .left_over import Explained, explanations


class Seen(NamedTuple):
    """What is reviewed.

    pi (p,): the estimate; left (C,): share of each channel's power that it leaves; held (C,): share
    of its rows inside their intervals; frozen: whether nothing is learnt; changed: whether the
    robot was found changed; changed_since: stamp [s] of its first change or of an external force,
    inf without any; doubted: whether rows depend on a sensor or setting that was found wrong;
    findings: on sensors and settings.
    """

    pi: np.ndarray
    left: np.ndarray
    held: np.ndarray
    frozen: bool
    changed: bool
    changed_since: float
    doubted: bool
    findings: Sequence[ReportedFinding]


class Review(NamedTuple):
    """Findings; what explains a channel's remaining effort, in words; whether nothing so far spoils
    a judgement of slow changes; what is known of the thrust's scale, in words; and whether the
    findings tell which of an effort and its joint's speed has the wrong sign."""

    findings: list[ReportedFinding]
    by_channel: dict[str, str]
    sound: bool
    thrust_scale: str = ""
    settles_sign: bool = False


def review(samples: Sequence[Sample], rows: CheckedRows, seen: Seen, config: Config,
           robot: RobotModel) -> Review:
    """samples: each CHECKED_EVERY-th of the recording; rows: all of it."""
    mistaken = None
    # A wrong setting is wrong from the start; later, a failed thruster looks like an arm turned.
    before = [sample for sample in samples if sample.t < seen.changed_since]
    if before and _arm_suspect(seen, telling(before, robot), robot):
        mistaken = mistaken_arm(before, config, robot, checked_period(config))
    signs = sum(SIGN in one.sentence for one in seen.findings)
    if mistaken is not None:    # all else follows from it
        settles = signs == 1 and mistaken.finding.code in (SCALES, OF_POSITIONS)
        return Review([mistaken.finding], {}, sound=False, settles_sign=settles)
    if not any(one.code in (SCALES, MOUNT, OF_EFFORTS, OF_POSITIONS) for one in seen.findings):
        unlike_masses = effort_size(samples, config, robot)
        if unlike_masses is not None:
            return Review([unlike_masses], {}, sound=False)
    explained = Explained([], {}) if seen.doubted else explanations(
        samples, config, robot, seen.left, seen.held, seen.frozen)
    # Do not judge results that rest on a faulty sensor, nor a robot that has changed.
    if seen.doubted or seen.changed or explained.findings:
        return Review(explained.findings, explained.by_channel, sound=False)
    found, scale = arm_check(samples, rows, seen.pi, config, robot, signs > 0)
    return Review(found, explained.by_channel, True, scale, bool(found) and signs == 1)


class ReviewRequest(NamedTuple):
    """A review in a process of its own; columns: all samples of the recording, `packed`; niceness:
    of the process."""

    columns: dict[str, Any]
    seen: Seen
    config: Config
    arm: ManipulatorModel | None
    niceness: int


def packed(samples: Sequence[Sample]) -> dict[str, Any]:
    """The samples by fields, but for what was found of sensors. Thousands of small arrays take a
    third of a second to be written for another process, in which no other thread runs."""
    found: dict[str, Any] = {}
    for name in Sample.__dataclass_fields__.keys() - {"misread", "again"}:
        column = [getattr(sample, name) for sample in samples]
        alike = all(isinstance(value, np.ndarray) for value in column) and (
            len({value.shape for value in column}) == 1)
        found[name] = np.array(column) if alike else column
    return found


def _unpacked(columns: dict[str, Any]) -> list[Sample]:
    return [Sample(**dict(zip(columns, values))) for values in zip(*columns.values())]


def reviewed(request: ReviewRequest) -> Review:
    """The review that is asked for."""
    columns, seen, config, arm, niceness = request
    os.nice(niceness)
    samples = _unpacked(columns)
    robot = RobotModel(config, arm)
    return review(samples[::CHECKED_EVERY], rows_of(samples, config, robot), seen, config, robot)


def is_doubted(front: SignalFrontEnd) -> bool:
    """Whether rows depend on a wrong frame or delay, apart from the sign of an effort."""
    return bool(front.delay.warning) or any(
        finding.harm is not Harm.SLIGHT and not finding.is_of_sign
        for finding, _ in front.frames.findings)


def _arm_suspect(seen: Seen, judges: np.ndarray, robot: RobotModel) -> bool:
    """Whether joints may come in another order, or the arm be mounted otherwise: it looks like a
    change of the robot, like nothing that is known on one of the channels `judges` (C,), or like a
    joint beyond its limits."""
    if len(robot.joints) < 2:
        return False
    unlike = seen.changed or bool((seen.left > MATTERING_SHARE)[judges].any())
    return unlike and not seen.doubted or any(one.code == OF_POSITIONS for one in seen.findings)
