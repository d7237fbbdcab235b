"""Forwards the core's log messages, which know nothing of ROS, to the node's log."""
from __future__ import annotations

import logging

from rclpy.node import Node

CORE_LOG = logging.getLogger(__package__.rpartition(".")[0])


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
