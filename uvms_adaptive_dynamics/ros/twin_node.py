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

"""The ROS node `uvms_twin`: `ros2 run uvms_adaptive_dynamics twin`; see docs/twin.md."""
from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ..programs import begin_imports

if __name__ == "__main__":
    begin_imports()

# Before numpy is imported: for our small matrices BLAS threads cost more than they gain.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Path
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from ..config import Config, fixed_in
from ..control.planned import Planned
from ..control.twin import Twin
from ..control.unexplained import Residuals, Unexplained
from ..errors import UvmsError
from ..estimation.validity import FAILED, NONE_FOR
from ..model.dynamics import State
from ..model.forward_simulation import Forward
from ..model.robot import RobotModel
from ..model.sample import Sample
from . import messages
from .estimates import ReceivedEstimate
from .inputs import NodeInputs
from .outputs import QUEUED
from .plans import Plans
from .process import node_parser, run_node
from .settings_node import SettingsNode
from .status import ERROR, OK, WARN
from .subscriptions import PeriodicThread
from .topic_qos import LATCHED, NO_PUBLISHER_EVENTS
from .twin_messages import ForecastMessages

TWIN_NODE = "uvms_twin"
# [s] Largest age of the newest sample: the front end waits up to 2 s for slow sensors, and a
# forecast from an older sample would mostly cover the past.
OLDEST = 2.5
WATCH_S = 5.0       # between updates of the residual process, which covers minutes of data


