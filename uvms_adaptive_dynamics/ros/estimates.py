"""The estimator's trusted parameters as another node receives them, checked and by name."""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ..errors import ParameterError
from ..model.parameter_file import ParameterSet
from ..model.robot import RobotModel
from .publishers import LATCHED


class TrustedEstimate:
    """Subscribes to ~/trusted_parameters, ~/trusted_covariance and ~/status of an estimator node.

    `latest()` may be called on any thread.
    """

    def __init__(self, node: Node, robot: RobotModel, estimator: str):
        self._robot, self._names = robot, robot.table.names
        self._lock, self._log = threading.Lock(), node.get_logger()
        self._values: tuple[float, np.ndarray] | None = None     # stamp [s], in the table's order
        self._covariance: np.ndarray | None = None
        self._noise: np.ndarray | None = None
        self.state, self._estimator = "", node.resolve_topic_name(estimator)
        for kind, topic, take in ((JointState, "trusted_parameters", self._parameters),
                                  (Float64MultiArray, "trusted_covariance", self._covariances),
                                  (DiagnosticArray, "status", self._status)):
            node.create_subscription(kind, f"{estimator}/{topic}",
                                     self._guarded(f"{estimator}/{topic}", take), LATCHED)

    def latest(self) -> tuple[float, ParameterSet] | None:
        """(stamp [s], values with covariance and noise), None while one of them is missing."""
        with self._lock:
            if self._values is None or self._covariance is None or self._noise is None:
                return None
            stamp, values = self._values
            return stamp, ParameterSet(self._names, values, self._covariance, self._noise)

    @property
    def missing(self) -> str:
        """What has not come yet, in words; '' where nothing lacks."""
        lacks = [word for word, have in (("trusted parameters", self._values),
                                         ("their covariance", self._covariance),
                                         ("noise in the status", self._noise)) if have is None]
        return f"{', '.join(lacks)} of '{self._estimator}'" if lacks else ""

    @property
    def values(self) -> np.ndarray | None:
        """(p,) the trusted values alone."""
        latest = self._values
        return None if latest is None else latest[1]

    def _guarded(self, topic: str, take: Callable[[Any], None]) -> Callable[[Any], None]:
        """Anything that cannot be used is refused in one sentence; what was known stays."""
        def taken(message: Any) -> None:
            try:
                with self._lock:
                    take(message)
            except (ParameterError, ValueError, IndexError, KeyError) as error:
                self._log.warning(f"message on '{topic}' refused: {error}",
                                  throttle_duration_sec=10.0)
        return taken

    def _parameters(self, message: Any) -> None:
        values = np.array(message.position, float)[self._order(message.name)]
        if not np.isfinite(values).all():
            raise ParameterError("a value is not finite; expected an estimate.")
        stamp = message.header.stamp
        self._values = stamp.sec + 1e-9 * stamp.nanosec, values

    def _covariances(self, message: Any) -> None:
        rows, columns = (dim.label.partition(": ")[2].split(",") for dim in message.layout.dim[:2])
        if rows != columns or len(message.data) != len(rows) ** 2:
            raise ParameterError(f"{len(message.data)} numbers for {len(rows)} rows and "
                                 f"{len(columns)} columns; expected a square with names.")
        order = self._order(rows)
        found = np.array(message.data, float).reshape(len(rows), -1)[np.ix_(order, order)]
        if not np.isfinite(found).all():
            raise ParameterError("an entry is not finite; expected a covariance.")
        self._covariance = (found + found.T) / 2

    def _status(self, message: Any) -> None:
        said = {pair.key: pair.value for pair in message.status[0].values}
        self.state = said.get("state", "")
        noise = np.array([float(said[f"noise {channel}"]) for channel in self._robot.channels])
        if not (np.isfinite(noise).all() and (noise > 0).all()):
            raise ParameterError("a channel's noise is not positive; expected deviations.")
        self._noise = noise

    def _order(self, names: Sequence[str]) -> list[int]:
        places = {name: k for k, name in enumerate(names)}
        lost = [name for name in self._names if name not in places]
        if lost or len(places) != len(self._names):
            raise ParameterError(f"{len(places)} parameters, of which {len(lost)} of this robot's "
                                 f"{len(self._names)} are missing; expected the same robot in both "
                                 "nodes' settings.")
        return [places[name] for name in self._names]
