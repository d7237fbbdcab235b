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

"""rosbag2 recordings (mcap or sqlite3) through `rosbags`.

Messages are decoded with the definitions in the bag. Those of ROS 2 Jazzy, and of the inputs' other
types, replace missing ones: ROS 2 Humble's sqlite3 recordings have none.
"""
from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from rosbags.interfaces import Connection, MessageDefinitionFormat
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from ..disk.kinds import special_kind
from ..errors import BagError
from ..options import BAG_SUFFIXES
from .logs.ros_messages import type_store
from .recording import RecordedTopic, reason
from .unfinished import is_cut_off, readable, storage_file

LATEST_NS = 2 ** 63 - 1     # latest time of rosbag2


@contextmanager
def opened_bag(path: Path) -> Iterator[RosbagFile]:
    """An open bag; raises BagError if it cannot be opened or later read. Other exceptions inside
    the block pass through."""
    _refuse_foreign(path)
    with ExitStack() as opened:
        with _reading(path):
            reader = opened.enter_context(Reader(opened.enter_context(readable(path))))
            if reader.message_count == 0:
                raise BagError(f"bag '{path}' holds no messages.")
            bag = RosbagFile(path, reader)
        yield bag


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except BagError:
        raise
    # rosbags, sqlite and the decompressors raise all kinds of exceptions on damaged files
    except Exception as error:
        cut_off = [file for file in sorted(path.glob("*.mcap")) if is_cut_off(file)]
        advice = ("try 'ros2 bag reindex' (sqlite3) or 'mcap recover' (mcap)" if not cut_off else
                  f"give '{cut_off[0]}' itself, which is then read up to where it ends")
        raise BagError(
            f"bag '{path}' cannot be read: it is damaged or was cut off while recording "
            f"({reason(error)}); {advice}.") from None


class RosbagFile:
    """An open rosbag2 recording; implements `recording.Recording`."""

    def __init__(self, path: Path, reader: Reader):
        self._path, self._reader = path, reader
        self.start, self.end = reader.start_time * 1e-9, reader.end_time * 1e-9

    @cached_property
    def topics(self) -> dict[str, RecordedTopic]:
        """Topics by name, with the leading '/'."""
        found: dict[str, list[Connection]] = {}
        for connection in sorted(self._reader.connections, key=lambda c: c.topic):
            found.setdefault(connection.topic, []).append(connection)
        return {name: RecordedTopic(tuple(sorted({c.msgtype for c in connections})),
                                    sum(c.msgcount for c in connections))
                for name, connections in found.items()}

    @property
    def warnings(self) -> list[str]:
        """A warning if the recording was cut off."""
        if not is_cut_off(self._path):
            return []
        return [f"bag '{self._path}' was cut off while recording; read up to that point, "
                f"{self._reader.message_count} messages over {self._reader.duration * 1e-9:.1f} s."]

    def messages(self, topics: Collection[str], begin: float,
                 end: float) -> Iterator[tuple[str, Any, float]]:
        """See `recording.Recording`."""
        connections = [c for c in self._reader.connections if c.topic in topics]
        if not connections:     # for rosbags no connections mean all
            return
        with _reading(self._path):      # does not cover what a caller raises between messages
            store = _type_store(self._path, connections)
            for connection, stamp, raw in self._reader.messages(
                    connections=connections, start=_ns(begin), stop=_ns(end)):
                try:
                    message = store.deserialize_cdr(raw, connection.msgtype)
                # a garbage payload raises anything from struct.error to UnicodeDecodeError
                except Exception:
                    message = None
                yield connection.topic, message, stamp * 1e-9


def _ns(t: float) -> int | None:
    """A time bound [ns] for rosbags; None if unbounded."""
    if not math.isfinite(t):
        return None
    return min(max(round(t * 1e9), 0), LATEST_NS)


def _refuse_foreign(path: Path) -> None:
    for file in path.iterdir() if path.is_dir() else (path,):
        kind = special_kind(file)
        if kind not in ("", "a folder"):     # reading it would block forever
            raise BagError(f"'{file}' is {kind}; expected a rosbag2 recording of regular files.")
    if path.is_dir() and storage_file(path) == path and not (path / "metadata.yaml").is_file():
        files = sorted(file.name for file in path.iterdir() if file.suffix in BAG_SUFFIXES)
        within = sorted(found.parent.name for found in path.glob("*/metadata.yaml"))
        hint = (f"; give one of its files instead: {', '.join(files)}" if files else
                f"; give one of the recordings in it: {', '.join(within)}" if within else "")
        raise BagError(
            f"'{path}' is not a rosbag2 recording: the folder has no metadata.yaml{hint}.")


def _type_store(path: str | Path, connections: list[Connection]) -> Typestore:
    """Jazzy's definitions and those of the inputs' other types, overridden by those in the bag for
    the topics to be read."""
    types = dict(type_store().fielddefs)
    for connection in connections:
        definition = connection.msgdef
        if definition.format == MessageDefinitionFormat.MSG:
            types.update(get_types_from_msg(definition.data, connection.msgtype))
        elif definition.format == MessageDefinitionFormat.IDL:
            for part in definition.data.split("=" * 80 + "\n"):
                # Several definitions in one text, each under a line 'IDL: <type>'.
                text = part.split("\n", 1)[1] if part.startswith("IDL: ") else part
                types.update(get_types_from_idl(text))
    unknown = sorted({c.msgtype for c in connections} - set(types))
    if unknown:
        raise BagError(
            f"bag '{path}' lacks the definition of {', '.join(unknown)}, and so does ROS 2 Jazzy; "
            "convert it to mcap (ros2 bag convert) where the message's package is installed.")
    store = get_typestore(Stores.EMPTY)
    store.register(types)
    return store
