"""The ROS node: topics in, samples to the worker's thread, results out (DESIGN section 10)."""
from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import time
from collections import Counter

# Before numpy: its matrices are 75 x 75 here, and BLAS threads cost more in waiting for each other than they win; on a
# busy machine a run without this line skipped a third of its solves.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.utilities import remove_ros_args
from std_msgs.msg import String

from . import messages
from ..config import NODE_NAME, Config
from ..errors import UvmsError
from ..estimation.estimator import Estimator, Prediction
from .diagnostics import Diagnostics
from .subscriptions import InputPoll, InputSubscription, Received, Repeated
from .log import CORE_LOG, RosLogHandler
from .outputs import LATCHED, OutputPublishers
from .parameters import config_from_parameters, watch_changes
from .services import NodeServices
from .recent_fit import RecentFit
from .recorder import Recorder
from ..model.robot import RobotModel
from ..signals.front_end import SignalFrontEnd
from ..signals.topics import inputs
from .worker import Worker

# A topic without a message is warned of after this time, and again while it stays silent.
SILENT_AFTER_S, SILENT_AGAIN_S = 3.0, 30.0
DESCRIPTION_TOPIC = "robot_description"


class EstimatorNode(Node):
    """Messages are taken and made samples on a thread of their own, which holds `_inputs_lock`; the worker's thread estimates and
    publishes; all else runs on the executor's.

    Create it, call `begin()`, spin it on a SingleThreadedExecutor, and `close()` it.
    """

    def __init__(self, **kwargs):
        super().__init__(NODE_NAME, **kwargs)
        self.config: Config = config_from_parameters(self)
        self.worker: Worker | None = None
        self.recorder: Recorder | None = None
        self.samples = 0
        self._resets = 0
        self.dropped: Counter = Counter()
        self._inputs: Repeated | None = None
        self._inputs_lock = threading.Lock()
        # Wall time, so that diagnostics and warnings go on while simulated time stands still.
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._diagnostics_publisher = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._log_handler = RosLogHandler(self)
        CORE_LOG.addHandler(self._log_handler)
        CORE_LOG.setLevel(logging.INFO)

    def begin(self) -> None:
        """Start at once, or as soon as the robot's description arrives. Raises UvmsError for anything that cannot be used."""
        watch_changes(self, lambda: self.config, self._change)
        if self.config.robot.urdf != DESCRIPTION_TOPIC or not self.config.robot.joints:
            self._start(None)
            return
        topic = self.resolve_topic_name(DESCRIPTION_TOPIC)
        self.get_logger().info(f"waiting for the robot's description on '{topic}' (std_msgs/String, transient local); "
                               "robot_state_publisher sends it")
        self._waiting = self.create_timer(5.0, lambda: self.get_logger().warning(
            f"still waiting for the robot's description on '{topic}' ({self.count_publishers(topic)} publishers)"), clock=self._wall)
        self._description = self.create_subscription(String, DESCRIPTION_TOPIC, self._described, LATCHED)

    def _described(self, message: String) -> None:
        if self.worker is None:
            self.destroy_timer(self._waiting)
            self._start(message.data)

    def _start(self, description: str | None) -> None:
        config = self.config
        self.robot = RobotModel.from_config(config, description)
        self.estimator = Estimator(config, robot=self.robot)
        self.front_end = SignalFrontEnd(config, self.robot)
        self.subscriptions_in = [InputSubscription(self, wanted) for wanted in inputs(config)]
        if config.output.record:
            self.recorder = Recorder(config.output.record, {s.topic: s.input.type for s in self.subscriptions_in})
        self._outputs = OutputPublishers(self, self.robot)
        self._fit = RecentFit(self.robot.channels, self.robot.units, config.filter.period)
        self.worker = Worker(self.estimator, config.filter.period, self._predicted, self._outputs.estimate, self._worker_failed)
        self._reporter = Diagnostics(config, self.worker, self.estimator, self._fit)
        self._answers = NodeServices(self, self.worker, self._restart_front_end)
        self._report_timer = self.create_timer(config.output.diagnostics_period, self._report, clock=self._wall)
        self._silent_at = time.monotonic() + SILENT_AFTER_S
        self._silence_timer = self.create_timer(1.0, self._warn_of_silence, clock=self._wall)
        self.worker.start()
        self._poll = InputPoll(self, self.subscriptions_in)
        self._log_start()
        self._inputs = Repeated(config.filter.period, self._collect, self._collect_failed)

    def _log_start(self) -> None:
        config, robot = self.config, self.robot
        parts = ["a free vehicle"] if robot.vehicle else ["a fixed base"]
        parts += [f"an arm of {len(robot.joints)} joints ({', '.join(robot.joints)})"] if robot.joints else []
        log = self.get_logger()
        log.info(f"robot: {' with '.join(parts)}; {robot.table.size} parameters, {len(robot.channels)} channels")
        log.info(f"a solve by {self.estimator.solver_name} at every tick; horizon {config.estimation.horizon} samples at "
                 f"{1 / config.filter.period:g} Hz, arrival cost '{config.estimation.arrival}', coupling '{config.estimation.coupling}'")
        log.info("inputs: " + ", ".join(f"{s.topic} ({s.input.type})" for s in self.subscriptions_in))
        log.info(f"prior: {config.prior.file or 'built in'}; parameters on {self.resolve_topic_name('~/parameters')}")
        if self.recorder is not None:
            log.info(f"recording into {self.recorder.path}")

    # --- messages in ------------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        with self._inputs_lock:
            messages_in, jumped = self._poll.collect()
            if jumped:
                self._time_jumped()
            for message in messages_in:
                self._receive(message)
                message.source.messages += 1

    def _collect_failed(self, error: Exception) -> None:
        if self.context.ok():     # else shutting down: the topics are gone
            self.get_logger().error(f"messages could not be taken ({type(error).__name__}: {error}); the node goes on",
                                    throttle_duration_sec=5.0)

    def _receive(self, message: Received) -> None:
        source, receive_ns, data = message
        if receive_ns == 0:
            self.dropped["no simulated time on /clock yet"] += 1
            return
        if self.recorder is not None:
            self.recorder.write(source.topic, receive_ns, data)
        try:
            self.front_end.push(source.input.role, source.decode(data), receive_ns * 1e-9)
            self._mind_resets()
            for sample in self.front_end.samples():
                self.samples += 1
                self.worker.submit(sample)
        except Exception as error:  # a payload of garbage raises anything; one message is lost, the node goes on
            reason = f"{source.input.role}: {type(error).__name__}"
            self.dropped[reason] += 1
            self.get_logger().warning(f"a message on '{source.topic}' cannot be used ({reason}: {error})",
                                      throttle_duration_sec=10.0)

    def _mind_resets(self) -> None:
        """Say in the log what the front end found in the sensors' stamps; the estimator sees the gap by itself."""
        resets = self.front_end.resets.total()
        if resets != self._resets:
            self._resets = resets
            reasons = ", ".join(f"{reason} ({count} times so far)" for reason, count in self.front_end.resets.items())
            self.get_logger().warning(f"signals restart from nothing, the estimate is kept: {reasons}", throttle_duration_sec=5.0)

    def _time_jumped(self) -> None:
        self.get_logger().warning("time has jumped back: the horizon is emptied, the estimate is kept")
        self.front_end.reset()
        self.worker.request(lambda estimator: estimator.reset_horizon())
        if self.recorder is not None:
            self.recorder.split()

    def _restart_front_end(self) -> None:
        with self._inputs_lock:
            self.front_end.reset()

    def _predicted(self, prediction: Prediction) -> None:
        self._fit.add(prediction)
        self._outputs.prediction(prediction)

    # --- reports ----------------------------------------------------------------------------------------------------

    def _report(self) -> None:
        now = self.get_clock().now().nanoseconds * 1e-9
        with self._inputs_lock:
            dropped = {**self.dropped, "results not finite, not published": self._outputs.not_finite}
            statuses = self._reporter.statuses(self.front_end, now, self.samples, dropped, self.recorder)
        name = self.get_fully_qualified_name().lstrip("/")
        self._diagnostics_publisher.publish(messages.diagnostic_array(now, [
            messages.diagnostic_status(s.level, f"{name}: {s.name}", s.message, s.values, name) for s in statuses]))

    def _warn_of_silence(self) -> None:
        if time.monotonic() < self._silent_at:
            return
        self._silent_at = time.monotonic() + SILENT_AGAIN_S
        for source in self.subscriptions_in:
            if not source.messages:
                self.get_logger().warning(f"no message yet on '{source.topic}' ({source.input.type}): {source.why_silent()}")
        if self.get_clock().now().nanoseconds == 0:
            self.get_logger().warning("use_sim_time is true and nothing has been received on /clock: all messages are dropped")

    def _worker_failed(self, error: Exception) -> None:
        if not self.context.ok():
            return  # shutting down: there is nobody left to publish to
        self.get_logger().error(f"a sample was lost to an exception ({type(error).__name__}: {error}); the node goes on",
                                throttle_duration_sec=5.0)

    def _change(self, config: Config) -> None:
        self.config = config
        if self.worker is not None:
            self._report_timer.timer_period_ns = int(config.output.diagnostics_period * 1e9)
            self._report_timer.reset()  # or the old period would run out first

    def close(self) -> None:
        """Join the threads, finish the recording, leave the graph."""
        if self._inputs is not None:
            self._inputs.stop()
        if self.worker is not None:
            self.worker.stop()
        if self.recorder is not None:
            self.recorder.close()
            print(f"{NODE_NAME}: {self.recorder.error or f'{self.recorder.messages} messages recorded in {self.recorder.path}'}",
                  file=sys.stderr)
        CORE_LOG.removeHandler(self._log_handler)
        self.destroy_node()


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns 0, or 1 after a sentence about what cannot be used."""
    arguments = sys.argv if args is None else args
    node = None
    try:
        _parser().parse_args(remove_ros_args(arguments)[1:])
        rclpy.init(args=arguments)
        node = EstimatorNode()
        node.begin()
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        executor.spin()
        return 0
    except (KeyboardInterrupt, ExternalShutdownException):
        return 0
    except (UvmsError, ParameterException) as error:
        return _refuse(str(error))
    except RuntimeError as error:  # rcl refuses arguments and parameter files with its own kind of RuntimeError
        if node is None:
            return _refuse(_without_places(str(error)))
        if node.context.ok():
            raise
        return 0     # a signal came between two waits: the executor's next one finds the context gone
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if node is not None:
            node.close()
        rclpy.try_shutdown()


def _parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog="estimator", description="Online estimation of dynamics parameters (node uvms_estimator). Settings are ROS "
        "parameters: --ros-args --params-file FILE, or -p NAME:=VALUE.")


def _refuse(sentence: str) -> int:
    print(f"{NODE_NAME}: {sentence}", file=sys.stderr)
    return 1


def _without_places(text: str) -> str:
    """rcl's message without places in C source, and with what a person can do where its words do not say."""
    sentence = " ".join(text.split(", at /")[0].split())
    if sentence.startswith("["):
        sentence = f"unknown ROS arguments {sentence}; expected --params-file FILE, -p NAME:=VALUE, -r FROM:=TO or --log-level LEVEL"
    elif "Sequence should be of same type" in sentence:
        sentence += ". ROS wants the numbers of a list all with or all without a decimal point: [1.0, 2.5]"
    elif "No value at" in sentence:
        sentence += ". Write a value, or leave the line out"
    return sentence + "."


if __name__ == "__main__":
    sys.exit(main())
