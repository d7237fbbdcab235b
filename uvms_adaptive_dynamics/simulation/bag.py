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

"""Write a simulated run as a rosbag2 recording, with its truth log."""
from __future__ import annotations

import io
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.interfaces import Connection
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from ..config import Config
from ..disk.kinds import reason_of
from ..disk.writing import output_file, output_folder, write_file
from ..errors import BagError
from ..signals.topics import DEFINITIONS
from .configured import Publication
from .faults.stream import Fault, Received, with_faults
from .mishaps import Mishaps
from .robot import SimulatedRobot, Truth
from .rough import Roughness
from .sensors import BODY_FRAME, DVL_FRAME, ROLE_OF_TOPIC, Message
from .true_robot import TrueRobot

# [s since the epoch] 2026-01-01: a fixed start, so that the same call gives the same bag
DEFAULT_START = 1_767_225_600.0
DAY = 86_400.0      # [s] between the starts of two seeds: longer than any run
START_DAYS = 3650   # number of different starts
STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}
# Measured: 62 kB/s as mcap, 79 kB/s as sqlite3; the truth log takes less.
BYTES_PER_SECOND = 100_000


def write_bag(path: str | Path, seed: int = 0, duration: float = 120.0, storage: str = "mcap",
              start_time: float | None = None, true_robot: TrueRobot | None = None,
              truth: str | Path | None = None, faults: Sequence[Fault] = (),
              rough: Roughness = Roughness(), individual: int = 0,
              config: Config | None = None, motion_share: Sequence[float] = (),
              mishaps: Mishaps = Mishaps()) -> Truth:
    """Record `duration` [s] of a run into a new rosbag2 directory; bag time is the time of receipt.

    storage     'mcap' or 'sqlite3'
    start_time  [s since the epoch]; None: a different day for each seed (`start_of`)
    truth       file (.npz) for the truth log
    faults      faults of sensors and log, drawn with the same seed; absent from the truth
    rough       roughness of robot, water and tether; included in the truth
    individual  which robot of its kind, 0 for `true_robot` itself
    config      settings that determine topics, types, units and axes of messages; None: defaults
    motion_share    (6 + n,) share of each axis's and joint's excursion; empty: the full motion
    mishaps     events in the middle of the run

    Returns the truth log. Raises BagError if the bag exists or the storage is unknown, UvmsError if
    there is no room.
    """
    path = Path(path)
    start_time = start_of(seed) if start_time is None else start_time
    if storage not in STORAGES:
        raise BagError(f"storage: got {storage!r}, expected one of {', '.join(STORAGES)}")
    if os.path.lexists(path):
        raise BagError(f"bag {path}: exists already; choose another name or remove it")
    robot = SimulatedRobot(seed, duration, true_robot, start_ns=round(start_time * 1e9),
                           rough=rough, individual=individual, motion_share=motion_share,
                           mishaps=mishaps)
    output_folder(path.parent, int(duration * BYTES_PER_SECOND))
    if truth:
        output_file(truth, int(duration * BYTES_PER_SECOND))
    store = get_typestore(Stores.ROS2_JAZZY)
    for name, definition in DEFINITIONS.items():
        store.register(get_types_from_msg(definition, name))
    published = Publication(config or Config(), store)
    connections: dict[str, Connection] = {}
    try:
        with Writer(path, version=9, storage_plugin=STORAGES[storage]) as writer:
            for role, message, t_ns, _ in with_faults(received(robot, store), faults, seed):
                if role not in published.topics:
                    continue
                if config is not None:
                    message = published.message(role, message, t_ns * 1e-9)
                type_name = message.__msgtype__
                if role not in connections:
                    connections[role] = writer.add_connection(f"/{published.topics[role]}",
                                                              type_name, typestore=store)
                writer.write(connections[role], t_ns, store.serialize_cdr(message, type_name))
    except (OSError, sqlite3.Error) as error:
        raise BagError(f"bag '{path}' could not be written completely: {reason_of(error)}. Remove "
                       "the incomplete bag, make room, and run again.") from None
    if truth:
        columns: dict[str, Any] = robot.truth()._asdict()
        packed = io.BytesIO()
        np.savez_compressed(packed, **columns)
        write_file(truth, packed.getvalue())
    return robot.truth()


def start_of(seed: int) -> float:
    """[s since the epoch] start of a seed's bag; different seeds never overlap in time."""
    return DEFAULT_START + DAY * (seed % START_DAYS)


def received(messages: Iterable[Message], store: Typestore) -> Iterator[Received]:
    """Convert simulated messages to rosbags messages, as the estimator receives them."""
    for message in messages:
        yield Received(ROLE_OF_TOPIC[message.topic], ros_message(store, message),
                       message.receive_time, message.receive_time)


def ros_message(store: Typestore, message: Message) -> Any:
    """Convert a simulated message to a rosbags message; headers carry the measurement time."""
    t, p = store.types, message.payload
    vector = lambda x: t["geometry_msgs/msg/Vector3"](*x)
    header = lambda frame: t["std_msgs/msg/Header"](
        t["builtin_interfaces/msg/Time"](message.stamp // 10**9, message.stamp % 10**9), frame)
    diagonal = lambda variances: np.diag(variances).ravel()
    make = t[message.type]
    if message.type.endswith("/Imu"):
        quaternion = t["geometry_msgs/msg/Quaternion"](*p["orientation"])
        return make(header(BODY_FRAME), quaternion, diagonal(p["orientation_variance"]),
                    vector(p["angular_velocity"]), diagonal(p["angular_velocity_variance"]),
                    vector(p["linear_acceleration"]), diagonal(p["linear_acceleration_variance"]))
    if message.type.endswith("/TwistWithCovarianceStamped"):
        twist = t["geometry_msgs/msg/Twist"](vector(p["linear"]), vector((0.0, 0.0, 0.0)))
        covariance = diagonal((*p["linear_variance"], 0.0, 0.0, 0.0))
        stamped = t["geometry_msgs/msg/TwistWithCovariance"](twist, covariance)
        return make(header(DVL_FRAME), stamped)
    if message.type.endswith("/FluidPressure"):
        return make(header(BODY_FRAME), p["fluid_pressure"], p["variance"])
    if message.type.endswith("/JointState"):
        values = (np.array(p[name]) for name in ("position", "velocity", "effort"))
        return make(header(""), list(p["name"]), *values)
    return make(t["std_msgs/msg/MultiArrayLayout"]([], 0), np.array(p["data"]))
