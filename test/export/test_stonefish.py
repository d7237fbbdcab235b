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

"""The scenario for Stonefish: what its parser requires, and the box under its force laws."""
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from export_cases import CONFIG, close, estimate, held_wrench, motions, rigid_wrench, wrench_of

from uvms_adaptive_dynamics.export import stonefish
from uvms_adaptive_dynamics.model.parameters import VEHICLE_DAMPING

RHO = CONFIG.robot.water_density


def scenario_of(identified):
    return ET.fromstring(stonefish.write(identified).text)


def vector(element, key="xyz"):
    return np.array(element.get(key).split(), float)


def drag(dynamic, v):
    """Force on a cube that moves along an axis, summed over faces by their laws.

    Skin: density Cf sum(A v) over faces along the flow. Form: 1/2 density Cd v |v| |v_n| A of the
    face ahead, as the source has it.
    """
    side, hydrodynamics = vector(dynamic.find("dimensions"))[0], dynamic.find("hydrodynamics")
    skin = RHO * vector(hydrodynamics, "viscous_drag") * 4 * side ** 2 * v
    form = RHO / 2 * vector(hydrodynamics, "quadratic_drag") * side ** 2 * np.abs(v) ** 2 * v
    return -skin - form


def test_the_parser_finds_what_it_demands():
    """The scenario has the root, order, elements and attributes that ScenarioParser.cpp requires.
    """
    root = scenario_of(estimate(1))
    dynamic = root.find("dynamic")
    assert root.tag == "scenario"
    assert {"latitude", "longitude"} <= set(root.find("environment/ned").attrib)
    assert float(root.find("environment/ocean/water").get("density")) == RHO
    material, look = root.find("materials/material"), root.find("looks/look")
    assert dynamic.find("material").get("name") == material.get("name")
    assert dynamic.find("look").get("name") == look.get("name")
    assert {"name", "density", "restitution"} <= set(material.attrib)
    assert {"roughness", "gray"} <= set(look.attrib)
    assert dynamic.get("type") == "box" and dynamic.get("physics") == "floating"
    assert dynamic.get("buoyant") == "true"
    for tag in ("origin", "cg", "world_transform"):
        assert vector(dynamic.find(tag)).size == vector(dynamic.find(tag), "rpy").size == 3
    for tag in ("mass", "inertia", "dimensions", "hydrodynamics"):
        assert dynamic.find(tag) is not None
    assert vector(dynamic.find("hydrodynamics"), "viscous_drag").min() >= 0


@pytest.mark.parametrize("seed", range(4))
def test_statics_and_turning_without_drag_are_exact(seed):
    """W - B, moments and inertia are exact, and with equal masses along all axes the whole body."""
    same = dict.fromkeys(("m_X_du", "m_Y_dv", "m_Z_dw"), 25.0)
    still = {name: 0.0 for name, _, _ in VEHICLE_DAMPING}
    identified = estimate(seed, symmetric=True, **same, **still)
    dynamic = scenario_of(identified).find("dynamic")
    mass = float(dynamic.find("mass").get("value"))
    volume = np.prod(vector(dynamic.find("dimensions")))
    for _, R, nu, nu_dot in motions(seed):
        down, centre = R[2], vector(dynamic.find("cg"))
        theirs = (rigid_wrench(mass, centre, np.diag(vector(dynamic.find("inertia"))), nu, nu_dot)
                  + held_wrench(9.81 * mass * down, centre)
                  + held_wrench(-RHO * 9.81 * volume * down, vector(dynamic.find("origin"))))
        assert close(theirs, wrench_of(identified, R, nu, nu_dot))


def test_drag_along_an_axis_fits_at_one_metre_per_second():
    """The linear part fits at every speed, the quadratic part where both laws meet."""
    identified = estimate(2)
    dynamic = scenario_of(identified).find("dynamic")
    linear, quadratic = identified.pick(("X_u", "Y_v", "Z_w")), identified.pick(
        ("X_uu", "Y_vv", "Z_ww"))
    for v in np.vstack([np.eye(3), -np.eye(3)]):
        assert close(drag(dynamic, v), linear * v + quadratic * np.abs(v) * v)
    slow = np.array([1e-4, 0.0, 0.0])
    assert np.isclose(drag(dynamic, slow)[0], linear[0] * 1e-4, rtol=1e-6)


def test_what_it_holds_is_read_back():
    """Statics, inertia and axial drag are read back; rotational drag is not, and one mass stands
    for three."""
    identified = estimate(3, symmetric=True)
    found = stonefish.read(stonefish.write(identified).text, CONFIG)
    masses = identified.pick(("m_X_du", "m_Y_dv", "m_Z_dw"))
    assert "K_p" not in found and "N_rr" not in found
    for name in ("Ix_K_dp", "Iz_N_dr", "mzg_X_dq", "X_u", "Z_ww", "xgW_xbB", "zgW_zbB"):
        assert abs(found[name] - identified.pick([name])[0]) < 1e-9, name
    assert np.isclose(found["m_Y_dv"], masses.mean())
    assert close(found["W"] - found["B"], -np.diff(identified.pick(("W", "B")))[0])
