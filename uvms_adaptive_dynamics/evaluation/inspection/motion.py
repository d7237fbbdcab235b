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

"""Find frames, signs, units and delays from the motion: apply the findings of the front end's own
checks until they find nothing more."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...errors import UvmsError
from ...model.robot import RobotModel
from ...model.sample import Sample
from ...review.arm_check import CHECKED_EVERY, checked_period
from ...review.arm_mount import ArmMistake, mistaken_arm
from ...signals.checks.finding import OF_POSITIONS, Finding, Harm
from ...signals.front_end import SignalFrontEnd
from ...signals.health import THRUSTER_SETTINGS
from ...signals.samples import samples_of
from ...signals.topics import inputs
from ..bags import read_messages
from ..recording import Piece
from .proposal import Proposal

# Each round may uncover the next problem; the checks have no more layers than this.
CHECK_ROUNDS = 6


class MotionFindings(NamedTuple):
    """Result of the last round: remaining warnings, what moved too little to be judged, refused
    messages by role and reason, and of each channel the share of ticks in which it counts and the
    reason of most of its masks, '' without one."""

    warnings: list[str]
    unjudged: list[str]
    refused: dict[str, dict[str, int]]
    counted: dict[str, tuple[float, str]]


def mend_by_motion(piece: Piece, proposal: Proposal) -> MotionFindings:
    """Run the front end repeatedly, adding to the proposal what its checks find."""
    seen = set()
    while True:
        front, robot, samples = _run(piece, proposal)
        delay = front.delay.warning
        found = [finding for finding, _ in front.frames.findings
                 if not (delay and finding.setting in THRUSTER_SETTINGS)]
        seen.add(repr(sorted(proposal.config.changed().items())))
        before = proposal.state()
        changed = any([proposal.set(finding.values, _evidence(finding)) for finding in found])
        if delay and not found:
            assert front.delay.found is not None
            set_to = proposal.config.thrusters.delay + front.delay.found.delay
            changed = proposal.set({"thrusters.delay": round(set_to, 3)}, delay)
        # (a joint beyond its limits may be another one)
        sound = not delay and all(finding.setting == OF_POSITIONS and not finding.values
                                  for finding in found)
        mistaken = _mistaken_arm(samples, proposal.config, robot) if sound else None
        if mistaken is not None:
            why = mistaken.finding.sentence.removeprefix(f"{mistaken.finding.code}: ")
            changed = proposal.set(mistaken.values, why.partition("; ")[0])
        again = repr(sorted(proposal.config.changed().items())) in seen
        if not changed or again or len(seen) >= CHECK_ROUNDS:
            if again:
                proposal.return_to(before)
            break
    # What costs nothing and no setting corrects remains a warning: nobody has to complete anything.
    found = [finding for finding in found if finding.values or finding.harm > Harm.SLIGHT
             or _to_fill_in(finding, proposal)]
    for finding in found:
        if not finding.values or again:
            proposal.lack(f"{finding.setting}: {finding.sentence}", _to_fill_in(finding, proposal))
    if mistaken is not None and not mistaken.values:
        proposal.lack(mistaken.finding.sentence)
    said = {finding.setting for finding in found}
    warnings = [warning for warning in front.warnings if warning.partition(":")[0] not in said]
    refused = {role: dict(state.rejected) for role, state in front.inputs.items() if state.rejected}
    return MotionFindings(warnings, front.frames.waiting_for, refused, _counted(front, samples))


def _run(piece: Piece, proposal: Proposal) -> tuple[SignalFrontEnd, RobotModel, list[Sample]]:
    """(front end, robot, samples) of the proposed settings."""
    robot = RobotModel.from_config(proposal.config)
    front = SignalFrontEnd(proposal.config, robot)
    return front, robot, samples_of(front, read_messages(piece, inputs(proposal.config)))


def _counted(front: SignalFrontEnd, samples: Sequence[Sample]) -> dict[str, tuple[float, str]]:
    """See `MotionFindings.counted`."""
    valid = np.array([sample.valid for sample in samples]).reshape(len(samples), len(front.masked))
    share = valid.sum(axis=0) / max(len(samples), 1)
    reasons = {name: counts.most_common(1) for name, counts in front.masked.items()}
    return {name: (float(part), most[0][0] if most else "no tick has all inputs")
            for part, (name, most) in zip(share, reasons.items())}


def _mistaken_arm(samples: Sequence[Sample], config: Config,
                  robot: RobotModel) -> ArmMistake | None:
    """What is wrong with the arm of a vehicle, if all sensors are right."""
    if not (robot.vehicle and len(robot.joints) > 1 and samples):
        return None
    return mistaken_arm(samples[::CHECKED_EVERY], config, robot, checked_period(config))


def _evidence(finding: Finding) -> str:
    """The finding's sentence without its advice."""
    return finding.sentence.partition("; ")[0]


def _to_fill_in(finding: Finding, proposal: Proposal) -> str:
    """A line to complete, for settings that only a person can know."""
    if finding.setting != "joint_states.effort_scale":
        return ""
    guess = finding.guess.get(finding.setting)
    if guess is not None:
        listed = ", ".join(f"{one:g}" for one in guess)
        return f"{finding.setting}: [{listed}]   # a guess: N m of one unit of effort"
    blanks = ", ".join(f"?{joint}?" for joint in proposal.config.robot.joints)
    return f"{finding.setting}: [{blanks}]   # N m of one unit of effort"


def robot_of(proposal: Proposal) -> RobotModel | None:
    """The robot of the settings; if it cannot be made, None, with the reason in the proposal."""
    try:
        return RobotModel.from_config(proposal.config)
    except UvmsError as error:
        proposal.lack(str(error))
        return None
