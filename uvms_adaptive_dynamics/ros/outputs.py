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

"""Publishers of the node's results, stamped with their tick."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import AccelStamped, WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ..model.robot import RobotModel
from ..signals.topics import OUTPUTS
from . import messages
from .topic_qos import LATCHED, NO_PUBLISHER_EVENTS

OUTPUT_CLASSES = {"sensor_msgs/msg/JointState": JointState,
                  "std_msgs/msg/Float64MultiArray": Float64MultiArray,
                  "geometry_msgs/msg/WrenchStamped": WrenchStamped,
                  "geometry_msgs/msg/AccelStamped": AccelStamped,
                  "diagnostic_msgs/msg/DiagnosticArray": DiagnosticArray}

QUEUED = QoSProfile(depth=10)
LATCHED_OUTPUTS = ("parameters", "trusted_parameters", "status", "stage", "covariance",
                   "trusted_covariance", "parameter_intervals", "payload")

OUTPUTS_NEED_VEHICLE = ("predicted_wrench", "wrench_stddev", "measured_wrench", "acceleration")
OUTPUTS_NEED_ARM = ("predicted_joint_states", "joint_stddev", "measured_joint_states", "payload")


class OutputPublishers:
    """Publishes predictions, on the worker's thread, and the messages of `ParameterOutputs`.

    not_finite: number of results not published because they were not finite.
    """

    def __init__(self, node: Node, robot: RobotModel):
        self._robot = robot
        self._output = lambda: node.config.output  # periods may change while the node runs
        self.not_finite = 0
        self._publishers = {
            output.name: node.create_publisher(OUTPUT_CLASSES[output.type], f"~/{output.name}",
                                               LATCHED if output.name in LATCHED_OUTPUTS
                                               else QUEUED, event_callbacks=NO_PUBLISHER_EVENTS)
            for output in OUTPUTS
            if (robot.vehicle or output.name not in OUTPUTS_NEED_VEHICLE)
            and (robot.joints or output.name not in OUTPUTS_NEED_ARM)}

    def prediction(self, prediction: Any) -> None:
        """Publish wrench, joint efforts, standard deviations and acceleration of one tick, and
        valid measurements."""
        t, output = prediction.t, self._output()
        vehicle, arm = self._robot.vehicle_rows, self._robot.arm_rows
        if self._robot.vehicle:
            self._publish("predicted_wrench", messages.wrench_message, t,
                          prediction.predicted[vehicle], output)
            self._publish("wrench_stddev", messages.wrench_stddev_message, t,
                          prediction.predicted_stddev[vehicle], output)
            if prediction.valid[vehicle].all():
                self._publish("measured_wrench", messages.wrench_message, t,
                              prediction.measured[vehicle], output)
            self._publish("acceleration", messages.acceleration_message, t, prediction.nu_dot,
                          output)
        if self._robot.joints:
            joints = self._robot.joints
            self._publish("predicted_joint_states", messages.effort_message, t, joints,
                          prediction.predicted[arm])
            self._publish("joint_stddev", messages.effort_message, t, joints,
                          prediction.predicted_stddev[arm])
            if (counts := prediction.valid[arm]).any():
                self._publish("measured_joint_states", messages.effort_message, t,
                              [joint for joint, valid in zip(joints, counts) if valid],
                              prediction.measured[arm][counts])

    def publish(self, name: str, message: Any) -> None:
        """Publish a message; None is counted as not finite."""
        if message is None:
            self.not_finite += 1
        else:
            self._publishers[name].publish(message)

    def _publish(self, name: str, make: Callable[..., Any], *content: Any) -> None:
        # Building a message is the main cost, and only latched ones may get subscribers later.
        if self._publishers[name].get_subscription_count():
            self.publish(name, make(*content))
