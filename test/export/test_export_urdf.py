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

"""The URDF with identified inertials: the same arm in Pinocchio, valid for check_urdf."""
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from export_cases import CONFIG, FLIP, estimate, point_masses

from uvms_adaptive_dynamics.export import urdf
from uvms_adaptive_dynamics.export.formats import export_as
from uvms_adaptive_dynamics.export.identified import ExportError
from uvms_adaptive_dynamics.export.vehicle_body import vehicle_body
from uvms_adaptive_dynamics.model.manipulator import ManipulatorModel, Mount

JOINTS = CONFIG.robot.joints
FIXED = {"robot.vehicle": False, "imu.enabled": False, "dvl.enabled": False,
         "depth.enabled": False, "thrusters.source": "zero", "robot.estimate_offsets": "none"}
GRIPPER = """<robot name="two">
  <!-- kept -->
  <link name="base"><inertial><mass value="9"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
  iyz="0"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="5" velocity="1"/></joint>
  <link name="arm"/>
  <joint name="mount" type="fixed"><parent link="arm"/><child link="hand"/>
  <origin xyz="0 0 0.3" rpy="0.3 0 0"/></joint>
  <link name="hand"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0"
  iyz="0"/></inertial></link>
  <joint name="jaw" type="prismatic"><parent link="hand"/><child link="finger"/><axis xyz="1 0 0"/>
  <limit lower="0" upper="1" effort="5" velocity="1"/></joint>
  <link name="finger"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0"
  ixz="0" iyz="0"/></inertial></link>
</robot>"""


@pytest.fixture
def two(tmp_path):
    """Settings of an arm with one moving joint, a fixed hand and a jaw that is held still."""
    file = tmp_path / "two.urdf"
    file.write_text(GRIPPER)
    return CONFIG.with_values({**FIXED, "robot.urdf": str(file), "robot.joints": ["turn"]})


@pytest.mark.parametrize("seed", range(3))
def test_pinocchio_computes_the_efforts_of_the_estimate(seed):
    """Recursive Newton-Euler of the exported robot on a fixed base, plus friction."""
    identified = estimate(seed)
    model = pin.buildModelFromXML(urdf.write(identified).text)
    data = model.createData()
    model.gravity.linear = np.array([0.0, 0.0, -CONFIG.robot.gravity])
    mount = Mount(CONFIG.robot.mount_xyz, CONFIG.robot.mount_rpy)
    ours = ManipulatorModel.from_urdf(
        urdf.resolve_urdf(CONFIG.robot.urdf), JOINTS, mount, CONFIG.robot.gravity)
    arm = identified.values[27:]
    rng = np.random.default_rng(seed)
    for _ in range(5):
        mu, mu_dot, mu_ddot = rng.uniform(1, 3, 4), rng.normal(size=4), rng.normal(size=4)
        rigid = pin.rnea(model, data, mu, mu_dot, mu_ddot)
        friction = arm[10::12] * mu_dot + arm[11::12] * np.sign(mu_dot)
        expected = ours.regressor(mu, mu_dot, mu_ddot, np.eye(3), np.zeros(6), np.zeros(6)) @ arm
        assert np.abs(rigid + friction - expected).max() < 1e-9 * max(np.abs(expected).max(), 1)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_read_back(seed):
    """The 48 link parameters are read back to 1e-9 of their sizes, friction to the last digit."""
    identified = estimate(seed)
    found = urdf.read(urdf.write(identified).text, CONFIG)
    table = identified.robot.table
    own = dict(zip(table.names, zip(identified.values, table.scale)))
    assert len(found) == 48
    assert all(abs(value - own[name][0]) <= 1e-9 * own[name][1] for name, value in found.items())


def test_bodies_are_bodies():
    """All bodies, the vehicle included, have positive masses and moments within the triangle
    inequality."""
    root = ET.fromstring(export_as(estimate(1), "urdf").text)
    inertials = root.findall("link/inertial")
    assert len(inertials) == 5
    for inertial in inertials:
        e = {key: float(value) for key, value in inertial.find("inertia").attrib.items()}
        moments = np.linalg.eigvalsh([[e["ixx"], 0, 0], [e["ixy"], e["iyy"], 0],
                                      [e["ixz"], e["iyz"], e["izz"]]])     # of its lower triangle
        assert float(inertial.find("mass").get("value")) > 0
        assert moments[0] > 0 and moments[2] <= (1 + 1e-12) * (moments[0] + moments[1])


def test_check_urdf_takes_it(tmp_path):
    """Runs urdfdom's program if it is installed next to Python or on the path."""
    program = shutil.which("check_urdf", path=str(Path(sys.executable).parent)) or shutil.which(
        "check_urdf")
    if program is None:
        pytest.skip("check_urdf is not installed")
    file = tmp_path / "robot.urdf"
    file.write_text(export_as(estimate(2), "urdf").text)
    found = subprocess.run([program, str(file)], capture_output=True, text=True, timeout=60)
    assert found.returncode == 0 and "root Link: base_link" in found.stdout


