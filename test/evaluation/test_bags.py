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

"""Reading recordings: both storages, names, types, and one sentence for each problem of a bag."""
import math
import os
import shutil
from collections import Counter

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import BagError
from uvms_adaptive_dynamics.evaluation.bags import check_bag, opened, read_messages
from uvms_adaptive_dynamics.signals.topics import inputs

TYPES = get_typestore(Stores.ROS2_JAZZY)
ARM = inputs(Config().with_values({"robot.vehicle": False}))
START = 1_700_000_000 * 10**9


def joint_state(position):
    kinds = TYPES.types
    stamp = kinds["builtin_interfaces/msg/Time"](sec=1_700_000_000, nanosec=0)
    return kinds["sensor_msgs/msg/JointState"](header=kinds["std_msgs/msg/Header"](
        stamp=stamp, frame_id=""), name=["axis_e"], position=np.array([position]),
                                               velocity=np.zeros(1), effort=np.zeros(1))


def write(path, topics=("/joint_states",), count=20, storage=StoragePlugin.MCAP,
          kind="sensor_msgs/msg/JointState", raw=None):
    """Write a bag with `count` messages on each topic, 20 ms apart; `raw` replaces every fifth
    payload."""
    with Writer(path, version=9, storage_plugin=storage) as bag:
        for topic in topics:
            connection = bag.add_connection(topic, kind, typestore=TYPES)
            for k in range(count):
                message = (joint_state(float(k)) if "Joint" in kind
                           else TYPES.types[kind](data=float(k)))
                spoilt = raw is not None and k % 5 == 0
                payload = raw if spoilt else TYPES.serialize_cdr(message, kind)
                bag.write(connection, START + k * 20_000_000, payload)
    return path


def positions(path, refused=None):
    return [message.position[0] for _, message, _ in read_messages(path, ARM, refused)]


