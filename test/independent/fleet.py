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

"""Robots: hull, thrusters, arm, water and drivers of an individual, drawn by its number, with the
URDF and the settings that its owner would write.

Individuals have 8 to 60 kg, 6 to 8 thrusters in four layouts and arms of 2 to 5 joints. The URDF
and the settings are what a data sheet says: link masses off by up to 15 %, thrusters by 5 %, places
by 1 cm, mounting angles by 1 degree. SI, body FRD; URDF and settings in FLU.
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from machines import ASTERN, Battery, Drives, Thrusters, curve, thrust_of
from rigid_tree import Body, Motion, Tree, rpy, turn
from water import Strips, Tether, Tones, Waves, hull_drag, sphere_like

F = np.diag([1.0, -1.0, -1.0])      # FRD from FLU
UP, RIGHT = np.array([0.0, 0.0, -1.0]), np.array([0.0, 1.0, 0.0])
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


@dataclass
class Individual:
    number: int
    tree: Tree
    hull: object
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
    urdf: str
    size: np.ndarray
    t200: bool

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


def allocation(place: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """(6, N) wrench per newton of each thruster."""
    return np.vstack([direction.T, np.cross(place, direction).T])


def draw(number: int, rough: float = 1.0) -> Individual:
    """Individual `number`; rough scales water, tether and what the owner does not know."""
    rng = np.random.default_rng([20, number])
    rho = rng.choice([998.0, 1025.0])
    mass = float(np.exp(rng.uniform(np.log(8.0), np.log(60.0))))
    s = (mass / 11.0) ** (1 / 3)
    size = s * np.array([0.46, 0.5, 0.27]) * rng.uniform(0.85, 1.25, 3)
    # --- arm: cylinders along x of their frames, joints about z, then y, y, x, y
    n = int(rng.integers(2, 6))
    axes = [np.eye(3)[i] for i in (2, 1, 1, 0, 1)][:n]
    length = s * rng.uniform(0.6, 1.3, n) * np.array([0.06, 0.17, 0.15, 0.06, 0.12])[:n]
    width = s * rng.uniform(0.035, 0.06, n)
    mount_xyz = s * np.array([rng.uniform(0.12, 0.24), rng.uniform(-0.08, 0.08),
                              rng.uniform(-0.14, -0.06)])
    mount_rpy = np.array([np.pi, rng.choice([0.0, 0.2]), 0.0])
    limits = np.array([[-1.5, 1.5], [-0.2, 1.8], [-1.2, 1.6], [-2.0, 2.0], [-1.2, 1.2]])[:n]
    bodies, ends, texts = [], [], []
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
        bodies.append(Body(m, com, I, volume, np.array([0.5 * length[k], 0, 0]),
                           Strips.added(np.zeros(3), end, width[k], rho), place, rest, axes[k]))
        ends.append((np.zeros(3), end, width[k]))
        known = m * rng.uniform(1 - 0.15 * rough, 1 + 0.15 * rough)
        texts.append((k, origin, known, com + 0.005 * rng.normal(size=3), I * known / m))
    # torques: three times what holds the stretched arm in water, and its friction
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
    drives = Drives(viscous=torque * rng.uniform(0.1, 0.3, n) / speed, coulomb=coulomb,
                    static=coulomb * rng.uniform(1.1, 1.5, n), stribeck=rng.uniform(0.03, 0.1, n),
                    load=rng.uniform(0.0, 0.06 * rough, n),
                    gap=rough * rng.uniform(0.0, 0.012, n), torque=torque, stiffness=torque / 0.15)
    # --- hull: in balance with its arm at home
    arm_mass = sum(body.mass for body in bodies)
    arm_volume = sum(body.volume for body in bodies)
    own_mass = mass - arm_mass
    surplus = rng.uniform(-0.002, 0.01)         # buoyancy beyond weight
    volume = (mass * (1 + surplus)) / rho - arm_volume
    com = size * np.array([rng.uniform(-0.02, 0.02), rng.uniform(-0.01, 0.01),
                           rng.uniform(0.02, 0.08)])
    cob = size * np.array([0.0, 0.0, -rng.uniform(0.04, 0.1)])
    I = own_mass / 12 * np.diag([size[1] ** 2 + size[2] ** 2, size[0] ** 2 + size[2] ** 2,
                                 size[0] ** 2 + size[1] ** 2]) * rng.uniform(0.6, 1.0)
    tilt = turn(0.05 * rng.normal(size=3))
    vehicle = Body(own_mass, com, tilt @ I @ tilt.T, volume, cob,
                   sphere_like(volume, size, rho, rng))
    tree = Tree([vehicle, *bodies], rho)
    rest = tree.bias(Motion(tree, np.eye(3), limits.mean(1), np.zeros(6 + n)), np.zeros(3),
                     np.zeros(3), np.zeros((n + 1, 6)))
    lift = rho * volume * tree.g
    cob[0] += rest[4] / lift * 0.95         # moment about y is lift * x
    cob[1] -= rest[3] / lift * 0.95
    tree.renew()
    # --- thrusters
    straight = bool(rng.random() < 0.2)
    count = 6 if straight else int(rng.choice([6, 7, 8, 8]))
    t200 = mass < 16.0
    largest = T200_THRUST if t200 else T200_THRUST * (mass / 12) ** 0.8
    place, direction = layout(count, straight, size)
    nominal = allocation(place, direction)
    off = np.array([turn(0.02 * rough * rng.normal(size=3)) @ d for d in direction])
    influence = 0.04 * rough * rng.random((count, count)) * (1 - np.eye(count))
    thrusters = Thrusters(place + 0.01 * rough * rng.normal(size=place.shape), off,
                          largest * (1 + 0.05 * rough * rng.normal(size=count)),
                          power=1.35 + 0.04 * rng.normal(), rate=rng.uniform(16, 30),
                          damping=rng.uniform(0.7, 1.1), dead_time=rng.uniform(0.0, 0.04),
                          advance=rough * rng.uniform(0.05, 0.2), influence=influence / 2)
    battery = Battery(full=rng.uniform(15.6, 16.6), fall=rng.uniform(1.5, 3.0),
                      charge=rng.uniform(6, 20) * 3600 * (mass / 11), resistance=0.025 * 11 / mass)
    # --- sensing
    near = s * np.array([rng.uniform(-0.15, 0.1), 0.0, rng.uniform(0.05, 0.15)])
    sensing = Sensing(
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
    # --- water
    current = Tones.drawn(rng, rough * np.r_[rng.normal(size=2) * 0.04, 0.0],
                          rough * np.array([0.03, 0.03, 0.005]))
    waves = Waves.drawn(rng, rough * (0.12 if rng.random() < 0.3 else 0.01))
    tether = None
    if rng.random() < 0.7:
        back = np.array([-size[0] / 2, 0.0, -0.1 * size[2]])
        depth = 6.0
        tether = Tether(anchor=np.array([-4.0, rng.normal(), -depth]), place=back,
                        length=float(np.hypot(5.0, depth)) * rng.uniform(1.5, 2.5), stiffness=60.0,
                        drag=rough * rng.uniform(0.5, 3.0) * s, node=np.array([-2.0, 0.0, -3.0]),
                        speed=np.zeros(3))
    return Individual(number, tree, hull_drag(size, rho, rng), Strips(ends, rho), thrusters,
                      nominal, battery, drives, limits, speed, sensing, current, waves, tether,
                      (mount_xyz, mount_rpy), urdf_text(texts, axes, limits, torque, speed), size,
                      t200)


def urdf_text(links, axes, limits, torque, speed) -> str:
    lines = ['<?xml version="1.0"?>', '<robot name="arm">', '  <link name="arm_base"/>']
    for k, origin, m, com, I in links:
        parent = f"link_{k}" if k else "arm_base"
        lines += [
            f'  <joint name="joint_{k + 1}" type="revolute">',
            f'    <parent link="{parent}"/> <child link="link_{k + 1}"/>',
            f'    <origin xyz="{_row(origin)}" rpy="0 0 0"/> <axis xyz="{_row(axes[k])}"/>',
            f'    <limit lower="{limits[k][0]}" upper="{limits[k][1]}" effort="{torque[k]:.4g}" '
            f'velocity="{speed[k]:.3g}"/>', '  </joint>', f'  <link name="link_{k + 1}">',
            f'    <inertial> <origin xyz="{_row(com)}" rpy="0 0 0"/> <mass value="{m:.5g}"/>',
            f'      <inertia ixx="{I[0, 0]:.4g}" ixy="0" ixz="0" iyy="{I[1, 1]:.4g}" iyz="0" '
            f'izz="{I[2, 2]:.4g}"/>', '    </inertial>', '  </link>']
    return "\n".join([*lines, "</robot>", ""])


def write_settings(robot: Individual, folder: Path) -> Path:
    """Write arm.urdf, thrust.csv and robot.yaml into `folder`; returns the YAML's path."""
    (folder / "arm.urdf").write_text(robot.urdf)
    of, xyz = robot.sensing, lambda r: _list(F @ r)
    scale = ("" if np.all(of.effort_scale == 1)
             else f"\n      effort_scale: {_list(of.effort_scale)}")
    thrust = "t200"
    if not robot.t200:
        thrust = str(folder / "thrust.csv")
        largest = T200_THRUST * (robot_mass(robot) / 12) ** 0.8
        pwm, volts = np.arange(1100.0, 1901.0, 10.0), (12.0, 14.0, 16.0, 17.0)
        table = np.stack([largest * thrust_of(curve(pwm, v)) for v in volts], axis=1)
        rows = [",".join([f"{p:.0f}", *(f"{x:.3f}" for x in row)]) for p, row in zip(pwm, table)]
        head = "pwm_us," + ",".join(f"thrust_{v:.0f}V_N" for v in volts)
        Path(thrust).write_text("\n".join([head, *rows, ""]))
    path = folder / "robot.yaml"
    path.write_text(f"""/**:
  ros__parameters:
    robot:
      urdf: {folder / 'arm.urdf'}
      joints: [{', '.join(robot.joints)}]
      mount_xyz: {_list(robot.mount[0])}
      mount_rpy: {_list(robot.mount[1])}
      water_density: {robot.tree.rho}
      dry_mass: {robot_mass(robot):.1f}
    imu: {{xyz: {xyz(of.imu_place)}}}
    dvl: {{xyz: {xyz(of.dvl_place)}}}
    depth: {{xyz: {xyz(of.depth_place)}}}
    joint_states:
      topic: joint_states{scale}
    battery: {{enabled: {str(of.battery).lower()}}}
    thrusters:
      curve: {thrust}
      signs: {_list(np.ones(len(robot.thrusters.place)))}
      allocation: {_list(robot.nominal_allocation.ravel())}
""")
    return path


def robot_mass(robot: Individual) -> float:
    return sum(body.mass for body in robot.tree.bodies)


def largest_wrench(robot: Individual) -> np.ndarray:
    """(6,) each axis alone with thrusters at half of their thrust astern; 0: not controlled."""
    B = robot.nominal_allocation * robot.thrusters.largest.mean()
    share = np.linalg.pinv(B, rcond=1e-3)
    reached = np.abs(B @ share).diagonal() > 0.5
    return np.where(reached, 0.7 * ASTERN / np.maximum(np.abs(share).max(0), 1e-9), 0.0)


def _row(x) -> str:
    return " ".join(f"{v:.6g}" for v in x)


def _list(x) -> str:
    return "[" + ", ".join(repr(round(float(v), 6)) for v in x) + "]"
