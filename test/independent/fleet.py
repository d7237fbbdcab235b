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

"""Robots: hull, thrusters, arm, water and drivers of an individual, drawn by its number.

Individuals have 8 to 60 kg, 6 to 8 thrusters in four layouts and arms of 2 to 5 joints. SI, body
FRD.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from machines import ASTERN, Battery, Drives, Thrusters, allocation
from rigid_tree import Body, Motion, Tree, rpy, turn
from water import Hull, Strips, Tether, Tones, Waves, hull_drag, sphere_like

F = np.diag([1.0, -1.0, -1.0])      # FRD from FLU
UP = np.array([0.0, 0.0, -1.0])
T200_THRUST = 51.4                  # [N] at 16 V


@dataclass
class Sensing:
    """Places (3,) FRD, mounting errors (3, 3), and what the instruments and drivers do."""

    imu_place: np.ndarray
    dvl_place: np.ndarray
    depth_place: np.ndarray
    dvl_axes: np.ndarray
    imu_axes: np.ndarray
    imu_period: float
    dvl_period: float
    joint_period: float
    dvl_noise: float
    dvl_latency: float
    dvl_loss: float
    stamp_at_arrival: bool
    batch: int                      # IMU messages that arrive together
    effort_step: float              # share of the torque limit
    effort_scale: np.ndarray        # (n,) N m per unit published, as the data sheet says
    effort_error: np.ndarray        # (n,) true over that
    battery: bool


class LinkSheet(NamedTuple):
    """What the data sheet says of a link: origin (3,) in the frame before it, axis (3,) of its
    joint, mass, centre of mass (3,), inertia (3, 3) about it."""

    origin: np.ndarray
    axis: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray


class Arm(NamedTuple):
    """Links and their cylinders' ends and widths, in order; limits (n, 2) [rad]; the mount, xyz and
    rpy in FLU."""

    bodies: list[Body]
    ends: list[tuple[np.ndarray, np.ndarray, float]]
    sheets: list[LinkSheet]
    limits: np.ndarray
    mount: tuple[np.ndarray, np.ndarray]


@dataclass
class Individual:
    number: int
    tree: Tree
    hull: Hull
    strips: Strips
    thrusters: Thrusters
    nominal_allocation: np.ndarray
    battery: Battery
    drives: Drives
    limits: np.ndarray              # (n, 2) [rad]
    speed: np.ndarray               # (n,) [rad/s]
    sensing: Sensing
    current: Tones
    waves: Waves
    tether: Tether | None
    mount: tuple[np.ndarray, np.ndarray]
    links: list[LinkSheet]
    size: np.ndarray

    @property
    def joints(self) -> list[str]:
        return [f"joint_{k + 1}" for k in range(len(self.limits))]

    @property
    def home(self) -> np.ndarray:
        return self.limits.mean(1)


def layout(count: int, straight: bool, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places and directions (N, 3) FRD of thrusters on a hull of `size`."""
    x, y, z = 0.42 * size
    if straight:        # two ahead, one across, three up
        place = [(-x, y, 0), (-x, -y, 0), (0.05, 0, -0.1 * z), (x, 0, -z), (-x, y, -z),
                 (-x, -y, -z)]
        direction = [(1, 0, 0), (1, 0, 0), (0, 1, 0), UP, UP, UP]
        return np.array(place, float), np.array(direction, float)
    c = np.sqrt(0.5)
    place = [(x, y, 0.2 * z), (x, -y, 0.2 * z), (-x, y, 0.2 * z), (-x, -y, 0.2 * z)]
    direction = [(c, -c, 0), (c, c, 0), (-c, -c, 0), (-c, c, 0)]
    vertical = {2: [(0, y), (0, -y)], 3: [(0.9 * x, 0), (-0.6 * x, y), (-0.6 * x, -y)],
                4: [(0.6 * x, y), (0.6 * x, -y), (-0.6 * x, y), (-0.6 * x, -y)]}[count - 4]
    for k, (a, b) in enumerate(vertical):
        place.append((a, b, -0.5 * z))
        direction.append(UP if k % 2 else -UP)
    return np.array(place, float), np.array(direction, float)


def draw(number: int, rough: float = 1.0) -> Individual:
    """Individual `number`; rough scales water, tether and what the owner does not know."""
    rng = np.random.default_rng([20, number])
    rho = rng.choice([998.0, 1025.0])
    mass = float(np.exp(rng.uniform(np.log(8.0), np.log(60.0))))
    s = (mass / 11.0) ** (1 / 3)        # size beside that of a vehicle of 11 kg
    size = s * np.array([0.46, 0.5, 0.27]) * rng.uniform(0.85, 1.25, 3)
    arm = _arm(rng, s, rho, rough)
    drives, speed = _drives(rng, arm, rho, rough)
    tree = _tree(rng, mass, size, rho, arm)
    thrusters, nominal = _thrusters(rng, mass, size, rough)
    battery = Battery(full=rng.uniform(15.6, 16.6), fall=rng.uniform(1.5, 3.0),
                      charge=rng.uniform(6, 20) * 3600 * (mass / 11), resistance=0.025 * 11 / mass)
    sensing = _sensing(rng, s, drives.torque, rough)
    current = Tones.drawn(rng, rough * np.r_[rng.normal(size=2) * 0.04, 0.0],
                          rough * np.array([0.03, 0.03, 0.005]))
    waves = Waves.drawn(rng, rough * (0.12 if rng.random() < 0.3 else 0.01))
    tether = _tether(rng, size, s, rough) if rng.random() < 0.7 else None
    return Individual(number, tree, hull_drag(size, rho, rng), Strips(arm.ends, rho), thrusters,
                      nominal, battery, drives, arm.limits, speed, sensing, current, waves, tether,
                      arm.mount, arm.sheets, size)


