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

"""What the identification node receives from an estimator: parameters, covariance, state, and the
stage of its schedule."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ..control.feedforward import Feedforward
from ..control.guide import StageView
from ..control.stage_runner import NO_SCHEDULE, STAGE_COMPLETE, STAGE_WAITING
from ..errors import MessageError
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from .estimates import ReceivedEstimate
from .messages import status_values
from .settings_node import node_time
from .trusted_lane import TrustedLane


class EstimatorWatch(ReceivedEstimate):
    """The present parameters and the stage.

    progress: of the stage, in words; waits: whether the stages wait for the robot, None if there is
    no stage that could.
    """

    def __init__(self, node: Node, robot: RobotModel, estimator: str):
        self._stage: StageView | None = None
        self._free: tuple[str, ...] = ()
        self.progress = ""
        self.waits: bool | None = None
        super().__init__(node, robot, estimator, "")
        self._listen(DiagnosticArray, "stage", self._add_stage)

    def lead(self, feedforward: Feedforward, now: Callable[[float], float]) -> None:
        """Feed the trusted parameters to a feedforward.

        now(receive) [s]: the time of reception on the clock of the feedforward's calls.
        """
        lane = TrustedLane(feedforward, now)

        def timed(add: Callable[[Any, float], None]) -> Callable[[Any], None]:
            return lambda message: add(message, node_time(self._ros))

        for kind, topic, add in ((JointState, "trusted_parameters", lane.add_parameters),
                                 (Float64MultiArray, "trusted_covariance", lane.add_covariance),
                                 (DiagnosticArray, "status", lane.add_status)):
            self._listen(kind, topic, timed(add))

    def stage(self) -> StageView | None:
        """The current stage; None without a schedule or before the first message."""
        return self._stage

    def known(self) -> tuple[ParameterSet, tuple[str, ...]] | None:
        """(parameter set, names of the free parameters); None while anything is missing."""
        latest = self.latest()
        return None if latest is None else (latest[1], self._free)

    def _lacks(self) -> list[str]:
        stage = ["a stage: set estimation.schedule of that node, for example to 'guided'"]
        return super()._lacks() + (stage if self._stage is None else [])

    def _add_stage(self, message: DiagnosticArray) -> None:
        said = status_values(message)
        if "state" not in said:
            raise MessageError("a stage without 'state'; expected the ~/stage of an estimator.")
        self.progress = message.status[0].message
        if said["state"] == NO_SCHEDULE:
            self._stage, self._free, self.waits = None, (), None
            return
        try:
            self._stage = StageView(said["stage"], said["title"], _names(said["move"]),
                                    said["kind"], said["state"] == STAGE_COMPLETE)
            self._free = _names(said["free"]) + _names(said["kept"])
            self.waits = None if said["state"] == STAGE_COMPLETE else said["state"] == STAGE_WAITING
        except KeyError as error:
            raise MessageError(f"a stage without {error}; expected the ~/stage of an estimator of "
                               "this version.") from None


def _names(listed: str) -> tuple[str, ...]:
    return tuple(name for name in listed.split(",") if name)
