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

"""The equations of motion term by term: M a + coriolis + damping + gravity + friction = tau
(docs/mathematics.md, "Use of the estimate").

Names as in ROS 2's inverse dynamics solvers. Rows are the robot's channels: if there is a vehicle,
the thruster wrench X Y Z [N], K M N [N m] in body FRD, then joint efforts [N m or N]; columns of M
belong to nu_dot [m/s^2, rad/s^2] and mu_ddot [rad/s^2 or m/s^2] in the same order. The water is
included: M and coriolis contain the added mass, gravity the buoyancy. Each term is a part of the
regressor times pi (paper, "Use Cases"), so their sum is exactly `inverse_dynamics`. Arguments of
another kind or shape raise a ParameterError.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from .dynamics import generalized_inertia, rows_of, vector_at
from .parameters import FRICTION, LINK_PARAMETERS
from .robot import RobotModel
from .state import State


def mass_matrix(robot: RobotModel, state: State, pi: np.ndarray) -> np.ndarray:
    """M (C, C) [kg, kg m, kg m^2] of vehicle, added mass and arm, symmetric and positive definite
    for pi (p,) in P.

    With estimation.coupling 'none' M is not symmetric: the arm's block on the vehicle's rows is
    missing, as in the regressor.
    """
    return generalized_inertia(robot, state, vector_at(robot, state, pi))


def coriolis(robot: RobotModel, state: State, pi: np.ndarray) -> np.ndarray:
    """C(v) v (C,) [N, N m] with v = (nu, mu_dot): Coriolis and centripetal efforts, added mass
    included."""
    pi = vector_at(robot, state, pi)
    moving = rows_of(robot, state, np.zeros(robot.table.channels))
    return moving.Y @ _lossless(robot, pi) + moving.tau_known - gravity(robot, state, pi)


def damping(robot: RobotModel, state: State, pi: np.ndarray) -> np.ndarray:
    """D(nu) nu (C,) [N, N m], linear and quadratic; positive at a positive velocity. Includes the
    term sets of kind 'damping': off-axis damping, link drag, current."""
    pi = vector_at(robot, state, pi)
    damped = _part(robot, state, pi, _damping(robot))
    if "current" not in robot.table.term_slices:
        return damped
    # The current's whole effect belongs to the water.
    still, carried = (rows_of(robot, state, np.zeros(robot.table.channels), about)
                      for about in (None, pi))
    return damped + (carried.Y - still.Y) @ pi + carried.tau_known - still.tau_known


def gravity(robot: RobotModel, state: State, pi: np.ndarray) -> np.ndarray:
    """g (C,) [N, N m]: efforts needed at rest against weight, buoyancy and constant offsets."""
    pi = vector_at(robot, state, pi)
    still = replace(state, nu=np.zeros(6), mu_dot=np.zeros(robot.table.n))
    raw = rows_of(robot, still, np.zeros(robot.table.channels))
    return raw.Y @ _lossless(robot, pi) + raw.tau_known


def friction(robot: RobotModel, state: State, pi: np.ndarray) -> np.ndarray:
    """Viscous and Coulomb friction (C,) of the joints [N m or N]; Coulomb friction is zero at
    rest."""
    return _part(robot, state, vector_at(robot, state, pi), _joint_friction(robot))


def _part(robot: RobotModel, state: State, pi: np.ndarray, places: np.ndarray) -> np.ndarray:
    Y = rows_of(robot, state, np.zeros(robot.table.channels)).Y
    return Y[:, places] @ pi[places]


def _lossless(robot: RobotModel, pi: np.ndarray) -> np.ndarray:
    """pi (p,) with all dissipative parameters set to zero."""
    lossless = pi.copy()
    lossless[_damping(robot)] = lossless[_joint_friction(robot)] = 0.0
    return lossless


def _damping(robot: RobotModel) -> np.ndarray:
    return np.concatenate([robot.table.nonpositive, robot.table.of_kind("damping")])


def _joint_friction(robot: RobotModel) -> np.ndarray:
    names: Iterable[str] = (f"{joint}.{name}" for joint in robot.table.joints
                            for name in LINK_PARAMETERS[FRICTION])
    return np.concatenate([robot.table.places(names), robot.table.of_kind("friction")])
