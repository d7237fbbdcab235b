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

"""The robot's identity, which separates its files from those of other robots; channels that are
not judged."""
from pathlib import Path

import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.robot_identity import robot_identity
from uvms_adaptive_dynamics.model.sample import BY_SETTING, NO_THRUSTER
from uvms_adaptive_dynamics.model.urdf_address import resolve_urdf


def identity(**values):
    changes = {name.replace("__", "."): value for name, value in values.items()}
    return robot_identity(RobotModel.from_config(Config().with_values(changes)))


def test_a_robot_s_name_says_what_it_is():
    """A vehicle, an arm, or both, and eight digits."""
    assert identity().startswith("vehicle-alpha5-") and len(identity().split("-")[-1]) == 8
    assert identity(robot__joints=()).startswith("vehicle-")
    assert identity(robot__vehicle=False).startswith("alpha5-")


def test_what_does_not_change_the_robot_does_not_change_its_name(tmp_path):
    """Solvers, gravity, and where the URDF lies."""
    path = tmp_path / "copy.urdf"
    path.write_text(Path(resolve_urdf(Config().robot.urdf)).read_text())
    assert identity() == identity(estimation__solver="native", robot__gravity=9.78,
                                  robot__urdf=str(path))


@pytest.mark.parametrize("change", [
    {"robot__mount_xyz": (0.2, 0.0, -0.12)}, {"robot__mount_rpy": (0.0, 0.0, 0.0)},
    {"robot__joints": ("axis_e", "axis_d")}, {"robot__estimate_offsets": "joints"}])
def test_another_robot_has_another_name(change):
    """Mount, joints, or parameters."""
    assert identity(**change) != identity()


@pytest.mark.parametrize("source, idle", [("thrusters", {1, 3, 4}), ("wrench", set())])
def test_an_axis_without_a_thruster_is_left_out(source, idle):
    """Two thrusters ahead and a vertical one do not act in sway, roll and pitch. A measured wrench
    may, whatever the allocation."""
    config = Config().with_values({
        "thrusters.source": source, "thrusters.signs": (1.0,) * 3,
        "thrusters.allocation": (1., 1., 0., 0., 0., 0., 0., 0., -1.) + (0.,) * 6 + (.2, -.2, 0.),
        "joint_states.effort_masked": ("axis_b",)})
    assert RobotModel.from_config(config).left_out(config) == tuple(
        NO_THRUSTER if k in idle else "" for k in range(6)) + ("", "", "", BY_SETTING)
