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

"""The efforts' unit, by gravity's load on the joints according to the URDF's masses."""
import numpy as np
import pinocchio as pin
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.manipulator import ManipulatorModel
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.checks.effort_scale import (
    check_effort_scale,
    loads_of,
    tip_of,
)

JOINTS = Config().robot.joints
ROBOT = RobotModel.from_config(Config().with_values({"robot.vehicle": False}))
LOADS, TIP = loads_of(ROBOT, None), tip_of(ROBOT, None)
T = np.arange(0.0, 40.0, 0.045)


def motion():
    """(positions, speeds) at T."""
    phase, rates = np.arange(4), np.array([0.5, 0.3, 0.41, 0.7])
    return (np.array([0.0, 1.3, 1.0, 0.0]) + 0.9 * np.sin(np.outer(T, rates) + phase),
            0.9 * rates * np.cos(np.outer(T, rates) + phase))


def said(factor, gravity=1.0, masked=(), floats=False, scale=(), garbage=0, fixed=True):
    """Findings on efforts of all joints, times `factor` (one number, or one per joint): gravity's
    load times `gravity` (the same), friction and noise; the first `garbage` ones are garbage."""
    rng, (mu, speed) = np.random.default_rng(0), motion()
    effort = gravity * LOADS(T, mu) + 0.02 * np.sign(speed) + 0.01 * speed
    effort = factor * (effort + 0.005 * rng.normal(size=effort.shape))
    effort[:garbage] = 1e200
    return check_effort_scale(T, mu, speed, effort, LOADS, JOINTS, scale, masked, floats,
                              fixed, TIP)


@pytest.mark.parametrize("factor", [1 / 50, 50.0, 1000.0, -0.01])
def test_efforts_in_another_unit_are_named_with_the_scale_that_mends_them(factor):
    """One factor for all joints, including those without gravity load; it takes the configured
    scales into account, and ignores garbage at the start."""
    (found,) = said(factor, scale=(1.0, 2.0, 1.0, 1.0), garbage=10)
    scales = np.array(found.values["joint_states.effort_scale"])
    assert found.setting == "joint_states.effort_scale" and found.joint == ""
    assert np.allclose(scales * factor, [1.0, 2.0, 1.0, 1.0], rtol=0.3)
    assert "axis_d, axis_c" in found.sentence and "axis_e" not in found.sentence


def test_one_joint_alone_is_named_and_the_others_keep_their_scale():
    """Its effort alone is misread."""
    (found,) = said(np.array([1.0, 1.0, 0.01, 1.0]))
    assert found.joint == "axis_c" and "as they are" in found.sentence
    scales = found.values["joint_states.effort_scale"]
    assert scales[:2] == (1.0, 1.0) and scales[2] == pytest.approx(100, rel=0.2)


@pytest.mark.parametrize("kilograms", [0.5, 1.0, 2.0])
def test_what_the_arm_carries_is_no_unit(kilograms):
    """It adds to the outermost joint's effort most, and in N m to those before it even more."""
    model = ROBOT.arm.model.copy()
    model.inertias[model.njoints - 1] += pin.Inertia(kilograms, np.array([0.0, 0.0, 0.15]),
                                                     np.zeros((3, 3)))
    loaded = ManipulatorModel(model, JOINTS)
    mu = motion()[0]
    load = np.array([loaded.resting_load(q, np.eye(3)) for q in mu])
    gravity = np.divide(load, LOADS(T, mu), out=np.ones_like(load), where=np.abs(load) > 1e-9)
    assert np.median(gravity[:, 2]) > 1.0 + kilograms
    assert said(1.0, gravity=gravity) == []


@pytest.mark.parametrize("factor", [[1.0, 1.0, 6.0, 1.0], [1.0, 6.0, 1.0, 1.0],
                                    [1.0, 1.0, 0.1, 1.0], 6.0])
def test_what_no_load_explains_is_the_unit(factor):
    """Another outermost one that is right, all efforts times the same factor, or more than the
    joints before it carry."""
    (found,) = said(np.array(factor))
    assert found.values


@pytest.mark.parametrize("start", [0.0, 45.7, 12.34, 1.7e9])
def test_a_log_of_any_length_can_be_judged(start):
    """Also one that ends, but for rounding, with a whole period of the compared rows."""
    mu = np.zeros((600, len(JOINTS)))
    for k in range(2, len(mu)):
        t = start + 0.02 * np.arange(k)
        assert check_effort_scale(t, mu[:k], mu[:k], mu[:k], lambda t, mu: mu, JOINTS, (), (),
                                  False) == []


@pytest.mark.parametrize("change", [
    {"factor": 1.0}, {"factor": 1.0, "gravity": 2.0}, {"factor": 1.0, "gravity": 0.5},
    {"factor": 0.01, "gravity": 0.02}, {"factor": 0.05, "floats": True},
    {"factor": 0.01, "masked": JOINTS}, {"factor": 0.0}, {"factor": np.nan},
    {"factor": 1.0, "gravity": -1.0, "fixed": False}])
def test_masses_that_are_off_and_what_gravity_does_not_explain_are_not_named(change):
    """Right efforts; masses wrong by two; friction alone; an arm that may float; masked joints; no
    effort; an arm that buoyancy may lift."""
    assert said(**change) == []


def test_a_load_that_opposes_gravity_tells_of_the_mount():
    """No masses reverse it. Friction is as usual, so the efforts have their right sign."""
    found, = said(1.0, gravity=-1.0)
    assert found.setting == "robot.mount_rpy" and "axis_d, axis_c" in found.sentence


def test_one_joint_alone_whose_load_opposes_gravity_tells_of_its_position():
    """The others say that the mount is right."""
    found, = said(1.0, gravity=np.array([1.0, 1.0, -1.0, 1.0]))
    assert found.setting == "joint position" and "the effort of axis_c opposes" in found.sentence


def test_the_base_of_an_arm_on_a_vehicle_is_where_the_imu_says():
    """On its side the first joint carries load too; without an IMU the loads are unknown."""
    robot = RobotModel.from_config(Config())
    assert loads_of(robot, None) is None
    down = np.column_stack([[0.0, 10.0], [[0.0, 1.0, 0.0]] * 2])
    mu = np.array([[0.3, 1.0, 0.5, 0.0]])
    upright = LOADS(np.array([5.0]), mu)[0]
    lying = loads_of(robot, down)(np.array([5.0]), mu)[0]
    assert abs(upright[0]) < 1e-9 < 0.1 < abs(lying[0])
