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

"""The prior's standard deviations: they follow from the robot's sizes and limits, not its values.
"""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.prior import prior_from_config, prior_stddev
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.urdf_address import resolve_urdf

ARM = """<robot name="r"><link name="base"/>{links}</robot>"""
LINK = """<link name="l{k}"><inertial><origin xyz="{c} 0 0"/><mass value="{m}"/>
<inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="l{k}"/>
<origin xyz="{length} 0 0"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="{effort}" velocity="{speed}"/></joint>"""


def arm(tmp_path, mass=(2.0, 2.0), length=0.5, effort=60.0, speed=2.0):
    """An arm on a fixed base whose links are `length` [m] long, with masses [kg] and limits."""
    links = "".join(
        LINK.format(k=k, parent=f"l{k - 1}" if k else "base", m=m, c=length / 2, i=m * length ** 2,
                    length=length if k else 0, effort=effort, speed=speed)
        for k, m in enumerate(mass))
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.format(links=links))
    config = Config()
    robot = replace(config.robot, vehicle=False, urdf=str(path),
                    joints=tuple(f"j{k}" for k in range(len(mass))))
    config = replace(config, robot=robot)
    robot = RobotModel.from_config(config)
    return robot, prior_stddev(prior_from_config(config, robot).values, robot, 1.0)


def test_a_link_without_a_mass_is_as_uncertain_as_the_others(tmp_path):
    """A placeholder mass among proper ones, and an arm with placeholders only: a rod of water."""
    robot, stddev = arm(tmp_path, (3.0, 1e-3), length=0.2)
    table = robot.table
    assert stddev[table.index["j1.m"]] == pytest.approx(1.5, rel=1e-2)
    robot, stddev = arm(tmp_path, (1e-3, 1e-3), length=0.5)
    rod = 1000 * np.pi / 4 * 0.125 ** 2 * 0.5
    assert stddev[table.index["j1.m"]] == pytest.approx(rod, rel=1e-6)
    assert stddev[table.index["j1.mlx"]] == pytest.approx(rod * robot.table.reference_length[1],
                                                          rel=0.2)
    assert stddev[table.index["j0.Izz"]] >= rod * 0.25


def test_friction_is_as_uncertain_as_the_effort_limit_allows(tmp_path):
    """Anything from zero to the limit, at full speed: the deviation of a uniform distribution."""
    robot, stddev = arm(tmp_path, effort=60.0, speed=2.0)
    at = robot.table.index
    assert stddev[at["j0.fs"]] == pytest.approx(60 / np.sqrt(12))
    assert stddev[at["j0.fv"]] == pytest.approx(30 / np.sqrt(12))
    assert stddev[at["j0.offset"]] == pytest.approx(60 / np.sqrt(12))


def test_without_limits_friction_has_the_typical_deviation(tmp_path):
    """A URDF with zero effort and speed limits states none."""
    robot, stddev = arm(tmp_path, effort=0.0, speed=0.0)
    at = robot.table.index
    assert (stddev[at["j0.fv"]], stddev[at["j0.fs"]], stddev[at["j0.offset"]]) == (1.0, 0.2, 0.2)


def test_a_large_value_is_as_uncertain_as_it_is_large(tmp_path):
    """`relative` times value or size, whichever is larger."""
    robot, _ = arm(tmp_path)
    values = np.full(robot.table.size, 1e3)
    np.testing.assert_allclose(prior_stddev(values, robot, 0.5), 500.0)


def test_the_default_arm_has_its_own_sizes():
    """The Alpha 5's URDF has good values: no deviation exceeds that of its heaviest, longest link.
    """
    robot = RobotModel.from_config(Config())
    assert resolve_urdf(Config().robot.urdf).endswith("alpha5.urdf")
    stddev = prior_stddev(prior_from_config(Config(), robot).values, robot, 1.0)
    mass = [stddev[robot.table.index[f"{joint}.m"]] for joint in robot.joints]
    assert max(mass) == pytest.approx(0.429) and min(mass) > 0.2
