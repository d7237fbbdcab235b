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

"""Export as `model_params.yaml` of HippoCampusRobotics' uvms, for their model-based controller.

FLU; added mass and damping are positive, inertia is about the centre of gravity, buoyancy is the
mass of the displaced water (docs/exports.md, "HippoCampus").
"""
from __future__ import annotations

import numpy as np

from ..config import Config
from .identified import Draft, Identified
from .vehicle_body import VehicleBody, body_notes, vehicle_body
from .yaml_parts import numbers_at, parsed, written

# [m/s^2] assumed: the value of their constant GRAVITY could not be looked up.
HIPPOCAMPUS_GRAVITY = 9.81
HIPPOCAMPUS_EXPORT = "the HippoCampus export"
MODEL_KEYS = "/**", "ros__parameters", "model"


def write(identified: Identified) -> Draft:
    """Their block `model`, without the counterweights of `manipulator_comp`."""
    body = vehicle_body(identified, HIPPOCAMPUS_EXPORT, HIPPOCAMPUS_GRAVITY).flipped()
    content = {
        "mass": body.mass,
        "inertia": body.inertia.tolist(),
        "cog": (body.gravity_centre + 0.0).tolist(),
        "added_mass": np.diag(body.added_mass).tolist(),
        "buoyancy": body.buoyancy / HIPPOCAMPUS_GRAVITY,
        "cob": (body.buoyancy_centre + 0.0).tolist(),
        "damping_linear": (0.0 - body.linear).tolist(),
        "damping_nonlinear": (0.0 - body.quadratic).tolist(),
    }
    wildcard, parameters, model = MODEL_KEYS
    return Draft(written({wildcard: {parameters: {model: content}}}), (
        "Axes: FLU. Replaces 'model' in bluerov_ctrl/config/model_params.yaml; keep your "
        "'manipulator_comp' there.",
        f"'buoyancy' is a mass [kg]; their gravity is assumed to be {HIPPOCAMPUS_GRAVITY} m/s^2.",
        *body_notes(identified)))


def read(text: str, config: Config) -> dict[str, float]:
    """The vehicle's parameters by name."""
    content = parsed(text, HIPPOCAMPUS_EXPORT)

    def numbers(key: str, count: int) -> np.ndarray:
        return np.array(numbers_at(content, (*MODEL_KEYS, key), count, HIPPOCAMPUS_EXPORT))

    mass, buoyancy = float(numbers("mass", 1)[0]), float(numbers("buoyancy", 1)[0])
    return VehicleBody(
        mass, mass * HIPPOCAMPUS_GRAVITY, buoyancy * HIPPOCAMPUS_GRAVITY, numbers("cog", 3),
        numbers("cob", 3), numbers("inertia", 3), np.diag(numbers("added_mass", 6)),
        -numbers("damping_linear", 6), -numbers("damping_nonlinear", 6)).flipped().parameters()
