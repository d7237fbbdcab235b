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

"""CSV files with a mapping of their columns: values, types, rates, and errors for mistakes."""
import numpy as np
import pytest
import yaml

from uvms_adaptive_dynamics.errors import BagError
from uvms_adaptive_dynamics.evaluation.bags import opened
from uvms_adaptive_dynamics.evaluation.convert_command import run as convert
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.signals.decode.stamps import stamp_of

CSV = ("t;roll;pitch;yaw;gx;gy;gz;ax;ay;az;d;u1;u2;q\n"
       "1000;0.1;0.2;0.3;1;2;3;4;5;6;7.5;1500;1600;90\n"
       "1010;;;;1;2;3;4;5;6;;;;180\n"
       "1020;0;0;0;1;2;3;4;5;x;8;1500;1700;\n")
MAPPING = {"time": {"column": "t", "unit": "ms"}, "offset": 100.0, "scale": {"q": np.pi / 180},
           "topics": {
    "imu/data": {"type": "sensor_msgs/msg/Imu", "orientation": ["roll", "pitch", "yaw"],
                 "angular_velocity": ["gx", "gy", "gz"], "linear_acceleration": ["ax", "ay", "az"]},
    "depth": {"type": "std_msgs/msg/Float64", "data": "d"},
    "out": {"type": "mavros_msgs/msg/RCOut", "channels": ["u1", "u2"]},
    "joint_states": {"type": "sensor_msgs/msg/JointState", "name": ["a"], "position": ["q"]}}}


@pytest.fixture
def log(tmp_path):
    """A function that writes dive.csv and its mapping, with changes."""
    MAPPING["scale"] = {"q": float(np.pi / 180)}

    def write(**changes):
        (tmp_path / "dive.csv").write_text(CSV)
        (tmp_path / "dive.yaml").write_text(yaml.safe_dump(MAPPING | changes))
        return tmp_path / "dive.csv"
    return write


def messages(path):
    with opened(path) as recording:
        found = {}
        for topic, message, t in recording.messages(recording.topics, -np.inf, np.inf):
            found.setdefault(topic, []).append((t, message))
        return found, recording.warnings


def test_values_come_in_their_types_at_their_rates(log):
    """Empty cells make no message; text instead of a number makes an undecodable one."""
    found, warnings = messages(log())
    assert {topic: len(rows) for topic, rows in found.items()} == {
        "/imu/data": 3, "/depth": 2, "/out": 2, "/joint_states": 2}
    t, imu = found["/imu/data"][0]
    assert t == pytest.approx(101.0) and imu.header.stamp.sec == 101
    assert (imu.angular_velocity.y, imu.linear_acceleration.z) == (2.0, 6.0)
    x, y, z, w = (getattr(imu.orientation, name) for name in "xyzw")
    R = from_rpy(0.1, 0.2, 0.3)      # compare its entry (2, 1) with the quaternion's
    assert 2 * (y * z + w * x) == pytest.approx(R[2, 1])
    assert [message for _, message in found["/imu/data"][1:]] == [None, None]
    assert [message.data for _, message in found["/depth"]] == [7.5, 8.0]
    assert found["/out"][1][1].channels.tolist() == [1500, 1700]
    assert found["/out"][1][1].channels.dtype == np.uint16
    assert found["/joint_states"][1][1].position == pytest.approx([np.pi])
    assert found["/joint_states"][1][1].name == ["a"]
    assert "skipped 1 cells that are not numbers" in warnings[0]


@pytest.mark.parametrize("time", ["1e154", "-3e13"])
def test_rows_at_times_that_no_clock_shows_are_left_out(log, tmp_path, time):
    """Such as those of a damaged serial line; the others count, and the log is as long as they."""
    path = log()
    damaged = CSV.splitlines()
    damaged.insert(1, time + damaged[1][damaged[1].index(";"):])
    path.write_text("\n".join(damaged))
    found, warnings = messages(path)
    assert len(found["/imu/data"]) == 3 and any("no clock can show" in one for one in warnings)
    with opened(path) as recording:
        assert recording.end - recording.start < 100.0


