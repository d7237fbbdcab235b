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

"""From topics to samples: messages are read, recorded, decoded and passed to the front end."""
from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rclpy.node import Node

from ..config import Config
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..signals.front_end import SignalFrontEnd
from ..signals.topics import by_topic, inputs
from .input_loggers import ClockLogger, FindingLogger, InputLogger
from .recorder import Recorder
from .settings_node import node_time
from .subscriptions import InputPoll, InputSubscription, PeriodicThread, ReceivedMessage

NO_SIMULATED_TIME = "no simulated time on /clock yet"


class NodeInputs:
    """Reads all input topics on its own thread; hold `lock` to access the front end elsewhere.

    Calls `submit(sample)` for each sample, and `time_jumped()` when the node's clock jumped back.
    """

    def __init__(self, node: Node, config: Config, robot: RobotModel,
                 submit: Callable[[Sample], None], time_jumped: Callable[[], None],
                 recording: Path | None = None, kept: str = ""):
        """recording: the new bag to record into; kept: what a restart of the signals keeps, in
        words, if anything. Raises ConfigError if a topic cannot be subscribed or the bag cannot be
        written."""
        self._kept = f", {kept} kept" if kept else ""
        self._node, self._submit, self._time_jumped = node, submit, time_jumped
        self._period = config.filter.period
        self._log = node.get_logger()
        self.lock = threading.Lock()
        self.front_end = SignalFrontEnd(config, robot)
        self.subscriptions = [InputSubscription(node, wanted[0], [each.role for each in wanted])
                              for wanted in by_topic(inputs(config))]
        self.recorder: Recorder | None = None
        if recording is not None:
            types = {source.topic: source.input.type for source in self.subscriptions}
            self.recorder = Recorder(recording, types)
        self.samples = 0
        self.dropped: Counter = Counter()
        self._resets = 0
        self._thread: PeriodicThread | None = None
        begin = time.monotonic()
        self._loggers = [InputLogger(self.front_end.inputs[source.input.role], source,
                                     source.input.type, begin) for source in self.subscriptions]
        self._clock_logger = ClockLogger(begin)
        self._findings = FindingLogger()

    def start(self) -> None:
        """Start reading."""
        self._poll = InputPoll(self._node, self.subscriptions)
        self._thread = PeriodicThread(self._period, self._collect, self._collect_failed)

    def stop(self) -> None:
        """Join the thread and finish the recording."""
        if self._thread is not None:
            self._thread.stop()
        if self.recorder is not None:
            self.recorder.close()

    def change_settings(self, config: Config) -> None:
        """Apply other settings to the front end."""
        with self.lock:
            self.front_end.change_settings(config)

    def restart_front_end(self) -> None:
        """Drop all signals."""
        with self.lock:
            self.front_end.reset()

    @property
    def behind(self) -> float | None:
        """The node's clock minus that of the samples [s]; None until known."""
        return self.front_end.behind

    @property
    def topics(self) -> dict[str, InputSubscription]:
        """The subscriptions by role."""
        return {source.input.role: source for source in self.subscriptions}

    def log_events(self) -> None:
        """Log changes of the inputs since the last call; call about every second."""
        clock = self._node.get_clock()
        steady, now_ns = time.monotonic(), clock.now().nanoseconds
        for source in self.subscriptions:
            source.look_around()
        with self.lock:
            # Without time all messages are dropped, so that their inputs only seem silent.
            lines = [line for logger, source in zip(self._loggers, self.subscriptions)
                     if now_ns or not source.messages
                     for line in logger.lines(now_ns * 1e-9, steady)]
            lines += self._findings.lines(self.front_end.warnings, steady)
        if clock.ros_time_is_active:
            lines += self._clock_logger.lines(now_ns, steady, self._node.count_publishers("/clock"))
        for warn, text in lines:
            if warn:
                self._log.warning(text)
            else:
                self._log.info(text)

    # --- on the thread that reads ---------------------------------------------------------------

    def _collect(self) -> None:
        with self.lock:
            messages, jumped = self._poll.collect()
            if jumped:
                self._restart_after_jump()
            for message in messages:
                self._receive(message)
                message.source.count_message()

    def _collect_failed(self, error: Exception) -> None:
        if self._node.context.ok():     # else shutting down: the topics are gone
            self._log.error(f"input topics could not be read ({type(error).__name__}: {error}); "
                            "trying again at every tick", throttle_duration_sec=5.0)

    def _receive(self, message: ReceivedMessage) -> None:
        source, receive_ns, data = message
        if receive_ns == 0:
            self.dropped[NO_SIMULATED_TIME] += 1
            return
        if self.recorder is not None:
            self.recorder.write(source.topic, receive_ns, data)
        try:
            decoded = source.decode(data)
            for role in source.roles:
                self.front_end.add_message(role, decoded, receive_ns * 1e-9)
            self._check_resets()
            for sample in self.front_end.samples():
                self.samples += 1
                self._submit(sample)
        except Exception as error:  # garbage may raise anything; only this message is lost
            reason = f"{source.input.role}: {type(error).__name__}"
            self.dropped[reason] += 1
            self._log.warning(f"message on '{source.topic}' dropped ({reason}: {error}); "
                              f"{self.dropped[reason]} so far", throttle_duration_sec=10.0)

    def _check_resets(self) -> None:
        """Log restarts that the front end made because of stamps; the estimator sees a gap."""
        resets = self.front_end.resets.total()
        if resets != self._resets:
            self._resets = resets
            reasons = ", ".join(f"{reason}, {count} times so far"
                                for reason, count in self.front_end.resets.items())
            self._log.warning(f"signals restarted{self._kept}: {reasons}. If this repeats, "
                              "check the stamps of the drivers", throttle_duration_sec=5.0)

    def _restart_after_jump(self) -> None:
        now = node_time(self._node)
        self._log.warning(f"time jumped back to {now:.2f} s: signals restarted"
                          f"{self._kept}")
        self.front_end.restart()
        self._time_jumped()
        if self.recorder is not None:
            self.recorder.split()
