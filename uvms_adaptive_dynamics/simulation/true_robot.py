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

"""The true parameters of the simulated robot.

All vehicle quantities are in the body frame FRD (x forward, y right, z down) about the body origin,
SI units. They lie within the spread of the published parameter sets and equal none of them. Where
the estimator has a setting, the truth differs from it, as on a real robot
(test/simulation/test_individual.py): positions by the error of a ruler, thrusters by their mounting
tolerance.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

ALPHA5_URDF = Path(__file__).resolve().parents[1] / "robots" / "alpha5.urdf"
ALPHA5_JOINTS = ("axis_e", "axis_d", "axis_c", "axis_b")
MEAN_DEPTH = 5.0  # [m]


def _frozen(rows):
    def make():
        array = np.array(rows, dtype=float)
        array.setflags(write=False)
        return array
    return field(default_factory=make)


@dataclass(frozen=True)
class TrueLink:
    """One moving link: rigid body, displaced water and drag, in the link's frame.

    mass [kg]; com (3,) [m]; inertia [kg m^2] about the centre of mass: Ixx Iyy Izz Ixy Ixz Iyz
    (tensor entries); volume [m^3] displaced, its centre cob (3,) [m]; drag (3,) [N s^2/m^2] along
    the link's x y z: f = -drag |v| v.
    """

    mass: float
    com: tuple
    inertia: tuple
    volume: float
    cob: tuple
    drag: tuple


# Masses and inertias differ from the URDF's, the prior, by up to 15 %, as in assembled arms.
_LINKS = (
    TrueLink(0.205, (-0.006, 0.001, 0.003), (1.5e-4, 1.7e-4, 6.8e-5, 5e-6, -3.5e-5, -3e-6),
             1.8e-5, (0.001, 0.003, 0.018), (0.26, 0.26, 0.30)),
    TrueLink(0.452, (-0.0205, 0.001, -0.0735), (9.0e-4, 9.6e-4, 1.6e-4, 4e-6, -2.2e-4, 3e-6),
             2.03e-4, (-0.0194, 0.002, -0.0704), (1.3, 1.3, 0.3)),
    TrueLink(0.124, (0.016, -0.003, 0.024), (5.6e-5, 7.8e-5, 4.6e-5, 2e-6, -1.1e-5, 1e-6),
             2.5e-5, (0.003, -0.017, -0.001), (0.26, 0.26, 0.30)),
    TrueLink(0.352, (0.002, 0.004, 0.103), (5.6e-4, 5.8e-4, 8.8e-5, 3e-6, 6e-6, 4e-6),
             1.55e-4, (0.0, 0.003, 0.098), (1.4, 1.4, 0.3)),
)


@dataclass(frozen=True, eq=False)  # arrays have no single answer to ==
class TrueRobot:
    """A BlueROV2 Heavy (arm base included) with an Alpha 5; vary it with `dataclasses.replace`."""

    fixed_base: bool = False  # the body does not move: an arm on its own
    # vehicle: rigid body
    mass: float = 11.9  # [kg], the arm's fixed base included
    com: tuple = (-0.012, 0.002, 0.017)  # [m]; aft and low: the ballast that balances the arm
    # [kg m^2] about com: Ixx Iyy Izz Ixy Ixz Iyz
    inertia: tuple = (0.215, 0.252, 0.268, 0.002, -0.006, 0.001)
    # water: added mass (6, 6), damping as positive matrices: tau = -(linear + quadratic |nu|) nu
    added_mass: np.ndarray = _frozen([
        [6.9, 0.0, 0.0, 0.0, 0.28, 0.0],
        [0.0, 11.4, 0.0, -0.31, 0.0, 0.10],
        [0.0, 0.0, 17.2, 0.0, 0.12, 0.0],
        [0.0, -0.31, 0.0, 0.172, 0.0, 0.008],
        [0.28, 0.0, 0.12, 0.0, 0.205, 0.0],
        [0.0, 0.10, 0.0, 0.008, 0.0, 0.193]])
    linear_damping: np.ndarray = _frozen([
        [9.5, 0.0, 0.2, 0.0, 0.09, 0.0],
        [0.0, 13.0, 0.0, -0.10, 0.0, 0.06],
        [0.2, 0.0, 22.0, 0.0, 0.12, 0.0],
        [0.0, -0.10, 0.0, 0.48, 0.0, 0.02],
        [0.09, 0.0, 0.12, 0.0, 0.62, 0.0],
        [0.0, 0.06, 0.0, 0.02, 0.0, 0.41]])
    quadratic_damping: np.ndarray = _frozen([
        [62.0, 0.0, 0.0, 0.0, 0.15, 0.0],
        [0.0, 98.0, 0.0, -0.20, 0.0, 0.15],
        [0.0, 0.0, 124.0, 0.0, 0.15, 0.0],
        [0.0, -0.8, 0.0, 1.15, 0.0, 0.0],
        [0.6, 0.0, 0.5, 0.0, 1.35, 0.0],
        [0.0, 0.5, 0.0, 0.0, 0.0, 1.60]])
    # [N] of the vehicle, 0.7 N more than its weight of 116.8 N and the arm's 7.2 N in water
    buoyancy: float = 124.67
    cob: tuple = (0.0035, 0.001, -0.010)  # [m] centre of buoyancy
    gravity: float = 9.8127  # [m/s^2] at 52 deg of latitude
    water_density: float = 998.2  # [kg/m^3] fresh, 20 deg C
    # arm
    urdf: str = str(ALPHA5_URDF)  # for kinematics, position and torque limits, not for inertias
    joints: tuple = ALPHA5_JOINTS
    mount_xyz: tuple = (0.191, -0.0008, -0.1188)  # [m] arm base in FLU
    mount_rpy: tuple = (np.pi - 0.003, 0.002, -0.003)  # [rad] arm base in FLU
    links: tuple = _LINKS
    payload_mass: float = 0.0  # [kg] point mass held by the last link
    payload_volume: float = 0.0  # [m^3] water it displaces
    payload_place: tuple = (0.0, 0.0, 0.19)  # [m] in the last link's frame
    rotor_inertia: tuple = (0.0121, 0.0121, 0.0118, 3.4e-4)  # [kg m^2] at the output shaft
    # joint friction: viscous v + h tanh(v / stiction_speed),
    # h = coulomb + (static - coulomb) exp(-(v / stribeck_speed)^2)
    viscous: tuple = (2.55, 2.05, 0.87, 0.33)  # [N m s/rad]
    coulomb: tuple = (0.12, 0.09, 0.065, 0.028)  # [N m]
    static: tuple = (0.16, 0.13, 0.09, 0.039)  # [N m]
    stribeck_speed: float = 0.03  # [rad/s]
    stiction_speed: float = 0.004  # [rad/s] width of the smooth sign
    posture: tuple = (3.1, 2.3, 1.6, 2.85)  # [rad] at rest; empty: amid the position limits
    depth: float = MEAN_DEPTH  # [m] of the wanted motion
    top_speed: tuple = (0.40, 0.30, 0.50, 0.90)  # [rad/s] of the wanted motion
    torque_limit: tuple = ()  # [N m or N] of each joint; empty: the URDF's
    servo_stiffness: tuple = (40.0, 40.0, 20.0, 8.0)  # [N m/rad]
    stop_stiffness: float = 150.0  # [N m/rad] beyond a position limit
    stop_damping: float = 3.0  # [N m s/rad] beyond a position limit
    # thrusters: rows X Y Z K M N in FRD, columns 1-8; each is bolted on within a degree and 2 mm
    allocation: np.ndarray = _frozen([
        [.714, .703, -.709, -.700, 0, 0, 0, 0],
        [-.700, .711, -.705, .714, 0, 0, 0, 0],
        [0, 0, 0, 0, -1, 1, 1, -1],
        [.0594, -.0608, .0601, -.0611, -.2172, -.2189, .2168, .2185],
        [.0606, .0601, -.0604, -.0599, .1209, -.1193, .1188, -.1207],
        [-.1879, .1896, .1893, -.1881, 0, 0, 0, 0]])
    # share of its thrust that each thruster gives, unknown to its mixer; empty: all of it
    thrust_share: tuple = ()
    rotor_lag: float = 0.104  # [s] first order, thrust behind command
    battery_full: float = 15.9  # [V] at the start
    battery_empty: float = 15.1  # [V] at the end of the run
    # positions of sensors, FLU [m]
    dvl_place: tuple = (-0.0612, 0.0009, -0.1061)
    surface_pressure: float = 100870.0  # [Pa]

    @cached_property
    def friction(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n,) each: viscous [N m s/rad], Coulomb, and static less Coulomb friction [N m]."""
        viscous, coulomb, static = (np.array(x, float)
                                    for x in (self.viscous, self.coulomb, self.static))
        return viscous, coulomb, static - coulomb

    @property
    def loaded_links(self) -> tuple[TrueLink, ...]:
        """The links, the last one with its payload; empty for a robot without an arm."""
        return (*self.links[:-1], self.last_link()) if self.links else ()

    def last_link(self) -> TrueLink:
        """The last link including its payload (a point mass without drag)."""
        link, m, v = self.links[-1], self.payload_mass, self.payload_volume
        if not m and not v:
            return link
        place, com, cob = (np.asarray(x, float) for x in (self.payload_place, link.com, link.cob))
        total = link.mass + m
        centre = (link.mass * com + m * place) / total
        tensor = inertia_matrix(link.inertia)
        for mass, at in ((link.mass, com), (m, place)):
            d = at - centre
            tensor = tensor + mass * (d @ d * np.eye(3) - np.outer(d, d))
        entries = inertia_entries(tensor)
        volume = link.volume + v
        centre_of_buoyancy = (link.volume * cob + v * place) / volume
        return TrueLink(total, tuple(centre), entries, volume, tuple(centre_of_buoyancy),
                        link.drag)


def inertia_matrix(entries) -> np.ndarray:
    """(3, 3) tensor from Ixx Iyy Izz Ixy Ixz Iyz."""
    ixx, iyy, izz, ixy, ixz, iyz = entries
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def inertia_entries(tensor: np.ndarray) -> tuple[float, ...]:
    """Ixx Iyy Izz Ixy Ixz Iyz of a tensor (3, 3)."""
    return tuple(tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
