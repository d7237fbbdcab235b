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

"""Inspect a recording: survey, roles, units, frames."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...config import Config
from ...errors import BagError
from ..recording import Piece
from .motion import MotionFindings, mend_by_motion, robot_of
from .proposal import Proposal
from .raw_values import choose_depth_unit, choose_joint_names, choose_thruster_channels
from .roles import choose_topics, needed_topics
from .survey import Survey, TopicSurvey, survey


@dataclass(frozen=True)
class Inspection:
    """The result of an inspection; motion is None if the inputs do not suffice for the front end.
    """

    survey: Survey
    proposal: Proposal
    chosen: dict[str, TopicSurvey]
    motion: MotionFindings | None


def inspect_recording(piece: Piece, config: Config,
                      reasons: Mapping[str, str] | None = None) -> Inspection:
    """Inspect the recording, starting from the settings and the reasons for them, by dotted name;
    raises BagError if it cannot be read."""
    found, proposal = survey(piece), Proposal(config, reasons)
    chosen = choose_topics(found, proposal)
    if "thrusters" in chosen:
        choose_thruster_channels(chosen["thrusters"], proposal)
    if "depth" in chosen:
        choose_depth_unit(chosen["depth"], proposal)
    robot = robot_of(proposal)
    if "joint_states" in chosen and robot is not None:
        choose_joint_names(chosen["joint_states"], proposal, robot)
    motion = None
    if robot is not None and needed_topics(proposal, chosen):
        try:
            motion = mend_by_motion(found.piece, proposal)
        except BagError as error:
            proposal.lack(str(error))
    return Inspection(found, proposal, chosen, motion)
