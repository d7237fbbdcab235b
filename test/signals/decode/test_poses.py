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

"""Velocities and rates from poses."""
from types import SimpleNamespace as Message

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.rotations import (
    FRD_FROM_FLU,
    NED_FROM_ENU,
    from_rotation_vector,
    from_rpy,
    to_quaternion,
)
from uvms_adaptive_dynamics.signals.decode.decoder import Decoder
from uvms_adaptive_dynamics.signals.decode.poses import NO_PARABOLA, pose_readers

POSE = "geometry_msgs/msg/PoseStamped"
VELOCITY, RATES = np.array([0.3, -0.2, 0.1]), np.array([0.2, -0.3, 0.4])    # body, FRD


def poses(rate=100.0, seconds=2.0, world="enu", frame="flu"):
    """[(t, PoseStamped)] of a body with constant velocity and rates in its own axes."""
    to_world = NED_FROM_ENU if world == "enu" else np.eye(3)
    axes = FRD_FROM_FLU if frame == "flu" else np.eye(3)
    position, R, dt, found = np.array([1.0, 2.0, 3.0]), from_rpy(0.1, -0.2, 0.7), 1e-3, []
    step = from_rotation_vector(RATES * dt)
    for k in range(int(seconds / dt)):
        if k % round(1 / (rate * dt)) == 0:
            p = to_world @ position
            x, y, z, w = to_quaternion(to_world @ R @ axes)
            found.append((k * dt, Message(pose=Message(
                position=Message(x=p[0], y=p[1], z=p[2]),
                orientation=Message(x=x, y=y, z=z, w=w)))))
        position = position + dt * R @ from_rotation_vector(0.5 * dt * RATES) @ VELOCITY
        R = R @ step
    return found


def read(messages, **settings):
    """{role: (times, values)}, and the refused readings."""
    config = Config().with_values({"imu.type": POSE, "dvl.type": POSE, "dvl.frame": "flu",
                                   **{k.replace("__", "."): v for k, v in settings.items()}})
    decoder, readers = Decoder(config), pose_readers(config)
    found, refused = {"imu": [], "dvl": []}, []
    for t, message in messages:
        for role, reader in readers.items():
            new, reason = reader.add(t, decoder.decode(role, message))
            found[role] += new
            refused += [reason] if reason else []
    return {role: (np.array([t for t, _ in rows]), np.array([v for _, v in rows]))
            for role, rows in found.items()}, refused


@pytest.mark.parametrize("world", ["enu", "ned"])
@pytest.mark.parametrize("frame", ["flu", "frd"])
def test_velocity_and_rates_are_those_of_the_body(world, frame):
    """In FRD axes, whatever the pose's own axes and world are."""
    found, refused = read(poses(world=world, frame=frame), imu__world=world, imu__frame=frame,
                          dvl__frame=frame)
    assert not refused
    assert np.abs(found["dvl"][1] - VELOCITY).max() < 1e-3
    assert np.abs(found["imu"][1][:, 3:6] - RATES).max() < 1e-3
    assert np.isnan(found["imu"][1][:, 6:9]).all()
    # The rotation at 1 s, integrated from the start.
    R = from_rpy(0.1, -0.2, 0.7) @ from_rotation_vector(RATES)
    k = int(np.argmin(np.abs(found["imu"][0] - 1.0)))
    assert found["imu"][1][k, :3] == pytest.approx(R[2], abs=1e-3)


@pytest.mark.parametrize("rate", [20.0, 50.0, 100.0])
def test_a_derivative_belongs_to_a_pose_before(rate):
    """It is half a window old, at least three poses; every later pose gives one."""
    messages = poses(rate)
    times = read(messages)[0]["dvl"][0]
    late = max(0.1, 3 / rate)
    assert times[-1] == pytest.approx(messages[-1][0] - late, abs=1.5 / rate)
    assert np.diff(times) == pytest.approx(1 / rate, abs=1e-6)


def test_single_glitches_are_left_out():
    """A jump of 0.4 m in every twelfth pose changes nothing."""
    messages = poses()
    for k in range(5, len(messages), 12):
        messages[k][1].pose.position.y += 0.4
    found, refused = read(messages)
    assert not refused and np.abs(found["dvl"][1] - VELOCITY).max() < 2e-3


def test_a_burst_of_glitches_gives_no_velocity():
    """And is reported; nothing is derived across a gap."""
    messages, rng = poses(), np.random.default_rng(0)
    for k in range(80, 110):
        messages[k][1].pose.position.x += rng.uniform(-1, 1)
    found, refused = read(messages)
    assert set(refused) == {NO_PARABOLA}
    good = (found["dvl"][0] < 0.65) | (found["dvl"][0] > 1.25)
    assert np.abs(found["dvl"][1][good] - VELOCITY).max() < 0.01
    with_gap = [m for m in poses() if not 0.8 < m[0] < 1.2]
    times = read(with_gap)[0]["dvl"][0]
    assert np.abs(read(with_gap)[0]["dvl"][1] - VELOCITY).max() < 1e-3
    assert not ((times > 0.75) & (times < 1.2)).any()


def test_noise_of_motion_capture_gives_the_velocity_of_a_small_dvl():
    """2 mm at 100 Hz: 1 cm/s."""
    rng, messages = np.random.default_rng(1), poses(seconds=5.0)
    for _, message in messages:
        for axis in "xyz":
            setattr(message.pose.position, axis,
                    getattr(message.pose.position, axis) + rng.normal(0, 0.002))
    error = read(messages)[0]["dvl"][1] - VELOCITY
    assert np.sqrt(np.mean(error ** 2)) < 0.01
