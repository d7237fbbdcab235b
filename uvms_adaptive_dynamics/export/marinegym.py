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

"""Export as `volume`, `coBM` and `hydro_coef` of a vehicle's YAML in MarineGym (Isaac Sim).

Coefficients are positive; buoyancy is 997 * 9.8 * volume, the centre of buoyancy lies coBM above
the origin, and mass and inertia come from the USD asset (docs/exports.md, "MarineGym").
"""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..config import Config
from .identified import Draft, ExportError, Identified
from .vehicle_body import VehicleBody, body_notes, vehicle_body
from .yaml_parts import numbers_at, parsed, written

MARINEGYM_GRAVITY = 9.81  # [m/s^2] with which they compute the asset's weight
LIFT = 997 * 9.8          # [N/m^3] their buoyancy per volume
MARINEGYM_EXPORT = "the MarineGym export"
# Key of our own, not MarineGym's: what the asset must have for the sums to be right.
ASSET = "asset"


def write(identified: Identified) -> Draft:
    """The three keys, and the mass and inertia that the USD asset must have."""
    body = vehicle_body(identified, MARINEGYM_EXPORT, MARINEGYM_GRAVITY)
    height = body.gravity_centre[2] * body.weight - body.buoyancy_centre[2] * body.buoyancy
    inertia = np.diag(body.origin_inertia)
    content = {
        "volume": body.buoyancy / LIFT,
        "coBM": float(height / body.buoyancy),
        "hydro_coef": {
            "added_mass": np.diag(body.added_mass).tolist(),
            "linear_damping": (0.0 - body.linear).tolist(),
            "quadratic_damping": (0.0 - body.quadratic).tolist(),
        },
        ASSET: {"mass": body.mass, "inertia": inertia.tolist()},
    }
    return Draft(written(content), (
        "Replaces these keys in marinegym/robots/assets/usd/BlueROV/BlueROV.yaml; keep your "
        "'drag_coef' and 'rotor_configuration' there.",
        "MarineGym takes mass and inertia from the USD asset: give its base_link those under "
        f"'{ASSET}', which MarineGym itself does not read, and a centre of mass at the origin.",
        *body_notes(identified)))


def read(text: str, config: Config) -> dict[str, float]:
    """The vehicle's parameters by name, assuming the asset's mass and inertia as stated."""
    content = parsed(text, MARINEGYM_EXPORT)

    def array(count: int, *path: str) -> np.ndarray:
        return np.array(numbers_at(content, path, count, MARINEGYM_EXPORT))

    mass, volume = float(array(1, ASSET, "mass")[0]), float(array(1, "volume")[0])
    if volume <= 0:
        raise ExportError(f"{MARINEGYM_EXPORT}: volume is {volume:g}; expected more than zero.")
    body = VehicleBody(
        mass, mass * MARINEGYM_GRAVITY, volume * LIFT, np.zeros(3), np.zeros(3),
        array(3, ASSET, "inertia"), np.diag(array(6, "hydro_coef", "added_mass")),
        -array(6, "hydro_coef", "linear_damping"), -array(6, "hydro_coef", "quadratic_damping"))
    above = np.array([0.0, 0.0, -float(array(1, "coBM")[0])])
    return replace(body, buoyancy_centre=above).parameters()
