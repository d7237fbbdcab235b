"""What the identification node hears of an estimator: parameters, their covariance, its state, and
the stage that its schedule is in."""
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ..control.feedforward import Feedforward
from ..control.guide import StageView
from ..control.stage_runner import COMPLETE, NO_SCHEDULE
from ..errors import MessageError, UvmsError
from ..model.parameter_file import ParameterSet
from ..model.robot import RobotModel
from .estimates import EstimateReader
from .publishers import LATCHED
from .trusted_lane import TrustedLane


class EstimatorWatch:
    """state: its last word; refused: why its last message was; both may be read on any thread."""

    def __init__(self, node: Node, robot: RobotModel, estimator: str):
        self._names, self._reader = robot.table.names, EstimateReader(robot)
        self._lock, self._log = threading.Lock(), node.get_logger()
        self._values: np.ndarray | None = None
        self._covariance: np.ndarray | None = None
        self._noise: np.ndarray | None = None
        self._stage: StageView | None = None
        self._free: tuple[str, ...] = ()
        self._heard_at = -np.inf
        self._ros, self._name = node, estimator
        self.state, self.node, self.progress = "", node.resolve_topic_name(estimator), ""
        for kind, topic, add in ((JointState, "parameters", self._add_parameters),
                                 (Float64MultiArray, "covariance", self._add_covariance),
                                 (DiagnosticArray, "status", self._add_status),
                                 (DiagnosticArray, "stage", self._add_stage)):
            node.create_subscription(kind, f"{estimator}/{topic}", self._guarded(topic, add),
                                     LATCHED)

    def lead(self, feedforward: Feedforward, now: Callable[[float], float]) -> None:
        """Give a feedforward what the estimator trusts; now(receive) [s] is the time of reception
        on the clock of its calls."""
        lane = TrustedLane(feedforward, now)
        clock = self._ros.get_clock()

        def timed(add: Callable[[Any, float], None]) -> Callable[[Any], None]:
            return lambda message: add(message, clock.now().nanoseconds * 1e-9)

        for kind, topic, add in ((JointState, "trusted_parameters", lane.add_parameters),
                                 (Float64MultiArray, "trusted_covariance", lane.add_covariance),
                                 (DiagnosticArray, "status", lane.add_status)):
            self._ros.create_subscription(kind, f"{self._name}/{topic}",
                                          self._guarded(topic, timed(add)), LATCHED)

    @property
    def age(self) -> float:
        """[s] since its last sign of life; inf before any."""
        return time.monotonic() - self._heard_at

    def stage(self) -> StageView | None:
        """The stage at hand; None without a schedule, or before it was heard."""
        return self._stage

    def known(self) -> tuple[ParameterSet, tuple[str, ...]] | None:
        """(what is known, names of the free parameters); None while anything of it is missing."""
        with self._lock:
            if self._values is None or self._covariance is None or self._noise is None:
                return None
            return ParameterSet(self._names, self._values, self._covariance,
                                self._noise), self._free

    @property
    def missing(self) -> str:
        """What has not come yet, in words; '' where nothing lacks."""
        lacks = [word for word, have in (
            ("parameters", self._values), ("their covariance", self._covariance),
            ("noise in the status", self._noise)) if have is None]
        if self._stage is None:
            lacks.append("a stage: set estimation.schedule of that node, for example to 'guided'")
        return f"{', '.join(lacks)} of '{self.node}'" if lacks else ""

    def _guarded(self, topic: str, add: Callable[[Any], None]) -> Callable[[Any], None]:
        def received(message: Any) -> None:
            try:
                with self._lock:
                    add(message)
            except UvmsError as error:
                self._log.warning(f"message on '{self.node}/{topic}' refused: {error}",
                                  throttle_duration_sec=10.0)
        return received

    def _add_parameters(self, message: JointState) -> None:
        _, self._values = self._reader.parameters(message)
        self._heard_at = time.monotonic()

    def _add_covariance(self, message: Float64MultiArray) -> None:
        self._covariance = self._reader.covariance(message)

    def _add_status(self, message: DiagnosticArray) -> None:
        self.state, noise = self._reader.status(message)
        self._noise = self._noise if noise is None else noise
        self._heard_at = time.monotonic()

    def _add_stage(self, message: DiagnosticArray) -> None:
        said = {pair.key: pair.value for status in message.status for pair in status.values}
        if "state" not in said:
            raise MessageError("a stage without 'state'; expected the ~/stage of an estimator.")
        self.progress = message.status[0].message
        if said["state"] == NO_SCHEDULE:
            self._stage, self._free = None, ()
            return
        try:
            self._stage = StageView(said["stage"], said["title"], _names(said["move"]),
                                    said["kind"], said["state"] == COMPLETE)
            self._free = _names(said["free"]) + _names(said["kept"])
        except KeyError as error:
            raise MessageError(f"a stage without {error}; expected the ~/stage of an estimator of "
                               "this version.") from None


def _names(listed: str) -> tuple[str, ...]:
    return tuple(name for name in listed.split(",") if name)
