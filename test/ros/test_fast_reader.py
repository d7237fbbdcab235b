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

"""Messages read from their bytes are those that rclpy decodes."""
import random

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState

from uvms_adaptive_dynamics.ros.fast_reader import reader

NAMES = ["imu/data", "a", "bb", "axis_e", "", "é"]


def imu(rng):
    message = Imu()
    for vector in (message.orientation, message.angular_velocity, message.linear_acceleration):
        for axis in "xyzw" if hasattr(vector, "w") else "xyz":
            setattr(vector, axis, rng.choice([rng.gauss(0, 9), float("nan"), -0.0, 1e300]))
    for name in ("orientation", "angular_velocity", "linear_acceleration"):
        setattr(message, f"{name}_covariance", [rng.gauss(0, 1) for _ in range(9)])
    return message


def joint_state(rng):
    names = [rng.choice(NAMES) for _ in range(rng.randrange(6))]
    return JointState(name=names, **{
        field: [rng.gauss(0, 9) for _ in range(rng.choice([0, len(names), rng.randrange(6)]))]
        for field in ("position", "velocity", "effort")})


def fields(message):
    """All that a decoder can read, NaN and signs of zeros included."""
    found = {"stamp": (message.header.stamp.sec, message.header.stamp.nanosec),
             "frame_id": message.header.frame_id}
    if hasattr(message, "name"):
        found |= {name: list(getattr(message, name))
                  for name in ("name", "position", "velocity", "effort")}
    else:
        for name in ("orientation", "angular_velocity", "linear_acceleration"):
            vector = getattr(message, name)
            found[name] = [getattr(vector, axis) for axis in "xyzw" if hasattr(vector, axis)]
            found[f"{name}_covariance"] = [
                float(value) for value in getattr(message, f"{name}_covariance")]
    return repr(found)


@pytest.mark.parametrize("kind, make", [(Imu, imu), (JointState, joint_state)])
def test_they_are_the_middlewares(kind, make):
    """All fields equal rclpy's, of a thousand messages, and none of them was left to it."""
    rng = random.Random(7)
    read = reader(f"sensor_msgs/msg/{kind.__name__}", lambda data: pytest.fail("not read"))
    for _ in range(1000):
        message = make(rng)
        message.header.stamp.sec = rng.randrange(-2**31, 2**31)
        message.header.stamp.nanosec = rng.randrange(2**32)
        message.header.frame_id = rng.choice(NAMES)
        data = serialize_message(message)
        assert fields(read(data)) == fields(deserialize_message(data, kind))


@pytest.mark.parametrize("kind, make", [(Imu, imu), (JointState, joint_state)])
def test_what_the_middleware_refuses_is_refused(kind, make):
    """Cut and damaged messages, and big-endian ones, end as with rclpy alone."""
    rng, left = np.random.default_rng(8), []

    def decode(data):
        left.append(data)
        return deserialize_message(data, kind)
    read = reader(f"sensor_msgs/msg/{kind.__name__}", decode)
    for seed in range(300):
        data = bytearray(serialize_message(make(random.Random(seed))))
        if seed % 3 == 0:
            data = data[:rng.integers(len(data))]
        elif seed % 3 == 1:
            data[1] = 0
        else:
            data[12 + rng.integers(4)] = rng.integers(256)      # the length of the first string
        answers = []
        for way in (read, lambda data: deserialize_message(data, kind)):
            try:
                answers.append(fields(way(bytes(data))))
            except Exception:       # as the node does: such a message is dropped
                answers.append("refused")
        assert answers[0] == answers[1], (seed, bytes(data))
    assert left
