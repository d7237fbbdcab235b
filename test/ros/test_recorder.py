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

"""Recordings: original bytes and times, never overwritten; a failure does not disturb the node."""
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import types
from collections import namedtuple

import pytest
from launch_prefix import ROOT, environment
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import Reader
from std_msgs.msg import Float64

from uvms_adaptive_dynamics.errors import BagError, ConfigError
from uvms_adaptive_dynamics.evaluation.unfinished import is_cut_off, readable
from uvms_adaptive_dynamics.ros import recorder as recorder_module
from uvms_adaptive_dynamics.ros.recorder import (
    FLUSH_S,
    RESERVE,
    Recorder,
    Rosbag2PyWriter,
    RosbagsWriter,
    available_writer,
    recording_path,
)

TOPICS = {"/a": "std_msgs/msg/Float64", "/b": "std_msgs/msg/Float64"}
DATA = serialize_message(Float64(data=1.5))


def contents(path):
    with Reader(path) as reader:
        return [(connection.topic, stamp, bytes(raw))
                for connection, stamp, raw in reader.messages()]


def test_bytes_times_and_order_are_kept(tmp_path):
    """Messages are read back as written, even if they are one nanosecond apart."""
    recorder = Recorder(tmp_path / "bag", TOPICS)
    written = [("/a", 10**18, DATA), ("/b", 10**18 + 1, DATA),
               ("/a", 10**18 + 2, serialize_message(Float64(data=-2.0)))]
    for topic, stamp, data in written:
        recorder.write(topic, stamp, data)
    recorder.close()
    assert contents(tmp_path / "bag") == written and recorder.messages == 3 and not recorder.error


def test_a_long_recording_spans_chunks_in_order(tmp_path):
    """The file is written in chunks of a megabyte and stays in order across them."""
    recorder = Recorder(tmp_path / "bag", TOPICS)
    for k in range(60000):
        recorder.write("/ab"[0] + "ab"[k % 2], 10**18 + k, DATA)
    recorder.close()
    assert [stamp - 10**18 for _, stamp, _ in contents(tmp_path / "bag")] == list(range(60000))


def test_split_goes_on_in_another_bag(tmp_path):
    """After a time jump each bag is in time order by itself."""
    recorder = Recorder(tmp_path / "bag", TOPICS)
    recorder.write("/a", 200, DATA)
    recorder.split()
    recorder.write("/a", 100, DATA)
    recorder.close()
    assert [len(contents(tmp_path / name)) for name in ("bag", "bag_2")] == [1, 1]


def test_a_bag_is_never_overwritten(tmp_path):
    """An existing folder is refused; the message names the setting."""
    with pytest.raises(ConfigError, match="output.record.*exists"):
        Recorder(tmp_path, TOPICS)


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    """For example a file where a folder is needed."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        Recorder(tmp_path / "file" / "bag", TOPICS)


def test_a_disk_without_room_is_refused(tmp_path, monkeypatch):
    """At start, with both numbers, not at the end of the dive; a path that is a link is refused
    too."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9, 10**6))
    with pytest.raises(ConfigError, match="output.record.*has 1 MB of free space; expected at lea"):
        Recorder(tmp_path / "bag", TOPICS)
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="output.record.*exists"):
        Recorder(tmp_path / "link", TOPICS)


