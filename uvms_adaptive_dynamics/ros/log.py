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

"""The node's log: what the core says, which knows nothing of ROS, and why a node ends."""
from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Sequence

import rclpy
from rclpy.context import Context
from rclpy.node import Node

CORE_LOG = logging.getLogger(__package__.rpartition(".")[0])

ROSOUT = "/rosout"
DISCOVERY_S = 0.5    # that a node which ends waits for listeners: on one computer a tenth of it
DELIVERY_S = 0.2     # and then for its last line to reach them


class RosLogHandler(logging.Handler):
    """Writes records of Python's logging to the node's log."""

    def __init__(self, node: Node):
        super().__init__()
        self._logger = node.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        """One line per severity: rclpy ties a severity to the line that it is logged from."""
        text = self.format(record)
        if record.levelno >= logging.ERROR:
            self._logger.error(text)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(text)
        else:
            self._logger.info(text)


def last_words(sentence: str, node: Node | None, name: str, arguments: Sequence[str]) -> None:
    """Say why the node ends: FATAL in the log file, on /rosout and on stderr.

    Where no node came to be, because its settings or arguments cannot be used, one of this name
    says it, in the namespace of the arguments.
    """
    if node is not None and node.context.ok():
        _say(sentence, node)
        return
    context = Context()
    try:
        rclpy.init(args=["", "--ros-args", *_names(arguments)], context=context)
        speaker = rclpy.create_node(name, context=context, start_parameter_services=False)
        _say(sentence, speaker)
        speaker.destroy_node()
    except Exception:     # whatever is wrong with ROS, the sentence must not be lost
        print(f"{name}: {sentence}", file=sys.stderr)
    finally:
        rclpy.try_shutdown(context=context)


def _say(sentence: str, node: Node) -> None:
    end = time.monotonic() + DISCOVERY_S
    while not node.count_subscribers(ROSOUT) and time.monotonic() < end:
        time.sleep(0.02)
    node.get_logger().fatal(sentence)
    if node.count_subscribers(ROSOUT):
        time.sleep(DELIVERY_S)


def _names(arguments: Sequence[str]) -> Iterator[str]:
    """The remappings of a node's name and namespace among the arguments."""
    for flag, value in zip(arguments, arguments[1:]):
        if flag in ("-r", "--remap") and value.startswith(("__ns:=", "__node:=", "__name:=")):
            yield from (flag, value)