def test_converted_it_is_the_same(log, tmp_path):
    """`convert` writes a bag with the messages of the log, at the same times."""
    path = log()
    args = type("Args", (), {"log": path, "output": tmp_path / "bag", "storage": "mcap"})
    assert convert(args) == 0
    before, _ = messages(path)
    after, _ = messages(tmp_path / "bag")
    for topic, rows in after.items():
        whole = [(t, message) for t, message in before[topic] if message is not None]
        assert [t for t, _ in rows] == pytest.approx([t for t, _ in whole])
        for (_, a), (_, b) in zip(rows, whole):
            assert getattr(a, "data", 0) == getattr(b, "data", 0)
            assert np.array_equal(getattr(a, "position", 0), getattr(b, "position", 0))


def test_what_stands_beside_the_files_holds_for_each(log, tmp_path):
    """Unless a file says otherwise: the second has its own offset."""
    path = log(files=["dive.csv", {"file": "later.csv", "offset": 200.0}])
    (tmp_path / "later.csv").write_text(CSV)
    found, _ = messages(path.with_suffix(".yaml"))
    assert [t for t, _ in found["/depth"]] == pytest.approx([101.0, 101.02, 201.0, 201.02])


def test_a_time_of_zero_is_a_stamp(log):
    """A ROS message without a stamp has a zero there; a CSV's time is always one."""
    found, _ = messages(log(offset=-1.0))
    t, first = found["/depth"][0][0], found["/imu/data"][0][1]
    assert t == 0.0 and stamp_of(first) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("changes, said", [
    ({"topics": {"d": {"type": "std_msgs/msg/Float64", "data": "depht"}}}, "no column 'depht'"),
    ({"topics": {"d": {"type": "std_msgs/msg/Float65", "data": "d"}}}, "has type 'std_msgs/msg/Fl"),
    ({"topics": {"d": {"type": "std_msgs/msg/Float64", "date": "d"}}}, "Did you mean 'data'"),
    ({"topics": {"d": {"type": "std_msgs/msg/Float64", "data": ["d", "q"]}}}, "expected one"),
    ({"topics": {"i": {"type": "sensor_msgs/msg/Imu", "angular_velocity": ["gx"]}}}, "of x, y, z"),
    ({"topics": {"i": {"type": "sensor_msgs/msg/Imu"}}}, "has no columns"),
    ({"topics": 3}, "topics is 3"), ({"time": "t"}, "time is 't'"),
    ({"time": {"column": "t", "unit": "h"}}, "unit is 'h'"),
    ({"time": {"column": "t", "unit": {}}}, "unit is {}"),
    ({"topics": {"d": {"type": {}, "data": "d"}}}, "has type {}"),
    ({"offset": "x"}, "offset is 'x'"),
    ({"file": "none.csv"}, "there is no file"), ({"files": []}, "files is"),
    ({"file": "dive.yaml"}, "another mapping"), ({"tyme": 1}, "got 'tyme'"),
    ({"scale": {"q": "x"}}, "scale of 'q' is 'x'"),
    ({"scale": {"q_1": 0.5}}, "scale names 'q_1', which no topic uses"),
    ({"files": [3]}, "files has 3; expected a file's name")])
def test_mistakes_are_named(log, changes, said):
    """The error names the mapping, what is wrong, and what is there."""
    path = log(**changes).with_suffix(".yaml")
    with pytest.raises(BagError, match=said), opened(path):
        pass


def test_a_csv_alone_says_what_it_needs(tmp_path):
    """The error has the mapping's name and where to copy one."""
    (tmp_path / "x.csv").write_text(CSV)
    said = pytest.raises(BagError, match="'x.yaml' beside it; docs/recordings.md")
    with said, opened(tmp_path / "x.csv"):
        pass
