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

"""Shared by the converters: read gzipped CSV, write rosbag2 (mcap, Jazzy types) for `evaluate` and
`ros2 bag play`."""
from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

TYPES = get_typestore(Stores.ROS2_JAZZY)


class ConversionError(Exception):
    """The recording cannot be converted; the message says what to change."""


class Message(NamedTuple):
    """One message of a bag: time [ns since the epoch], topic, ROS message."""

    stamp_ns: int
    topic: str
    content: Any


def read_table(path: Path) -> dict[str, np.ndarray]:
    """Columns by name from a gzipped CSV with a header; raises ConversionError."""
    if not path.is_file():
        raise ConversionError(f"'{path}' does not exist. Check --data.")
    try:
        with gzip.open(path, "rt") as stream:
            names = [name.strip() for name in stream.readline().split(",")]
            values = np.loadtxt(stream, delimiter=",", ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise ConversionError(f"'{path}' is not a gzipped CSV of numbers: {error}.") from None
    if values.shape[0] < 2 or values.shape[1] != len(names) or not np.all(np.isfinite(values)):
        raise ConversionError(
            f"'{path}' has {values.shape[0]} rows of {values.shape[1]} numbers under {len(names)} "
            "names; expected at least two complete rows of finite numbers.")
    return dict(zip(names, values.T))


def header(stamp_ns: int, frame_id: str = "") -> Any:
    """std_msgs/Header."""
    seconds, nanoseconds = divmod(int(stamp_ns), 10 ** 9)
    stamp = TYPES.types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=nanoseconds)
    return TYPES.types["std_msgs/msg/Header"](stamp=stamp, frame_id=frame_id)


def vector(xyz: np.ndarray) -> Any:
    """geometry_msgs/Vector3."""
    return TYPES.types["geometry_msgs/msg/Vector3"](*(float(value) for value in xyz))


def joint_state(stamp_ns: int, names: Iterable[str], position: np.ndarray, velocity: np.ndarray,
                effort: np.ndarray) -> Any:
    """sensor_msgs/JointState; an empty array means "not measured"."""
    return TYPES.types["sensor_msgs/msg/JointState"](
        header=header(stamp_ns), name=list(names), position=np.array(position, float),
        velocity=np.array(velocity, float), effort=np.array(effort, float))


def write_bag(path: Path, messages: Iterable[Message], notes: Mapping[str, str]) -> int:
    """Write the messages in time order, and the notes into the bag's metadata; returns the number
    of messages."""
    if path.exists():
        raise ConversionError(
            f"'{path}' exists already, and bags are never overwritten. Remove it or choose another "
            "--output."
        )
    ordered = sorted(messages, key=lambda message: (message.stamp_ns, message.topic))
    connections: dict[str, Any] = {}
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        for key, value in notes.items():
            bag.set_custom_data(key, value)
        for stamp_ns, topic, content in ordered:
            if topic not in connections:
                connections[topic] = bag.add_connection(topic, content.__msgtype__, typestore=TYPES)
            bag.write(connections[topic], stamp_ns,
                      TYPES.serialize_cdr(content, content.__msgtype__))
    return len(ordered)
