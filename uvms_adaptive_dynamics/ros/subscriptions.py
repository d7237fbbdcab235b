"""Subscriptions of the node: raw bytes with a receive time, types found by name, and words for a topic that stays silent."""
from __future__ import annotations

from importlib import import_module
from typing import Callable

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from rclpy.qos import QoSCompatibility, QoSProfile, ReliabilityPolicy, qos_check_compatible
from rclpy.qos_overriding_options import InvalidQosOverridesError, QoSOverridingOptions
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from ..errors import ConfigError
from ..topics import Input

# Sensor data: best effort matches every publisher; deep enough for 100 Hz while the executor is held up for a second.
SENSOR_DEPTH = 100

# The executor goes through every event handler at every message, in Python; `why_silent` says what they would.
NO_EVENTS = SubscriptionEventCallbacks(use_default_callbacks=False)
# A clock that goes back by less is jitter between two readings, not a jump.
JITTER_NS = 100_000_000


class ReceiveClock:
    """Receive times that strictly increase, so that a bag sorted by time keeps the order of reception."""

    def __init__(self, node: Node):
        self._clock = node.get_clock()
        self._last = 0

    def read(self) -> tuple[int, bool]:
        """(time [ns], whether it jumped back); time 0 while simulated time has not begun."""
        now = self._clock.now().nanoseconds
        if now == 0:
            return 0, False
        jumped = now < self._last - JITTER_NS
        self._last = now if jumped else max(now, self._last + 1)
        return self._last, jumped


class InputSubscription:
    """One input topic: subscribed raw, decoded by us, so that a recording holds the bytes as they came."""

    def __init__(self, node: Node, wanted: Input, on_bytes: Callable[["InputSubscription", bytes], None]):
        """Raises ConfigError where the message's package is not installed, or the topic's name or QoS override is unusable."""
        self.input = wanted
        self.messages = 0
        self._node = node
        self._type = message_class(wanted)
        qos = QoSProfile(depth=SENSOR_DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
        try:
            self.topic = node.resolve_topic_name(wanted.topic)
            self._subscription: Subscription = node.create_subscription(
                self._type, wanted.topic, self._count_and_hand_on, qos, raw=True, event_callbacks=NO_EVENTS,
                qos_overriding_options=QoSOverridingOptions.with_default_policies())
        except (NameValidationException, InvalidQosOverridesError, RuntimeError, ValueError, TypeError) as error:
            raise ConfigError(f"setting '{_setting(wanted, 'topic')}' is {wanted.topic!r}, which cannot be subscribed: "
                              f"{str(error).split(', at /')[0]}.") from None
        self._on_bytes = on_bytes

    def _count_and_hand_on(self, data: bytes) -> None:
        self.messages += 1
        self._on_bytes(self, data)

    def decode(self, data: bytes):
        """The message; raises whatever the middleware raises on garbage."""
        return deserialize_message(data, self._type)

    def why_silent(self) -> str:
        """What an operator can do about a topic without messages."""
        publishers = self._node.get_publishers_info_by_topic(self.topic)
        wanted = self.input.type
        if not publishers:
            others = [name for name, types in self._node.get_topic_names_and_types()
                      if wanted in types and name != self.topic and self._published_by_others(name)]
            hint = f" Topics of this type are: {', '.join(sorted(others))}; set '{_setting(self.input, 'topic')}'." if others else ""
            return f"no publisher exists. Is its driver running, in this ROS_DOMAIN_ID?{hint}"
        fitting = [publisher for publisher in publishers if publisher.topic_type == wanted]
        if not fitting:
            types = ", ".join(sorted({publisher.topic_type for publisher in publishers}))
            return f"its publisher sends {types}. Set '{_setting(self.input, 'type')}' or '{_setting(self.input, 'topic')}'."
        for publisher in fitting:
            compatibility, reason = qos_check_compatible(publisher.qos_profile, self._subscription.qos_profile)
            if compatibility == QoSCompatibility.ERROR:
                return (f"its publisher '{publisher.node_name}' has an incompatible QoS ({reason.strip()}). Set "
                        f"'qos_overrides.{self.topic}.subscription.reliability' to best_effort.")
        return f"its publisher '{fitting[0].node_name}' exists and fits, but sends nothing."

    def _published_by_others(self, topic: str) -> bool:
        own = (self._node.get_namespace(), self._node.get_name())
        return any((p.node_namespace, p.node_name) != own for p in self._node.get_publishers_info_by_topic(topic))


def message_class(wanted: Input) -> type:
    """The Python class of an input's type; raises ConfigError naming the package to install."""
    package, _, name = wanted.type.split("/")
    try:
        return getattr(import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError):
        raise ConfigError(f"setting '{_setting(wanted, 'type')}' is '{wanted.type}', but package '{package}' is not installed; "
                          f"install it (apt install ros-jazzy-{package.replace('_', '-')}, or build it in this workspace) "
                          "or choose another type.") from None


def _setting(wanted: Input, what: str) -> str:
    return "thrusters.wrench_topic" if wanted.role == "wrench" else f"{wanted.role}.{what}"