def test_a_recording_leaves_room_for_what_is_learnt(tmp_path, monkeypatch):
    """It ends before the disk is full, can be read, and says why."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("uvms_adaptive_dynamics.ros.recorder.FLUSH_S", 0.0)
    recorder = Recorder(tmp_path / "bag", TOPICS)
    recorder.write("/a", 1, DATA)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9, RESERVE - 1))
    for k in range(2, 5):
        recorder.write("/a", k, DATA)
    recorder.close()
    assert re.search("stopped after 2 messages: .*has 20 MB left, which are kept free for saving",
                     recorder.error)
    assert len(contents(tmp_path / "bag")) == 2


def test_a_failing_disk_ends_the_recording_and_nothing_else(tmp_path):
    """The error is kept for diagnostics; later messages are dropped."""
    class FullDisk(RosbagsWriter):
        def write(self, topic, receive_ns, data):
            raise OSError("No space left on device")

    recorder = Recorder(tmp_path / "bag", TOPICS, FullDisk)
    recorder.write("/a", 1, DATA)
    recorder.write("/a", 2, DATA)
    recorder.split()
    assert "No space left" in recorder.error and recorder.messages == 0
    recorder.close()


def test_messages_of_other_packages_need_their_definitions(tmp_path):
    """A type unknown to Jazzy and without an installed definition is refused by name."""
    with pytest.raises(BagError, match="nowhere_msgs"):
        Recorder(tmp_path / "bag", {"/c": "nowhere_msgs/msg/Thing"})


def test_definitions_of_installed_packages_are_found(tmp_path, monkeypatch):
    """A driver's own message is recorded with the definition in its package's share."""
    share = tmp_path / "share"
    (share / "msg").mkdir(parents=True)
    (share / "msg" / "Beam.msg").write_text("float64 range\n")
    (share / "msg" / "Dvl.msg").write_text("std_msgs/Header header\nBeam[] beams\n")
    monkeypatch.setattr("ament_index_python.packages.get_package_share_directory",
                        lambda package: str(share))
    recorder = Recorder(tmp_path / "bag", {"/dvl": "sonar_msgs/msg/Dvl"})
    recorder.write("/dvl", 1, DATA)
    recorder.close()
    with Reader(tmp_path / "bag") as reader:
        assert "Beam[] beams" in reader.connections[0].msgdef.data


def test_rosbag2_py_stands_in_where_rosbags_is_missing(tmp_path, monkeypatch):
    """On a station with apt packages only, the C++ writer is used, with the original topics and
    receive times."""
    calls = []

    class SequentialWriter:
        def open(self, storage, converter):
            calls.append(("open", storage.uri, storage.storage_id, storage.max_cache_size))

        def create_topic(self, topic):
            calls.append(("topic", topic.id, topic.name, topic.type, topic.serialization_format))

        def write(self, topic, data, stamp):
            calls.append(("write", topic, data, stamp))

    def named(**values):
        return types.SimpleNamespace(**values)
    monkeypatch.setitem(sys.modules, "rosbag2_py", types.SimpleNamespace(
        SequentialWriter=SequentialWriter, StorageOptions=named, TopicMetadata=named,
        ConverterOptions=lambda *formats: formats))
    monkeypatch.setitem(sys.modules, "rosbags.rosbag2", None)
    assert available_writer() is Rosbag2PyWriter
    recorder = Recorder(tmp_path / "bag", {"/a": "std_msgs/msg/Float64"})
    recorder.write("/a", 5, DATA)
    recorder.close()
    assert calls == [("open", str(tmp_path / "bag"), "mcap", 0),
                     ("topic", 0, "/a", "std_msgs/msg/Float64", "cdr"), ("write", "/a", DATA, 5)]


def test_without_either_library_the_sentence_names_both(monkeypatch):
    """The node says what to install instead of starting without a recording."""
    for module in ("rosbags.rosbag2", "rosbag2_py"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match="rosbags.*rosbag2_py.*install"):
        available_writer()


# --- names ----------------------------------------------------------------------------------------

def test_a_path_stays_what_it_is(tmp_path):
    """Even if it exists: it is refused when opened."""
    assert recording_path(str(tmp_path), tmp_path / "robot") == tmp_path


def test_a_name_with_the_time_is_never_taken(tmp_path):
    """Starts within the same second get different names."""
    made = []
    for _ in range(3):
        made.append(recording_path("auto", tmp_path))
        made[-1].mkdir(parents=True)
    assert len(set(made)) == 3 and {path.parent for path in made} == {tmp_path / "recordings"}
    named = recording_path(str(tmp_path / "dive_{time}"), tmp_path)
    assert named.parent == tmp_path and named.name.startswith("dive_20")


# --- a kill or a power cut ------------------------------------------------------------------------

RECORD = """
import sys, time
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64
from uvms_adaptive_dynamics.ros.recorder import Recorder
recorder, k = Recorder(sys.argv[1], {"/a": "std_msgs/msg/Float64"}), 0
while True:
    recorder.write("/a", 10**18 + k, serialize_message(Float64(data=float(k))))
    k += 1
    print(k, flush=True)
    time.sleep(0.001)
"""


def test_a_killed_recording_can_be_read(tmp_path):
    """kill -9 loses only messages of the last second; the rest is in order."""
    child = subprocess.Popen([sys.executable, "-c", RECORD, str(tmp_path / "bag")], text=True,
                             stdout=subprocess.PIPE, env=environment(), cwd=ROOT)
    begin, times = None, []
    while begin is None or times[-1] < begin + 2.5:
        assert child.stdout.readline()
        times.append(time.monotonic())
        begin = begin or times[0]
    child.kill()
    count = len(times) + child.communicate()[0].count("\n")
    assert is_cut_off(tmp_path / "bag")
    with readable(tmp_path / "bag") as source, Reader(source) as reader:
        stamps = [stamp - 10**18 for _, stamp, _ in reader.messages()]
    assert stamps == list(range(len(stamps)))
    late = [t for t in times if t < times[-1] - 1.5 * FLUSH_S]
    assert len(late) <= len(stamps) <= count


def test_files_are_synced_while_they_grow(tmp_path, monkeypatch):
    """File and folder are synced, without blocking `write`, so a power cut keeps them."""
    synced, main = [], threading.get_ident()
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(
        (os.readlink(f"/proc/self/fd/{handle}"), threading.get_ident())))
    monkeypatch.setattr(recorder_module, "FLUSH_S", 0.05)
    recorder = Recorder(tmp_path / "bag", TOPICS)
    end = time.monotonic() + 10.0
    while len(synced) < 4 and time.monotonic() < end:
        recorder.write("/a", time.monotonic_ns(), DATA)
        time.sleep(0.01)
    before = {path for path, thread in synced if thread != main}
    recorder.close()
    assert before >= {str(tmp_path / "bag"), str(tmp_path / "bag" / "bag.mcap")}