def _arm(rng, s: float, rho: float, rough: float) -> Arm:
    """Cylinders along x of their frames, joints about z, then y, y, x, y."""
    n = int(rng.integers(2, 6))
    axes = [np.eye(3)[i] for i in (2, 1, 1, 0, 1)][:n]
    length = s * rng.uniform(0.6, 1.3, n) * np.array([0.06, 0.17, 0.15, 0.06, 0.12])[:n]
    width = s * rng.uniform(0.035, 0.06, n)
    mount_xyz = s * np.array([rng.uniform(0.12, 0.24), rng.uniform(-0.08, 0.08),
                              rng.uniform(-0.14, -0.06)])
    mount_rpy = np.array([np.pi, rng.choice([0.0, 0.2]), 0.0])
    limits = np.array([[-1.5, 1.5], [-0.2, 1.8], [-1.2, 1.6], [-2.0, 2.0], [-1.2, 1.2]])[:n]
    arm = Arm([], [], [], limits, (mount_xyz, mount_rpy))
    for k in range(n):
        volume = np.pi / 4 * width[k] ** 2 * length[k]
        m = volume * rng.uniform(1300.0, 2600.0)
        com = np.array([0.5 * length[k], 0, 0]) + 0.1 * width[k] * rng.normal(size=3)
        across = m * (length[k] ** 2 / 12 + width[k] ** 2 / 16)
        I = np.diag([m * width[k] ** 2 / 8, across, across])
        end = np.array([length[k], 0.0, 0.0])
        origin = np.array([length[k - 1], 0, 0]) if k else np.array([0, 0, 0.02 * s])
        place, rest = origin, np.eye(3)
        if k == 0:
            own = F @ rpy(*mount_rpy)
            place, rest = F @ mount_xyz + own @ origin, own
        arm.bodies.append(Body(m, com, I, volume, np.array([0.5 * length[k], 0, 0]),
                               Strips.added(np.zeros(3), end, width[k], rho), place, rest, axes[k]))
        arm.ends.append((np.zeros(3), end, width[k]))
        known = m * rng.uniform(1 - 0.15 * rough, 1 + 0.15 * rough)
        arm.sheets.append(LinkSheet(origin, axes[k], known, com + 0.005 * rng.normal(size=3),
                                    I * known / m))
    return arm


def _drives(rng, arm: Arm, rho: float, rough: float) -> tuple[Drives, np.ndarray]:
    """The drives, and the joints' speeds (n,); gives the links their rotors. Torques are three
    times what holds the stretched arm in water, and its friction."""
    bodies, n = arm.bodies, len(arm.bodies)
    length = [end[0] for _, end, _ in arm.ends]
    hold = np.array([9.81 * sum((bodies[j].mass - rho * bodies[j].volume)
                                * (sum(length[k:j]) + length[j] / 2) for j in range(k, n))
                     for k in range(n)])
    reach = np.array([sum(bodies[j].mass * (sum(length[k:j]) + length[j] / 2) ** 2
                          for j in range(k, n)) for k in range(n)])
    torque = 3 * np.maximum(hold, 0.25 * hold.max()) * rng.uniform(0.9, 1.5, n) + 0.15
    speed = rng.uniform(0.3, 0.9, n)
    for body, J in zip(bodies, reach):
        body.rotor = float(max(J, 0.2 * reach.max()) * rng.uniform(0.3, 1.2))
    coulomb = torque * rng.uniform(0.04, 0.12, n)
    return Drives(viscous=torque * rng.uniform(0.1, 0.3, n) / speed, coulomb=coulomb,
                  static=coulomb * rng.uniform(1.1, 1.5, n), stribeck=rng.uniform(0.03, 0.1, n),
                  load=rng.uniform(0.0, 0.06 * rough, n), gap=rough * rng.uniform(0.0, 0.012, n),
                  torque=torque, stiffness=torque / 0.15), speed


