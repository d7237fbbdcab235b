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

"""Record received messages: raw bytes, in the order and with the times of the front end.

`evaluate` on the bag therefore reproduces the run. Data older than two seconds are on the disk, so
a bag that ends in a power cut can be read up to there. Bags are rosbag2 in mcap, written with
`rosbags` (pip) or, on a ROS installation without it, with `rosbag2_py` (apt). A node that does not
record needs neither."""
from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import Any, Protocol

from ..config import AUTO
from ..disk.folder_sync import FolderSync
from ..disk.writing import output_folder
from ..errors import BagError, ConfigError, UvmsError
from ..model.parameter_file import LARGEST_PARAMETER_FILE

# [bytes] Ten minutes of the default inputs at 62 kB/s, twice: the least room for a recording.
LEAST_FREE = 75_000_000
# [bytes] A recording ends before the disk is full, so that what is learnt can still be saved: a
# file needs room for a second copy while it is replaced.
RESERVE = 2 * LARGEST_PARAMETER_FILE
# [s] Period of flushing and of syncing; a power cut loses up to two periods of data.
FLUSH_S = 1.0
TIME_FIELD = "{time}"


class BagWriter(Protocol):
    """Common interface of the two libraries."""

    def __init__(self, path: Path, topics: Mapping[str, str]) -> None: ...

    def write(self, topic: str, receive_ns: int, data: bytes) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class RosbagsWriter:
    """rosbag2 through `rosbags` (pure Python)."""

    def __init__(self, path: Path, topics: Mapping[str, str]):
        from rosbags.rosbag2 import StoragePlugin, Writer
        self._bag = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
        store = _type_store(topics.values())
        self._bag.open()
        self._connections = {topic: self._bag.add_connection(topic, type_, typestore=store)
                             for topic, type_ in topics.items()}

    def write(self, topic: str, receive_ns: int, data: bytes) -> None:
        """Append one serialized message."""
        self._bag.write(self._connections[topic], receive_ns, data)

    def flush(self) -> None:
        """Pass written data to the operating system as a readable chunk."""
        storage = self._bag.storage
        if storage.chunk.bio.tell():
            storage.close_chunk()
        storage.bio.flush()

    def close(self) -> None:
        """Write index and metadata, without which the bag cannot be read."""
        self._bag.close()


class Rosbag2PyWriter:
    """rosbag2 through the C++ writer of a ROS installation."""

    def __init__(self, path: Path, topics: Mapping[str, str]):
        import rosbag2_py
        self._bag = rosbag2_py.SequentialWriter()
        # Without cache and chunks, every message is written straight to the file.
        self._bag.open(rosbag2_py.StorageOptions(uri=str(path), storage_id="mcap",
                                                 max_cache_size=0,
                                                 storage_preset_profile="fastwrite"),
                       rosbag2_py.ConverterOptions("", ""))
        for number, (topic, type_) in enumerate(topics.items()):
            self._bag.create_topic(rosbag2_py.TopicMetadata(id=number, name=topic, type=type_,
                                                            serialization_format="cdr"))

    def write(self, topic: str, receive_ns: int, data: bytes) -> None:
        """Append one serialized message."""
        self._bag.write(topic, data, receive_ns)

    def flush(self) -> None:
        """Do nothing: there is no cache."""

    def close(self) -> None:
        """Drop the writer: its destructor closes the bag in every release, `close()` only in
        some."""
        self._bag = None


