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

"""The robot description: from a file at once, or as soon as it arrives on its topic."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import String

from ..config import Config
from .topic_qos import LATCHED

DESCRIPTION_TOPIC = "robot_description"
DESCRIPTION_WARNING_S = 5.0  # between warnings that the robot description is missing


class Description:
    """Calls `start(text)` once.

    Immediately with None if the description is a file or there is no arm; otherwise with the text
    from the topic, when it arrives.
    """

    def __init__(self, node: Node, config: Config, start: Callable[[str | None], None]):
        self._node, self._start, self._started = node, start, False
        if config.robot.urdf != DESCRIPTION_TOPIC or not config.robot.joints:
            start(None)
            return
        topic = node.resolve_topic_name(DESCRIPTION_TOPIC)
        advice = (f"robot description on '{topic}' (std_msgs/String, transient local). Start "
                  "robot_state_publisher, or set robot.urdf to a file")
        node.get_logger().info(f"waiting for the {advice}")
        self._waiting = node.create_timer(DESCRIPTION_WARNING_S, lambda: node.get_logger().warning(
            f"not started yet: no {advice} ({node.count_publishers(topic)} publishers)"),
            clock=Clock(clock_type=ClockType.STEADY_TIME))    # runs even before /clock does
        self._subscription: Any = node.create_subscription(
            String, DESCRIPTION_TOPIC, self._described, LATCHED)

    def _described(self, message: String) -> None:
        if not self._started:
            self._started = True
            self._node.destroy_timer(self._waiting)
            self._start(message.data)