@pytest.mark.parametrize("storage", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_folder_and_single_file_give_the_same_messages(tmp_path, storage):
    """Roles, order, times and content are the same from the folder and from its only file."""
    bag = write(tmp_path / "bag", storage=storage)
    file = next(p for p in bag.iterdir() if p.suffix in (".mcap", ".db3"))
    for path in (bag, file, str(bag)):
        read = list(read_messages(path, ARM))
        assert [role for role, _, _ in read] == ["joint_states"] * 20
        assert [message.position[0] for _, message, _ in read] == list(range(20))
        assert np.allclose([t for _, _, t in read], 1_700_000_000 + 0.02 * np.arange(20), rtol=0,
                           atol=1e-6)
    contents = check_bag(bag, ARM)
    assert contents.topics == {"joint_states": "/joint_states"
                               } and contents.end - contents.start == pytest.approx(0.38, abs=1e-5)


def test_relative_name_matches_a_unique_namespace(tmp_path):
    """A relative topic is found under a namespace; an absolute one must match exactly."""
    bag = write(tmp_path / "bag", ["/alpha/joint_states", "/other"])
    assert check_bag(bag, ARM).topics == {"joint_states": "/alpha/joint_states"}
    absolute = inputs(Config().with_values(
        {"robot.vehicle": False, "joint_states.topic": "/joint_states"}))
    with pytest.raises(BagError, match="no topic '/joint_states'"):
        check_bag(bag, absolute)


def test_the_exact_name_wins_and_two_namespaces_are_ambiguous(tmp_path):
    """The error names several matching topics, unless one has exactly the configured name."""
    bag = write(tmp_path / "both", ["/a/joint_states", "/b/joint_states"])
    with pytest.raises(BagError, match="'joint_states': /a/joint_states, /b/joint_states; set "
                                       "setting joint_states.topic"):
        check_bag(bag, ARM)
    exact = write(tmp_path / "exact", ["/a/joint_states", "/joint_states"])
    assert check_bag(exact, ARM).topics == {"joint_states": "/joint_states"}


def test_missing_topic_names_what_is_there(tmp_path):
    """The sentence has the missing topic, its type, the setting, and the topics of the bag with
    their types."""
    bag = write(tmp_path / "bag", ["/something"])
    with pytest.raises(BagError) as caught:
        check_bag(bag, ARM)
    for part in ("'joint_states'", "sensor_msgs/msg/JointState", "joint_states.topic",
                 "'/something' (sensor_msgs/msg/JointState, 20 messages)"):
        assert part in str(caught.value)


def test_other_type_names_both_and_the_setting(tmp_path):
    """A supported type is proposed for the type setting; for another one the error points to the
    topic setting."""
    bag = write(tmp_path / "bag", ["/depth"], kind="std_msgs/msg/Float64")
    depth = tuple(i for i in inputs(Config()) if i.role == "depth")
    with pytest.raises(BagError, match="is std_msgs/msg/Float64, expected sensor_msgs/msg/"
                                       "FluidPressure; set setting depth.type to"):
        check_bag(bag, depth)
    arm = inputs(Config().with_values({"robot.vehicle": False, "joint_states.topic": "depth"}))
    with pytest.raises(BagError, match="expected sensor_msgs/msg/JointState; set setting "
                                       "joint_states.topic to a topic of that type"):
        check_bag(bag, arm)


def test_missing_battery_and_depth_are_warnings(tmp_path):
    """A missing optional input is a warning, not an error."""
    bag = write(tmp_path / "bag")
    config = Config().with_values({"battery.enabled": True})
    optional = [i for i in inputs(config) if i.role in ("battery", "depth", "joint_states")]
    warnings = check_bag(bag, optional).warnings
    assert len(warnings) == 2 and "thrusters.voltage" in " ".join(warnings)


def test_undecodable_messages_are_counted(tmp_path):
    """Garbage in single payloads costs only those messages."""
    refused = Counter()
    assert len(positions(write(tmp_path / "bag", raw=b"\x00\x01\x00\x00\xff\xff"), refused)) == 16
    assert refused == {"joint_states: not decodable": 4}


def test_what_is_not_a_bag_is_refused(tmp_path):
    """No such path, a folder without metadata, another file, a ROS 1 bag, an empty bag, a topic
    without messages."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("no bag")
    (tmp_path / "old.bag").write_bytes(b"#ROSBAG V2.0\n")
    (tmp_path / "zero.mcap").touch()
    write(tmp_path / "empty", ())
    write(tmp_path / "silent", count=0)
    for name, part in (("nothing", "does not exist"), ("folder", "no metadata.yaml"),
                       ("notes.txt", "not a rosbag2"), ("old.bag", "ROS 1"),
                       ("zero.mcap", "cannot be read"), ("empty", "no messages"),
                       ("silent", "no messages")):
        with pytest.raises(BagError, match=part):
            list(read_messages(tmp_path / name, ARM))


def test_folder_without_metadata_is_its_one_file(tmp_path):
    """A killed recorder leaves no metadata.yaml; a warning says so."""
    bag = write(tmp_path / "bag")
    (bag / "metadata.yaml").unlink()
    assert len(positions(bag)) == 20
    warning, = check_bag(bag, ARM).warnings
    assert "was cut off while recording; read up to that point, 20 messages over 0.4 s" in warning


def test_folder_without_metadata_names_its_files(tmp_path):
    """If there are several, none is chosen."""
    bag = write(tmp_path / "bag")
    (bag / "metadata.yaml").unlink()
    shutil.copy(bag / "bag.mcap", bag / "bag_1.mcap")
    with pytest.raises(BagError, match="give one of its files instead: bag.mcap, bag_1.mcap"):
        check_bag(bag, ARM)
    assert len(positions(bag / "bag.mcap")) == 20


def test_a_folder_of_recordings_names_them(tmp_path):
    """Rather than only what it lacks."""
    for name in ("monday", "tuesday"):
        write(tmp_path / name)
    with pytest.raises(BagError, match="give one of the recordings in it: monday, tuesday"):
        check_bag(tmp_path, ARM)


def test_a_copy_that_was_cut_off_is_read_by_its_file(tmp_path):
    """With a metadata.yaml that promises more, the folder is refused with that advice."""
    bag = write(tmp_path / "bag")
    file = bag / "bag.mcap"
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(BagError, match="give '.*bag.mcap' itself, which is then read up to"):
        check_bag(bag, ARM)
    assert positions(file)


def test_no_topics_are_no_messages(tmp_path):
    """As `inspect` asks of a recording without any type that it knows; rosbags would read all."""
    with opened(write(tmp_path / "bag")) as recording:
        assert not list(recording.messages([], -math.inf, math.inf))


@pytest.mark.parametrize("storage", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_damaged_files_give_a_sentence(tmp_path, storage):
    """Files that are cut off anywhere or have flipped bytes are read or refused with a BagError; no
    other exception escapes."""
    bag = write(tmp_path / "bag", storage=storage)
    file = next(p for p in bag.iterdir() if p.suffix in (".mcap", ".db3"))
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    outcomes = Counter()
    for trial in range(60):
        broken = bytearray(whole[:int(len(whole) * trial / 40)] if trial < 40 else whole)
        for place in rng.integers(0, len(whole), 5 if trial >= 40 else 0):
            broken[place] = rng.integers(0, 256)
        file.write_bytes(broken)
        try:
            positions(bag)
            outcomes["read"] += 1
        except BagError as error:
            assert str(error).startswith(("bag ", "topic ")) and "\n" not in str(error)
            outcomes["refused"] += 1
    assert outcomes["refused"] >= 35


@pytest.mark.parametrize("name", ["bag.mcap", "metadata.yaml"])
def test_files_that_never_end_are_refused(tmp_path, name):
    """A FIFO without a writer, or a link to a device, in the recording's folder."""
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        bag = write(tmp_path / make.__name__)
        for file in bag.glob("*.mcap"):
            file.rename(bag / "bag.mcap")
        (bag / name).unlink()
        make(bag / name)
        for path in {bag, bag / "bag.mcap"} - ({bag / "bag.mcap"} if name[0] == "m" else set()):
            with pytest.raises(BagError, match=f"{name}' is a (FIFO|device); expected a rosbag2"):
                check_bag(path, ARM)


def test_broken_metadata_gives_a_sentence(tmp_path):
    """metadata.yaml is not YAML, or names a missing file."""
    bag = write(tmp_path / "bag")
    shutil.copytree(bag, tmp_path / "lost")
    (tmp_path / "lost" / "bag.mcap").unlink()
    (bag / "metadata.yaml").write_text("{")
    for path in (bag, tmp_path / "lost"):
        with pytest.raises(BagError, match="cannot be read"):
            check_bag(path, ARM)


def test_what_its_reader_does_wrong_is_not_said_of_the_bag(tmp_path):
    """An unrelated exception while a bag is open keeps its type and traceback."""
    write(tmp_path / "whole")
    with pytest.raises(KeyError), opened(tmp_path / "whole") as bag:
        for _ in bag.messages(["/joint_states"], -np.inf, np.inf):
            raise KeyError("ours")
