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

"""The identification node's latched ~/status, and summaries of motions."""
from __future__ import annotations

import math
import time
from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from ..control.excitation.trajectory import Trajectory
from ..control.pilot import Pilot
from . import messages
from .settings_node import node_time
from .status import ERROR, OK, WARN
from .topic_qos import LATCHED, NO_PUBLISHER_EVENTS

SAME_STATUS_S = 0.5  # between unchanged statuses
MOST_USES = 5       # limits listed in the summary of a motion
ENDED_WELL = ("done", "disarmed")


class IdentificationStatus:
    """Publishes ~/status: changes at once, otherwise every SAME_STATUS_S."""

    def __init__(self, node: Node, may_move: bool):
        self._node, self._may_move = node, may_move
        self._publisher = node.create_publisher(DiagnosticArray, "~/status", LATCHED,
                                                event_callbacks=NO_PUBLISHER_EVENTS)
        self._said: tuple[int, str, str] = (-1, "", "")
        self._said_at = -math.inf

    def note_revoked(self) -> None:
        """Note that the robot may not be moved any more."""
        self._may_move = False

    def publish(self, pilot: Pilot, t: float, at_rest: bool, progress: str,
                values: Mapping[str, object]) -> None:
        """Publish the pilot's state at time t [s] of its clock.

        progress: of the stage, in words; values: further key-value pairs.
        """
        cause = pilot.cause
        if pilot.armed:
            state = "moving" if pilot.following(t) else "holding"
            level, said = OK, progress
        else:
            state = "disarmed" if at_rest else "stopping"
            bad = cause is not None and cause.code not in ENDED_WELL
            level = ERROR if bad else (OK if self._may_move else WARN)
            said = cause.sentence if cause is not None else (
                "not armed yet" if self._may_move else "the robot is never moved")
        key = level, state, said
        if key == self._said and time.monotonic() - self._said_at < SAME_STATUS_S:
            return
        self._said, self._said_at = key, time.monotonic()
        now = node_time(self._node)
        self._publisher.publish(messages.status_array(
            now, self._node.get_fully_qualified_name().lstrip("/"), "identification", level,
            f"{state}: {said}", {
                "state": state, "armed": str(pilot.armed).lower(),
                "cause": cause.code if cause else "", "motion done": pilot.share(t), **values}))


def summary(trajectory: Trajectory) -> str:
    """Summary of a motion: the limits it uses most, largest first."""
    uses = sorted(trajectory.made.get("uses", {}).items(), key=lambda each: -each[1])
    listed = ", ".join(f"{name} {share:.0%}" for name, share in uses[:MOST_USES])
    return (f"a motion of {trajectory.duration:.0f} s for stage '{trajectory.made.get('stage')}' "
            f"uses of its limits: {listed} (with present parameters)")
