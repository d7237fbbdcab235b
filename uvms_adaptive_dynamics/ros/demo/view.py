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

"""Live view of the demonstration: a table on a terminal, plain lines elsewhere."""
from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState

from ...config import NODE_NAME
from ...model.parameter_file import load_parameters

# Parameters that are easy to follow: masses with added mass, drag, restoring, friction.
SHOWN_PARAMETERS = ("m_X_du", "m_Z_dw", "Iz_N_dr", "X_uu", "Y_vv", "N_r", "zgW_zbB", "axis_d.fv",
                    "axis_c.fv", "axis_b.m")
PLAIN_EVERY_S, TABLE_EVERY_S = 5.0, 0.5


class View:
    """Subscribes to the estimator's topics like any other node."""

    def __init__(self, prior: Path):
        start = load_parameters(prior)
        self._prior = dict(zip(start.names, start.values))
        self._context = Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node("demo_view", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._node.create_subscription(JointState, f"{NODE_NAME}/parameters", self._on_parameters,
                                       latched)
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self._parameters: dict[str, tuple[float, float]] = {}
        self._status: dict[str, tuple[str, dict[str, str]]] = {}
        self._begin: float | None = None
        self._elapsed = 0.0
        self._shown_at = 0.0
        self._lines = 0

    def estimator_is_up(self) -> bool:
        """Whether the estimator has subscribed to its sensors; spins briefly."""
        self._executor.spin_once(timeout_sec=0.1)
        return all(self._node.count_subscribers(topic) for topic in ("joint_states", "imu/data"))

    def spin(self, seconds: float) -> None:
        """Receive messages for a while and update the view."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)
        terminal = sys.stdout.isatty()
        if self._parameters and time.monotonic() - self._shown_at > (TABLE_EVERY_S if terminal
                                                                     else PLAIN_EVERY_S):
            self._shown_at = time.monotonic()
            self._show(self._table() if terminal else self._plain(), terminal)

    def finish(self) -> None:
        """Show the last state as a table, on any output."""
        self._show(self._table(), sys.stdout.isatty())

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    # --- topics -----------------------------------------------------------------------------------

    def _on_parameters(self, message: JointState) -> None:
        t = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        if t > 0.0:     # the prior has the stamp zero
            self._begin = t if self._begin is None else self._begin
            self._elapsed = t - self._begin
        self._parameters = dict(zip(message.name, zip(message.position, message.effort)))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._status[status.name.split(": ", 1)[-1]] = (status.message,
                                                            {v.key: v.value for v in status.values})

    # --- words ------------------------------------------------------------------------------------

    def _solver_words(self) -> str:
        _, values = self._status.get("solver", ("", {}))
        return (f"{values.get('solver', '?')} {values.get('solve median [ms]', '-')} ms a solve "
                f"(99 %: {values.get('solve 99th percentile [ms]', '-')} ms), "
                f"{values.get('skipped solves', 0)} skipped, "
                f"{values.get('failures', 0)} failed")

    def _fits(self) -> list[tuple[str, float, float]]:
        _, values = self._status.get("predictions", ("", {}))
        return [(key[:-4], float(value), float(values[f"{key[:-4]} coverage"]))
                for key, value in values.items() if key.endswith(" R^2")]

    def _plain(self) -> list[str]:
        fits = "  ".join(f"{name} {_bounded(r2, '.2f')}" for name, r2, _ in self._fits()) or "wait"
        some = "  ".join(f"{name} {value:.3g}±{2 * stddev:.2g}"
                         for name, (value, stddev) in self._chosen()[:4])
        return [f"[{self._elapsed:5.1f} s] R^2 of the last 10 s: {fits}", f"          {some}",
                f"          {self._solver_words()}"]

    def _table(self) -> list[str]:
        overall = self._status.get("overall", ("", {}))[0]
        left = [f"{'channel':<10}{'R^2 10 s':>10}{'coverage':>10}"]
        left += [f"{name:<10}{_bounded(r2, '.3f'):>10}{coverage:>10.0%}"
                 for name, r2, coverage in self._fits()]
        right = [f"{'parameter':<12}{'prior':>9}{'estimate':>10}{'95 %':>11}"]
        right += [f"{name:<12}{self._prior[name]:>9.3g}{value:>10.3g}{f'±{2 * stddev:.2g}':>11}"
                  for name, (value, stddev) in self._chosen()]
        height = max(len(left), len(right))
        rows = zip(left + [""] * (height - len(left)), right + [""] * (height - len(right)))
        return [f"{self._elapsed:5.1f} s of estimates; {overall}", self._solver_words(), ""] + [
            f"{a:<34}{b}" for a, b in rows]

    def _chosen(self) -> list[tuple[str, tuple[float, float]]]:
        return [(name, self._parameters[name]) for name in SHOWN_PARAMETERS
                if name in self._parameters]

    def _show(self, lines: list[str], terminal: bool) -> None:
        if terminal:
            # Back to the first line of the table, and clear; truncate, as a wrapped line would
            # count twice.
            sys.stdout.write(f"\x1b[{self._lines}F\x1b[J" if self._lines else "")
            width = shutil.get_terminal_size().columns - 1
            lines = [line[:width] for line in lines]
        self._lines = len(lines)
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()


def _bounded(r2: float, form: str) -> str:
    """Format R^2, abbreviating the huge negative values of a wrong prior."""
    return "< -9" if r2 < -9 else format(r2, form)
