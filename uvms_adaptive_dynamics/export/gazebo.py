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

"""Export for Gazebo Harmonic: SDF 1.11 with `<fluid_added_mass>` and the Hydrodynamics plugin.

FLU. Added mass is in the link's inertial, as positive numbers, and not in the plugin, which would
count it twice. All damping coefficients are in the plugin, as negative numbers. Buoyancy is the
volume of a collision box (docs/exports.md, "Gazebo").
"""
from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np

from ..config import Config
from .identified import Draft, Identified
from .vehicle_body import VehicleBody, body_notes, vehicle_body
from .xml_text import element, find, number, numbers, parsed, value_of, values_of, written

FORCES, SPEEDS = "xyzkmn", "UVWPQR"
ADDED_MASS_AXES = "xyzpqr"  # of <fluid_added_mass>
# Upper triangle in the schema's order: xx, xy, ..., rr.
PAIRS = tuple((i, j) for i in range(6) for j in range(i, 6))
GAZEBO_EXPORT = "the Gazebo export"


def write(identified: Identified) -> Draft:
    """The vehicle as a model with one link, without world, thrusters and arm."""
    robot = identified.config.robot
    body = vehicle_body(identified, GAZEBO_EXPORT).flipped()
    root = ET.Element("sdf", {"version": "1.11"})
    link_name = identified.config.output.base_frame
    model = element(root, "model", name="identified_vehicle")
    link = element(model, "link", name=link_name)
    _add_inertial(link, body)
    volume = body.buoyancy / (robot.water_density * robot.gravity)
    collision = element(link, "collision", name="displaced_volume")
    element(collision, "pose", _pose(body.buoyancy_centre))
    element(element(element(collision, "geometry"), "box"), "size",
            numbers([volume ** (1 / 3)] * 3))
    _add_plugin(model, link_name, body)
    return Draft(written(root), (
        "Axes: FLU. Added mass is only in <fluid_added_mass> (physics engine DART).",
        f"The world must have <gravity>0 0 {number(-robot.gravity)}</gravity> and the plugin "
        "gz::sim::systems::Buoyancy with <uniform_fluid_density>"
        f"{number(robot.water_density)}</uniform_fluid_density>.",
        f"Buoyancy is the volume of the collision box ({volume:.5g} m^3), a cube around the centre "
        "of buoyancy; its shape is arbitrary.",
        *body_notes(identified)))


def _add_inertial(link: ET.Element, body: VehicleBody) -> None:
    inertial = element(link, "inertial")
    element(inertial, "pose", _pose(body.gravity_centre))
    element(inertial, "mass", body.mass)
    inertia = element(inertial, "inertia")
    for axis, value in zip("xyz", body.inertia.tolist()):
        element(inertia, f"i{axis}{axis}", value)
    for pair in ("xy", "xz", "yz"):
        element(inertia, f"i{pair}", 0.0)
    added = element(inertial, "fluid_added_mass")
    for i, j in PAIRS:
        element(added, ADDED_MASS_AXES[i] + ADDED_MASS_AXES[j], float(body.added_mass[i, j]))


def _add_plugin(model: ET.Element, link_name: str, body: VehicleBody) -> None:
    plugin = element(model, "plugin", filename="gz-sim-hydrodynamics-system",
                     name="gz::sim::systems::Hydrodynamics")
    element(plugin, "link_name", link_name)
    element(plugin, "disable_added_mass", "true")
    element(plugin, "disable_coriolis", "true")
    for i, force in enumerate(FORCES):
        for j, speed in enumerate(SPEEDS):
            element(plugin, force + speed, float(body.linear[i]) if i == j else 0.0)
            element(plugin, f"{force}{speed}abs{speed}",
                    float(body.quadratic[i]) if i == j else 0.0)


def _pose(position: np.ndarray) -> str:
    return numbers([*position, 0.0, 0.0, 0.0])


def read(text: str, config: Config) -> dict[str, float]:
    """The vehicle's parameters by name, in a world with the settings' fluid and gravity."""
    density, gravity = config.robot.water_density, config.robot.gravity
    model = find(parsed(text, "sdf", GAZEBO_EXPORT), "model", GAZEBO_EXPORT)
    inertial, collision = (find(model, f"link/{tag}", GAZEBO_EXPORT)
                           for tag in ("inertial", "collision"))
    mass = value_of(find(inertial, "mass", GAZEBO_EXPORT).text, "mass")
    size = values_of(find(collision, "geometry/box/size", GAZEBO_EXPORT).text, 3, "size")
    added = np.zeros((6, 6))
    for i, j in PAIRS:
        tag = ADDED_MASS_AXES[i] + ADDED_MASS_AXES[j]
        added[i, j] = added[j, i] = value_of(
            find(inertial, f"fluid_added_mass/{tag}", GAZEBO_EXPORT).text, tag)
    plugin = find(model, "plugin", GAZEBO_EXPORT)
    linear, quadratic = (
        np.array([value_of(find(plugin, tag, GAZEBO_EXPORT).text, tag) for tag in tags])
        for tags in ([f + s for f, s in zip(FORCES, SPEEDS)],
                     [f"{f}{s}abs{s}" for f, s in zip(FORCES, SPEEDS)]))
    return VehicleBody(
        mass, mass * gravity, float(np.prod(size)) * density * gravity,
        _position(inertial), _position(collision),
        np.array([value_of(find(inertial, f"inertia/i{a}{a}", GAZEBO_EXPORT).text, a)
                  for a in "xyz"]),
        added, linear, quadratic).flipped().parameters()


def _position(parent: ET.Element) -> np.ndarray:
    return np.array(values_of(find(parent, "pose", GAZEBO_EXPORT).text, 6, "pose")[:3])
