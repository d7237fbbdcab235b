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

"""Export as a uvms-simlab dynamics profile: the vehicle's 27 parameters and 48 of a four-joint arm.

Model and conventions are the same as here, so nothing is lost. The rest of the profile (payload,
contact, gravity) is the simulator's own (docs/exports.md, "uvms-simlab").
"""
from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..config import Config
from ..model.parameters import LINK_PARAMETERS
from .identified import Draft, ExportError, Identified
from .vehicle_body import INERTIA, LINEAR_NAMES, MOMENTS, QUADRATIC_NAMES
from .yaml_parts import numbers_at

SIMLAB_JOINTS, SIMLAB_THRUSTERS = 4, 8
# Their name for each of our parameters, in the order of the vehicle's table.
VEHICLE_KEYS = dict(zip(
    (*INERTIA, *LINEAR_NAMES, *QUADRATIC_NAMES, "W", "B", *MOMENTS),
    ("m_x_du", "m_y_dv", "m_z_dw", "mz_g_x_dq", "mz_g_y_dp", "mz_g_k_dv", "mz_g_m_du", "i_x_k_dp",
     "i_y_m_dq", "i_z_n_dr", "x_u", "y_v", "z_w", "k_p", "m_q", "n_r", "x_uu", "y_vv", "z_ww",
     "k_pp", "m_qq", "n_rr", "weight", "buoyancy", "x_g_weight_minus_x_b_buoyancy",
     "y_g_weight_minus_y_b_buoyancy", "z_g_weight_minus_z_b_buoyancy")))
# Their lists, link by link, and the parameters of ours that each holds.
ARM_LISTS = {"link_masses": LINK_PARAMETERS[:1], "link_first_moments": LINK_PARAMETERS[1:4],
             "link_inertias": LINK_PARAMETERS[4:10], "viscous_friction": LINK_PARAMETERS[10:11],
             "coulomb_friction": LINK_PARAMETERS[11:12]}
# Further entries that the simulator requires, from its published profile dory_alpha.json.
TOOL = [0.0, 0.0, 0.04, 0.0, 0.0, 0.0]
CONTACT = {"joint_lock_on_deadband": 0.05, "joint_lock_off_deadband": 0.1,
           "baumgarte_alpha": 200.0, "endeffector_mass": 300.0, "endeffector_damping": 400.0,
           "endeffector_stiffness": 0.0}
SIMLAB_EXPORT = "the uvms-simlab export"


def write(identified: Identified) -> Draft:
    """The whole profile; raises ExportError for a robot that the profile cannot represent."""
    identified.need_vehicle(SIMLAB_EXPORT)
    identified.need_joints(SIMLAB_EXPORT)
    robot, allocation = identified.config.robot, identified.config.thrusters.allocation
    if robot.link_volumes:
        raise ExportError(f"{SIMLAB_EXPORT}: the links are identified with their buoyancy "
                          "(robot.link_volumes), which the profile lacks, so they would be too "
                          "heavy; expected masses that fit their weight in water. Identify without "
                          "robot.link_volumes.")
    if len(robot.joints) != SIMLAB_JOINTS:
        raise ExportError(f"{SIMLAB_EXPORT}: the robot has {len(robot.joints)} joints; expected "
                          f"{SIMLAB_JOINTS}, the only number that the simulator supports.")
    if len(allocation) != 6 * SIMLAB_THRUSTERS:
        raise ExportError(f"{SIMLAB_EXPORT}: the robot has {len(allocation) // 6} thrusters; "
                          f"expected {SIMLAB_THRUSTERS}, the only number that the simulator "
                          "supports.")
    vehicle: dict[str, Any] = dict(zip(VEHICLE_KEYS.values(),
                                       identified.pick(VEHICLE_KEYS).tolist()))
    vehicle["current_velocity"] = [0.0] * 6
    vehicle["thrust_configuration_matrix"] = np.reshape(allocation, (6, SIMLAB_THRUSTERS)).tolist()
    arm: dict[str, Any] = {
        key: identified.pick(_of_links(robot.joints, entries)).tolist()
        for key, entries in ARM_LISTS.items()}
    nothing = [0.0] * SIMLAB_JOINTS
    arm |= {"static_friction": nothing, "stribeck_velocity": nothing,
            "gravity_vector": [0.0, 0.0, robot.gravity],
            "payload_com": [0.0] * 3, "payload_mass": 0.0, "payload_inertia": [0.0] * 3,
            "base_pose": [*map(float, robot.mount_xyz), *map(float, robot.mount_rpy)],
            "world_pose": [0.0] * 6, "tip_offset_pose": TOOL, **CONTACT}
    content = {"use_coupled_dynamics": identified.robot.coupled, "vehicle": vehicle,
               "manipulator": arm}
    return Draft(json.dumps(content, indent=1, allow_nan=False) + "\n", (
        "Copy to resource/dynamics_profiles/ of uvms-simlab. Axes of the vehicle: FRD.",
        "Not estimated: tool offset, joint locks and contact are the simulator's published values "
        "(dory_alpha), payload and Stribeck friction are zero.",
        *(["Not in the profile: robot.rotor_inertia."] if any(robot.rotor_inertia) else [])))


def commented(text: str, lines: Iterable[str]) -> str:
    """The text with the lines as its first entry: JSON has no comments, and the simulator ignores
    unknown keys."""
    return json.dumps({"comment": list(lines), **json.loads(text)}, indent=1) + "\n"


def read(text: str, config: Config) -> dict[str, float]:
    """All 27 + 48 parameters by name."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ExportError(
            f"{SIMLAB_EXPORT} is not valid JSON ({error}); export it again.") from None
    found = {ours: numbers_at(content, ("vehicle", theirs), 1, SIMLAB_EXPORT)[0]
             for ours, theirs in VEHICLE_KEYS.items()}
    joints = config.robot.joints
    for key, entries in ARM_LISTS.items():
        values = numbers_at(content, ("manipulator", key), len(entries) * SIMLAB_JOINTS,
                            SIMLAB_EXPORT)
        found |= dict(zip(_of_links(joints, entries), values))
    return found


def _of_links(joints: Iterable[str], entries: Iterable[str]) -> list[str]:
    entries = tuple(entries)
    return [f"{joint}.{entry}" for joint in joints for entry in entries]