def test_the_vehicle_is_above_the_arm_at_its_mount():
    """The free base has the vehicle's mass; bodies fixed to it add nothing."""
    identified = estimate(3)
    model = pin.buildModelFromXML(urdf.write(identified).text, pin.JointModelFreeFlyer())
    mass = model.inertias[1].mass
    assert np.isclose(mass, identified.pick(["W"])[0] / CONFIG.robot.gravity)
    placement = model.jointPlacements[model.getJointId("axis_e")]
    mount = pin.SE3(pin.rpy.rpyToMatrix(*CONFIG.robot.mount_rpy), np.array(CONFIG.robot.mount_xyz))
    assert np.allclose((mount * pin.SE3(np.eye(3), np.array([0, 0, 0.014]))).homogeneous,
                       placement.homogeneous, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_vehicles_inertial_is_the_rigid_part_of_the_split(seed):
    """Pinocchio's spatial inertia about the base link's origin is M_RB in FLU, which shows that
    centre and inertia about it follow URDF's conventions."""
    identified = estimate(seed)
    model = pin.buildModelFromXML(urdf.write(identified).text, pin.JointModelFreeFlyer())
    body = vehicle_body(identified, "the test")
    assert np.abs(body.gravity_centre).max() > 1e-3
    np.testing.assert_allclose(model.inertias[1].matrix(),
                               FLIP[:, None] * body.rigid_mass * FLIP, atol=1e-9)


def test_a_vehicle_that_no_rigid_body_is_has_no_inertial():
    """The arm is still exported, and a note says why the vehicle has no inertial."""
    draft = urdf.write(estimate(1, mass=100.0))
    base = next(link for link in ET.fromstring(draft.text).findall("link")
                if link.get("name") == "base_link")
    assert base.find("inertial") is None
    assert any("make added mass negative" in note for note in draft.notes)


def test_what_a_link_carries_is_part_of_it(two):
    """Hand and finger lose their inertials, the held jaw is fixed, base and comment stay."""
    identified = estimate(0, two)
    draft = urdf.write(identified)
    root = ET.fromstring(draft.text)
    inertials = {link.get("name"): link.find("inertial") for link in root.findall("link")}
    assert inertials["hand"] is None and inertials["finger"] is None
    assert inertials["base"] is not None and inertials["arm"] is not None
    jaw = next(joint for joint in root.findall("joint") if joint.get("name") == "jaw")
    assert jaw.get("type") == "fixed" and jaw.find("limit") is None
    assert "<!-- kept -->" in draft.text and "jaw" in draft.notes[-1]
    found = urdf.read(draft.text, two)
    assert np.allclose(list(found.values()), identified.pick(found), atol=1e-12)
    assert pin.buildModelFromXML(draft.text).nv == 1


def test_names_that_are_taken_are_not_taken_twice(two):
    """The vehicle's link gets another name if its own is taken."""
    vehicle = two.with_values({"robot.vehicle": True, "output.base_frame": "arm"})
    names = [link.get("name") for link in ET.fromstring(urdf.write(estimate(0, vehicle)).text
                                                        ).findall("link")]
    assert "arm_identified" in names and len(names) == len(set(names))


def test_a_joint_above_the_arm_is_held_too(tmp_path):
    """In a description with a floating vehicle, its links become part of the vehicle."""
    file = tmp_path / "floating.urdf"
    file.write_text(GRIPPER.replace("</robot>", """
  <link name="world"/>
  <joint name="free" type="floating"><parent link="world"/><child link="base"/></joint></robot>"""))
    config = CONFIG.with_values({"robot.urdf": str(file), "robot.joints": ["turn"]})
    draft = urdf.write(estimate(1, config))
    model = pin.buildModelFromXML(draft.text, pin.JointModelFreeFlyer())
    assert model.nv == 7 and "free, jaw" in draft.notes[-1].replace("jaw, free", "free, jaw")
    body = next(link for link in ET.fromstring(draft.text).findall("link")
                if link.get("name") == "base")
    assert body.find("inertial") is None


@pytest.mark.parametrize("changes, part", [
    ({"axis_c.m": 0.0}, "link of 'axis_c' is unphysical"),
    ({"axis_b.Izz": 9.0}, "link of 'axis_b' is unphysical"),
    ({"axis_e.fv": -1.0}, "friction of 'axis_e' is -1")])
def test_what_no_body_can_be_is_refused(changes, part):
    with pytest.raises(ExportError, match=part):
        urdf.write(estimate(0, **changes))


def test_point_masses_are_summed_as_the_table_has_them():
    """The test cases' inertia matches Pinocchio's, in its order of entries."""
    rigid = point_masses(np.random.default_rng(0))
    inertia = pin.Inertia.FromDynamicParameters(rigid[[0, 1, 2, 3, 4, 7, 5, 8, 9, 6]])
    assert np.isclose(inertia.mass, rigid[0]) and np.linalg.eigvalsh(inertia.inertia)[0] > 0
