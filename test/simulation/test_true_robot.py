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

"""The true parameters: physical bodies, and a payload in the gripper."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from simulated import G

from uvms_adaptive_dynamics.simulation.paper_parameters import paper_parameters
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot, inertia_matrix


def test_payload_is_a_point_mass_in_the_gripper():
    """A payload adds its mass, first moment and m d^2 to the last link and leaves the others
    alone."""
    plain, loaded = TrueRobot(), replace(TrueRobot(), payload_mass=0.3, payload_volume=5e-5)
    before, after = paper_parameters(plain), paper_parameters(loaded)
    changed = {
        name: after[name] - before[name]
        for name in before
        if after[name] != pytest.approx(before[name], abs=1e-12)
    }
    assert changed == pytest.approx(
        {
            "axis_b.m": 0.3,
            "axis_b.mlz": 0.3 * 0.19,
            "axis_b.Ixx": 0.3 * 0.19**2,
            "axis_b.Iyy": 0.3 * 0.19**2,
        }
    )
    assert loaded.last_link().volume == pytest.approx(plain.links[-1].volume + 5e-5)


def test_all_bodies_are_physical():
    """Mass matrix and every pseudo-inertia, of the true robot and of the URDF, are positive
    definite."""
    robot = TrueRobot()
    for name in ("added_mass", "linear_damping"):
        matrix = getattr(robot, name)
        assert np.linalg.eigvalsh(matrix + matrix.T).min() > 0.0, name
    urdf = pin.buildModelFromUrdf(robot.urdf, pin.JointModelFreeFlyer())
    bodies = [(i.mass, np.array(i.lever), np.array(i.inertia)) for i in list(urdf.inertias)[1:]]
    bodies += [(k.mass, np.array(k.com), inertia_matrix(k.inertia)) for k in (*robot.links, robot)]
    assert len(bodies) == 5 + 5
    for mass, _, inertia in bodies:
        second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
        assert mass > 0.0 and np.linalg.eigvalsh(second).min() > 0.0
    assert 110.0 < robot.mass * G < 125.0
