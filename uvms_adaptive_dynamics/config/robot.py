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

"""Settings of the robot and of the prior."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting

# `prior.file` that resumes from the node's saved state.
AUTO = "auto"

# Parameter sets beyond the paper's, for `robot.terms`; declared in model/term_sets/.
VEHICLE_TERMS = ("off_axis_inertia", "off_axis_damping", "thrust_by_direction", "current")
JOINT_TERMS = ("rotor", "friction_by_direction", "dead_band", "link_drag")

STANDARD_GRAVITY = 9.80665      # [m/s^2]

# Joint names are columns of samples.csv and parts of patterns such as 'axis_b.*'.
UNNAMEABLE = " ,;*?[]'\"\\"


@dataclass(frozen=True)
class Robot(Section):
    """The robot: vehicle, arm and its mount, and constants of the water and of gravity."""

    NAME = "robot"
    vehicle: bool = setting(
        True, "The robot has a free vehicle; false: an arm on a fixed base.")
    urdf: str = setting(
        "package://uvms_adaptive_dynamics/robots/alpha5.urdf",
        "The arm's URDF: a path, a package:// address, or 'robot_description' to read it from that "
        "topic.")
    joints: tuple[str, ...] = setting(
        ("axis_e", "axis_d", "axis_c", "axis_b"), kind="strings",
        doc="Moving joints, from base to tip; empty: a vehicle without an arm. All other joints of "
            "the URDF are locked at zero.")
    mount_xyz: tuple[float, ...] = setting(
        (0.19, 0.0, -0.12), "Position of the URDF's root link in the vehicle's body axes (FLU).",
        "m")
    mount_rpy: tuple[float, ...] = setting(
        (3.141592653589793, 0.0, 0.0),
        "Orientation of the URDF's root link in the vehicle's body axes (FLU), roll-pitch-yaw.",
        "rad")
    # Neither may be zero: depth is pressure / (density * gravity), attitude comes from gravity.
    gravity: float = setting(
        STANDARD_GRAVITY, "Gravitational acceleration. Default: standard gravity; 9.780 at the "
                          "equator, 9.832 at the poles.",
        "m/s^2", 1.0, 30.0)
    water_density: float = setting(
        1000.0, "Density of the water: 996 to 1000 in a pool, 1020 to 1030 in the sea.",
        "kg/m^3", 1.0, 1500.0)
    surface_pressure: float = setting(101325.0, "Absolute pressure at the water surface.",
                                      "Pa", 0.0)
    dry_mass: float = setting(
        0.0, "Mass of vehicle and arm together, weighed in air; 0: unknown. The prior is scaled to "
             "it (estimation.weight_max), and an estimated mass below it is reported as wrong, "
             "since added mass is positive.", "kg", 0.0, 1e5)
    link_volumes: tuple[float, ...] = setting(
        (), "Displaced volume of each link; empty: link parameters are effective values that "
            "include buoyancy.", "m^3", 0.0, 1.0)
    link_buoyancy_centres: tuple[float, ...] = setting(
        (), "Centre of buoyancy of each link in its own frame: x y z of the first link, then of "
            "the next.", "m")
    rotor_inertia: tuple[float, ...] = setting(
        (), "Known reflected rotor inertia of each joint; empty: contained in the link's inertia.",
        "kg m^2", 0.0)
    estimate_rotor_inertia: bool = setting(
        False, "Estimate the reflected rotor inertia of each joint as its 13th parameter; same as "
               "'rotor' in robot.terms.")
    estimate_offsets: str = setting(
        "auto", "Channels for which a constant offset is estimated (motor current at rest, trim, "
                "tether): 'none', 'joints', 'vehicle', 'all', or 'auto' (the joints of an arm on a "
                "fixed base).", choices=("auto", "none", "joints", "vehicle", "all"))
    terms: tuple[str, ...] = setting(
        (), kind="strings", choices=VEHICLE_TERMS + JOINT_TERMS,
        doc="Parameter sets to add to the paper's model (docs/terms.md; command `terms` shows "
            "which of them pay off).")
    link_diameters: tuple[float, ...] = setting(
        (), "Diameter of each link, for the set link_drag; empty: derived from its volume or mass.",
        "m", 1e-4, 10.0)
    dead_band_speed: float = setting(
        0.05, "Joint speed below which the set dead_band acts.", "rad/s or m/s", 1e-3, 10.0)
    current_time: float = setting(
        300.0, "Time in which the current changes by its own magnitude, for the set current: eddy "
               "size divided by current speed; an hour for a tide.", "s", 1.0, 1e6)
    link_reference_mass: tuple[float, ...] = setting(
        (), "Reference mass of each link, used to scale its parameters; empty: the URDF's mass.",
        "kg", 1e-6)
    link_reference_length: tuple[float, ...] = setting(
        (), "Reference length of each link, used to scale its parameters; empty: from the URDF.",
        "m", 1e-6)
    current_ned: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "Known water current in NED, subtracted from the velocity over ground.",
        "m/s",
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
        """Names of all estimated sets: `terms`, plus those enabled by settings of their own."""
        offsets = self.estimate_offsets
        named = {"rotor": self.estimate_rotor_inertia and bool(self.joints),
                 "vehicle_offsets": self.vehicle and offsets in ("vehicle", "all"),
                 "joint_offsets": bool(self.joints) and (
                     offsets in ("joints", "all") or offsets == "auto" and not self.vehicle)}
        return self.terms + tuple(name for name, there in named.items()
                                  if there and name not in self.terms)


@dataclass(frozen=True)
class Prior(Section):
    """Initial estimate."""

    NAME = "prior"
    file: str = setting(
        "",
        "Parameter file (YAML) to start from; empty: the built-in prior (bluerov2_wu2018 for the "
        "vehicle, the URDF's inertials for the arm); 'auto': the state the node saved for this "
        "robot, or the built-in prior if there is none and outside the node. estimator.launch.py "
        "uses 'auto' if this is empty.")
    friction_viscous: tuple[float, ...] = setting(
        (), "Initial viscous friction of each joint; empty: 2.4 2.2 0.8 0.36 for the Alpha 5, else "
            "1.",
        "N m s/rad", 0.0)
    friction_coulomb: tuple[float, ...] = setting(
        (), "Initial Coulomb friction of each joint; empty: 0.1.", "N m", 0.0)
