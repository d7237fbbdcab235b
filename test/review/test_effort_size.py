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

"""Efforts that are too small for what the masses of the URDF need."""
from dataclasses import replace

import numpy as np
import pytest
from analytic import AnalyticMotion

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.review.arm_check import CheckedRows
from uvms_adaptive_dynamics.review.effort_size import effort_size
from uvms_adaptive_dynamics.review.review import Seen, review
from uvms_adaptive_dynamics.studies.benchmark.chain import chain_urdf

PERIOD = 0.06       # [s] of checked samples


def arm_of(joints):
    """(config, robot, a sample) of a fixed arm."""
    config = Config().with_values({"robot.urdf": "robot_description", "robot.vehicle": False,
                                   "robot.joints": [f"j{k}" for k in range(joints)]})
    robot = RobotModel.from_config(config, chain_urdf(joints))
    return config, robot, AnalyticMotion(0, config=config, joints=joints).sample(3.0, robot)


def needed(robot, sample):
    """(n,) efforts by the masses of the URDF."""
    links = np.column_stack([robot.arm.inertials(), np.zeros((robot.arm.n, 2))]).ravel()
    return robot.arm.regressor(sample.mu, sample.mu_dot, sample.mu_ddot, sample.R_nb, sample.nu,
                               sample.nu_dot) @ links


def moving(robot, config, share, seconds=6.0):
    """Samples of an arm that is driven, with this share (n,) of the needed efforts."""
    motion = AnalyticMotion(0, config=config, joints=robot.arm.n)
    samples = [replace(motion.sample(t, robot), valid=np.ones(robot.arm.n, bool))
               for t in np.arange(2.0, 2.0 + seconds, PERIOD)]
    return [replace(s, joint_torque=share * needed(robot, s)) for s in samples]


@pytest.mark.parametrize("share, found", [((0.004, 0.005), True), ((0.1, 0.15), False),
                                          ((0.004, 1.0), False), ((1.0, 1.0), False),
                                          ((100.0, 100.0), False)])
def test_efforts_of_all_joints_far_below_what_the_masses_need_are_named(share, found):
    """With their size. A URDF may be wrong by an order, and one joint may be loose."""
    config, robot, _ = arm_of(2)
    said = effort_size(moving(robot, config, np.array(share)), config, robot)
    assert (said is not None) == found
    if found:
        assert said.code == "joint_states.effort_scale"
        assert "of j0, j1 vary by 1/250, 1/200 of what" in said.sentence


def test_the_review_names_them_unless_a_check_has():
    """Although rows are in doubt for another reason."""
    config, robot, _ = arm_of(2)
    samples = moving(robot, config, np.array([0.004, 0.004]))
    rows = CheckedRows(np.zeros(0), np.zeros((0, 2)), np.zeros((0, 2), bool), lambda places: places)
    seen = Seen(np.zeros(robot.table.size), np.zeros(2), np.ones(2), False, False, np.inf, True, ())
    (found,) = review(samples, rows, seen, config, robot).findings
    assert found == effort_size(samples, config, robot)
    assert not review(samples, rows, seen._replace(findings=(found,)), config, robot).findings


@pytest.mark.parametrize("share, named", [((-1.0, -1.0), "efforts of j0, j1 oppose what"),
                                          ((-0.5, -2.0), "efforts of j0, j1 oppose what"),
                                          ((-1.0, 1.0), None), ((-1.0, 0.0), None),
                                          ((1.0, 1.0), None)])
def test_efforts_that_oppose_what_the_masses_need_are_named(share, named):
    """If all do: no masses reverse a load. Some that do are the matter of the joints' check."""
    config, robot, _ = arm_of(2)
    said = effort_size(moving(robot, config, np.array(share)), config, robot)
    assert (said is None) == (named is None)
    assert named is None or said.code == "robot.mount_rpy" and named in said.sentence


def test_friction_alone_opposes_nothing():
    """Efforts that have nothing to do with the masses, of the size that these need."""
    config, robot, _ = arm_of(2)
    samples = moving(robot, config, np.array([1.0, 1.0]))
    size = np.std([s.joint_torque for s in samples], axis=0)
    rubbed = [replace(s, joint_torque=size * np.sign(s.mu_dot)) for s in samples]
    assert effort_size(rubbed, config, robot) is None


def test_too_few_rows_say_nothing():
    """Less than three seconds, or none that count."""
    config, robot, _ = arm_of(2)
    small = np.array([0.004, 0.004])
    assert effort_size(moving(robot, config, small, 2.0), config, robot) is None
    masked = [replace(s, valid=np.zeros(2, bool)) for s in moving(robot, config, small)]
    assert effort_size(masked, config, robot) is None


def test_an_arm_that_swings_freely_needs_no_effort():
    """Its motion cancels gravity's load, even with masses of the URDF that are 30 % wrong; friction
    is all that is measured."""
    config, robot, sample = arm_of(1)
    q, v, dt, samples = 1.0, 0.0, 0.002, []
    for k in range(4000):
        def at(a, q=q, v=v):
            return replace(sample, mu=np.array([q]), mu_dot=np.array([v]), mu_ddot=np.array([a]),
                           R_nb=np.diag([1.0, -1.0, -1.0]), nu=np.zeros(6), nu_dot=np.zeros(6))
        gravity, unit = needed(robot, at(0.0))[0], needed(robot, at(1.0))[0]
        a = -gravity / (unit - gravity)
        if k % 30 == 0:
            samples.append(replace(at(1.3 * a), joint_torque=np.array([0.03 * gravity]),
                                   valid=np.ones(1, bool)))
        v += a * dt
        q += v * dt
    assert effort_size(samples, config, robot) is None
    held = [replace(s, mu_ddot=np.zeros(1), joint_torque=0.05 * s.joint_torque) for s in samples]
    assert effort_size(held, config, robot) is not None


def test_an_arm_that_floats_may_need_next_to_nothing():
    """Unless the volumes of its links are known."""
    config = Config()
    robot = RobotModel.from_config(config)
    motion = AnalyticMotion(0, config=config)
    samples = [replace(motion.sample(t, robot), joint_torque=np.zeros(4),
                       valid=np.ones(10, bool)) for t in np.arange(2.0, 8.0, PERIOD)]
    assert effort_size(samples, config, robot) is None
