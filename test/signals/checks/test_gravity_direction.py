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
"""How an arm on a fixed base is mounted, by the direction of gravity in its efforts."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.signals.checks.gravity_direction import (
    check_gravity_direction,
    loads_along,
)

JOINTS = Config().robot.joints
T = np.arange(0.0, 60.0, 0.2)
QUARTER = np.pi / 2


def robot(rpy):
    return RobotModel.from_config(Config().with_values({
        "robot.vehicle": False, "robot.mount_rpy": list(rpy)}))


def up(rpy):
    """(3,) the vertical in the axes of the URDF's base."""
    return np.reshape(from_rpy(*rpy), (3, 3))[2]


def motion():
    """(positions, speeds) at T."""
    phase, rates = np.arange(4), np.array([0.5, 0.3, 0.41, 0.7])
    return (np.array([0.5, 1.3, 1.0, 0.0]) + 0.9 * np.sin(np.outer(T, rates) + phase),
            0.9 * rates * np.cos(np.outer(T, rates) + phase))


def said(true, given, factor=1.0, zeros=0.0, masked=()):
    """Findings with the mount `given`, on efforts of an arm mounted as `true` says: gravity's load,
    times `factor`, friction and noise; zeros: of the positions that are published."""
    rng, (mu, speed) = np.random.default_rng(0), motion()
    load = np.array([robot(true).resting_load(q, np.eye(3)) for q in mu])
    effort = factor * load + 0.02 * np.sign(speed) + 0.01 * speed + 0.01 * rng.normal(size=mu.shape)
    assumed = robot(given)
    return check_gravity_direction(T, mu + zeros, speed, effort,
                                   lambda q, down: loads_along(assumed, q, down), JOINTS, masked,
                                   given)


@pytest.mark.parametrize("true, given", [
    ((0.0, 0.0, 0.0), (0.0, QUARTER, 0.0)), ((0.0, 0.0, 0.0), (QUARTER, 0.0, 0.0)),
    ((0.0, 0.0, 0.0), (0.0, -QUARTER, 0.4)), ((0.0, 0.0, 0.0), (0.0, 1.0, 2.0)),
    ((0.0, QUARTER, 0.0), (0.0, 0.0, 0.0)), ((0.0, QUARTER, 0.0), (QUARTER, 0.0, 0.0)),
    ((0.0, QUARTER, 0.0), (0.0, 0.3, 1.0))])
def test_another_mount_is_named_with_its_value(true, given):
    """Up to its heading, with efforts in any unit."""
    (found,) = said(true, given, factor=np.array([3.0, 0.5, 2.0, 1.0]))
    assert found.setting == "robot.mount_rpy" and "mounted otherwise" in found.sentence
    if found.values:       # (the zero of a joint may look alike)
        np.testing.assert_allclose(up(found.values["robot.mount_rpy"]), up(true), atol=0.02)


@pytest.mark.parametrize("given", [(0.0, 0.0, 1.0), (0.3, 0.0, 0.0), (0.0, np.pi, 0.0)])
def test_what_the_links_masses_may_be_wrong_by_is_no_finding(given):
    """A heading, a tilt of 17 degrees; and gravity the other way round, which may be the sign of
    all efforts and is named elsewhere."""
    assert said((0.0, 0.0, 0.0), given) == []


@pytest.mark.parametrize("change", [
    {}, {"factor": np.array([1.0, 2.0, 0.5, 1.0])}, {"factor": np.array([1.0, -1.0, 1.0, 1.0])},
    {"factor": -1.0}, {"factor": 0.0}, {"masked": JOINTS}, {"zeros": np.array([0, 0.2, 0, 0])}])
def test_a_right_mount_is_left_alone(change):
    """Also with wrong masses or units, wrong signs, no load at all, a zero that is a little off."""
    assert said((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), **change) == []


def test_the_zero_of_a_joint_is_named_if_it_explains_as_much():
    """Of a shoulder whose zero is elsewhere, all that follows is turned with it; no value is given
    to paste."""
    level = (0.0, 0.0, 0.0)
    found = said(level, level, zeros=np.array([0.0, QUARTER, 0.0, 0.0]))
    assert all(not one.values and "the zero of axis_d" in one.sentence for one in found)
