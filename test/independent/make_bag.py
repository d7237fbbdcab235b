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

"""Record a dive of an individual of the independent simulator as a rosbag2 folder.

    python test/independent/make_bag.py OUT --individual 7 --kind joystick --event payload

writes OUT/bag, OUT/robot.yaml (the settings of its owner) with arm.urdf, and OUT/truth.json.
Physics: `rigid_tree`, `water`, `machines`; robots: `fleet`, and their settings: `owner`; motion:
`pilots`, `dive`; sensors: `instruments`, `ros_messages`. Shares no code with the package.

Events:
    payload         a weight on the last link from 30 % of the time to 55 %
    dead_thruster   a thruster without thrust from 40 % on
    weak_thruster   a thruster at 60 % of its thrust from 40 % on
    restart         IMU and joint driver away for 6 s at 35 %, DVL without lock for 8 s at 50 %
"""
from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from dive import EVENTS, STEP, Dive, add_event
from fleet import draw, robot_mass
from instruments import Driver, Dvl, Imu, Joints, pressure, start_attitude
from owner import write_settings
from pilots import KINDS
from ros_messages import Types
from rosbags.rosbag2 import StoragePlugin, Writer

START = 1_780_000_000.0     # [s since the epoch] of individual 0


def messages(dive: Dive, seed: int, event: str) -> Iterator[tuple[float, float, str, Any]]:
    """(stamp, reception, role, values) in the order of sampling."""
    robot = dive.robot
    of, rng = robot.sensing, np.random.default_rng([seed, 2])
    imu, dvl, joints = Imu(robot, rng), Dvl(robot, rng), Joints(robot, rng)
    arrival = of.stamp_at_arrival
    drivers = {"imu": Driver(rng, of.imu_period, 0.004, 0.002, arrival, of.batch, 0.002),
               "dvl": Driver(rng, of.dvl_period, of.dvl_latency, 0.01, arrival),
               "depth": Driver(rng, 0.1, 0.01, 0.005, arrival, 1, 0.01),
               "joint_states": Driver(rng, of.joint_period, 0.005, 0.004, arrival, 1, 0.005),
               "thrusters": Driver(rng, 0.02, 0.001, 0.001),
               "battery": Driver(rng, 1.0, 0.02, 0.01)}
    T = dive.duration
    if event == "restart":
        drivers["imu"].silent = drivers["joint_states"].silent = [(0.35 * T, 0.35 * T + 6)]
        dvl.lose_lock = [(0.5 * T, 0.5 * T + 8)]
    last = dict.fromkeys(drivers, 0.0)
    for s in dive.run():
        if s.t == 0.0:
            start_attitude(imu, s.R)
        imu.gather(s.R, s.v[:6], s.v_dot[:6], robot.tree.g)
        for role, driver in drivers.items():
            if not driver.due(s.t):
                continue
            h, last[role] = s.t - last[role], s.t
            if role == "imu":
                values = imu.read(s.R, max(h, STEP), s.amperes)
            elif role == "dvl":
                values = dvl.read(s.t, s.R, s.v[:6])
            elif role == "depth":
                values = pressure(robot, rng, s.R, s.p, s.t)
            elif role == "joint_states":
                values = joints.read(s.q, max(h, STEP))
            elif role == "thrusters":
                values = dive.pwm
            else:
                values = s.voltage + 0.02 * rng.normal()
            if values is not None and (role != "battery" or of.battery):
                for stamp, received, content in driver.messages(s.t, values):
                    yield stamp, received, role, content


def record(out: Path, number: int, kind: str, event: str, duration: float, rough: float) -> dict:
    """Simulate and write; returns the truth that is also in OUT/truth.json."""
    robot = draw(number, rough)
    out.mkdir(parents=True)
    write_settings(robot, out)
    dive = Dive(robot, kind, number, duration)
    truth = {"individual": number, "kind": kind, "event": add_event(dive, event, number),
             "mass_kg": robot_mass(robot), "thrusters": len(dive.pwm), "joints": len(robot.limits),
             "current": robot.current.mean.tolist(), "tether": robot.tether is not None,
             "wave_height": float(2 * np.linalg.norm(robot.waves.amplitude) * 2 ** 0.5),
             "thrust": (robot.thrusters.largest / robot.thrusters.largest.mean()).tolist(),
             "sensing": {k: np.asarray(v).tolist() for k, v in vars(robot.sensing).items()}}
    start = START + 86400.0 * number
    found = sorted(messages(dive, number, event), key=lambda m: m[1])
    types = Types(robot.joints)
    connections: dict[str, Any] = {}
    with Writer(out / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        for stamp, received, role, content in found:
            message = types.message(role, start + stamp, content)
            if role not in connections:
                connections[role] = bag.add_connection(types.TOPIC[role], message.__msgtype__,
                                                       typestore=types.store)
            bag.write(connections[role], round((start + received) * 1e9),
                      types.store.serialize_cdr(message, message.__msgtype__))
    (out / "truth.json").write_text(json.dumps(truth, indent=1))
    return truth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--individual", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS, default="joystick")
    parser.add_argument("--event", choices=EVENTS, default="none")
    parser.add_argument("--duration", type=float, default=160.0)
    parser.add_argument("--rough", type=float, default=1.0)
    given = parser.parse_args()
    record(given.out, given.individual, given.kind, given.event, given.duration, given.rough)


if __name__ == "__main__":
    main()
