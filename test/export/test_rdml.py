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

"""`<hydrodynamics>`: tags and signs of their parser, and the wrench of their library."""
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from export_cases import CONFIG, close, estimate, motions, wrench_of

from uvms_adaptive_dynamics.export import rdml
from uvms_adaptive_dynamics.model.rotations import skew


def their_wrench(block, R, nu, nu_dot):
    """M nu_dot + C nu + D nu + g as defined in their documentation and code; rotation body to
    NED."""
    def numbers(path, keys):
        return np.array([float(block.find(path).get(key)) for key in keys])

    mass = numbers("inertial/mass", ["value"])[0]
    cog, cob = numbers("inertial/center_of_gravity", "xyz"), numbers(
        "hydrostatics/center_of_buoyancy", "xyz")
    M = np.zeros((6, 6))
    M[:3, :3], M[:3, 3:], M[3:, :3] = mass * np.eye(3), -mass * skew(cog), mass * skew(cog)
    M[3:, 3:] = np.diag(numbers("inertial/inertia", ("ixx", "iyy", "izz")))
    M -= np.diag(numbers("inertial/added_mass", ("Xdu", "Ydv", "Zdw", "Kdp", "Mdq", "Ndr")))
    a, b = np.split(M @ nu, 2)
    C = np.block([[np.zeros((3, 3)), -skew(a)], [-skew(a), -skew(b)]])
    D = -np.diag(numbers("damping/linear", ("Xu", "Yv", "Zw", "Kp", "Mq", "Nr"))) - np.diag(
        numbers("damping/quadratic", ("Xuu", "Yvv", "Zww", "Kpp", "Mqq", "Nrr"))) * np.abs(nu)
    buoyancy = numbers("hydrostatics/buoyancy", ["value"])[0]
    weight, lift = (R.T @ [0, 0, force] for force in (9.81 * mass, -buoyancy))
    g = -np.concatenate([weight + lift, np.cross(cog, weight) + np.cross(cob, lift)])
    return M @ nu_dot + C @ nu + D @ nu + g


@pytest.mark.parametrize("seed", range(4))
def test_their_library_computes_the_same_wrench(seed):
    """Holds for a hull whose couplings are compatible with diagonal added mass."""
    identified = estimate(seed, symmetric=True)
    block = ET.fromstring(rdml.write(identified).text).find("hydrodynamics")
    for _, R, nu, nu_dot in motions(seed):
        assert close(their_wrench(block, R, nu, nu_dot), wrench_of(identified, R, nu, nu_dot))


def test_signs_and_buoyancy_are_as_they_take_them():
    """Added mass and damping are negative; B = 9.81 m - (W - B)."""
    identified = estimate(1)
    block = ET.fromstring(rdml.write(identified).text).find("hydrodynamics")
    for path in ("inertial/added_mass", "damping/linear", "damping/quadratic"):
        assert all(float(value) <= 0 for value in block.find(path).attrib.values())
    W, B = identified.pick(("W", "B"))
    mass = float(block.find("inertial/mass").get("value"))
    assert close(float(block.find("hydrostatics/buoyancy").get("value")), 9.81 * mass - (W - B))


def test_it_is_read_back():
    """Everything but the couplings of an asymmetric hull is read back."""
    identified = estimate(2, symmetric=True)
    found = rdml.read(rdml.write(identified).text, CONFIG)
    for name in set(found) - {"W", "B"}:
        assert abs(found[name] - identified.pick([name])[0]) < 1e-9, name
