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

"""The profile of uvms-simlab: all keys that its loader requires, and every parameter unchanged."""
import json

import numpy as np
import pytest
from export_cases import CONFIG, estimate

from uvms_adaptive_dynamics.export import uvms_simlab
from uvms_adaptive_dynamics.export.identified import ExportError

# Their name -> ours; their loader (simlab/dynamics_profiles.py) requires each.
NAMES = {
    "m_x_du": "m_X_du", "m_y_dv": "m_Y_dv", "m_z_dw": "m_Z_dw", "mz_g_x_dq": "mzg_X_dq",
    "mz_g_y_dp": "mzg_Y_dp", "mz_g_k_dv": "mzg_K_dv", "mz_g_m_du": "mzg_M_du",
    "i_x_k_dp": "Ix_K_dp", "i_y_m_dq": "Iy_M_dq", "i_z_n_dr": "Iz_N_dr", "weight": "W",
    "buoyancy": "B", "x_g_weight_minus_x_b_buoyancy": "xgW_xbB",
    "y_g_weight_minus_y_b_buoyancy": "ygW_ybB", "z_g_weight_minus_z_b_buoyancy": "zgW_zbB",
    "x_u": "X_u", "y_v": "Y_v", "z_w": "Z_w", "k_p": "K_p", "m_q": "M_q", "n_r": "N_r",
    "x_uu": "X_uu", "y_vv": "Y_vv", "z_ww": "Z_ww", "k_pp": "K_pp", "m_qq": "M_qq", "n_rr": "N_rr",
}
# Number of values that it requires for each.
VEHICLE = dict.fromkeys(NAMES, 1) | {"current_velocity": 6, "thrust_configuration_matrix": 48}
ARM = {"link_masses": 4, "link_first_moments": 12, "link_inertias": 24, "viscous_friction": 4,
       "coulomb_friction": 4, "static_friction": 4, "stribeck_velocity": 4, "gravity_vector": 3,
       "payload_com": 3, "payload_mass": 1, "payload_inertia": 3, "base_pose": 6, "world_pose": 6,
       "tip_offset_pose": 6} | dict.fromkeys(
    ("joint_lock_on_deadband", "joint_lock_off_deadband", "baumgarte_alpha", "endeffector_mass",
     "endeffector_damping", "endeffector_stiffness"), 1)


def test_every_key_that_the_simulator_demands_is_there():
    """The profile has 27 + 48 parameters, and everything else that the loader requires."""
    content = json.loads(uvms_simlab.write(estimate(1)).text)
    for part, sizes in (("vehicle", VEHICLE), ("manipulator", ARM)):
        assert {key: np.size(value) for key, value in content[part].items()} == sizes
    assert np.shape(content["vehicle"]["thrust_configuration_matrix"]) == (6, 8)
    assert len(NAMES) == 27
    assert sum(size for key, size in ARM.items() if key.startswith(("link", "viscous", "coulomb"))
               ) == 48
    assert content["use_coupled_dynamics"] is True


def test_parameters_stand_where_theirs_do():
    """Checks all vehicle parameters, and some of each list of the arm."""
    identified = estimate(2)
    content = json.loads(uvms_simlab.write(identified).text)
    vehicle, arm = content["vehicle"], content["manipulator"]
    for theirs, ours in NAMES.items():
        assert vehicle[theirs] == identified.pick([ours])[0]
    inertia = ["Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz"]
    assert arm["link_masses"][1] == identified.pick(["axis_d.m"])[0]
    assert arm["link_first_moments"][6:9] == identified.pick(
        [f"axis_c.ml{a}" for a in "xyz"]).tolist()
    assert arm["link_inertias"][18:] == identified.pick([f"axis_b.{e}" for e in inertia]).tolist()
    assert arm["coulomb_friction"][0] == identified.pick(["axis_e.fs"])[0]
    assert arm["base_pose"] == [0.19, 0.0, -0.12, np.pi, 0.0, 0.0]


def test_rotors_that_the_profile_lacks_are_noted():
    config = CONFIG.with_values({"robot.rotor_inertia": [0.01] * 4})
    assert any("robot.rotor_inertia" in note
               for note in uvms_simlab.write(estimate(2, config)).notes)
    assert not any("rotor" in note for note in uvms_simlab.write(estimate(2)).notes)


def test_it_is_read_back_to_the_last_digit():
    identified = estimate(3)
    text = uvms_simlab.commented(uvms_simlab.write(identified).text, ["a note"])
    found = uvms_simlab.read(text, CONFIG)
    assert json.loads(text)["comment"] == ["a note"]
    assert [found[name] for name in identified.parameters.names] == identified.values.tolist()


@pytest.mark.parametrize("changes, part", [
    ({"robot.joints": ["axis_e", "axis_d"]}, "has 2 joints; expected 4"),
    ({"robot.joints": []}, "has no arm"),
    ({"robot.link_volumes": [1e-4] * 4, "robot.link_buoyancy_centres": [0.0] * 12},
     "which the profile lacks, so they would be too heavy"),
    ({"thrusters.allocation": [1.0] * 36, "thrusters.signs": [1.0] * 6}, "6 thrusters; expected")])
def test_robots_of_another_form_are_refused(changes, part):
    with pytest.raises(ExportError, match=part):
        uvms_simlab.write(estimate(0, CONFIG.with_values(changes)))
