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

"""Command topics of the identification node, with their subscribers and other publishers."""
from __future__ import annotations

import array
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ..config import Config
from ..config.identification import JOINT_STATE
from ..config.thrusters import OVERRIDE_RC_IN
from ..control.pilot import PilotOutput
from ..errors import ConfigError
from ..model.robot import RobotModel
from . import messages
from .topic_qos import NEWEST_ONLY, NO_PUBLISHER_EVENTS, node_of

RC_NO_CHANGE, RC_CHANNELS = 65535, 18     # see mavros_msgs/OverrideRCIn
SET_POINT = {"effort": "joint_torque", "position": "mu", "velocity": "mu_dot"}


class CommandChannels:
    """Publishes commands.

    listeners: number of subscribers per topic; other_publishers: their names per topic; both as of
    the last `look_around`.
    """

    def __init__(self, node: Node, config: Config, robot: RobotModel):
        """Raises ConfigError if a topic or message type cannot be published."""
        self._node, self._config, self._robot = node, config, robot
        settings = config.identification
        self._made: dict[str, tuple[Any, Callable[[float, PilotOutput], Any]]] = {}
        if robot.vehicle and settings.thruster_output != "none":
            kind, build = {"pwm": (Float64MultiArray, self._pwm), "rc": (self._rc_type, self._rc),
                           "wrench": (WrenchStamped, self._wrench)}[settings.thruster_output]
            if settings.thruster_output == "rc" and max(
                    self._rc_channels(config), default=0) > RC_CHANNELS:
                raise ConfigError(f"setting 'thrusters.channels' is {config.thrusters.channels}; "
                                  f"expected 1 to {RC_CHANNELS}, as the thrusters are commanded on "
                                  "these channels of mavros_msgs/OverrideRCIn.")
            self._add("thruster_topic", settings.thruster_topic,
                      kind() if settings.thruster_output == "rc" else kind, build)
        if robot.joints and settings.joint_output != "none":
            named = settings.joint_type == JOINT_STATE
            self._add("joint_topic", settings.joint_topic, JointState if named
                      else Float64MultiArray, self._named if named else self._array)
        self.listeners: dict[str, int] = {}
        self.other_publishers: dict[str, list[str]] = {}

    def publish(self, t: float, commands: PilotOutput) -> None:
        """Publish the commands of time t [s], except those that are not finite."""
        for publisher, build in self._made.values():
            message = build(t, commands)
            if message is not None:
                publisher.publish(message)

    def look_around(self) -> None:
        """Update listeners and other_publishers from the middleware."""
        self.listeners = {topic: publisher.get_subscription_count()
                          for topic, (publisher, _) in self._made.items()}
        self.other_publishers = {topic: self._others(topic) for topic in self._made
                                 if self._node.count_publishers(topic) > 1}

    def _others(self, topic: str) -> list[str]:
        own = self._node.get_fully_qualified_name()
        names = [node_of(info) for info in self._node.get_publishers_info_by_topic(topic)]
        if own in names:
            names.remove(own)       # remove one entry only: another node may have the same name
        return names

    def _add(self, setting: str, topic: str, kind: type, build: Callable) -> None:
        try:
            name = self._node.resolve_topic_name(topic)
            publisher = self._node.create_publisher(kind, topic, NEWEST_ONLY,
                                                    event_callbacks=NO_PUBLISHER_EVENTS)
            self._made[name] = publisher, build
        except (NameValidationException, ValueError) as error:
            raise ConfigError(f"setting 'identification.{setting}' is {topic!r}, which cannot be "
                              f"published: {error}.") from None

    # --- messages ---------------------------------------------------------------------------------

    def _pwm(self, t: float, commands: PilotOutput) -> Float64MultiArray | None:
        return _array_of(commands.pwm)

    def _wrench(self, t: float, commands: PilotOutput) -> WrenchStamped | None:
        return messages.wrench_message(t, commands.wrench, self._config.output)

    def _rc_type(self) -> type:
        try:
            self._rc_message = import_module("mavros_msgs.msg").OverrideRCIn
        except (ImportError, AttributeError):
            raise ConfigError("setting 'identification.thruster_output' is 'rc', but package "
                              "'mavros_msgs' is not installed; install it (apt install "
                              "ros-jazzy-mavros-msgs) or choose another output.") from None
        return self._rc_message

    def _rc(self, t: float, commands: PilotOutput) -> Any:
        if not np.isfinite(commands.pwm).all():
            return None
        channels = [RC_NO_CHANGE] * RC_CHANNELS
        for channel, pwm in zip(self._rc_channels(self._config), commands.pwm.tolist()):
            channels[channel - 1] = round(pwm)
        return self._rc_message(channels=channels)

    @staticmethod
    def _rc_channels(config: Config) -> Sequence[int]:
        """Channel of each thruster, from 1: those in which the estimator reads the same message."""
        thrusters = config.thrusters
        if thrusters.channels and thrusters.type == OVERRIDE_RC_IN:
            return [round(channel) for channel in thrusters.channels]
        return range(1, len(thrusters.signs) + 1)

    def _array(self, t: float, commands: PilotOutput) -> Float64MultiArray | None:
        return _array_of(getattr(commands, SET_POINT[self._config.identification.joint_output]))

    def _named(self, t: float, commands: PilotOutput) -> JointState | None:
        output = self._config.identification.joint_output
        values = getattr(commands, SET_POINT[output])
        if not np.isfinite(values).all():
            return None
        return JointState(header=messages.header(t), name=list(self._robot.joints),
                          **{output: messages.doubles(values)})


def _array_of(values: np.ndarray) -> Float64MultiArray | None:
    if not np.isfinite(values).all():
        return None
    return Float64MultiArray(data=array.array("d", values.tolist()))
