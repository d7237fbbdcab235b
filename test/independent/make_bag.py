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
Physics: `rigid_tree`, `water`, `machines`; robots: `fleet`; sensors: `instruments`; motion:
`pilots`. Shares no code with the package.

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
from typing import Any, NamedTuple

import numpy as np
from fleet import F, Individual, draw, robot_mass, write_settings
from instruments import Driver, Dvl, Imu, Joints, pressure, start_attitude
from machines import pwm_for
from pilots import DEPTH, KINDS, Pilot
from rigid_tree import Motion, cross, rigid_inertia, turn
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from water import relative_to

EVENTS = ("none", "payload", "dead_thruster", "weak_thruster", "restart")
STEP = 0.005            # [s]
START = 1_780_000_000.0     # [s since the epoch] of individual 0
ENU = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])


class State(NamedTuple):
    """Position (3,) NED, axes (3, 3), joints (n,), velocity (6+n,) and its derivative."""

    t: float
    p: np.ndarray
    R: np.ndarray
    q: np.ndarray
    v: np.ndarray
    v_dot: np.ndarray
    amperes: float
    voltage: float


class Dive:
    """A robot in the water; `run` yields its states, step by step."""

    def __init__(self, robot: Individual, kind: str, seed: int, duration: float):
        self.robot, self.duration = robot, duration
        self.pilot = Pilot(kind, robot, np.random.default_rng([seed, 1]), duration)
        self.mix = np.linalg.pinv(robot.nominal_allocation, rcond=1e-3)
        self.events: list[tuple[float, str, Any]] = []
        self.pwm = np.full(len(robot.thrusters.place), 1500.0)
        if robot.tether:
            robot.tether.anchor = robot.tether.anchor + np.array([0.0, 0.0, DEPTH])
            robot.tether.node = robot.tether.node + np.array([0.0, 0.0, DEPTH])

    def run(self) -> Iterator[State]:
        robot, tree, h = self.robot, self.robot.tree, STEP
        n = len(robot.limits)
        p, R, q, v = np.array([0.0, 0.0, DEPTH]), np.eye(3), robot.home.copy(), np.zeros(6 + n)
        amperes, pending = 0.0, sorted(self.events, key=lambda event: event[0])
        share_of = robot.thrusters.largest.mean()
        for k in range(round(self.duration / h)):
            t = k * h
            while pending and pending[0][0] <= t:
                pending.pop(0)[2]()
            voltage = robot.battery.step(h, amperes)
            if k % 4 == 0:      # autopilot and arm controller at 50 Hz
                wrench = self.pilot.wrench(t, p, R, v[:6])
                share = self.mix @ wrench / share_of
                share = share / max(1.0, np.abs(share).max() / 0.75)
                self.pwm = np.round(pwm_for(share))
                robot.thrusters.command(t, self.pwm)
            if k % 2 == 0:
                robot.drives.control(2 * h, q + robot.drives.lead, v[6:], *self.pilot.arm(t))
            current, current_dot = robot.current.at(t)
            swell, swell_dot, _ = robot.waves.at(t, p)
            water, water_dot = current + swell, current_dot + swell_dot
            at = Motion(tree, R, q, v)
            relative = relative_to(water, at)
            thrust, amperes = robot.thrusters.step(t, h, voltage, relative[0])
            forces = np.vstack([robot.hull.drag(relative[0]) + thrust,
                                robot.strips.drag(relative[1:])])
            if robot.tether:
                r = robot.tether.place
                pull = R.T @ robot.tether.step(h, p + R @ r, R @ (v[:3] + cross(v[3:6], r)),
                                               water)
                forces[0] += np.concatenate([pull, cross(r, pull)])
            friction, slope = robot.drives.friction(v[6:])
            effort = -tree.bias(at, water, water_dot, forces)
            effort[6:] += robot.drives.effort - friction
            H = tree.mass_matrix(at)
            H[range(6, 6 + n), range(6, 6 + n)] += h * slope       # friction is implicit
            v_dot = np.linalg.solve(H, effort)
            yield State(t, p, R, q, v, v_dot, amperes, voltage)
            robot.drives.backlash(h)
            new = v + h * v_dot
            middle = 0.5 * (v + new)
            p = p + h * (R @ middle[:3])
            R = R @ turn(h * middle[3:6])
            q = q + h * middle[6:]
            v = new


