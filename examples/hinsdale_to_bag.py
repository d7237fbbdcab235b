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

"""Convert the published Hinsdale recordings of a drifting BlueROV2 with Alpha 5 to rosbag2 bags.

`joint_states` has the names and zeros of the recording's own URDF, and no effort; `imu/data` is as
recorded (already ENU<-FLU); `dvl/twist` is derived from motion capture, forward-right-down, 10 Hz
(see README.md). The vehicle drifts freely in a pool.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml
from bag_writer import (
    TYPES,
    ConversionError,
    Message,
    header,
    joint_state,
    read_table,
    vector,
    write_bag,
)
from mocap_velocity import local_fit
from scipy.spatial.transform import Rotation

# Joint in the recording, joint in their URDF from base to tip, and position in the recording [rad]
# at the URDF's zero.
JOINTS = (("axis_e", "r5m_joint5", 3.07), ("axis_d", "r5m_joint4", 0.0),
          ("axis_c", "r5m_joint3", 0.0), ("axis_b", "r5m_joint2", 2.879))
EPOCH_NS = 1_690_000_000 * 10**9  # runs start at time zero; any fixed date will do
# [s] time after which a bit-identical joint row counts as a new measurement
REPEAT_TIMEOUT = 0.08
DVL_PERIOD = 0.1                # [s]
# [m], [rad] lower bound on the noise of the motion capture
POSITION_NOISE, YAW_NOISE = 1e-3, 2e-3
# [s] no velocity if the nearest IMU attitude is farther away than this
MAX_ATTITUDE_GAP = 0.1


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True,
                        help="folder with the *_imu, *_joint_states and *_mocap.csv.gz")
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--run", help="name of one run, such as traj003-0")
    chosen.add_argument("--all", action="store_true",
                        help="every run of the folder, one bag each under --output")
    parser.add_argument("--output", type=Path, required=True,
                        help="bag to write, or folder of bags with --all")
    options = parser.parse_args(arguments)
    try:
        runs = runs_of(options.data)
        if options.run and options.run not in runs:
            raise ConversionError(
                f"run '{options.run}' is not in '{options.data}'; it has {', '.join(runs)}.")
        for run in runs if options.all else [options.run]:
            bag = options.output / run if options.all else options.output
            count = write_bag(bag, messages(options.data, run), notes(options.data, run))
            print(f"{bag}: {count} messages")
    except ConversionError as error:
        print(f"hinsdale_to_bag: {error}", file=sys.stderr)
        return 1
    return 0


def runs_of(data: Path) -> list[str]:
    """Sorted names of the runs in a folder; raises ConversionError if there are none."""
    runs = sorted(path.name.removesuffix("_imu.csv.gz") for path in data.glob("*_imu.csv.gz"))
    if not runs:
        raise ConversionError(f"'{data}' holds no *_imu.csv.gz. Check --data.")
    return runs


def notes(data: Path, run: str) -> dict[str, str]:
    """Entries of the bag's metadata; `arm_start_s` is the time [s after the bag's epoch] at which
    the arm starts to move."""
    entries = {
        "source": "github.com/hkolano/UVMS-SysID-with-EAs, data/hinsdale-data-2023",
        "licence": "MIT, (c) 2023 Hannah Kolano", "run": run, "epoch_s": str(EPOCH_NS // 10 ** 9),
        "dvl": "made from motion capture"
    }
    metadata = data / f"metadata_{run.removeprefix('traj')}.yml"
    if metadata.is_file():
        try:
            entries["arm_start_s"] = str(float(yaml.safe_load(metadata.read_text())["start_time"]))
        except (yaml.YAMLError, KeyError, TypeError, ValueError):
            raise ConversionError(f"'{metadata}' holds no number 'start_time'.") from None
    return entries


def messages(data: Path, run: str) -> Iterator[Message]:
    """Yields all messages of one run, topic by topic; raises ConversionError."""
    imu, joints, mocap = (read_table(data / f"{run}_{kind}.csv.gz")
                          for kind in ("imu", "joint_states", "mocap"))
    try:
        yield from joint_messages(joints)
        yield from imu_messages(imu)
        yield from velocity_messages(imu, mocap)
    except KeyError as error:
        raise ConversionError(f"run '{run}' of '{data}' lacks the column {error}.") from None


def _stamp(time: float) -> int:
    return EPOCH_NS + round(time * 1e9)


def joint_messages(table: dict[str, np.ndarray]) -> Iterator[Message]:
    """Yields JointState [rad, rad/s] without effort. Two of three rows repeat the previous one bit
    by bit: old measurements with new timestamps, which would look like a stopped joint to a filter.
    They are left out."""
    position = np.column_stack([table[f"{axis}_pos"] - zero for axis, _, zero in JOINTS])
    velocity = np.column_stack([table[f"{axis}_vel"] for axis, _, _ in JOINTS])
    names = [joint for _, joint, _ in JOINTS]
    last = None
    for row, time in enumerate(table["time_secs"]):
        repeated = (last is not None and (position[row] == position[last]).all()
                    and (velocity[row] == velocity[last]).all())
        if repeated and time - table["time_secs"][last] < REPEAT_TIMEOUT:
            continue
        last = row
        yield Message(_stamp(time), "/joint_states",
                      joint_state(_stamp(time), names, position[row], velocity[row], np.empty(0)))


def imu_messages(table: dict[str, np.ndarray]) -> Iterator[Message]:
    """Yields Imu as recorded: orientation ENU<-FLU, rates [rad/s], specific force [m/s^2] in FLU.
    """
    quaternion, rate, force = _imu_columns(table)
    for row, time in enumerate(table["time_secs"]):
        x, y, z, w = (float(value) for value in quaternion[row])
        content = TYPES.types["sensor_msgs/msg/Imu"](
            header=header(_stamp(time), "base_link"),
            orientation=TYPES.types["geometry_msgs/msg/Quaternion"](x=x, y=y, z=z, w=w),
            orientation_covariance=np.zeros(9),
            angular_velocity=vector(rate[row]), angular_velocity_covariance=np.zeros(9),
            linear_acceleration=vector(force[row]), linear_acceleration_covariance=np.zeros(9))
        yield Message(_stamp(time), "/imu/data", content)


def _imu_columns(table: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (np.column_stack([table[f"{axis}_ori"] for axis in "xyzw"]),
            np.column_stack([table[f"{axis}_angvel"] for axis in "xyz"]),
            np.column_stack([table[f"{axis}_linacc"] for axis in "xyz"]))


def velocity_messages(imu: dict[str, np.ndarray],
                      mocap: dict[str, np.ndarray]) -> Iterator[Message]:
    """Yields TwistWithCovarianceStamped: velocity of the captured point [m/s], forward-right-down,
    at times with good motion capture.

    Heading comes from motion capture, whose world differs from the IMU's; roll and pitch come from
    the IMU, which has no glitches.
    """
    quaternion, _, _ = _imu_columns(imu)
    imu_time, time = imu["time_secs"], mocap["time_secs"]
    signals = [(mocap["x_pose"], POSITION_NOISE), (mocap["y_pose"], POSITION_NOISE),
               (mocap["z_pose"], POSITION_NOISE), (np.unwrap(mocap["yaw"]), YAW_NOISE)]
    for tick in range(int(np.ceil(time[0] / DVL_PERIOD)), int(time[-1] / DVL_PERIOD) + 1):
        at = tick * DVL_PERIOD
        nearest = int(np.argmin(np.abs(imu_time - at)))
        fits = [local_fit(time, signal, at, floor) for signal, floor in signals]
        if any(fit is None for fit in fits) or abs(imu_time[nearest] - at) > MAX_ATTITUDE_GAP:
            continue
        _, pitch, roll = Rotation.from_quat(quaternion[nearest]).as_euler("ZYX")
        flu_to_world = Rotation.from_euler("ZYX", [fits[3].value, pitch, roll])
        forward, left, up = flu_to_world.inv().apply([fit.slope for fit in fits[:3]])
        covariance = np.zeros((6, 6))
        # One isotropic figure: the rotation mixes the axes' errors.
        covariance[:3, :3] = np.eye(3) * max(fit.slope_stddev for fit in fits[:3]) ** 2
        twist = TYPES.types["geometry_msgs/msg/Twist"](linear=vector([forward, -left, -up]),
                                                       angular=vector(np.zeros(3)))
        content = TYPES.types["geometry_msgs/msg/TwistWithCovarianceStamped"](
            header=header(_stamp(at), "base_link_frd"),
            twist=TYPES.types["geometry_msgs/msg/TwistWithCovariance"](
                twist=twist, covariance=covariance.ravel()))
        yield Message(_stamp(at), "/dvl/twist", content)


if __name__ == "__main__":
    sys.exit(main())
