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

"""Receive an estimator's parameters in another node: checked, and matched by name."""
from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ..errors import MessageError, ParameterError, UvmsError, brief
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from ..model.scales import Scales
from .messages import read_covariance, status_values
from .topic_qos import LATCHED


class EstimatorStatus(NamedTuple):
    """Content of ~/status.

    state: a state of docs/validity.md; trusted: whether the present parameters are; scales: the
    factors on measurements with which they hold; noise (C,) [N, N m]: prediction noise per channel,
    None if the status lacks it for any channel.
    """

    state: str
    trusted: bool
    scales: Scales
    noise: np.ndarray | None


class EstimateReader:
    """Decodes messages of an estimator node for this robot, with names in any order.

    Raises UvmsError for unusable messages.
    """

    def __init__(self, robot: RobotModel):
        self._names, self._channels = robot.table.names, robot.channels
        self._thrusters = robot.thrusters

    def parameters(self, message: JointState) -> tuple[float, np.ndarray]:
        """(stamp [s], values (p,) in table order) from ~/parameters or ~/trusted_parameters."""
        places, stamp = self._places(message.name), message.header.stamp
        if len(message.position) != len(message.name):
            raise MessageError(f"{len(message.position)} positions for {len(message.name)} names; "
                               "expected one for each.")
        values = np.array(message.position, float)[places]
        if not np.isfinite(values).all():
            worst = self._names[int(np.argmin(np.isfinite(values)))]
            raise ParameterError(f"'{worst}' is not finite; expected a finite estimate.")
        return stamp.sec + 1e-9 * stamp.nanosec, values

    def covariance(self, message: Float64MultiArray) -> np.ndarray:
        """Symmetric matrix (p, p) in table order from ~/covariance or ~/trusted_covariance."""
        read = read_covariance(message)
        places = self._places(read.names)
        found = read.matrix[np.ix_(places, places)]
        if not np.isfinite(found).all() or (np.diagonal(found) < 0).any():
            raise ParameterError("an entry is not finite, or a variance is negative; expected a "
                                 "covariance matrix.")
        return (found + found.T) / 2

    def status(self, message: DiagnosticArray) -> EstimatorStatus:
        """Decode ~/status."""
        said = status_values(message)
        if "state" not in said:
            raise MessageError(f"a status with {len(said)} values and no 'state'; expected the "
                               "~/status of an estimator.")
        scales = self.scales(said.get("scales", "{}"))
        keys = [f"noise {channel}" for channel in self._channels]
        trusted = said.get("trusted") != "false"
        if any(key not in said for key in keys):
            return EstimatorStatus(said["state"], trusted, scales, None)
        try:
            noise = np.array([float(said[key]) for key in keys])
        except ValueError as error:
            raise MessageError(f"a channel's noise is not a number: {error}.") from None
        if not (np.isfinite(noise).all() and (noise > 0).all()):
            raise MessageError(f"channel noise is {noise.tolist()}; expected positive "
                               "standard deviations.")
        return EstimatorStatus(said["state"], trusted, scales, noise)

    def scales(self, stated: str) -> Scales:
        """The factors under 'scales' of ~/status; by default none."""
        try:
            found = json.loads(stated)
        except ValueError as error:
            raise MessageError(f"scales are not JSON: {error}.") from None
        if not isinstance(found, dict):
            raise MessageError(f"scales are {brief(found)}; expected a JSON object.")
        return Scales.saved(found, self._channels, self._thrusters, "scales of ~/status")

    def _places(self, names: Sequence[str]) -> list[int]:
        """Index in `names` of each parameter of this robot."""
        if tuple(names) == self._names:
            return list(range(len(names)))
        places = {name: k for k, name in enumerate(names)}
        missing = [name for name in self._names if name not in places]
        if missing or len(names) != len(self._names):
            raise ParameterError(
                f"got {len(names)} parameters, expected the {len(self._names)} of this robot"
                + (f" ('{missing[0]}' is missing)" if missing else "")
                + ". Start both nodes with the same settings.")
        return [places[name] for name in self._names]


class ReceivedEstimate:
    """Subscribes to parameters, covariance and ~/status of an estimator node.

    state, trusted, scales: its last report; node: its full name. `latest()` may be called on any
    thread.
    """

    def __init__(self, node: Node, robot: RobotModel, estimator: str, lane: str):
        """lane: 'trusted_' for the last trusted parameters, '' for the present ones."""
        self._names, self._reader = robot.table.names, EstimateReader(robot)
        self._lock, self._log = threading.Lock(), node.get_logger()
        self._values: tuple[float, np.ndarray] | None = None     # stamp [s], values in table order
        self._covariance: np.ndarray | None = None
        self._noise: np.ndarray | None = None
        self._ros, self._source, self._lane = node, estimator, lane
        self.state, self.trusted, self.node = "", True, node.resolve_topic_name(estimator)
        self.scales = self._reader.scales("{}")
        self._heard_at = -np.inf    # steady [s]
        for kind, topic, add in ((JointState, f"{lane}parameters", self._add_parameters),
                                 (Float64MultiArray, f"{lane}covariance", self._add_covariance),
                                 (DiagnosticArray, "status", self._add_status)):
            self._listen(kind, topic, add)

    def latest(self) -> tuple[float, ParameterSet] | None:
        """(stamp [s], values with covariance and noise); None while any of them is missing."""
        with self._lock:
            if self._values is None or self._covariance is None or self._noise is None:
                return None
            stamp, values = self._values
            return stamp, ParameterSet(self._names, values, self._covariance, self._noise)

    @property
    def age(self) -> float:
        """Time [s] since the last message of the estimator; inf before the first."""
        return time.monotonic() - self._heard_at

    @property
    def missing(self) -> str:
        """What has not arrived yet, in words; '' if complete."""
        lacks = self._lacks()
        return f"{', '.join(lacks)} from '{self.node}'" if lacks else ""

    @property
    def values(self) -> np.ndarray | None:
        """(p,) the values only."""
        latest = self._values
        return None if latest is None else latest[1]

    def _lacks(self) -> list[str]:
        return [word for word, have in (
            (f"{self._lane.replace('_', ' ')}parameters", self._values),
            ("their covariance", self._covariance),
            ("noise in the status", self._noise)) if have is None]

    def _listen(self, kind: type, topic: str, add: Callable[[Any], None]) -> None:
        """Pass messages of an estimator topic to `add`.

        An unusable message is refused with a warning; earlier values stay.
        """
        def received(message: Any) -> None:
            try:
                with self._lock:
                    add(message)
            except UvmsError as error:
                self._log.warning(f"message on '{self.node}/{topic}' refused: {error}",
                                  throttle_duration_sec=10.0)
        self._ros.create_subscription(kind, f"{self._source}/{topic}", received, LATCHED)

    def _add_parameters(self, message: JointState) -> None:
        self._values = self._reader.parameters(message)
        self._heard_at = time.monotonic()

    def _add_covariance(self, message: Float64MultiArray) -> None:
        self._covariance = self._reader.covariance(message)

    def _add_status(self, message: DiagnosticArray) -> None:
        self.state, self.trusted, self.scales, noise = self._reader.status(message)
        self._noise = self._noise if noise is None else noise
        self._heard_at = time.monotonic()
