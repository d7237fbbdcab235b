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

"""What the nodes share: settings as parameters, a start that may wait for the robot description,
and an orderly end."""
from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import rclpy.node

from ..config import Config, FixedSettings
from .description import Description
from .parameters import ESTIMATORS, changes_sentence, config_from_parameters, watch_changes


class SettingsNode(rclpy.node.Node):
    """A node whose parameters are the settings; a subclass has `_start` and `_change`.

    Create it, call `begin()`, spin it on a SingleThreadedExecutor, and `close()` it.
    """

    def __init__(self, name: str, fixed: FixedSettings = ESTIMATORS, **kwargs: Any):
        """fixed: the settings that the node refuses to change; kwargs: of rclpy's Node."""
        super().__init__(name, **kwargs)
        self._fixed = fixed
        self.config: Config = config_from_parameters(self, fixed)
        # Callbacks of the end. They run in reverse order, and all of them even if one fails: a
        # remaining thread would keep the process alive.
        self._at_end = ExitStack()
        self._at_end.callback(self.destroy_node)

    def begin(self) -> None:
        """Start at once, or as soon as the robot description arrives.

        Raises UvmsError for anything unusable.
        """
        watch_changes(self, lambda: self.config, self._change, self._fixed)
        self._description = Description(self, self.config, self._start)

    def close(self) -> None:
        """Join the threads and leave the graph."""
        self._at_end.close()

    def _start(self, description: str | None) -> None:
        """Start, with the text of the robot description unless that is a file or not needed."""
        raise NotImplementedError

    def _change(self, config: Config) -> None:
        """Apply changed settings."""
        raise NotImplementedError

    @property
    def full_name(self) -> str:
        """Namespace and name without the leading slash, as messages carry them."""
        return self.get_fully_qualified_name().lstrip("/")

    def now(self) -> float:
        """Node clock [s]; 0 until simulated time starts."""
        return node_time(self)

    def _log_settings(self) -> None:
        self.get_logger().info(changes_sentence(self.config))

    def _report_failed(self, what: str) -> Callable[[Exception], None]:
        """A function that logs an error of a thread as the failure of `what`."""
        def report(error: Exception) -> None:
            if self.context.ok():     # else shutting down: publishing is no longer possible
                self.get_logger().error(f"{what} failed ({type(error).__name__}: {error})",
                                        throttle_duration_sec=5.0)
        return report


def node_time(node: rclpy.node.Node) -> float:
    """A node's clock [s]; 0 until simulated time starts."""
    return node.get_clock().now().nanoseconds * 1e-9
