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

from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import AccelStamped, TwistStamped, Wrench, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ..config import Config
from ..control.feedforward import FeedforwardEfforts
from ..model.robot import RobotModel
from ..signals.latest_state import LatestState
from ..signals.topics import FEEDFORWARD_OUTPUTS
from . import messages
from .topic_qos import LATCHED, NEWEST_ONLY, NO_PUBLISHER_EVENTS

FEEDFORWARD_CLASSES = {f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}": kind
                       for kind in (AccelStamped, DiagnosticArray, JointState, TwistStamped, Wrench,
                                    WrenchStamped)}
FEEDFORWARD_NEEDS_ARM = ("joint_efforts", "joint_stddev", "arm_reaction")
FEEDFORWARD_NEEDS_VEHICLE = ("wrench", "wrench_reference", "wrench_stddev", "arm_reaction",
                             "velocity", "acceleration", "accelerations")


class FeedforwardPublishers:
    """Publishes outputs that have subscribers; the latched status is always published."""

    def __init__(self, node: Node, config: Config, robot: RobotModel):
        self._robot, self._output = robot, config.output
        self._listened: dict[str, bool] = {}
        self._name = node.get_fully_qualified_name().lstrip("/")
        self._publishers = {
            output.name: node.create_publisher(
                FEEDFORWARD_CLASSES[output.type], f"~/{output.name}",
                LATCHED if output.name == "status" else NEWEST_ONLY,
                event_callbacks=NO_PUBLISHER_EVENTS)
            for output in FEEDFORWARD_OUTPUTS
            if (robot.vehicle or output.name not in FEEDFORWARD_NEEDS_VEHICLE)
            and (robot.joints or output.name not in FEEDFORWARD_NEEDS_ARM)}

    def efforts(self, t: float, efforts: FeedforwardEfforts) -> None:
        """Publish efforts, their standard deviations and the arm's reaction at time t [s]."""
        vehicle, arm, joints = self._robot.vehicle_rows, self._robot.arm_rows, self._robot.joints
        output = self._output
        if self._has_subscriber("wrench", "wrench_reference"):
            wrench = messages.wrench_message(t, efforts.tau[vehicle], output)
            if self._has_subscriber("wrench"):
                self._publish("wrench", wrench)
            if self._has_subscriber("wrench_reference"):
                self._publish("wrench_reference", None if wrench is None else wrench.wrench)
        if self._has_subscriber("wrench_stddev"):
            self._publish("wrench_stddev", messages.wrench_stddev_message(
                t, efforts.stddev[vehicle], output))
        if self._has_subscriber("joint_efforts"):
            self._publish("joint_efforts", messages.effort_message(t, joints, efforts.tau[arm]))
        if self._has_subscriber("joint_stddev"):
            self._publish("joint_stddev", messages.effort_message(t, joints, efforts.stddev[arm]))
        if self._has_subscriber("arm_reaction"):
            self._publish("arm_reaction",
                          messages.wrench_message(t, efforts.arm_reaction, output))

    def motion(self, t: float, latest: LatestState) -> None:
        """Publish velocity and acceleration at time t [s]."""
        if self._has_subscriber("velocity"):
            self._publish("velocity", messages.twist_message(t, latest.state.nu, self._output))
        if self._has_subscriber("acceleration"):
            self._publish("acceleration",
                          messages.acceleration_message(t, latest.nu_dot, self._output))
        if self._has_subscriber("accelerations"):
            self._publish("accelerations", messages.twist_message(t, latest.nu_dot, self._output))

    def status(self, t: float, level: int, message: str, values: Mapping[str, Any]) -> None:
        """Publish the status at time t [s]; numbers have four significant digits."""
        self._publish("status", messages.status_array(t, self._name, "feedforward", level, message,
                                                      values))

    def look_around(self) -> None:
        """Update which outputs have subscribers, from the middleware; call about every 0.1 s."""
        self._listened = {name: publisher.get_subscription_count() > 0
                          for name, publisher in self._publishers.items()}

    def _has_subscriber(self, *names: str) -> bool:
        """Whether any of the outputs has a subscriber; building a message is the main cost."""
        return any(self._listened.get(name, False) for name in names)

    def _publish(self, name: str, message: Any) -> None:
        if message is not None:
            self._publishers[name].publish(message)