class Recorder:
    """A recording that never disturbs the node: a disk failure ends it and is kept in `error`.

    Bags are read in time order, so `split` continues in `<path>_2` when time jumps back.
    """

    def __init__(self, path: str | Path, topics: Mapping[str, str],
                 writer: type[BagWriter] | None = None):
        """Open a bag for `topics` (name -> type); ConfigError if it exists, cannot be written, or
        has no room."""
        try:
            self.path = Path(path).expanduser()
        except RuntimeError as error:
            raise ConfigError(f"setting 'output.record' is '{path}': {error}") from None
        self._topics = dict(topics)
        self._writer = writer or available_writer()
        self._parts = 0
        self.messages = 0
        self.error = ""
        self._bag: Any = None
        self._flushed = time.monotonic()
        self._sync: FolderSync | None = None
        self._open()

    def write(self, topic: str, receive_ns: int, data: bytes) -> None:
        """Append one message; does nothing after a failure."""
        if self._bag is None:
            return
        try:
            self._bag.write(topic, receive_ns, data)
            self.messages += 1
            if time.monotonic() - self._flushed > FLUSH_S:
                self._flushed = time.monotonic()
                self._bag.flush()
                if (free := shutil.disk_usage(self.path.parent).free) < RESERVE:
                    raise BagError(f"the disk of '{self.path}' has {free / 1e6:.0f} MB left, which "
                                   f"are kept free for saving what is learnt (expected at least "
                                   f"{RESERVE / 1e6:.0f} MB). Free space on it")
        except Exception as error:  # full disk, removed drive: each library has its own exceptions
            self.error = f"recording stopped after {self.messages} messages: {error}"
            self.close()

    def split(self) -> None:
        """Continue in a new bag."""
        if self._bag is None:
            return
        self.close()
        try:
            self._open()
        except ConfigError as error:
            self.error = str(error)

    def close(self) -> None:
        """Finish the bag so that it can be read."""
        bag, self._bag = self._bag, None
        if bag is None:
            return
        try:
            bag.close()
        except Exception as error:  # as in `write`
            self.error = self.error or f"the bag could not be finished: {error}"
        if self._sync is not None:
            self._sync.stop()

    def _open(self) -> None:
        self._parts += 1
        path = self.path
        if self._parts > 1:
            path = path.with_name(f"{path.name}_{self._parts}")
        if os.path.lexists(path):
            raise ConfigError(f"setting 'output.record' is '{path}', which exists; expected a "
                              "folder that does not exist yet. "
                              "A bag is never overwritten.")
        try:
            output_folder(path.parent, LEAST_FREE)
            self._bag = self._writer(path, self._topics)
            self._sync = FolderSync(path, FLUSH_S)
        except BagError:
            raise
        except UvmsError as error:
            raise ConfigError(f"setting 'output.record' is '{path}', which cannot be written: "
                              f"{error}") from None
        except Exception as error:  # as in `write`
            raise ConfigError(f"setting 'output.record' is '{path}', which cannot be written: "
                              f"{error}.") from None


def recording_path(setting: str, folder: Path) -> Path:
    """Path for a recording: 'auto' is recordings/{time} in the robot's folder, '{time}' the local
    time.

    With either, the path is one that does not exist yet. Raises ConfigError if '~' cannot be
    resolved.
    """
    wanted = str(folder / "recordings" / TIME_FIELD) if setting == AUTO else setting
    try:
        path = Path(wanted.replace(TIME_FIELD, time.strftime("%Y-%m-%dT%H-%M-%S"))).expanduser()
    except RuntimeError as error:
        raise ConfigError(f"setting 'output.record' is '{setting}': {error}") from None
    if TIME_FIELD not in wanted:
        return path
    # Not '_2', which marks the second part of a recording.
    names = chain([path.name], (f"{path.name}-{number}" for number in count(2)))
    return next(path.with_name(name) for name in names if not os.path.lexists(path.with_name(name)))


def available_writer() -> type[BagWriter]:
    """The writer whose library is installed; raises ConfigError if there is none."""
    for module, writer in (("rosbags.rosbag2", RosbagsWriter), ("rosbag2_py", Rosbag2PyWriter)):
        try:
            __import__(module)
            return writer
        except ImportError:
            continue
    raise ConfigError("setting 'output.record' asks for a recording, but neither 'rosbags' nor "
                      "'rosbag2_py' is installed; install one of them (pip install rosbags, or "
                      "apt install ros-jazzy-rosbag2-py), or leave it empty.")


def _type_store(types) -> Any:
    """Jazzy's message definitions, plus those of other installed packages that `types` need."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    store = get_typestore(Stores.ROS2_JAZZY)
    found: dict[str, Any] = {}
    for package in sorted({type_.split("/")[0] for type_ in types if type_ not in store.fielddefs}):
        from ament_index_python.packages import get_package_share_directory
        try:
            files = sorted(Path(get_package_share_directory(package)).glob("msg/*.msg"))
        except (LookupError, OSError):  # no such package, or no ament index
            files = []
        if not files:
            raise BagError(f"messages of package '{package}' cannot be recorded: its definitions "
                           f"are not installed (expected <share>/{package}/msg/*.msg). Leave "
                           "output.record empty and use 'ros2 bag record'.")
        for file in files:
            name = f"{package}/msg/{file.stem}"
            if name not in store.fielddefs:
                found.update(get_types_from_msg(file.read_text(), name))
    store.register(found)
    return store
