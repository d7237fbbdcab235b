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

"""Unusable URDFs: each is refused with the name of the link or joint before Pinocchio reads it."""
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import ConfigError, RobotError
from uvms_adaptive_dynamics.model.manipulator import ManipulatorModel
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.urdf import LARGEST_URDF, urdf_text
from uvms_adaptive_dynamics.model.urdf_address import resolve_urdf

JOINTS = ("axis_e", "axis_d", "axis_c", "axis_b")
ALPHA5 = Path(resolve_urdf(Config().robot.urdf)).read_text()


def changed(old, new):
    assert old in ALPHA5
    return ALPHA5.replace(old, new, 1)


def added(text):
    return ALPHA5.replace("</robot>", text + "</robot>")


def joint(name, kind="fixed", parent="wrist", child="x", inside=""):
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'{inside}</joint>')


def refusal(text, joints=JOINTS):
    begin = time.process_time()     # whatever else runs
    with pytest.raises(RobotError) as caught:
        ManipulatorModel.from_urdf(text, joints)
    assert time.process_time() - begin < 1.0
    assert str(caught.value).startswith("URDF ") and "\n" not in str(caught.value)
    return str(caught.value)


AXIS_D = '<joint name="axis_d" type="revolute">'
MIMIC = '<mimic joint="axis_e"/>'


@pytest.mark.parametrize("text, words", [
    (changed('mass value="0.194"', 'mass value="-0.194"'), "link 'shoulder' has the mass -0.194"),
    (changed('mass value="0.194"', 'mass value="nan"'), "mass is 'nan'; expected a number"),
    (changed('mass value="0.194"', 'mass value="1e400"'), "mass is '1e400'"),
    (changed('mass value="0.194"', 'mass value="1e300"'), "of size up to 1e+12"),
    (changed('mass value="0.194"', 'mass value="1_0"'), "mass is '1_0'"),
    (changed('mass value="0.194"', 'mass value="${m}"'), "Expand it with xacro first"),
    (changed('<mass value="0.194"/>', ""), "an inertial without mass or inertia"),
    (changed('ixx="1.4e-4"', 'ixx="inf"'), "'shoulder': inertia ixx is 'inf'"),
    (changed('ixx="1.4e-4"', 'ixx="-1.4e-4"'), "has the inertia ixx = -0.00014"),
    (changed('ixx="1.4e-4"', ""), "inertia ixx is ''"),
    (changed('xyz="0 0 0.014"', 'xyz="0 0"'), "joint 'axis_e': origin xyz is '0 0'; expected 3"),
    (changed('xyz="0 0 0.014"', 'xyz="0 nan 0"'), "origin xyz is '0 nan 0'"),
    (changed('axis xyz="0 0 1"', 'axis xyz="0 0 0"'), "'axis_e' has the axis 0 0 0"),
    (changed('axis xyz="0 0 1"', 'axis xyz="a b c"'), "axis is 'a b c'"),
    (changed('lower="1.0"', 'lower="nan"'), "'axis_e': limit lower is 'nan'"),
    (changed(AXIS_D, AXIS_D + MIMIC), "'axis_d' mimics 'axis_e' and has no motion of its own"),
    (changed(AXIS_D, AXIS_D.replace("revolute", "floating")), "'axis_d' is floating; robot.joints"),
    (changed(AXIS_D, AXIS_D.replace("revolute", "planar")), "'axis_d' is planar; robot.joints"),
    (changed(AXIS_D, AXIS_D.replace("revolute", "fixed")), "'axis_d' is fixed in the URDF"),
    (changed(AXIS_D, AXIS_D.replace("revolute", "hinge")), "is of type 'hinge'; expected one of"),
    (added('<link name="x"/>' + joint("jaw", "revolute", inside=MIMIC)), "make it fixed"),
    (added('<link name="x"/>' + joint("free", "floating")), "not carried by the arm"),
    (added('<link name="wrist"/>'), "link 'wrist' occurs twice"),
    (added('<link name="x"/>' + joint("axis_e")), "joint 'axis_e' occurs twice"),
    (added('<link name="x"/>' + joint(" ")), "a joint has no name"),
    (added("<link/>"), "a link has no name"),
    (added('<link name="x"/>' + joint("universe")), "'universe', which is reserved"),
    (added(joint("loop", child="arm_base")), "joints form a loop"),
    (added(joint("loop", child="wrist")), "'wrist' is the child of two joints, 'axis_b' and"),
    (added('<link name="x"/><link name="y"/>' + joint("a", parent="x", child="y")
           + joint("b", parent="y", child="x")), "link 'x' cannot be reached"),
    (added('<link name="x"/>'), "links 'arm_base' and 'x' both have no parent"),
    (added('<link name="x"/>' + joint("j", parent="none")), "parent 'none', which is not a link"),
    (added('<link name="x"/><joint name="j" type="fixed"/>'), "'j' has the parent ''"),
    (ALPHA5[:1500], "not well-formed XML"), ("<html/>", "outermost element is <html>"),
    ("<robot name='x'/>", "no links"), ("<a>" * 100_000, "not well-formed XML"),
    ('<!DOCTYPE x [<!ENTITY a "b">]><robot name="&a;"/>', "declares entities"),
    ("<robot>" + " " * LARGEST_URDF + "</robot>", "longer than 4 MB")])
