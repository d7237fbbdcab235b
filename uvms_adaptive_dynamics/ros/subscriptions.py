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

"""Input subscriptions of the nodes: raw bytes with receive times, read once per tick.

They bypass the executor, which would rebuild its wait set in Python at every message; that takes
longer than processing the message. A thread reads the topics instead, with the receive times of the
middleware.
"""
from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import NamedTuple

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import InvalidQosOverridesError, QoSOverridingOptions
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from ..config import NODE_NAME
from ..errors import ConfigError
from ..signals.topics import Input, topic_setting
from .fast_reader import reader
from .topic_qos import Publisher, publishers_on, qos_text, several

# Best effort matches every publisher; the depth is one second of a 100 Hz sensor.
SENSOR_DEPTH = 100
# Nodes of this package: their topics are not inputs of the estimator.
OF_PACKAGE = (NODE_NAME, "uvms_identification", "uvms_feedforward", "uvms_twin")
MOST_PUBLISHERS = 5     # listed in diagnostics

# The executor visits every event handler at every message; `why_silent` reports the same problems.
NO_SUBSCRIPTION_EVENTS = SubscriptionEventCallbacks(use_default_callbacks=False)
# A clock that goes back by less than this is jitter between two readings, not a jump.
JITTER_NS = 100_000_000


class _NotForTheExecutor(CallbackGroup):
    """A callback group that is in no executor's wait set."""

    def can_execute(self, entity) -> bool:
        return False

    def beginning_execution(self, entity) -> bool:
        return False

    def ending_execution(self, entity) -> None:
        pass


