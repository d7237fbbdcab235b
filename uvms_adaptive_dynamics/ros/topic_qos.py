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

"""Publishers on input topics and their compatibility; QoS of our own topics."""
from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSCompatibility, QoSProfile, qos_check_compatible
from rclpy.topic_endpoint_info import TopicEndpointInfo

# Latched: a controller that starts later gets the last parameters at once.
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Only the newest message matters: older commands or efforts are obsolete.
NEWEST_ONLY = QoSProfile(depth=1)
# The executor visits every event handler at every message, in Python; a subscriber with an
# incompatible QoS is warned on its own side.
NO_PUBLISHER_EVENTS = PublisherEventCallbacks(use_default_callbacks=False)
UNKNOWN_NODE = "_UNKNOWN_"  # part of the names of nodes that are not known (yet)


class Publisher(NamedTuple):
    """A publisher on a topic: full node name, type, QoS in words.

    misfit: why its messages cannot be received, '' if they can.
    """

    node: str
    type: str
    qos: str
    misfit: str


def publishers_on(node: Node, topic: str, wanted: str, qos: QoSProfile) -> list[Publisher]:
    """The publishers on a resolved topic, for a subscription of type `wanted` with this QoS."""
    found = []
    for info in node.get_publishers_info_by_topic(topic):
        misfit = "" if info.topic_type == wanted else f"sends {info.topic_type}"
        if not misfit:
            compatibility, reason = qos_check_compatible(info.qos_profile, qos)
            if compatibility == QoSCompatibility.ERROR:
                misfit = f"incompatible QoS ({reason.strip()})"
        found.append(Publisher(node_of(info), info.topic_type, qos_text(info.qos_profile), misfit))
    return sorted(found)


def node_of(info: TopicEndpointInfo) -> str:
    """Full name of the node of a publisher or subscriber; words if ROS does not know it."""
    name = f"{info.node_namespace.rstrip('/')}/{info.node_name}"
    return "a participant without a ROS name" if UNKNOWN_NODE in name else name


def qos_text(qos: QoSProfile) -> str:
    """Reliability and durability in words."""
    return " ".join(policy.name.lower().replace("_", " ")
                    for policy in (qos.reliability, qos.durability))


def several(publishers: Iterable[Publisher], topic: str) -> str:
    """Warning if messages of more than one publisher are received, else ''."""
    heard = [publisher.node for publisher in publishers if not publisher.misfit]
    if len(heard) < 2:
        return ""
    return (f"{len(heard)} publishers on '{topic}': {', '.join(heard)}. Their messages mix; stop "
            "all but one, or remap them to different topics")
