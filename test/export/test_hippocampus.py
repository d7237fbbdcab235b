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

"""HippoCampus' model_params.yaml: positive numbers, FLU, and the wrench of their controller."""
import numpy as np
import pytest
import yaml
from export_cases import CONFIG, FLIP, close, estimate, motions, wrench_of

from uvms_adaptive_dynamics.export import hippocampus
from uvms_adaptive_dynamics.model.rotations import skew

KEYS = {"mass": 1, "inertia": 3, "cog": 3, "added_mass": 6, "buoyancy": 1, "cob": 3,
        "damping_linear": 6, "damping_nonlinear": 6}


def model_of(identified):
    return yaml.safe_load(hippocampus.write(identified).text)["/**"]["ros__parameters"]["model"]


def their_wrench(model, R, nu, nu_dot):
    """M dnu + C nu + D nu + g of their twist controller; R maps FLU to a world with z up."""
    mass, cog, cob = model["mass"], np.array(model["cog"]), np.array(model["cob"])
    M = np.zeros((6, 6))
    M[:3, :3], M[:3, 3:], M[3:, :3] = mass * np.eye(3), -mass * skew(cog), mass * skew(cog)
    M[3:, 3:] = np.diag(model["inertia"]) - mass * skew(cog) @ skew(cog)
    M += np.diag(model["added_mass"])
    a = M[:3, :3] @ nu[:3] + M[:3, 3:] @ nu[3:]
    b = M[3:, :3] @ nu[:3] + M[3:, 3:] @ nu[3:]
    C = np.block([[np.zeros((3, 3)), -skew(a)], [-skew(a), -skew(b)]])
    D = np.diag(model["damping_linear"] + np.array(model["damping_nonlinear"]) * np.abs(nu))
    weight, lift = (m * R.T @ [0, 0, -9.81] for m in (mass, -model["buoyancy"]))
    g = -np.concatenate([weight + lift, np.cross(cog, weight) + np.cross(cob, lift)])
    return M @ nu_dot + C @ nu + D @ nu + g


@pytest.mark.parametrize("seed", range(4))
def test_their_controller_computes_the_same_wrench(seed):
    """Holds for a hull whose couplings are compatible with diagonal added mass."""
    identified = estimate(seed, symmetric=True)
    model = model_of(identified)
    up = np.diag([1.0, -1.0, -1.0])
    for _, R, nu, nu_dot in motions(seed):
        theirs = their_wrench(model, up @ R @ up, FLIP * nu, FLIP * nu_dot)
        assert close(FLIP * theirs, wrench_of(identified, R, nu, nu_dot))


def test_keys_sizes_and_signs():
    """Keys are those that their node declares; added mass and damping are not negative."""
    model = model_of(estimate(1))
    assert {key: np.size(value) for key, value in model.items()} == KEYS
    for key in ("mass", "inertia", "added_mass", "buoyancy", "damping_linear",
                "damping_nonlinear"):
        assert np.min(model[key]) >= 0
    assert all(type(value) is float for key in KEYS for value in np.ravel(model[key]).tolist())


def test_it_is_read_back():
    identified = estimate(2, symmetric=True)
    found = hippocampus.read(hippocampus.write(identified).text, CONFIG)
    for name in set(found) - {"W", "B"}:
        assert abs(found[name] - identified.pick([name])[0]) < 1e-9, name
