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

"""The ROS node `uvms_estimator`: connects inputs, worker, outputs, services and diagnostics.

Interface: docs/ros_interface.md.
"""
from __future__ import annotations

import logging
import sys
import time
import traceback
from concurrent.futures import Future

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from std_msgs.msg import String

from ..config import NODE_NAME, Config
from ..errors import UvmsError, in_words
from ..estimation.estimator import Estimator
from ..estimation.prediction import Prediction
from ..estimation.snapshot import EstimatorSnapshot
from ..estimation.validity import FAILED
from ..model.physical_set import PhysicalSet
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..uncertainty.evidence import telling
from . import messages
from .diagnostics import Diagnostics
from .inputs import NodeInputs
from .memory import Memory, robot_folder
from .node_log import CORE_LOG, RosLogHandler
from .node_stages import NodeStages
from .outputs import OutputPublishers
from .parameter_outputs import SILENCE_LOOK_S, ParameterOutputs
from .payload_output import PERIOD_S, PayloadOutput
from .recent_fit import RecentFit
from .recorder import recording_path
from .reviews import Reviews
from .services import NodeServices, parameter_folder
from .settings_node import SettingsNode
from .statements import JUDGED, Statements
from .subscriptions import PeriodicThread
from .validity import ValidityMonitor
from .worker import Worker

EVENT_PERIOD_S = 0.5     # period of checking the inputs: events are logged within a second