class InputSubscription:
    """One input topic: subscribed raw and decoded here, so that a recording has the original
    bytes."""

    def __init__(self, node: Node, wanted: Input, roles: Sequence[str] = (),
                 qos: QoSProfile | None = None):
        """roles: all roles that read this topic (default: that of `wanted`); qos: default of a
        sensor.

        Raises ConfigError if the message's package is not installed, or the topic name or QoS
        override is unusable.
        """
        self.input, self.roles = wanted, tuple(roles) or (wanted.role,)
        self.messages = 0      # messages read so far
        # As of the last look_around: the publishers, and advice for a silent topic.
        self.publishers: list[Publisher] = []
        self.why_silent = ""
        self._node = node
        self._type = message_class(wanted)
        # From bytes to a message; raises whatever the middleware raises on garbage.
        self.decode = reader(wanted.type, lambda data: deserialize_message(data, self._type))
        qos = qos or QoSProfile(depth=SENSOR_DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
        try:
            self.topic = node.resolve_topic_name(wanted.topic)
            self._subscription: Subscription = node.create_subscription(
                self._type, wanted.topic, lambda _: None, qos, raw=True,
                callback_group=_NotForTheExecutor(),
                event_callbacks=NO_SUBSCRIPTION_EVENTS,
                qos_overriding_options=QoSOverridingOptions.with_default_policies())
        except (NameValidationException, InvalidQosOverridesError, RuntimeError, ValueError,
                TypeError) as error:
            raise ConfigError(f"setting '{topic_setting(wanted.role)}' is {wanted.topic!r}, "
                              "which cannot be subscribed: "
                              f"{str(error).split(', at /')[0]}.") from None

    def taken(self) -> Iterator[tuple[int, bytes]]:
        """(receive time of the middleware [ns] or 0, bytes) of every message since the last
        call."""
        handle = self._subscription.handle
        with handle:
            for _ in range(SENSOR_DEPTH):     # a flooded topic must not starve the others
                message = handle.take_message(self._type, True)
                if message is None:
                    return
                yield message[1]["received_timestamp"], message[0]

    def count_message(self) -> None:
        """Count a message that has been read."""
        self.messages += 1

    def look_around(self) -> None:
        """Update `publishers` and `why_silent` from the middleware."""
        self.publishers = publishers_on(self._node, self.topic, self.input.type,
                                        self._subscription.qos_profile)
        self.why_silent = self._why_silent()

    @property
    def several(self) -> str:
        """Warning if messages of more than one publisher are received, else ''."""
        return several(self.publishers, self.topic)

    def figures(self) -> dict[str, str]:
        """Resolved topic, type, QoS and publishers, for diagnostics."""
        shown = [f"{p.node} ({p.misfit or p.qos})" for p in self.publishers[:MOST_PUBLISHERS]]
        return {"resolved topic": self.topic, "type": self.input.type,
                "QoS": qos_text(self._subscription.qos_profile),
                "publishers": ", ".join(shown) or "none"}

    def _why_silent(self) -> str:
        if not self.publishers:
            others = [name for name, types in self._node.get_topic_names_and_types()
                      if self.input.type in types and name != self.topic
                      and self._published_by_others(name)]
            hint = (f" Topics of this type are: {', '.join(sorted(others))}; set "
                    f"'{topic_setting(self.input.role)}'.") if others else ""
            return f"no publisher exists. Is its driver running, in this ROS_DOMAIN_ID?{hint}"
        fitting = [p for p in self.publishers if p.type == self.input.type]
        if not fitting:
            types = ", ".join(sorted({p.type for p in self.publishers}))
            return (f"its publisher '{self.publishers[0].node}' sends {types}. Set "
                    f"'{topic_setting(self.input.role, 'type')}' or "
                    f"'{topic_setting(self.input.role)}'.")
        for publisher in fitting:
            if publisher.misfit:
                return (f"its publisher '{publisher.node}' has an {publisher.misfit}. Set "
                        f"'qos_overrides.{self.topic}.subscription.reliability' to best_effort.")
        return f"its publisher '{fitting[0].node}' exists and fits, but sends nothing."

    def _published_by_others(self, topic: str) -> bool:
        own = (self._node.get_namespace(), self._node.get_name())
        return any((p.node_namespace, p.node_name) != own and p.node_name not in OF_PACKAGE
                   for p in self._node.get_publishers_info_by_topic(topic))


class _Reading(NamedTuple):
    """Clocks of node and middleware at one moment [ns]; the node's is 0 before simulated time
    starts."""

    node: int
    wall: int


class ReceivedMessage(NamedTuple):
    """A message with its receive time on the node's clock [ns]."""

    source: InputSubscription
    receive_ns: int
    data: bytes


class PeriodicThread:
    """Calls `action()` every `period` [s] on its own thread until `stop`.

    Calls `on_error(exception)` for whatever the action raises.
    """

    def __init__(self, period: float, action: Callable[[], None],
                 on_error: Callable[[Exception], None], name: str = "inputs"):
        self._period, self._action, self._on_error = period, action, on_error
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name)
        self._thread.start()

    def stop(self) -> None:
        """Finish the running call and join the thread."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stopped.wait(max(due - time.monotonic(), 0.0)):
            try:
                self._action()
            except Exception as error:  # whatever the error, reading must continue
                self._on_error(error)
            due = max(due, time.monotonic() - self._period) + self._period


class InputPoll:
    """Collects the messages of all inputs in order of reception.

    Receive times increase strictly, so that a bag sorted by time keeps this order.
    """

    def __init__(self, node: Node, sources: Sequence[InputSubscription]):
        self._clock, self._sources = node.get_clock(), sources
        self._read = _Reading(0, time.time_ns())
        self._last = 0

    @property
    def now(self) -> float:
        """The node's clock at the last collection [s]; 0 until simulated time starts."""
        return self._read.node * 1e-9

    def collect(self) -> tuple[list[ReceivedMessage], bool]:
        """(messages since the last call, whether the node's clock jumped back since then).

        Receive times are 0 until simulated time starts.
        """
        before, self._read = self._read, _Reading(self._clock.now().nanoseconds, time.time_ns())
        jumped = 0 < self._read.node < before.node - JITTER_NS
        if jumped:
            before, self._last = _Reading(0, before.wall), 0
        came = sorted(((at, source, data) for source in self._sources
                       for at, data in source.taken()), key=lambda message: message[0])
        return [ReceivedMessage(source, self._receive_ns(at, before), data)
                for at, source, data in came], jumped

    def _receive_ns(self, at: int, before: _Reading) -> int:
        """Receive time on the node's clock [ns], interpolated between the last two readings of both
        clocks, since simulated time may run at another rate."""
        now = self._read
        if now.node == 0:
            return 0
        share = (at - before.wall) / max(now.wall - before.wall, 1) if at and before.node else 1.0
        share = min(max(share, 0.0), 1.0)
        elapsed = max(now.node - before.node, 0)
        self._last = max(self._last + 1, now.node - round((1.0 - share) * elapsed))
        return self._last


def message_class(wanted: Input) -> type:
    """The Python class of an input's type; raises ConfigError with the package to install."""
    package, _, name = wanted.type.split("/")
    try:
        return getattr(import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError):
        raise ConfigError(
            f"setting '{topic_setting(wanted.role, 'type')}' is '{wanted.type}', but package "
            f"'{package}' is not installed; install it (apt install "
            f"ros-jazzy-{package.replace('_', '-')}, or "
            "build it in this workspace) or choose another type.") from None