def add_event(dive: Dive, name: str, seed: int) -> dict[str, Any]:
    """Arrange an event; returns what is true of it."""
    rng, T = np.random.default_rng([seed, 9]), dive.duration
    robot = dive.robot
    if name == "payload":
        link = robot.tree.bodies[-1]
        before = (link.mass, link.com, link.inertia, link.volume)
        m = float(rng.uniform(0.02, 0.06) * robot_mass(robot))
        place = 2 * link.buoyancy_centre

        def take():
            total = link.mass + m
            at_origin = link.rigid() + rigid_inertia(m, place, m * 4e-4 * np.eye(3))
            com = (link.mass * link.com + m * place) / total
            S = rigid_inertia(total, com, np.zeros((3, 3)))[3:, 3:]
            link.mass, link.com, link.inertia = total, com, at_origin[3:, 3:] - S
            link.volume += 0.2 * m / robot.tree.rho
            robot.tree.renew()

        def put():
            link.mass, link.com, link.inertia, link.volume = before
            robot.tree.renew()
        dive.events += [(0.3 * T, "take", take), (0.55 * T, "put", put)]
        return {"payload_kg": m, "in_water_kg": 0.8 * m, "from": 0.3 * T, "to": 0.55 * T}
    if name in ("dead_thruster", "weak_thruster"):
        k, left = int(rng.integers(len(dive.pwm))), 0.0 if name == "dead_thruster" else 0.6

        def fail():
            robot.thrusters.health = np.ones(len(dive.pwm))
            robot.thrusters.health[k] = left
        dive.events.append((0.4 * T, name, fail))
        return {"thruster": k + 1, "left": left, "from": 0.4 * T}
    if name == "restart":
        return {"imu_and_joints_away": [0.35 * T, 0.35 * T + 6.0],
                "no_lock": [0.5 * T, 0.5 * T + 8.0]}
    return {}


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


class Types:
    """ROS messages of the roles, in REP-103 axes, the DVL's in FRD."""

    TOPIC = {"imu": "/imu/data", "dvl": "/dvl/twist", "depth": "/depth",
             "joint_states": "/joint_states", "thrusters": "/thruster_commands",
             "battery": "/battery"}

    def __init__(self, joints: list[str]):
        self.store, self.joints = get_typestore(Stores.ROS2_JAZZY), joints
        self.t = self.store.types

    def header(self, stamp: float):
        ns = round(stamp * 1e9)
        return self.t["std_msgs/msg/Header"](
            self.t["builtin_interfaces/msg/Time"](ns // 10 ** 9, ns % 10 ** 9), "base_link")

    def vector(self, x):
        return self.t["geometry_msgs/msg/Vector3"](*(float(v) for v in x))

    def message(self, role: str, stamp: float, x):
        t, head = self.t, self.header(stamp)
        if role == "imu":
            q = quaternion(ENU @ x[0] @ F)
            return t["sensor_msgs/msg/Imu"](
                head, t["geometry_msgs/msg/Quaternion"](*q), 1e-4 * np.eye(3).ravel(),
                self.vector(F @ x[1]), 1e-5 * np.eye(3).ravel(), self.vector(F @ x[2]),
                1e-3 * np.eye(3).ravel())
        if role == "dvl":
            twist = t["geometry_msgs/msg/Twist"](self.vector(x[0]), self.vector(np.zeros(3)))
            C = np.diag([x[1] ** 2] * 3 + [0.0] * 3).ravel()
            return t["geometry_msgs/msg/TwistWithCovarianceStamped"](
                head, t["geometry_msgs/msg/TwistWithCovariance"](twist, C))
        if role == "depth":
            return t["sensor_msgs/msg/FluidPressure"](head, x, 625.0)
        if role == "joint_states":
            return t["sensor_msgs/msg/JointState"](head, list(self.joints), *map(np.array, x))
        if role == "thrusters":
            return t["std_msgs/msg/Float64MultiArray"](
                t["std_msgs/msg/MultiArrayLayout"]([], 0), np.array(x))
        none = np.array([], dtype=np.float32)
        return t["sensor_msgs/msg/BatteryState"](
            head, float(x), 20.0, 0.0, 0.0, 0.0, 0.0, 0.5, 2, 1, 0, True, none, none, "", "")


def quaternion(R: np.ndarray) -> np.ndarray:
    """[x y z w] of a rotation matrix, by the largest column of 4 q q^T (Bar-Itzhack)."""
    K = np.array([[R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0],
                   R[2, 1] - R[1, 2]],
                  [0, R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]],
                  [0, 0, R[2, 2] - R[0, 0] - R[1, 1], R[1, 0] - R[0, 1]],
                  [0, 0, 0, np.trace(R)]])
    K = np.triu(K) + np.triu(K, 1).T + np.eye(4)
    column = K[:, np.argmax(K.diagonal())]
    return column / np.linalg.norm(column)


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
