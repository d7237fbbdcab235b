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

"""`check`: settings and the files that they name, without a recording."""
import pytest

from uvms_adaptive_dynamics.__main__ import main

ARM = """
robot:
  vehicle: false
  urdf: arm.urdf
  joints: [turn, push]
thrusters: {source: zero}
imu: {enabled: false}
dvl: {enabled: false}
depth: {enabled: false}
"""
# A turning joint with all limits, and a slide without a limit of speed.
URDF = """<robot name="arm"><link name="base"/><link name="one"/><link name="two"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="one"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="2" effort="7" velocity="3"/></joint>
<joint name="push" type="prismatic"><parent link="one"/><child link="two"/><axis xyz="1 0 0"/>
<limit lower="0" upper="0.25" effort="40" velocity="0"/></joint></robot>"""


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "arm.yaml").write_text(ARM)
    return tmp_path / "arm.yaml"


def test_the_robot_that_the_settings_describe_is_printed(arm, capsys):
    assert main(["check", "--config", str(arm)]) == 0
    said = capsys.readouterr().out
    rows = [" ".join(line.split()) for line in said.splitlines()]
    assert "turn -1 to 2 rad 3 rad/s 7 N m" in rows and "push 0 to 0.25 m 0 m/s 40 N" in rows
    assert "2 channels: turn push" in said
    assert "push: the URDF has no limit of speed; the feedforward and guided runs need " \
           "excitation.joint_speed" in said
    assert "robot.vehicle: False (default True)" in rows


def test_the_default_vehicle_and_its_strength(capsys):
    assert main(["check"]) == 0
    said = capsys.readouterr().out
    assert "75 parameters" in said and "10 channels" in said
    assert "X 129, Y 129, Z 183, K 39.8, M 21.9, N 34.5" in said


def test_an_axis_without_a_thruster_is_named(capsys):
    surge_and_heave = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert main(["check", "--set", "thrusters.signs=[1, 1]",
                 "--set", f"thrusters.allocation={surge_and_heave}"]) == 0
    assert "no thruster acts on Y, K, M, N" in capsys.readouterr().out


def test_every_problem_is_said_at_once(arm, capsys):
    """First those of names and values, then those of the files: nobody has to run it once each."""
    wrong = ["--set", "robot.vehicl=true", "--set", "estimation.horizon=many"]
    assert main(["check", "--config", str(arm), *wrong]) == 2
    said = capsys.readouterr().err
    assert "'robot.vehicl' does not exist" in said and "'estimation.horizon' is 'many'" in said
    wrong = ["--set", "robot.urdf=no.urdf", "--set", "estimation.solver=cvxpy:NONE",
             "--set", "thrusters.curve=no.csv", "--set", "robot.vehicle=true"]
    assert main(["check", "--config", str(arm), *wrong]) == 2
    said = capsys.readouterr().err
    assert "no.urdf" in said and "no.csv" in said
    wrong = ["--set", "estimation.schedule=none_such", "--set", "prior.file=no.yaml"]
    assert main(["check", "--config", str(arm), *wrong]) == 2
    said = capsys.readouterr().err
    assert "none_such" in said and "no.yaml" in said
