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

"""What the robot is, and where an estimate of it starts."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting

# `prior.file` that goes on from the node's saved state.
AUTO = "auto"

# Sets of parameters beyond the paper's, in `robot.terms`; model/term_sets/ declares them.
VEHICLE_TERMS = ("off_axis_damping", "thrust_by_direction", "current")
JOINT_TERMS = ("rotor", "friction_by_direction", "dead_band", "link_drag")

# A joint's name is a column of samples.csv and a part of patterns such as 'axis_b.*'.
UNNAMEABLE = " ,;*?[]'\"\\"


@dataclass(frozen=True)
class Robot(Section):
    """What the robot is: vehicle or none, arm or none, its mount, and the constants of water and
    earth."""

    NAME = "robot"
    vehicle: bool = setting(
        True, "The arm sits on a free vehicle; false for an arm on a fixed base.")
    urdf: str = setting(
        "package://uvms_adaptive_dynamics/robots/alpha5.urdf",
        "The arm's URDF: a path, a package:// address, or 'robot_description' to take it from that "
        "topic.")
    joints: tuple[str, ...] = setting(
        ("axis_e", "axis_d", "axis_c", "axis_b"), kind="strings",
        doc="Moving joints from base to tip; empty for a vehicle without an arm. Others are locked "
            "at zero.")
    mount_xyz: tuple[float, ...] = setting(
        (0.19, 0.0, -0.12), "Place of the URDF's root link in the vehicle's body axes (FLU).", "m")
    mount_rpy: tuple[float, ...] = setting(
        (3.141592653589793, 0.0, 0.0),
        "Orientation of the URDF's root link in FLU, roll-pitch-yaw.", "rad")
    # Depth is pressure / (density * gravity), and the attitude comes from gravity: neither may
    # vanish.
    gravity: float = setting(
        9.80665, "Gravitational acceleration; the standard one, 9.780 (equator) to 9.832 (poles).",
        "m/s^2", 1.0, 30.0)
    water_density: float = setting(
        1000.0, "Density of the water; a pool's is 996-1000, the sea's 1020-1030.", "kg/m^3", 1.0,
        1500.0)
    surface_pressure: float = setting(101325.0, "Absolute pressure at the surface.", "Pa", 0.0)
    dry_mass: float = setting(
        0.0, "Mass of vehicle and arm together, weighed in air; 0: unknown. An estimate below it "
             "is reported, since added mass is positive.", "kg", 0.0, 1e5)
    link_volumes: tuple[float, ...] = setting(
        (), "Displaced volume of each link; empty: link parameters are effective.", "m^3", 0.0, 1.0)
    link_buoyancy_centres: tuple[float, ...] = setting(
        (), "Centre of buoyancy of each link in its own frame, x y z one after the other.", "m")
    rotor_inertia: tuple[float, ...] = setting(
        (), "Known reflected rotor inertia of each joint; empty: hidden in the link.", "kg m^2",
        0.0)
    estimate_rotor_inertia: bool = setting(
        False, "Estimate a reflected rotor inertia for each joint as a 13th parameter; the same as "
               "'rotor' in robot.terms.")
    estimate_offsets: str = setting(
        "auto", "Channels with a constant offset as a further parameter (motor current at rest, "
                "trim, a tether): 'none', 'joints', 'vehicle', 'all', or 'auto', the joints of an "
                "arm on a fixed base.", choices=("auto", "none", "joints", "vehicle", "all"))
    terms: tuple[str, ...] = setting(
        (), kind="strings", choices=VEHICLE_TERMS + JOINT_TERMS,
        doc="Sets of parameters beyond the paper's (docs/terms.md; command `terms` says which are "
            "worth it).")
    link_diameters: tuple[float, ...] = setting(
        (), "Diameter of each link for set link_drag; empty: by its volume or mass.", "m", 1e-4,
        10.0)
    dead_band_speed: float = setting(
        0.05, "Speed of a joint up to which set dead_band acts.", "rad/s or m/s", 1e-3, 10.0)
    current_time: float = setting(
        300.0, "Time in which a current changes by its own size, for set current: extent of its "
               "eddies over its speed; an hour for a tide.", "s", 1.0, 1e6)
    link_reference_mass: tuple[float, ...] = setting(
        (), "Reference mass of each link for scaling; empty: the URDF's.", "kg", 1e-6)
    link_reference_length: tuple[float, ...] = setting(
        (), "Reference length of each link for scaling; empty: the URDF's.", "m", 1e-6)
    current_ned: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "Known water current in NED, taken off the velocity over ground.", "m/s",
        -5, 5)

    def validate(self) -> None:
        n = len(self.joints)
        if len(set(self.joints)) != n:
            self.refuse("joints", self.joints, "every joint once")
        if any(not joint or set(joint) & set(UNNAMEABLE) or not joint.isprintable()
               for joint in self.joints):
            self.refuse("joints", self.joints, "names without blanks, quotes, commas, '*', '?' or "
                                               "brackets")
        if not self.vehicle and not n:
            self.refuse("joints", self.joints, "at least one joint when robot.vehicle is false")
        for name, expected in (("mount_xyz", 3), ("mount_rpy", 3), ("current_ned", 3)):
            if len(getattr(self, name)) != expected:
                self.refuse(name, getattr(self, name), f"{expected} numbers")
        for name, per_joint in (("link_volumes", 1), ("link_buoyancy_centres", 3),
                                ("rotor_inertia", 1), ("link_reference_mass", 1),
                                ("link_reference_length", 1), ("link_diameters", 1)):
            got = getattr(self, name)
            if got and len(got) != per_joint * n:
                self.refuse(name, got, f"nothing or {per_joint * n} numbers "
                                       f"({per_joint} for each of {n} joints)")
        if bool(self.link_volumes) != bool(self.link_buoyancy_centres):
            self.refuse("link_buoyancy_centres", self.link_buoyancy_centres,
                        "both link_volumes and centres, or neither")
        self._check_terms()

    def _check_terms(self) -> None:
        twice = [name for name in self.terms if self.terms.count(name) > 1]
        if twice:
            self.refuse("terms", twice[0], "every set once")
        for names, there, what in ((VEHICLE_TERMS, self.vehicle, "robot.vehicle to be true"),
                                   (JOINT_TERMS, bool(self.joints), "robot.joints")):
            without = [name for name in self.terms if name in names and not there]
            if without:
                self.refuse("terms", without[0], f"{what}, or the set left out")

    @property
    def all_terms(self) -> tuple[str, ...]:
        """Names of all sets that are estimated: `terms`, and what the settings with names of their
        own ask for."""
        offsets = self.estimate_offsets
        named = {"rotor": self.estimate_rotor_inertia and bool(self.joints),
                 "vehicle_offsets": self.vehicle and offsets in ("vehicle", "all"),
                 "joint_offsets": bool(self.joints) and (
                     offsets in ("joints", "all") or offsets == "auto" and not self.vehicle)}
        return self.terms + tuple(name for name, there in named.items()
                                  if there and name not in self.terms)


@dataclass(frozen=True)
class Prior(Section):
    """Where the estimate starts."""

    NAME = "prior"
    file: str = setting(
        "",
        "Parameter file (YAML); empty: built in, bluerov2_wu2018 for the vehicle and the URDF's "
        "inertials; 'auto': the state that the node saved of this robot, built in where there is "
        "none, and outside the node. estimator.launch.py takes 'auto' where this is empty.")
    friction_viscous: tuple[float, ...] = setting(
        (), "Viscous friction per joint; empty: 2.4 2.2 0.8 0.36 for the Alpha 5, else 1.",
        "N m s/rad", 0.0)
    friction_coulomb: tuple[float, ...] = setting(
        (), "Coulomb friction per joint; empty: 0.1.", "N m", 0.0)
