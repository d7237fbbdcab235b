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

"""Publish parameters with their validity: ~/parameters, ~/status and ~/covariance of equal stamp,
and the last trusted ones (docs/validity.md)."""
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from sensor_msgs.msg import JointState

from ..config import Output
from ..model.physical_set import PhysicalSet
from ..uncertainty.parameter_intervals import parameter_intervals
from . import messages
from .validity import Report, ValidityMonitor

SILENCE_LOOK_S = 0.25  # between checks for changes without a tick, such as missing ticks
STATUS_PERIOD_S = 0.5  # longest time between statuses: silence means that the node is gone
LANES = "", "trusted_"      # prefixes of topic names
ROUNDING_S = 1e-6   # of stamps


class ParameterOutputs:
    """Publishes new estimates on the worker's thread, and changes without an estimate on any
    thread."""

    def __init__(self, publish: Callable[[str, Any], None], physical: PhysicalSet,
                 monitor: ValidityMonitor, output: Callable[[], Output], node_name: str):
        """publish(topic name, message); physical: the set of physical parameters; output: returns
        the present settings."""
        self._publish, self._physical, self._monitor = publish, physical, monitor
        self._names = physical.table.names
        self._output, self._node_name = output, node_name
        self._started = messages.time_message(time.time())
        self._lock = threading.Lock()
        self._t = 0.0     # stamp of the last published values; zero: no tick yet
        self._message: JointState | None = None     # the last published values
        self._last_urgent: tuple = ()               # state, trust, jumps as last published
        self._status_at = 0.0                       # [s] steady
        self._covariance_t: dict[str, float | None] = dict.fromkeys(LANES)

    def estimate(self) -> None:
        """Publish the estimate in the worker's snapshot."""
        with self._lock:
            report = self._monitor.report(new_tick=True)
            t = report.snapshot.t
            assert t is not None     # an estimate has a tick
            elapsed = t - self._t
            early = 0 <= elapsed < self._output().parameters_period - ROUNDING_S
            if not early or _urgent_values(report) != self._last_urgent:
                self._publish_values(report, t)

    def announce(self) -> None:
        """Publish changes since the last report, and a status at least every STATUS_PERIOD_S."""
        with self._lock:
            report = self._monitor.report()
            if _urgent_values(report) != self._last_urgent:
                # Values set by a command belong to no tick: they get the stamp of the last one.
                self._publish_values(report, self._t)
            elif time.monotonic() - self._status_at > STATUS_PERIOD_S - SILENCE_LOOK_S:
                # the next check would be too late
                self._publish_status(report)

    def _publish_values(self, report: Report, t: float) -> None:
        """Publish the values of a snapshot with everything that belongs to them, stamped t.

        Non-finite values are replaced by the last finite ones.
        """
        state, trusted, _ = report.validity
        values = report.snapshot.parameters
        message = messages.parameters_message(t, self._names, values.pi, values.stddev, state)
        jumped = not self._last_urgent or report.snapshot.progress.jumps != self._last_urgent[-1]
        self._last_urgent = _urgent_values(report)
        if message is not None:
            self._t, self._message = t, message
            # The covariance first: a reader pairs parameters with the newest one that it has.
            self._publish_covariance(report, t, LANES if trusted else LANES[:1], jumped)
            self._publish("parameters", message)
            if trusted:
                self._publish("trusted_parameters", message)
        else:
            self._publish("parameters", None)       # only counted
            if self._message is not None:
                self._message.header.frame_id = state
                self._publish("parameters", self._message)
        self._publish_status(report)

    def _publish_status(self, report: Report) -> None:
        values = {**self._monitor.figures(report),
                  "started": f"{self._started.sec}.{self._started.nanosec:09d}"}
        self._publish("status", messages.status_array(
            self._t, self._node_name, "estimate", report.level,
            f"{report.validity.state}: {report.validity.reason}", values))
        self._status_at = time.monotonic()

    def _publish_covariance(self, report: Report, t: float, lanes: tuple[str, ...],
                            jumped: bool) -> None:
        """Publish the covariance of the values stamped t if due; the first one of a lane at
        once."""
        period, message = self._output().covariance_period, None
        for lane in lanes:
            last = self._covariance_t[lane]
            # Negative: data time has jumped back.
            if last is None or jumped or not 0 <= t - last < period:
                message = message or messages.covariance_message(
                    t, self._names, report.snapshot.parameters.covariance)
                self._publish(f"{lane}covariance", message)
                if not lane:
                    self._publish("parameter_intervals", self._intervals(report, t))
                self._covariance_t[lane] = t

    def _intervals(self, report: Report, t: float) -> Any:
        present = report.snapshot.parameters
        return messages.intervals_message(
            t, self._names, parameter_intervals(self._physical, present.pi, present.stddev))


def _urgent_values(report: Report) -> tuple:
    """The values that are published at once when they change."""
    return (report.validity.state, report.validity.trusted, report.snapshot.progress.jumps)
