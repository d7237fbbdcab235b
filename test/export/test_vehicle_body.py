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

"""Splits of an estimate into rigid body, added mass, weight and buoyancy."""
import json

import numpy as np
import pytest
from export_cases import (
    CONFIG,
    FLIP,
    added_wrench,
    close,
    estimate,
    held_wrench,
    motions,
    rigid_wrench,
    wrench_of,
)

from uvms_adaptive_dynamics.export.identified import ExportError
from uvms_adaptive_dynamics.export.vehicle_body import rigid_mass_of, vehicle_body


def wrench_on(body, down, nu, nu_dot):
    """Wrench on a body, each part by its own law."""
    damping = -(body.linear + body.quadratic * np.abs(nu)) * nu
    return (rigid_wrench(body.mass, body.gravity_centre, np.diag(body.inertia), nu, nu_dot)
            + added_wrench(body.added_mass, nu, nu_dot) + damping
            + held_wrench(body.weight * down, body.gravity_centre)
            + held_wrench(-body.buoyancy * down, body.buoyancy_centre))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mass", [None, 5.0])
def test_a_split_moves_as_the_estimate_does(seed, mass):
    """Holds in FRD, and in FLU after the sign change, for any mass."""
    identified = estimate(seed, mass=mass)
    body = vehicle_body(identified, "the test")
    for _, R, nu, nu_dot in motions(seed):
        expected = wrench_of(identified, R, nu, nu_dot)
        assert close(wrench_on(body, R[2], nu, nu_dot), expected)
        flu = wrench_on(body.flipped(), FLIP[:3] * R[2], FLIP * nu, FLIP * nu_dot)
        assert close(flu, FLIP * expected)


# A coupling that would need a centre of gravity metres away; an inertia that no body has.
COUPLED = {"mzg_X_dq": 3.0, "mzg_M_du": 3.0, "mzg_Y_dp": -2.0, "mzg_K_dv": -2.0}
FLAT = {"Iz_N_dr": 2.5}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("changes", [{}, COUPLED, FLAT, COUPLED | FLAT])
def test_a_rigid_body_is_one(seed, changes):
    """The rigid part has positive moments within the triangle inequality; the diagonal of the added
    mass is not negative."""
    body = vehicle_body(estimate(seed, **changes), "the test")
    assert min(body.inertia) > 0 and 2 * max(body.inertia) <= body.inertia.sum()
    assert (np.diag(body.added_mass) >= 0).all()


def test_published_parameters_have_a_split(shared):
    """Holds even for a fit on hardware whose coupling no rigid body could have."""
    sets = json.loads((shared / "golden/param_sets.json").read_text())["vehicle"]
    order = np.r_[0:10, 15:27, 10:15]     # the authors' to ours
    names = estimate().parameters.names[:27]
    for values in sets.values():
        named = dict(zip(names, np.array(values)[order]))
        identified = estimate(mass=None if named["W"] > 0 else 1.5, **named)
        found = vehicle_body(identified, "the test").parameters()
        assert np.isclose(found["W"] - found["B"], named["W"] - named["B"], atol=1e-9)
        for name in set(names) - {"W", "B"}:
            assert abs(found[name] - identified.pick([name])[0]) < 1e-6, name


def test_the_mass_is_the_one_stated_or_weighed():
    """The mass is the stated one, else the robot's dry mass less the links, else W / gravity."""
    identified = estimate(3)
    links = identified.pick(f"{joint}.m" for joint in CONFIG.robot.joints).sum()
    weighed = CONFIG.with_values({"robot.dry_mass": 14.0})
    apart = weighed.with_values({"estimation.coupling": "none"})
    assert rigid_mass_of(estimate(3, mass=9.0))[0] == 9.0
    assert np.isclose(rigid_mass_of(estimate(3, weighed))[0], 14.0 - links)
    assert rigid_mass_of(estimate(3, apart))[0] == 14.0
    assert np.isclose(rigid_mass_of(identified)[0], identified.pick(["W"])[0] / 9.80665)
    with pytest.raises(ExportError, match="less than the arm's links"):
        rigid_mass_of(estimate(3, CONFIG.with_values({"robot.dry_mass": 0.1})))


@pytest.mark.parametrize("changes, part", [
    ({"W": 0.0}, "mass is 0 kg"), ({"mass": 30.0}, "make added mass negative"),
    ({"m_Z_dw": -1.0}, "m_Z_dw is -1"),
    ({"Iz_N_dr": 0.0}, "Iz_N_dr is 0"), ({"Y_vv": 1.0}, "Y_vv is 1, which would drive"),
    ({"mzg_M_du": 0.9}, "symmetric"), ({"W": 170.0, "B": 5.0, "mass": 10.0}, "no buoyancy left")])
def test_what_is_no_vehicle_is_refused(changes, part):
    """The error names the format and the parameter."""
    with pytest.raises(ExportError, match=part) as caught:
        vehicle_body(estimate(0, **changes), "the test")
    assert str(caught.value).startswith("the test: ")


def test_a_robot_without_a_vehicle_is_refused():
    fixed = CONFIG.with_values({"robot.vehicle": False, "imu.enabled": False, "dvl.enabled": False,
                                "depth.enabled": False, "thrusters.source": "zero",
                                "robot.estimate_offsets": "none"})
    with pytest.raises(ExportError, match="no vehicle"):
        vehicle_body(estimate(0, fixed), "the test")
