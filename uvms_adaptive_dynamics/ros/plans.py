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

"""Read planned commands from messages, in the axes of the settings."""
from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ..config import Config
from ..control.planned import Planned
from ..errors import ParameterError
from ..model.robot import RobotModel
from .messages import FLU_SIGNS
from .settings_node import node_time

PLAN_COLUMNS = 7  # of a planned wrench: time, X, Y, Z, K, M, N


class Plans:
    """Callbacks that pass plans to `planned`; an unusable plan is refused with a warning, and the
    previous one stays."""

    def __init__(self, node: Node, robot: RobotModel, config: Config, planned: Planned,
                 lock: threading.Lock):
        self._node, self._robot, self._planned, self._lock = node, robot, planned, lock
        self._signs = FLU_SIGNS if config.output.frame == "flu" else np.ones(6)

    def wrench(self, message: Float64MultiArray) -> None:
        """Rows of 7: seconds from now, then the thruster wrench in the axes of output.frame."""
        def take() -> None:
            if len(message.data) % PLAN_COLUMNS:
                raise ParameterError(f"{len(message.data)} numbers; expected rows of "
                                     f"{PLAN_COLUMNS} (seconds from now, X, Y, Z, K, M, N).")
            rows = np.array(message.data, float).reshape(-1, PLAN_COLUMNS)
            self._planned.plan_wrench(node_time(self._node), rows[:, 0], rows[:, 1:] * self._signs)
        self._guarded("~/planned_wrench", take)

    def joints(self, message: JointTrajectory) -> None:
        """Positions (or efforts, with twin.arm 'efforts') of all joints by name; times count from
        the stamp, or from now without one."""
        def take() -> None:
            names, mine = list(message.joint_names), self._robot.joints
            if sorted(names) != sorted(mine):
                raise ParameterError(f"joints {names}; expected {list(mine)}.")
            order = [names.index(joint) for joint in mine]
            field = "effort" if self._planned.arm == "efforts" else "positions"
            values = [getattr(point, field) for point in message.points]
            if any(len(row) != len(names) for row in values):
                raise ParameterError(f"a point lacks {field}; expected a value for every joint.")
            t = [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
                 for point in message.points]
            stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
            self._planned.plan_joints(stamp or node_time(self._node), np.array(t),
                                      np.array(values, float).reshape(len(t), -1)[:, order])
        self._guarded("~/planned_joints", take)

    def _guarded(self, topic: str, take: Callable[[], None]) -> None:
        try:
            with self._lock:
                take()
        except (ParameterError, ValueError, IndexError) as error:
            self._node.get_logger().warning(f"message on '{topic}' refused: {error}",
                                            throttle_duration_sec=10.0)