class EstimatorNode(SettingsNode):
    """The estimator node.

    Threads: `inputs` turns messages into samples, the worker estimates and publishes, `status`
    publishes changes that occur without a tick, `memory` saves the state, `sync` syncs a recording,
    `reviews` waits for a process that reviews the last minutes; everything else runs on the
    executor (docs/architecture.md, "Threads").
    """

    def __init__(self, **kwargs):
        super().__init__(NODE_NAME, **kwargs)
        self.worker: Worker | None = None
        self.inputs: NodeInputs | None = None
        self.memory: Memory | None = None
        self._reviews: Reviews | None = None
        self._announcing: PeriodicThread | None = None
        self._diagnostics_publisher = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._log_handler = RosLogHandler(self)
        CORE_LOG.addHandler(self._log_handler)
        CORE_LOG.setLevel(logging.INFO)
        self._at_end.callback(CORE_LOG.removeHandler, self._log_handler)

    # --- start ----------------------------------------------------------------------------------

    def _start(self, description: str | None) -> None:
        config = self.config
        self.robot = RobotModel.from_config(config, description)
        self._outputs = OutputPublishers(self, self.robot)
        self._fit = RecentFit(self.robot.channels, self.robot.units, config.filter.period)
        self._judged = RecentFit(self.robot.channels, self.robot.units, config.filter.period,
                                 JUDGED)
        # checked at start, so that saving does not fail at the end of a dive
        folder = robot_folder(parameter_folder(config.output), self.get_namespace(),
                              self.get_name(), self.robot)
        memory = self.memory = Memory(config, self.robot, folder, self.get_logger())
        start = memory.start()
        # After worker.start() only the worker may use the estimator: other threads read what the
        # worker publishes or send it requests. The stages also run on the worker's thread.
        estimator = Estimator(config, robot=self.robot, real_time=True, start=start.parameters)
        node_name = self.full_name
        stages = self._stages = NodeStages(estimator, self._outputs.publish,
                                           lambda line: self.get_logger().info(line), node_name)
        worker = Worker(
            estimator, config.filter.period,
            lambda prediction: self._predicted(prediction, estimator.excited.in_motion),
            lambda _: self._parameter_outputs.estimate(),
            lambda error: self._worker_failed(error, worker.exceptions),
            lambda: self._parameter_outputs.announce())
        validity = ValidityMonitor(worker, self.robot.channels, self.robot.table, self._seconds)
        self._parameter_outputs = ParameterOutputs(
            self._outputs.publish, PhysicalSet(self.robot.table, config.estimation), validity,
            lambda: self.config.output, node_name)

        reviews = self._reviews = Reviews(self.robot, lambda: self.config, worker, self._judged,
                                          self.get_logger())

        def time_jumped() -> None:
            reviews.clear()
            worker.request(lambda estimator: estimator.break_off())

        def submit(sample: Sample) -> None:
            reviews.add(sample)
            worker.submit(sample)

        recording = (recording_path(config.output.record, folder) if config.output.record
                     else None)
        inputs = self.inputs = NodeInputs(self, config, self.robot, submit, time_jumped,
                                          recording, kept="estimate")
        self._reporter = Diagnostics(config, self.robot.table, worker, self._fit,
                                     lambda: validity.latest, lambda: reviews.findings)
        self._statements = Statements(self.robot, lambda: self.config, worker, inputs,
                                      self._judged, stages, folder, node_name,
                                      lambda: reviews.findings)
        self._answers = NodeServices(self, worker, self.robot.table, lambda: self.config,
                                     inputs.restart_front_end, memory, self._statements, stages,
                                     self._forget_predictions)
        self._report_timer = self.create_timer(
            config.output.diagnostics_period, lambda: self._report(inputs), clock=self._wall)
        self._log_timer = self.create_timer(EVENT_PERIOD_S, inputs.log_events, clock=self._wall)
        if config.estimation.schedule:
            self._stages_stated = 0
            if config.identification.move:
                self._flown_subscription = self.create_subscription(
                    String, "~/flown_stage", lambda message: stages.note_flown(message.data), 10)
            self._stage_timer = self.create_timer(EVENT_PERIOD_S, self._state_stages,
                                                  clock=self._wall)
        if self.robot.joints:
            payload = PayloadOutput(self._outputs.publish, worker.request, node_name)
            self._payload_timer = self.create_timer(PERIOD_S, payload.check, clock=self._wall)
        self.worker = worker
        self._log_start(worker.snapshot, inputs, start.sentence)
        self._parameter_outputs.announce()
        stages.announce()
        worker.start()
        memory.run(worker.request, lambda: validity.latest.state == FAILED)
        inputs.start()
        reviews.start(inputs)
        # Not on the executor, which blocks during service calls.
        self._announcing = PeriodicThread(SILENCE_LOOK_S, self._parameter_outputs.announce,
                                          self._report_failed("publishing ~/status"), "status")

    def _log_start(self, state: EstimatorSnapshot, inputs: NodeInputs, start: str) -> None:
        config, robot, estimation = self.config, self.robot, self.config.estimation
        parts = ["a free vehicle"] if robot.vehicle else ["a fixed base"]
        if robot.joints:
            parts.append(f"an arm of {len(robot.joints)} joints ({', '.join(robot.joints)})")
        log = self.get_logger()
        log.info(f"robot: {' with '.join(parts)}; {robot.table.size} parameters, "
                 f"{len(robot.channels)} channels")
        log.info(f"solver {state.solver} at every tick; horizon {estimation.horizon} samples at "
                 f"{1 / config.filter.period:g} Hz, arrival cost '{estimation.arrival}', coupling "
                 f"'{estimation.coupling}'")
        self._log_settings()
        log.info("inputs: " + ", ".join(f"{source.topic} ({source.input.type})"
                                        for source in inputs.subscriptions))
        saved = " with its covariance" if state.started_from_file else ""
        log.info(f"prior: {start}{saved}; parameters on "
                 f"{self.resolve_topic_name('~/parameters')}")
        if inputs.recorder is not None:
            log.info(f"recording into {inputs.recorder.path}")

    # --- while it runs --------------------------------------------------------------------------

    def _predicted(self, prediction: Prediction, in_motion: np.ndarray) -> None:
        self._fit.add(prediction)
        self._judged.add(prediction, telling(self.robot.table, in_motion, prediction.measured,
                                             prediction.predicted_stddev))
        self._outputs.prediction(prediction)
        self._stages.follow(prediction.t)

    def _forget_predictions(self) -> None:
        self._fit.clear()
        self._judged.clear()
        if self._reviews is not None:
            self._reviews.clear()

    def _state_stages(self) -> None:
        """Write a statement after each stage, beside the saved state.

        Runs on the executor, since a statement waits for the worker.
        """
        before, self._stages_stated = self._stages_stated, self._stages.ended
        if self._stages_stated <= before or self.memory is None or not self.memory.saving:
            return
        try:
            path, made = self._statements.write()
        except Exception as error:  # whatever the error, the node must continue and report it
            if not isinstance(error, UvmsError):
                self.get_logger().error(traceback.format_exc())
            self.get_logger().warning(
                f"no statement was written after the stage: {in_words(error)}")
        else:
            self.get_logger().info(f"{path}: {made.verdict.word}")

    def _seconds(self) -> float:
        """A clock that does not step [s]; with simulated time it pauses with the simulation."""
        return self.now() if self.get_clock().ros_time_is_active else time.monotonic()

    def _worker_failed(self, error: Exception, so_far: int) -> None:
        if self.context.ok():     # else shutting down: publishing is no longer possible
            self.get_logger().error(
                f"a sample was lost to an internal error ({type(error).__name__}: {error}), "
                f"{so_far} so far; the node continues. Please report it with a recording "
                "(output.record)", throttle_duration_sec=5.0)

    def _report(self, inputs: NodeInputs) -> None:
        now = self.now()
        with inputs.lock:
            dropped = {**inputs.dropped,
                       "results not finite, not published": self._outputs.not_finite}
            statuses = self._reporter.statuses(inputs.front_end, now, inputs.samples, dropped,
                                               inputs.recorder, inputs.topics,
                                               self.memory if self.config.output.save_period
                                               else None, self.namesakes)
        if self._reporter.late:
            self.get_logger().warning(f"{self._reporter.late}", throttle_duration_sec=10.0)
        name = self.full_name
        self._diagnostics_publisher.publish(messages.diagnostic_array(now, [
            messages.diagnostic_status(s.level, f"{name}: {s.name}", s.message, s.values, name)
            for s in statuses]))

    def _change(self, config: Config) -> None:
        """Apply changed settings: the input thread at its next message, the worker after the
        samples already queued."""
        before, self.config = self.config, config
        for name, (old, new) in before.differences(config).items():
            self.get_logger().info(f"setting '{name}' changed from {old!r} to {new!r}")
        if self.worker is None or self.inputs is None or self.memory is None:
            return
        self.inputs.change_settings(config)
        self.worker.request(lambda estimator: estimator.change_settings(config)).add_done_callback(
            self._note_change_failed)
        self.memory.change_settings(config)
        if config.output.diagnostics_period != before.output.diagnostics_period:
            self._report_timer.timer_period_ns = int(config.output.diagnostics_period * 1e9)
            self._report_timer.reset()  # or the old period would run out first

    def _note_change_failed(self, done: Future) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            self.get_logger().error("the estimator keeps its settings, since it could not adopt "
                                    f"the changed ones: {in_words(error)}")

    def close(self) -> None:
        """Join the threads, save, finish the recording, leave the graph."""
        ending = self._at_end
        ending.callback(self._list_written_files)
        if self.worker is not None:
            ending.callback(self.worker.stop)
        if self._reviews is not None:
            ending.callback(self._reviews.stop)     # its thread asks the worker
        if self.memory is not None:
            ending.callback(self.memory.stop)       # needs an answer of the worker
            ending.callback(self._last_statement)   # needs the worker too
        if self.inputs is not None:
            ending.callback(self.inputs.stop)
        if self._announcing is not None:
            ending.callback(self._announcing.stop)
        super().close()

    def _last_statement(self) -> None:
        """Write a final statement beside the saved state."""
        if self.memory is None or not self.memory.saving:
            return
        try:
            written = self._statements.write_learned()
        except UvmsError as error:
            print(f"{NODE_NAME}: no statement was written: {error}", file=sys.stderr)
            return
        if written is not None:
            path, made = written
            print(f"{NODE_NAME}: {path}: {made.verdict.word}", file=sys.stderr)

    def _list_written_files(self) -> None:
        if self.inputs is not None and self.inputs.recorder is not None:
            recorder = self.inputs.recorder
            said = recorder.error or f"{recorder.messages} messages recorded in {recorder.path}"
            print(f"{NODE_NAME}: {said}", file=sys.stderr)
        if self.memory is not None and (self.memory.saves or self.memory.error):
            said = self.memory.error or f"state saved in {self.memory.folder}"
            print(f"{NODE_NAME}: {said}", file=sys.stderr)
