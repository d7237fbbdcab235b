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

"""MarineGym's YAML: positive coefficients, buoyancy 997 * 9.8 * volume, and the asset's body."""
import numpy as np
import pytest
import yaml
from export_cases import CONFIG, close, estimate, held_wrench, motions, rigid_wrench, wrench_of

from uvms_adaptive_dynamics.export import marinegym

# Parameters that MarineGym cannot hold.
PLAIN = {"mzg_X_dq": 0.0, "mzg_Y_dp": 0.0, "mzg_K_dv": 0.0, "mzg_M_du": 0.0, "xgW_xbB": 0.0,
         "ygW_ybB": 0.0}


def their_wrench(content, angles, nu, nu_dot):
    """The asset's rigid body less the forces in their code, which computes in FRD."""
    asset, coefficients = content["asset"], content["hydro_coef"]
    added = np.array(coefficients["added_mass"])
    p = added * nu
    coriolis = -np.concatenate([np.cross(p[:3], nu[3:]),
                                np.cross(p[:3], nu[:3]) + np.cross(p[3:], nu[3:])])
    damping = (coefficients["linear_damping"]
               + np.array(coefficients["quadratic_damping"]) * np.abs(nu)) * nu
    phi, theta, _ = angles
    s, c, lift = np.sin, np.cos, 997 * 9.8 * content["volume"]
    buoyancy = lift * np.array([
        s(theta), -s(phi) * c(theta), -c(phi) * c(theta),
        -content["coBM"] * c(theta) * s(phi), -content["coBM"] * s(theta), 0.0])
    down = np.array([-s(theta), s(phi) * c(theta), c(phi) * c(theta)])
    return (rigid_wrench(asset["mass"], np.zeros(3), np.diag(asset["inertia"]), nu, nu_dot)
            + held_wrench(9.81 * asset["mass"] * down, np.zeros(3))
            + added * nu_dot + coriolis + damping - buoyancy)


@pytest.mark.parametrize("seed", range(4))
def test_marinegym_needs_the_same_wrench(seed):
    """Holds for a hull without couplings whose centres lie above each other."""
    identified = estimate(seed, **PLAIN)
    content = yaml.safe_load(marinegym.write(identified).text)
    for angles, R, nu, nu_dot in motions(seed):
        theirs = their_wrench(content, angles, nu, nu_dot)
        assert close(theirs, wrench_of(identified, R, nu, nu_dot))


def test_keys_and_signs():
    """Keys are those of their BlueROV.yaml, and all values are positive."""
    content = yaml.safe_load(marinegym.write(estimate(1)).text)
    assert set(content) - {"asset"} == {"volume", "coBM", "hydro_coef"}
    assert set(content["hydro_coef"]) == {"added_mass", "linear_damping", "quadratic_damping"}
    assert all(len(found) == 6 and min(found) >= 0 for found in content["hydro_coef"].values())


def test_it_is_read_back():
    identified = estimate(2, **PLAIN)
    found = marinegym.read(marinegym.write(identified).text, CONFIG)
    for name in set(found) - {"W", "B"}:
        assert abs(found[name] - identified.pick([name])[0]) < 1e-9, name
