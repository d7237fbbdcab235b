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
from rclpy.clock import Clock, ClockType

from ..config import Config, FixedSettings
from .description import Description
from .ros_parameters import ESTIMATORS, changes_sentence, config_from_parameters, watch_changes

NAMESAKES_S = 1.0     # between looks for other nodes of this name


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
        # Wall time, so that warnings continue while simulated time is paused.
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self.namesakes = ""     # a warning if other nodes have this node's name

    def create_service(self, srv_type: Any, srv_name: str, callback: Callable[[Any, Any], Any],
                       **kwargs: Any) -> Any:
        """As rclpy's, but a request that a parameter service cannot read does not end the node."""
        def guarded(request: Any, response: Any) -> Any:
            try:
                return callback(request, response)
            except Exception as error:      # such as a value of an unknown type
                self.get_logger().warning(
                    f"a request to '{srv_name}' was refused ({type(error).__name__}: {error}); "
                    "check the program that sends it", throttle_duration_sec=5.0)
                return srv_type.Response()
        of_parameters = srv_type.__module__.startswith("rcl_interfaces.")
        return super().create_service(srv_type, srv_name, guarded if of_parameters else callback,
                                      **kwargs)

    def begin(self) -> None:
        """Start at once, or as soon as the robot description arrives.

        Raises UvmsError for anything unusable.
        """
        watch_changes(self, lambda: self.config, self._change, self._fixed)
        self._description = Description(self, self.config, self._start)
        self._namesakes_timer = self.create_timer(NAMESAKES_S, self._look_for_namesakes,
                                                  clock=self._wall)

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

    def _look_for_namesakes(self) -> None:
        """Warn of nodes of this name: ROS accepts them, and mixes their messages."""
        count = self.get_node_names_and_namespaces().count((self.get_name(), self.get_namespace()))
        before, self.namesakes = self.namesakes, "" if count < 2 else (
            f"{count} nodes are called '/{self.full_name}', so what subscribers receive alternates "
            "between them. Stop all but one, or give each a namespace or name of its own (a killed "
            "node is still counted for some 20 s)")
        if self.namesakes and self.namesakes != before:
            self.get_logger().warning(self.namesakes)
        elif before and not self.namesakes:
            self.get_logger().info(f"no other node is called '/{self.full_name}' any more")

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
