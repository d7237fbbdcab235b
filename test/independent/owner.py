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

"""What the owner of a robot knows of it: URDF of the arm, thrust curve and settings.

They are what data sheets say: link masses off by up to 15 %, thrusters by 5 %, places by 1 cm,
mounting angles by 1 degree. FLU, as REP-103.
"""
from __future__ import annotations

from pathlib import Path

import numpy as np
from fleet import F, Individual, LinkSheet, rated_thrust, robot_mass, uses_t200
from machines import curve, thrust_of


def urdf_text(links: list[LinkSheet], limits: np.ndarray, torque: np.ndarray,
              speed: np.ndarray) -> str:
    """The arm as URDF; limits (n, 2) [rad], torque (n,) [N m], speed (n,) [rad/s]."""
    lines = ['<?xml version="1.0"?>', '<robot name="arm">', '  <link name="arm_base"/>']
    for k, (origin, axis, m, com, I) in enumerate(links):
        parent = f"link_{k}" if k else "arm_base"
        lines += [
            f'  <joint name="joint_{k + 1}" type="revolute">',
            f'    <parent link="{parent}"/> <child link="link_{k + 1}"/>',
            f'    <origin xyz="{_row(origin)}" rpy="0 0 0"/> <axis xyz="{_row(axis)}"/>',
            f'    <limit lower="{limits[k][0]}" upper="{limits[k][1]}" effort="{torque[k]:.4g}" '
            f'velocity="{speed[k]:.3g}"/>', '  </joint>', f'  <link name="link_{k + 1}">',
            f'    <inertial> <origin xyz="{_row(com)}" rpy="0 0 0"/> <mass value="{m:.5g}"/>',
            f'      <inertia ixx="{I[0, 0]:.4g}" ixy="0" ixz="0" iyy="{I[1, 1]:.4g}" iyz="0" '
            f'izz="{I[2, 2]:.4g}"/>', '    </inertial>', '  </link>']
    return "\n".join([*lines, "</robot>", ""])


def write_settings(robot: Individual, folder: Path) -> Path:
    """Write arm.urdf, thrust.csv and robot.yaml into `folder`; returns the YAML's path."""
    (folder / "arm.urdf").write_text(
        urdf_text(robot.links, robot.limits, robot.drives.torque, robot.speed))
    of, xyz = robot.sensing, lambda r: _list(F @ r)
    scale = ("" if np.all(of.effort_scale == 1)
             else f"\n      effort_scale: {_list(of.effort_scale)}")
    thrust = "t200"
    if not uses_t200(robot_mass(robot)):
        thrust = str(folder / "thrust.csv")
        largest = rated_thrust(robot_mass(robot))
        pwm, volts = np.arange(1100.0, 1901.0, 10.0), (12.0, 14.0, 16.0, 17.0)
        table = np.stack([largest * thrust_of(curve(pwm, v)) for v in volts], axis=1)
        rows = [",".join([f"{p:.0f}", *(f"{x:.3f}" for x in row)]) for p, row in zip(pwm, table)]
        head = "pwm_us," + ",".join(f"thrust_{v:.0f}V_N" for v in volts)
        Path(thrust).write_text("\n".join([head, *rows, ""]))
    path = folder / "robot.yaml"
    path.write_text(f"""/**:
  ros__parameters:
    robot:
      urdf: {folder / 'arm.urdf'}
      joints: [{', '.join(robot.joints)}]
      mount_xyz: {_list(robot.mount[0])}
      mount_rpy: {_list(robot.mount[1])}
      water_density: {robot.tree.rho}
      dry_mass: {robot_mass(robot):.1f}
    imu: {{xyz: {xyz(of.imu_place)}}}
    dvl: {{xyz: {xyz(of.dvl_place)}}}
    depth: {{xyz: {xyz(of.depth_place)}}}
    joint_states:
      topic: joint_states{scale}
    battery: {{enabled: {str(of.battery).lower()}}}
    thrusters:
      curve: {thrust}
      signs: {_list(np.ones(len(robot.thrusters.place)))}
      allocation: {_list(robot.nominal_allocation.ravel())}
""")
    return path


def _row(x) -> str:
    return " ".join(f"{v:.6g}" for v in x)


def _list(x) -> str:
    return "[" + ", ".join(repr(round(float(v), 6)) for v in x) + "]"