def test_a_description_that_cannot_be_used_is_refused_by_name(text, words):
    """Pinocchio alone accepts half of these, giving a robot that never moves or has no mass."""
    assert words in refusal(text)


def test_files_that_are_none_are_refused(tmp_path):
    """A missing file, a folder, a device, a FIFO, an unknown package."""
    os.mkfifo(tmp_path / "fifo")
    for path, words in ((tmp_path / "none", "No such file"), (tmp_path, "it is a folder"),
                        ("/dev/zero", "it is a device"), (tmp_path / "fifo", "it is a FIFO"),
                        ("", "it is a folder"), ("x" * 5000, "File name too long")):
        assert words in refusal(str(path))
    for address in ("~nobody-of-this-name/x", "package://nobody_has_this/x.urdf"):
        with pytest.raises(RobotError, match="URDF '"):
            resolve_urdf(address)


def test_joints_that_are_not_estimated_may_be_of_any_type():
    """A gripper's jaws that mimic each other, a floating vehicle between the world and the arm."""
    jaws = '<link name="x"/><link name="y"/>' + joint("one", "revolute", inside=(
        '<limit lower="0" upper="1" effort="1" velocity="1"/>')) + joint(
            "two", "revolute", child="y", inside='<mimic joint="one"/>'
            '<limit lower="0" upper="1" effort="1" velocity="1"/>')
    world = '<link name="world"/>' + joint("sea", "floating", "world", "arm_base")
    for text in (added(jaws), added(world)):
        arm = ManipulatorModel.from_urdf(text, JOINTS)
        plain = ManipulatorModel.from_urdf(ALPHA5, JOINTS)
        np.testing.assert_allclose(arm.inertials(), plain.inertials(), atol=1e-12)


@pytest.mark.parametrize("link", ["vehicle", "universe", "axis_e"])
@pytest.mark.parametrize("name", ["vehicle", "root_joint", "surge", "W", "arm_base", "a.b", "a/b"])
def test_names_that_mean_something_here_may_be_joints_and_links(name, link):
    """Names of channels, parameters and Pinocchio, and the same name for a link and a joint."""
    text = ALPHA5.replace('"axis_d"', f'"{name}"').replace('"elbow"', f'"{link}"')
    joints = tuple(name if j == "axis_d" else j for j in JOINTS)
    arm = ManipulatorModel.from_urdf(text, joints)
    np.testing.assert_array_equal(arm.inertials(),
                                  ManipulatorModel.from_urdf(ALPHA5, JOINTS).inertials())
    robot = RobotModel(Config().with_values({"robot.joints": joints}), arm)
    assert len(set(robot.channels)) == 10 and len(set(robot.table.names)) == robot.table.size


def test_joints_whose_channels_would_be_one_are_refused():
    """A joint 'surge' becomes channel joint.surge, since the vehicle has a channel 'surge'."""
    joints = ("surge", "joint.surge", "axis_c", "axis_b")
    text = ALPHA5.replace('"axis_e"', '"surge"').replace('"axis_d"', '"joint.surge"')
    arm = ManipulatorModel.from_urdf(text, joints)
    with pytest.raises(RobotError, match="two channels would be named 'joint.surge'"):
        RobotModel(Config().with_values({"robot.joints": joints}), arm)


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a*", "a[0]", "a\nb", "a'b"])
def test_names_that_break_tables_and_patterns_are_refused(name):
    """The settings, which list the joints, refuse them."""
    with pytest.raises(ConfigError, match="'robot.joints' is .*expected names without blanks"):
        Config().with_values({"robot.joints": ["axis_e", name]})


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_spoilt_description_is_used_or_refused(data):
    """Pieces deleted, doubled or replaced by other text: finite values, or a RobotError."""
    text = ALPHA5[ALPHA5.index("<robot"):]
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(text) - 1))
        piece = text[begin:begin + data.draw(st.integers(0, 300))]
        new = data.draw(st.sampled_from(["", piece * 2, "nan", "-1", "<", '"', "floating"]))
        text = text[:begin] + new + text[begin + len(piece):]
    try:
        arm = ManipulatorModel.from_urdf(text, JOINTS)
    except RobotError:
        return
    assert np.isfinite(arm.inertials()).all() and (arm.inertials()[:, 0] >= 0).all()


def test_a_path_and_its_text_are_the_same(tmp_path):
    """A path to a URDF and its text give the same result, to the letter."""
    path = tmp_path / "arm.urdf"
    path.write_text(ALPHA5)
    assert urdf_text(str(path), JOINTS) == urdf_text(ALPHA5, JOINTS)
