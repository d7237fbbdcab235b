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

"""Export as a Stonefish scenario: an approximation, since it computes drag from shapes.

NED and FRD. A floating box (`physics="floating"` has no added mass) whose mass is the mean of
m - X_du, m - Y_dv and m - Z_dw, so that on average it accelerates like the vehicle; W - B and the
restoring moments are exact (docs/exports.md, "Stonefish").
"""
from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np

from ..config import Config
from .identified import Draft, Identified
from .vehicle_body import LINEAR_NAMES, QUADRATIC_NAMES, VehicleBody, rigid_part, total_inertia
from .xml_text import element, find, numbers, parsed, value_of, values_of, written

STONEFISH_GRAVITY = 9.81  # [m/s^2] in their simulation manager
# [m/s] at which form drag is fitted: their code grows with the cube of the speed, their
# documentation with its square, and at 1 m/s both agree.
FIT_SPEED = 1.0
FACES_ALONG_FLOW = 4  # faces of a cube parallel to its motion along an axis
NO_ROTATION = "0 0 0"
STONEFISH_EXPORT = "the Stonefish export"


def write(identified: Identified) -> Draft:
    """A scenario that has only the vehicle in the water."""
    density = identified.config.robot.water_density
    M = total_inertia(identified, STONEFISH_EXPORT)
    mass = float(np.mean(np.diag(M)[:3]))
    body = rigid_part(identified, STONEFISH_EXPORT, mass, np.diag(M)[3:], STONEFISH_GRAVITY)
    volume = body.buoyancy / (density * STONEFISH_GRAVITY)
    side = volume ** (1 / 3)
    root = ET.Element("scenario")
    _add_world(root, density)
    dynamic = element(root, "dynamic", name="IdentifiedVehicle", type="box", physics="floating",
                      buoyant="true")
    element(dynamic, "dimensions", xyz=numbers([side] * 3))
    element(dynamic, "origin", xyz=numbers(body.buoyancy_centre), rpy=NO_ROTATION)
    element(dynamic, "material", name="Hull")
    element(dynamic, "look", name="Hull")
    element(dynamic, "mass", value=body.mass)
    element(dynamic, "inertia", xyz=numbers(body.inertia))
    element(dynamic, "cg", xyz=numbers(body.gravity_centre), rpy=NO_ROTATION)
    viscous = -body.linear[:3] / (density * FACES_ALONG_FLOW * side ** 2)
    quadratic = -2 * body.quadratic[:3] / (density * side ** 2 * FIT_SPEED)
    element(dynamic, "hydrodynamics", viscous_drag=numbers(viscous),
            quadratic_drag=numbers(quadratic))
    element(dynamic, "world_transform", xyz="0 0 5", rpy=NO_ROTATION)
    return Draft(written(root), (
        "Axes: NED, FRD. An approximation: Stonefish computes drag from the shape, here a cube.",
        f"Mass is the mean of m - X_du, m - Y_dv, m - Z_dw ({mass:.4g} kg, of "
        f"{', '.join(f'{value:.4g}' for value in np.diag(M)[:3])}), and the body has no added mass "
        "of its own; its volume is enlarged to give the estimated W - B.",
        f"Linear drag along each axis is exact; quadratic drag is exact at {FIT_SPEED:g} m/s. "
        "Stonefish's code multiplies form drag by the cube of the speed: below that speed it is "
        "too small, above it too large.",
        "Rotational drag follows from the cube, not from K_p ... N_rr. If you replace the cube by "
        "a mesh, scale viscous_drag and quadratic_drag by the areas."))


def _add_world(root: ET.Element, density: float) -> None:
    """Add the elements that the parser requires before the first body."""
    environment = element(root, "environment")
    element(environment, "ned", latitude="0.0", longitude="0.0")
    ocean = element(environment, "ocean")
    element(ocean, "water", density=density, jerlov="0.2")
    element(ocean, "waves", height="0.0")
    materials = element(root, "materials")
    element(materials, "material", name="Hull", density=density, restitution="0.5")
    element(element(materials, "friction_table"), "friction", material1="Hull", material2="Hull",
            static="0.5", dynamic="0.3")
    element(element(root, "looks"), "look", name="Hull", gray="0.5", roughness="0.5")


def read(text: str, config: Config) -> dict[str, float]:
    """The vehicle's parameters by name, without rotational drag, which the scenario does not hold.
    """
    dynamic = find(parsed(text, "scenario", STONEFISH_EXPORT), "dynamic", STONEFISH_EXPORT)

    def vector(tag: str, attribute: str = "xyz") -> np.ndarray:
        return np.array(values_of(find(dynamic, tag, STONEFISH_EXPORT).get(attribute), 3, tag))

    density = value_of(find(parsed(text, "scenario", STONEFISH_EXPORT), "environment/ocean/water",
                            STONEFISH_EXPORT).get("density"), "density")
    mass = value_of(find(dynamic, "mass", STONEFISH_EXPORT).get("value"), "mass")
    sides = vector("dimensions")
    area = sides[0] * sides[1]
    linear = -density * FACES_ALONG_FLOW * area * vector("hydrodynamics", "viscous_drag")
    quadratic = -density * area * FIT_SPEED / 2 * vector("hydrodynamics", "quadratic_drag")
    none = np.zeros(3)
    found = VehicleBody(
        mass, mass * STONEFISH_GRAVITY, float(np.prod(sides)) * density * STONEFISH_GRAVITY,
        vector("cg"), vector("origin"), vector("inertia"), np.zeros((6, 6)),
        np.concatenate([linear, none]), np.concatenate([quadratic, none])).parameters()
    return {name: value for name, value in found.items()
            if name not in (*LINEAR_NAMES[3:], *QUADRATIC_NAMES[3:])}
