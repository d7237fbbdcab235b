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

"""The true robot in the paper's parameters, i.e. the result of an exact identification."""
from __future__ import annotations

import numpy as np

from .true_robot import TrueRobot, inertia_matrix


def paper_parameters(robot: TrueRobot) -> dict[str, float]:
    """Name -> value of the 27 vehicle and 12 n link parameters, SI, FRD, links in their own frames.

    Omits what the paper's model lacks: off-axis damping, Stribeck effect, link drag, rotor inertia,
    link buoyancy, and most off-axis added masses. Link masses are those in air; `W` and `B` are the
    vehicle's without links.
    """
    com, m = np.array(robot.com), robot.mass
    weight = m * robot.gravity
    inertia = inertia_matrix(robot.inertia) + m * (com @ com * np.eye(3) - np.outer(com, com))
    lever = np.array([[0, -com[2], com[1]], [com[2], 0, -com[0]], [-com[1], com[0], 0]])
    mass = robot.added_mass + np.block([[m * np.eye(3), -m * lever], [m * lever, inertia]])
    values = {"m_X_du": mass[0, 0], "m_Y_dv": mass[1, 1], "m_Z_dw": mass[2, 2],
              "mzg_X_dq": mass[0, 4], "mzg_Y_dp": mass[1, 3], "mzg_K_dv": mass[3, 1],
              "mzg_M_du": mass[4, 0],
              "Ix_K_dp": mass[3, 3], "Iy_M_dq": mass[4, 4], "Iz_N_dr": mass[5, 5]}
    values.update(zip(("X_u", "Y_v", "Z_w", "K_p", "M_q", "N_r"), -np.diag(robot.linear_damping)))
    values.update(zip(("X_uu", "Y_vv", "Z_ww", "K_pp", "M_qq", "N_rr"),
                      -np.diag(robot.quadratic_damping)))
    moment = weight * com - robot.buoyancy * np.array(robot.cob)
    values.update(zip(("W", "B", "xgW_xbB", "ygW_ybB", "zgW_zbB"),
                      (weight, robot.buoyancy, *moment)))
    for j, (name, link) in enumerate(zip(robot.joints, robot.loaded_links)):
        c = np.array(link.com)
        steiner = link.mass * (c @ c * np.eye(3) - np.outer(c, c))
        about_origin = inertia_matrix(link.inertia) + steiner
        entries = [about_origin[i] for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        fields = ("m", "mlx", "mly", "mlz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz",
                  "fv", "fs")
        figures = (link.mass, *(link.mass * c), *entries, robot.viscous[j], robot.coulomb[j])
        values.update({f"{name}.{field}": figure for field, figure in zip(fields, figures)})
    return {name: float(value) for name, value in values.items()}
