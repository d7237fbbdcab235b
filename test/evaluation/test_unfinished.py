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

"""Recordings that were cut off anywhere: complete parts are read, in order."""
import sqlite3

import pytest
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from uvms_adaptive_dynamics.evaluation.unfinished import is_cut_off, readable

TYPES = get_typestore(Stores.ROS2_JAZZY)
KIND = "std_msgs/msg/Float64"
DATA = bytes(TYPES.serialize_cdr(TYPES.types[KIND](data=1.5), KIND))
PER_CHUNK, CHUNKS = 10, 6


def write(path, storage=StoragePlugin.MCAP):
    """Write chunks of messages on two topics, some of them out of order."""
    with Writer(path, version=9, storage_plugin=storage) as bag:
        topics = [bag.add_connection(name, KIND, typestore=TYPES) for name in ("/a", "/b")]
        for k in range(PER_CHUNK * CHUNKS):
            late = 5 if k % 7 == 0 else 0
            bag.write(topics[k % 2], 10**18 + 2 * k - late, DATA)
            if storage is StoragePlugin.MCAP and k % PER_CHUNK == PER_CHUNK - 1:
                bag.storage.close_chunk()
    return next(file for file in path.iterdir() if file.suffix != ".yaml")


def stamps(path):
    with readable(path) as source, Reader(source) as reader:
        found = [stamp for _, stamp, _ in reader.messages()]
        assert len(found) == reader.message_count
        return found


def test_a_whole_recording_is_left_alone(tmp_path):
    """The reader gets the path itself."""
    file = write(tmp_path / "bag")
    assert not is_cut_off(file) and not is_cut_off(file.parent)
    with readable(file.parent) as source:
        assert source == file.parent


def test_every_cut_leaves_what_is_whole(tmp_path):
    """More of the file gives more messages, always complete chunks in order of time."""
    file = write(tmp_path / "bag")
    whole, before = file.read_bytes(), 0
    expected = stamps(file)
    cut = tmp_path / "cut.mcap"
    for size in range(300, len(whole) - 1, 37):
        cut.write_bytes(whole[:size])
        assert is_cut_off(cut)
        found = stamps(cut)
        assert len(found) % PER_CHUNK == 0 and len(found) >= before and found == sorted(found)
        before = len(found)
    assert found == expected and before == PER_CHUNK * CHUNKS


def test_blocks_that_were_never_written_are_no_records(tmp_path):
    """A power failure leaves zeros where the file had already grown."""
    file = write(tmp_path / "bag")
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(file.read_bytes()[:2000] + bytes(4096))
    assert len(stamps(cut)) % PER_CHUNK == 0 and stamps(cut)


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_sqlite_recordings_are_read_with_their_journal(tmp_path, mode):
    """Committed changes count, others do not."""
    file = write(tmp_path / "bag", StoragePlugin.SQLITE3)
    database = sqlite3.connect(file, isolation_level=None)
    database.execute(f"PRAGMA journal_mode={mode}")
    database.execute("DELETE FROM messages WHERE id > 20")
    if mode == "DELETE":
        database.execute("BEGIN")
        database.execute("DELETE FROM messages")
        database.execute("PRAGMA cache_spill=1")
    copy = tmp_path / "copy.db3"
    for part in file.parent.iterdir():       # as a kill would leave them
        if part.name.startswith(file.name):
            copy.with_name(part.name.replace(file.name, copy.name)).write_bytes(part.read_bytes())
    database.close()
    assert len(stamps(copy)) == 20
