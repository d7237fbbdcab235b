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

"""The node's log: messages of the ROS-free core, and the reason why a node ends."""
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
DISCOVERY_S = 0.5    # wait of an ending node for listeners; a tenth suffices on one computer
DELIVERY_S = 0.2     # wait for its last line to reach them


class RosLogHandler(logging.Handler):
    """Forwards records of Python's logging to the node's log."""

    def __init__(self, node: Node):
        super().__init__()
        self._logger = node.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        """One call per severity: rclpy ties the severity to the source line of the call."""
        text = self.format(record)
        if record.levelno >= logging.ERROR:
            self._logger.error(text)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(text)
        else:
            self._logger.info(text)


def last_words(sentence: str, node: Node | None, name: str, arguments: Sequence[str]) -> None:
    """Report why the node ends: FATAL in the log file, on /rosout and on stderr.

    If no node was created because settings or arguments are unusable, a temporary node of this name
    reports it, in the namespace given by the arguments.
    """
    if node is not None and node.context.ok():
        _log_and_wait(sentence, node)
        return
    context = Context()
    try:
        rclpy.init(args=["", "--ros-args", *_names(arguments)], context=context)
        speaker = rclpy.create_node(name, context=context, start_parameter_services=False)
        _log_and_wait(sentence, speaker)
        speaker.destroy_node()
    except Exception:     # whatever is wrong with ROS, the message must not be lost
        print(f"{name}: {sentence}", file=sys.stderr)
    finally:
        rclpy.try_shutdown(context=context)


def _log_and_wait(sentence: str, node: Node) -> None:
    end = time.monotonic() + DISCOVERY_S
    while not node.count_subscribers(ROSOUT) and time.monotonic() < end:
        time.sleep(0.02)
    node.get_logger().fatal(sentence)
    if node.count_subscribers(ROSOUT):
        time.sleep(DELIVERY_S)


def _names(arguments: Sequence[str]) -> Iterator[str]:
    """The remappings of node name and namespace among the arguments."""
    for flag, value in zip(arguments, arguments[1:]):
        if flag in ("-r", "--remap") and value.startswith(("__ns:=", "__node:=", "__name:=")):
            yield from (flag, value)
