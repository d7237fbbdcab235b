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

"""Recordings of the simulated robot."""

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from uvms_adaptive_dynamics.errors import BagError
from uvms_adaptive_dynamics.simulation.bag import start_of, write_bag
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_bag_round_trip(tmp_path, storage):
    """A bag holds what the robot measured, at the receive times, under the default topics."""
    truth = write_bag(tmp_path / "bag", seed=4, duration=2.0, storage=storage,
                      truth=tmp_path / "truth.npz")
    expected = list(SimulatedRobot(4, 2.0, start_ns=round(start_of(4) * 1e9)))
    with AnyReader(
        [tmp_path / "bag"], default_typestore=get_typestore(Stores.ROS2_JAZZY)
    ) as reader:
        read = [
            (c.topic, time, reader.deserialize(data, c.msgtype))
            for c, time, data in reader.messages()
        ]
    assert sorted((t, s) for t, s, _ in read) == sorted(
        (f"/{m.topic}", m.receive_time) for m in expected
    )
    found = {(topic, time): message for topic, time, message in read}
    for m in expected:
        message, p = found[f"/{m.topic}", m.receive_time], m.payload
        if m.topic != "thruster_commands":
            assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == m.stamp
        if m.topic == "imu/data":
            q, a = message.orientation, message.linear_acceleration
            assert (q.x, q.y, q.z, q.w) == p["orientation"]
            assert (a.x, a.y, a.z) == p["linear_acceleration"]
            assert message.angular_velocity_covariance[[0, 4, 8]] == pytest.approx(
                p["angular_velocity_variance"]
            )
        elif m.topic == "dvl/twist":
            v = message.twist.twist.linear
            assert (v.x, v.y, v.z) == p["linear"] and message.twist.covariance[14] == p[
                "linear_variance"
            ][2]
        elif m.topic == "depth":
            assert message.fluid_pressure == p["fluid_pressure"]
        elif m.topic == "joint_states":
            assert tuple(message.name) == p["name"] and tuple(message.effort) == p["effort"]
        else:
            assert tuple(message.data) == p["data"]
    with np.load(tmp_path / "truth.npz") as saved:
        assert set(saved) == set(truth._fields) and np.array_equal(saved["nu_dot"], truth.nu_dot)


def test_bag_is_never_overwritten(tmp_path):
    """An existing directory and an unknown storage are refused before anything is written."""
    with pytest.raises(BagError, match="exists already"):
        write_bag(tmp_path, duration=1.0)
    with pytest.raises(BagError, match="mcap"):
        write_bag(tmp_path / "x", duration=1.0, storage="rosbag1")


def test_dives_of_two_seeds_are_not_at_the_same_time(tmp_path):
    """Bags of different seeds do not overlap in time; the same seed gives the same bag."""
    begins = []
    for name, seed in (("a", 1), ("b", 2), ("c", 1)):
        write_bag(tmp_path / name, seed=seed, duration=1.0)
        with AnyReader([tmp_path / name]) as reader:
            begins.append(reader.start_time)
    assert abs(begins[0] - begins[1]) > 3600 * 10**9 and begins[0] == begins[2]
