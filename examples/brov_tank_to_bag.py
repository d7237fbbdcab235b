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

"""Convert recordings of a BlueROV2 Heavy in a tank with motion capture (some 6 Hz) to rosbag2 bags.

Output: the vehicle's odometry, and the thruster commands that its flight controller derives from
the pilot's sticks. Input: the tables `dictfiles_plot/*_data_all.npz` of
SAABmarine-MEX/saabmarineMEX_learning, which hold means over .1 s and more (see README.md).
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bag_writer import TYPES, ConversionError, Message, header, vector, write_bag
from scipy.spatial.transform import Rotation

from uvms_adaptive_dynamics.config import Config

COLUMNS = ("timestamps", "positions", "velocities", "scaled_controls")
# Recorded column of each stick (surge, sway, heave, roll, pitch, yaw; body FRD).
STICKS = (4, 5, 2, 1, 0, 3)
LEVER = 0.1     # [m] smallest lever arm of a thruster that is mixed into roll and pitch


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="one *_data_all.npz")
    parser.add_argument("--output", type=Path, required=True,
                        help="bag to write (a folder that does not exist yet)")
    options = parser.parse_args(arguments)
    try:
        count = write_bag(options.output, messages(read(options.data)), {
            "source": "github.com/SAABmarine-MEX/saabmarineMEX_learning, residual_modelling",
            "licence": "none stated", "recording": options.data.name})
    except ConversionError as error:
        print(f"brov_tank_to_bag: {error}", file=sys.stderr)
        return 1
    print(f"{options.output}: {count} messages")
    return 0


def read(path: Path) -> dict[str, np.ndarray]:
    """The columns of one recording; raises ConversionError."""
    if not path.is_file():
        raise ConversionError(f"'{path}' does not exist. Check --data.")
    try:
        with np.load(path) as table:
            found = {name: table[name] for name in COLUMNS}
    except (OSError, ValueError, KeyError) as error:
        raise ConversionError(
            f"'{path}' is not a table of {', '.join(COLUMNS)}: {error}.") from None
    rows = len(found["scaled_controls"])
    if rows < 2 or any(len(column) < rows or not np.isfinite(column).all()
                       or (name != "timestamps" and column.shape[1:] != (6,))
                       for name, column in found.items()):
        raise ConversionError(f"'{path}' does not hold rows of six finite numbers.")
    return found


def messages(table: dict[str, np.ndarray]) -> Iterator[Message]:
    """Yields odometry at the middle of each row's averaging time, and commands at its beginning."""
    mixing = mixer()
    times = table["timestamps"].astype(np.int64)
    for k, sticks in enumerate(table["scaled_controls"]):
        length = times[k + 1] - times[k] if k + 1 < len(times) else times[k] - times[k - 1]
        yield odometry(int(times[k] + length // 2), table["positions"][k], table["velocities"][k])
        yield command(int(times[k]), np.clip(mixing @ sticks[list(STICKS)], -1.0, 1.0))


def mixer() -> np.ndarray:
    """(thrusters, 6) share of each stick in each command: the signs of the default allocation, like
    ArduSub's mixer of a vectored frame with six degrees of freedom."""
    allocation = np.reshape(Config().thrusters.allocation, (6, -1)).copy()
    allocation[3:5][np.abs(allocation[3:5]) < LEVER] = 0.0
    return np.sign(allocation).T


def odometry(stamp_ns: int, position: np.ndarray, velocity: np.ndarray) -> Message:
    """An odometry message. position: [m] and roll, pitch, yaw [rad], relative to the start;
    velocity: of the body [m/s, rad/s], FRD. The world's axes point north, east, down."""
    kinds = TYPES.types
    x, y, z, w = Rotation.from_euler("xyz", position[3:]).as_quat()
    pose = kinds["geometry_msgs/msg/Pose"](
        position=kinds["geometry_msgs/msg/Point"](*map(float, position[:3])),
        orientation=kinds["geometry_msgs/msg/Quaternion"](*map(float, (x, y, z, w))))
    twist = kinds["geometry_msgs/msg/Twist"](linear=vector(velocity[:3]),
                                             angular=vector(velocity[3:]))
    unknown = np.zeros(36)
    return Message(stamp_ns, "/odom", kinds["nav_msgs/msg/Odometry"](
        header=header(stamp_ns, "map"), child_frame_id="base_link",
        pose=kinds["geometry_msgs/msg/PoseWithCovariance"](pose=pose, covariance=unknown),
        twist=kinds["geometry_msgs/msg/TwistWithCovariance"](twist=twist, covariance=unknown)))


def command(stamp_ns: int, shares: np.ndarray) -> Message:
    """A message with thruster commands, -1 to 1."""
    kinds = TYPES.types
    layout = kinds["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
    return Message(stamp_ns, "/thruster_commands",
                   kinds["std_msgs/msg/Float64MultiArray"](layout=layout, data=shares))


if __name__ == "__main__":
    sys.exit(main())