def _tree(rng, mass: float, size: np.ndarray, rho: float, arm: Arm) -> Tree:
    """Hull and links, in balance with the arm at home but for a twentieth."""
    own_mass = mass - sum(body.mass for body in arm.bodies)
    surplus = rng.uniform(-0.002, 0.01)         # buoyancy beyond weight
    volume = (mass * (1 + surplus)) / rho - sum(body.volume for body in arm.bodies)
    com = size * np.array([rng.uniform(-0.02, 0.02), rng.uniform(-0.01, 0.01),
                           rng.uniform(0.02, 0.08)])
    cob = size * np.array([0.0, 0.0, -rng.uniform(0.04, 0.1)])
    I = own_mass / 12 * np.diag([size[1] ** 2 + size[2] ** 2, size[0] ** 2 + size[2] ** 2,
                                 size[0] ** 2 + size[1] ** 2]) * rng.uniform(0.6, 1.0)
    tilt = turn(0.05 * rng.normal(size=3))
    vehicle = Body(own_mass, com, tilt @ I @ tilt.T, volume, cob,
                   sphere_like(volume, size, rho, rng))
    tree, n = Tree([vehicle, *arm.bodies], rho), len(arm.bodies)
    rest = tree.bias(Motion(tree, np.eye(3), arm.limits.mean(1), np.zeros(6 + n)), np.zeros(3),
                     np.zeros(3), np.zeros((n + 1, 6)))
    lift = rho * volume * tree.g
    cob[0] += rest[4] / lift * 0.95         # moment about y is lift * x
    cob[1] -= rest[3] / lift * 0.95
    tree.renew()
    return tree


def _thrusters(rng, mass: float, size: np.ndarray, rough: float) -> tuple[Thrusters, np.ndarray]:
    """The thrusters, and their allocation (6, N) on paper."""
    straight = bool(rng.random() < 0.2)
    count = 6 if straight else int(rng.choice([6, 7, 8, 8]))
    place, direction = layout(count, straight, size)
    off = np.array([turn(0.02 * rough * rng.normal(size=3)) @ d for d in direction])
    influence = 0.04 * rough * rng.random((count, count)) * (1 - np.eye(count))
    return Thrusters(place + 0.01 * rough * rng.normal(size=place.shape), off,
                     rated_thrust(mass) * (1 + 0.05 * rough * rng.normal(size=count)),
                     power=1.35 + 0.04 * rng.normal(), rate=rng.uniform(16, 30),
                     damping=rng.uniform(0.7, 1.1), dead_time=rng.uniform(0.0, 0.04),
                     advance=rough * rng.uniform(0.05, 0.2),
                     influence=influence / 2), allocation(place, direction)


def _sensing(rng, s: float, torque: np.ndarray, rough: float) -> Sensing:
    n = len(torque)
    near = s * np.array([rng.uniform(-0.15, 0.1), 0.0, rng.uniform(0.05, 0.15)])
    return Sensing(
        imu_place=s * rng.uniform(-0.08, 0.08, 3), dvl_place=near,
        depth_place=s * rng.uniform(-0.1, 0.1, 3),
        dvl_axes=turn(0.012 * rough * rng.normal(size=3)),
        imu_axes=turn(0.006 * rough * rng.normal(size=3)),
        imu_period=float(rng.choice([0.01, 0.01, 0.02, 0.005])),
        dvl_period=float(rng.choice([0.08, 0.1, 0.125, 0.2])),
        joint_period=float(rng.choice([0.01, 0.02, 0.05])),
        dvl_noise=rng.uniform(0.004, 0.015), dvl_latency=rng.uniform(0.03, 0.15),
        dvl_loss=rough * rng.uniform(0.0, 0.06), stamp_at_arrival=bool(rng.random() < 0.3),
        batch=int(rng.choice([1, 1, 1, 4])), effort_step=rng.uniform(0.002, 0.02),
        effort_scale=(np.ones(n) if rng.random() < 0.5 else torque / rng.uniform(400, 900, n)),
        effort_error=1 + 0.05 * rough * rng.normal(size=n), battery=bool(rng.random() < 0.4))


def _tether(rng, size: np.ndarray, s: float, rough: float) -> Tether:
    depth = 6.0
    return Tether(anchor=np.array([-4.0, rng.normal(), -depth]),
                  place=np.array([-size[0] / 2, 0.0, -0.1 * size[2]]),
                  length=float(np.hypot(5.0, depth)) * rng.uniform(1.5, 2.5), stiffness=60.0,
                  drag=rough * rng.uniform(0.5, 3.0) * s, node=np.array([-2.0, 0.0, -3.0]),
                  speed=np.zeros(3))


def uses_t200(mass: float) -> bool:
    """Whether a vehicle of this mass [kg] has the usual small thruster, or larger ones."""
    return mass < 16.0


def rated_thrust(mass: float) -> float:
    """Largest thrust [N] of each thruster of a vehicle of this mass [kg], on paper."""
    return T200_THRUST if uses_t200(mass) else T200_THRUST * (mass / 12) ** 0.8


def robot_mass(robot: Individual) -> float:
    return sum(body.mass for body in robot.tree.bodies)


def largest_wrench(robot: Individual) -> np.ndarray:
    """(6,) each axis alone with thrusters at half of their thrust astern; 0: not controlled."""
    B = robot.nominal_allocation * robot.thrusters.largest.mean()
    share = np.linalg.pinv(B, rcond=1e-3)
    reached = np.abs(B @ share).diagonal() > 0.5
    return np.where(reached, 0.7 * ASTERN / np.maximum(np.abs(share).max(0), 1e-9), 0.0)
