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

"""A dive: a robot in the water, flown by a pilot, and what happens to it on the way."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from fleet import Individual, robot_mass
from machines import pwm_for
from pilots import DEPTH, Pilot
from rigid_tree import Motion, cross, rigid_inertia, turn
from water import relative_to

EVENTS = ("none", "payload", "dead_thruster", "weak_thruster", "restart")
STEP = 0.005            # [s]


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