class TwinNode(SettingsNode):
    """Forecasts the robot's motion.

    Three threads: `inputs` makes samples, one forecasts and publishes, the executor does the rest.
    """

    def __init__(self, **kwargs):
        super().__init__(TWIN_NODE, fixed_in("twin"), **kwargs)
        self.inputs: NodeInputs | None = None
        self._lock = threading.Lock()      # guards data shared by samples and forecasts
        self._sample: Sample | None = None
        self._made: tuple[float, Twin] | None = None
        self._unexplained: Unexplained | None = None
        self._watched, self._ms, self._said = -1e9, 0.0, ""
        self.forecasts = 0

    def _start(self, description: str | None) -> None:
        config = self.config
        robot = self._robot = RobotModel.from_config(config, description)
        self._residuals = Residuals(config, robot)
        self.planned = Planned(robot, config.twin.arm)
        self._messages = ForecastMessages(config, robot)
        self._outputs = self._forecast_outputs()
        self._status = self.create_publisher(DiagnosticArray, "~/status", LATCHED,
                                             event_callbacks=NO_PUBLISHER_EVENTS)
        self.estimate = ReceivedEstimate(self, robot, config.twin.estimator_node, "trusted_")
        plans = Plans(self, robot, config, self.planned, self._lock)
        if robot.vehicle:
            self.create_subscription(Float64MultiArray, "~/planned_wrench", plans.wrench, QUEUED)
        if robot.joints:
            self.create_subscription(JointTrajectory, "~/planned_joints", plans.joints, QUEUED)
        self.inputs = NodeInputs(self, config, robot, self._take, self._time_jumped)
        self.get_logger().info(
            f"{config.twin.rate:g} forecasts per second, {config.twin.horizon:g} s ahead, with the "
            f"parameters of '{self.resolve_topic_name(config.twin.estimator_node)}'; arm: "
            f"{config.twin.arm}")
        self._log_settings()
        self._at_end.callback(self.inputs.stop)
        self.inputs.start()
        repeated = PeriodicThread(1 / config.twin.rate, self._forecast,
                                  self._report_failed("a forecast"))
        self._at_end.callback(repeated.stop)

    def _forecast_outputs(self) -> dict[str, tuple[Any, Callable[[float, Forward], Any]]]:
        """{name: (publisher, builder of its message)}."""
        built, found = self._messages, {}
        kinds: list[tuple[str, Any, Callable[[float, Forward], Any]]] = [
            ("stddev", JointTrajectory, built.stddev)]
        if self._robot.vehicle:
            kinds += [("path", Path, built.path),
                      ("vehicle", MultiDOFJointTrajectory, built.vehicle),
                      ("end", PoseWithCovarianceStamped, built.end)]
        if self._robot.joints:
            kinds.append(("joints", JointTrajectory, built.arm))
        for name, kind, build in kinds:
            found[name] = self.create_publisher(kind, f"~/{name}", QUEUED,
                                                event_callbacks=NO_PUBLISHER_EVENTS), build
        return found

    def _change(self, config: Config) -> None:
        """Apply changed settings: inputs follow at their next message."""
        self.config = config
        if self.inputs is not None:     # else not started yet
            self.inputs.change_settings(config)

    # --- on the thread of the inputs --------------------------------------------------------------

    def _take(self, sample: Sample) -> None:
        pi, scales = self.estimate.values, self.estimate.scales
        sample = scales.corrected(sample, self._robot.allocation)
        with self._lock:
            self._sample = sample
            if pi is not None:
                self._residuals.add(sample, pi, scales.effort)

    def _time_jumped(self) -> None:
        with self._lock:
            self._sample, self._unexplained = None, None
            self._residuals.clear()
            self.planned.forget()

    # --- on the thread of the forecasts -----------------------------------------------------------

    def _forecast(self) -> None:
        now = self.now()
        latest, sample = self.estimate.latest(), self._sample
        behind = None if self.inputs is None else self.inputs.behind
        if latest is None:
            return self._publish_status(
                now, WARN, f"no forecast: waiting for {self.estimate.missing}", {})
        if sample is None or behind is None:
            return self._publish_status(now, WARN, "no forecast: waiting for the sensors", {})
        age = now - behind - sample.t
        if age > OLDEST:
            return self._publish_status(
                now, ERROR, f"no forecast: the newest sample is {age:.1f} s old; check the sensors",
                {"age of start [s]": age})
        if not sample.valid[self._robot.vehicle_rows].all():
            return self._publish_status(
                now, WARN, "no forecast: the vehicle's motion is unknown; see the estimator's "
                "diagnostics", {"age of start [s]": age})
        begin, ahead = time.perf_counter(), self.config.twin.horizon + max(age, 0.0)
        stamp, _ = latest
        twin = self._twin(*latest, now)
        with self._lock:
            commands, word = self.planned.commands(sample, ahead, behind,
                                                   self.estimate.scales.effort)
        start = State(sample.R_nb, sample.nu, sample.mu, sample.mu_dot)
        try:
            run = twin.forecast(start, commands, ahead)
        except UvmsError as error:
            return self._publish_status(
                now, ERROR, f"no forecast: {error}", {"age of start [s]": age})
        for publisher, build in self._outputs.values():
            if publisher.get_subscription_count():
                publisher.publish(build(sample.t, run))
        self._ms, self.forecasts = 1e3 * (time.perf_counter() - begin), self.forecasts + 1
        self._publish_status(now, *self._judged(), {
            "age of start [s]": age, "ahead [s]": float(run.t[-1]) - age, "commands": word,
            "age of parameters [s]": now - behind - stamp, "estimator": self.estimate.state,
            "watched [s]": self._residuals.seconds,
            "took [ms]": self._ms, "forecasts": self.forecasts}, sample.t)

    def _judged(self) -> tuple[int, str]:
        estimate, slow = self.estimate, self._ms > 1e3 / self.config.twin.rate
        doubt = (f"no message from '{estimate.node}'" if estimate.age > NONE_FOR else
                 "the estimator has failed" if estimate.state == FAILED else
                 "" if estimate.trusted else "the estimator's present parameters are not trusted")
        if doubt:
            return WARN, f"{doubt}: forecasting with the last trusted parameters"
        if slow:
            return WARN, (f"a forecast takes {self._ms:.0f} ms, longer than twin.rate allows; "
                          "forecasting as fast as possible")
        return OK, "forecasting"

    def _twin(self, stamp: float, parameters, now: float) -> Twin:
        """A twin of the newest parameters; the residual process is updated every WATCH_S."""
        if self._unexplained is None or not 0 <= now - self._watched < WATCH_S:
            with self._lock:
                watched = self._residuals.copy()
            self._unexplained = watched.process(watched.deviation(parameters.noise_stddev))
            self._watched, self._made = now, None
        if self._made is None or self._made[0] != stamp:
            self._made = stamp, Twin(self._robot, self.config, parameters, self._unexplained)
        return self._made[1]

    def _publish_status(self, now: float, level: int, message: str, values: dict[str, object],
                        stamp: float | None = None) -> None:
        """Publish ~/status, with the forecast's stamp if there is a forecast."""
        valid = stamp is not None
        self._status.publish(messages.status_array(
            now if stamp is None else stamp, self.full_name, "forecast", level, message,
            {"valid": str(valid).lower(), **values}))
        if message != self._said and level != OK:
            self.get_logger().warning(message, throttle_duration_sec=5.0)
        self._said = message


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns 0, or 1 after an error message."""
    return run_node(args, TwinNode, node_parser(
        "twin", TWIN_NODE, "Forecasts of the robot's motion with bands"), TWIN_NODE)


if __name__ == "__main__":
    sys.exit(main())
