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

"""Export as `<hydrodynamics>` of the Robotic Decision Making Lab (their library hydrodynamics).

FRD and NED. Added mass and damping are negative numbers, inertia is about the origin, weight is
9.81 m, and added mass is diagonal (docs/exports.md, "RDML").
"""
from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np

from ..config import Config
from ..model.pseudo_inertia import offset_inertia
from .identified import Draft, Identified
from .vehicle_body import VehicleBody, body_notes, vehicle_body
from .xml_text import attributes, element, find, parsed, written

RDML_GRAVITY = 9.81  # [m/s^2] hard-coded in their parser
ADDED = ("Xdu", "Ydv", "Zdw", "Kdp", "Mdq", "Ndr")
LINEAR_ATTRIBUTES = ("Xu", "Yv", "Zw", "Kp", "Mq", "Nr")
QUADRATIC_ATTRIBUTES = ("Xuu", "Yvv", "Zww", "Kpp", "Mqq", "Nrr")
XYZ = ("x", "y", "z")
RDML_EXPORT = "the RDML export"


def write(identified: Identified) -> Draft:
    """A `<robot>` with only that block, to be pasted into the robot's URDF."""
    body = vehicle_body(identified, RDML_EXPORT, RDML_GRAVITY)
    root = ET.Element("robot", {"name": "vehicle"})
    block = element(root, "hydrodynamics")
    inertial = element(block, "inertial")
    element(inertial, "mass", value=body.mass)
    ixx, iyy, izz = np.diag(body.origin_inertia).tolist()
    element(inertial, "inertia", ixx=ixx, iyy=iyy, izz=izz)
    element(inertial, "center_of_gravity", **dict(zip(XYZ, body.gravity_centre.tolist())))
    element(inertial, "added_mass", **dict(zip(ADDED, (-np.diag(body.added_mass)).tolist())))
    damping = element(block, "damping")
    element(damping, "linear", **dict(zip(LINEAR_ATTRIBUTES, body.linear.tolist())))
    element(damping, "quadratic", **dict(zip(QUADRATIC_ATTRIBUTES, body.quadratic.tolist())))
    hydrostatics = element(block, "hydrostatics")
    element(hydrostatics, "buoyancy", value=body.buoyancy)
    element(hydrostatics, "center_of_buoyancy", **dict(zip(XYZ, body.buoyancy_centre.tolist())))
    return Draft(written(root), (
        "Put <hydrodynamics> into the robot's URDF, below <robot>. Axes: FRD, NED.",
        f"Their weight is {RDML_GRAVITY} m; buoyancy is this weight less the estimated W - B.",
        *body_notes(identified)))


def read(text: str, config: Config) -> dict[str, float]:
    """The vehicle's parameters by name, as their library interprets the block."""
    block = find(parsed(text, "robot", RDML_EXPORT), "hydrodynamics", RDML_EXPORT)
    mass = attributes(find(block, "inertial/mass", RDML_EXPORT), ["value"], "mass")[0]
    inertia = attributes(find(block, "inertial/inertia", RDML_EXPORT), ("ixx", "iyy", "izz"),
                         "inertia")
    centre = np.array(attributes(find(block, "inertial/center_of_gravity", RDML_EXPORT), XYZ,
                                 "centre"))
    added = attributes(find(block, "inertial/added_mass", RDML_EXPORT), ADDED, "added_mass")
    return VehicleBody(
        mass, RDML_GRAVITY * mass,
        attributes(find(block, "hydrostatics/buoyancy", RDML_EXPORT), ["value"], "buoyancy")[0],
        centre,
        np.array(attributes(find(block, "hydrostatics/center_of_buoyancy", RDML_EXPORT), XYZ,
                            "centre")),
        np.array(inertia) - np.diag(offset_inertia(mass, centre)), np.diag(-np.array(added)),
        np.array(attributes(find(block, "damping/linear", RDML_EXPORT), LINEAR_ATTRIBUTES,
                            "linear")),
        np.array(attributes(find(block, "damping/quadratic", RDML_EXPORT), QUADRATIC_ATTRIBUTES,
                            "quadratic")),
    ).parameters()
