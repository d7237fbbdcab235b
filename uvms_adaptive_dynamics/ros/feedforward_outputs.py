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

"""Publishers of the feedforward node."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import AccelStamped, TwistStamped, Wrench, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ..config import Config, Output
from ..control.feedforward import FeedforwardEfforts
from ..model.robot import RobotModel
from ..signals.latest_state import LatestState
from ..signals.topics import FEEDFORWARD_OUTPUTS
from . import messages
from .prepared import PreparedMessage
from .topic_qos import LATCHED, NEWEST_ONLY, NO_PUBLISHER_EVENTS

FEEDFORWARD_CLASSES = {f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}": kind
                       for kind in (AccelStamped, DiagnosticArray, JointState, TwistStamped, Wrench,
                                    WrenchStamped)}
FEEDFORWARD_NEEDS_ARM = ("joint_efforts", "joint_stddev", "arm_reaction")
FEEDFORWARD_NEEDS_VEHICLE = ("wrench", "wrench_reference", "wrench_stddev", "arm_reaction",
                             "velocity", "acceleration", "accelerations")
OF_JOINTS = ("joint_efforts", "joint_stddev")
STDDEVS = ("wrench_stddev", "joint_stddev")


class FeedforwardPublishers:
    """Publishes outputs that have subscribers; the latched status is always published."""

    def __init__(self, node: Node, config: Config, robot: RobotModel):
        self._robot = robot
        self._listened: dict[str, bool] = {}
        self._name = node.get_fully_qualified_name().lstrip("/")
        outputs = [output for output in FEEDFORWARD_OUTPUTS
                   if (robot.vehicle or output.name not in FEEDFORWARD_NEEDS_VEHICLE)
                   and (robot.joints or output.name not in FEEDFORWARD_NEEDS_ARM)]
        self._publishers = {
            output.name: node.create_publisher(
                FEEDFORWARD_CLASSES[output.type], f"~/{output.name}",
                LATCHED if output.name == "status" else NEWEST_ONLY,
                event_callbacks=NO_PUBLISHER_EVENTS)
            for output in outputs}
        self._prepared = {output.name: _prepared(output.type, config.output, robot.joints)
                          for output in outputs if output.name != "status"}
        axes = messages.in_output_axes(np.ones(6), config.output).tolist()
        self._signs = {name: [1.0] * len(robot.joints) if name in OF_JOINTS
                       else [1.0] * 6 if name in STDDEVS else axes for name in self._prepared}

    @property
    def wants_stddev(self) -> bool:
        """Whether standard deviations have a subscriber."""
        return any(self._listened.get(name, False) for name in STDDEVS)

    def efforts(self, t: float, efforts: FeedforwardEfforts) -> None:
        """Publish efforts, their standard deviations and the arm's reaction at time t [s]."""
        vehicle, arm = self._robot.vehicle_rows, self._robot.arm_rows
        for name, values in (
                ("wrench", efforts.tau[vehicle]), ("wrench_reference", efforts.tau[vehicle]),
                ("wrench_stddev", efforts.stddev[vehicle]), ("joint_efforts", efforts.tau[arm]),
                ("joint_stddev", efforts.stddev[arm]), ("arm_reaction", efforts.arm_reaction)):
            self._publish(name, t, values)

    def motion(self, t: float, latest: LatestState) -> None:
        """Publish velocity and acceleration at time t [s]."""
        self._publish("velocity", t, latest.state.nu)
        self._publish("acceleration", t, latest.nu_dot)
        self._publish("accelerations", t, latest.nu_dot)

    def status(self, t: float, level: int, message: str, values: Mapping[str, Any]) -> None:
        """Publish the status at time t [s]; numbers have four significant digits."""
        self._publishers["status"].publish(messages.status_array(
            t, self._name, "feedforward", level, message, values))

    def look_around(self) -> None:
        """Update which outputs have subscribers, from the middleware; call about every 0.1 s."""
        self._listened = {name: publisher.get_subscription_count() > 0
                          for name, publisher in self._publishers.items()}

    def _publish(self, name: str, t: float, values: np.ndarray) -> None:
        """Publish values, given in body FRD or one per joint, if the output has a subscriber; of
        values that are not finite, only the joints' finite ones."""
        if not self._listened.get(name, False):
            return
        numbers = [value * sign for value, sign in zip(values.tolist(), self._signs[name])]
        if all(map(math.isfinite, numbers)):
            self._publishers[name].publish(self._prepared[name].serialized(t, numbers))
        elif name in OF_JOINTS:
            message = messages.effort_message(t, self._robot.joints, values)
            if message is not None:
                self._publishers[name].publish(message)


def _prepared(kind: str, output: Output, joints: Sequence[str]) -> PreparedMessage:
    """A message of a type `kind`, whose numbers are to be filled in."""
    if kind == "sensor_msgs/msg/JointState":
        return PreparedMessage(lambda values: messages.effort_message(0.0, joints, values),
                               len(joints))
    build: Any = {"geometry_msgs/msg/AccelStamped": messages.acceleration_message,
                  "geometry_msgs/msg/TwistStamped": messages.twist_message}.get(
                      kind, messages.wrench_message)

    def message(six: np.ndarray) -> Any:
        """A message whose numbers are `six`: the change of axes is its own inverse."""
        built = build(0.0, messages.in_output_axes(six, output), output)
        return built.wrench if kind == "geometry_msgs/msg/Wrench" else built
    return PreparedMessage(message, 6)
