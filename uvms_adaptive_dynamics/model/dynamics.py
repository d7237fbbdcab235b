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

"""Use of an estimate: inverse and forward dynamics of the coupled robot, with covariance.

Paper, "Use Cases"; docs/mathematics.md, "Use of the estimate".
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import require
from .arguments import array, optional_array
from .robot import LinksDrag, RawRows, RobotModel
from .sample import Sample
from .state import State


class Efforts(NamedTuple):
    """tau (C,) [N, N m]: thruster wrench and joint efforts; covariance: (C, C) or None."""

    tau: np.ndarray
    covariance: np.ndarray | None


class Accelerations(NamedTuple):
    """nu_dot (6,) and mu_ddot (n,); covariance: that of both stacked (C, C), or None; M (C, C):
    generalized inertia."""

    nu_dot: np.ndarray
    mu_ddot: np.ndarray
    covariance: np.ndarray | None
    M: np.ndarray


def inverse_dynamics(robot: RobotModel, state: State, nu_dot: np.ndarray, mu_ddot: np.ndarray,
                     pi: np.ndarray, covariance: np.ndarray | None = None) -> Efforts:
    """tau = Y pi (+ known loads) of a motion, with covariance Y Sigma_pi Y^T.

    nu_dot (6,) of the body [m/s^2, rad/s^2] and mu_ddot (n,) of the joints [rad/s^2 or m/s^2]: the
    accelerations; pi (p,) with its covariance (p, p), None leaves it out. Add the measurement noise
    before comparing with measurements. With term set 'thrust_by_direction' the wrench is the
    measured or commanded one that produces the wrench needed (`RobotModel.measured_wrench`). Raises
    ParameterError for arguments of another kind or shape."""
    pi, p, n = vector_at(robot, state, pi), robot.table.size, robot.table.n
    covariance = optional_array("covariance", covariance, (p, p))
    mu_ddot = array("mu_ddot", mu_ddot, (n,))
    if robot.vehicle:
        nu_dot = array("nu_dot", nu_dot, (6,))
    raw = rows_of(robot, state, np.concatenate([nu_dot, mu_ddot]) if robot.vehicle else mu_ddot, pi)
    tau = robot.measured_wrench(raw.Y @ pi + raw.tau_known, pi)
    if covariance is None:
        return Efforts(tau, None)
    Y = raw.Y if robot.thrust_is_exact else rows_of(
        robot, state, np.concatenate([nu_dot, mu_ddot]), pi, wrench=tau[:6]).Y
    return Efforts(tau, Y @ covariance @ Y.T)


def forward_dynamics(robot: RobotModel, state: State, tau: np.ndarray, pi: np.ndarray,
                     covariance: np.ndarray | None = None,
                     disturbance: np.ndarray | None = None) -> Accelerations:
    """zeta_ddot = M^-1 (tau - h) of the coupled system with parameters pi (p,) under efforts tau
    (C,) [N, N m].

    Y(zeta_ddot) pi = tau gives M d(zeta_ddot) = -Y d(pi), so the covariance is
    M^-1 (Y Sigma_pi Y^T + Sigma_d) M^-T with the regressor at the solution. covariance: Sigma_pi
    (p, p); disturbance: Sigma_d (C, C), the residuals' covariance; None leaves it out. Raises
    ParameterError for arguments of another kind or shape.
    """
    pi, p, C = vector_at(robot, state, pi), robot.table.size, robot.table.channels
    tau, covariance = array("tau", tau, (C,)), optional_array("covariance", covariance, (p, p))
    disturbance = optional_array("disturbance", disturbance, (C, C))
    M = generalized_inertia(robot, state, pi)
    wrench = tau[:6] if robot.vehicle else None
    raw = rows_of(robot, state, np.zeros(len(M)), pi, wrench=wrench)
    zeta_ddot = np.linalg.solve(M, tau - raw.Y @ pi - raw.tau_known)
    spread = None
    if covariance is not None:
        Y = rows_of(robot, state, zeta_ddot, pi, wrench=wrench).Y
        middle = Y @ covariance @ Y.T + (0.0 if disturbance is None else disturbance)
        spread = np.linalg.solve(M, np.linalg.solve(M, middle).T).T
    return Accelerations(*_split(zeta_ddot, robot.vehicle), spread, M)


def vector_at(robot: RobotModel, state: State, pi: Any) -> np.ndarray:
    """pi (p,) as floats, if robot, state and pi fit; raises ParameterError otherwise."""
    require("robot", robot, RobotModel)
    require("state", state, State)
    n = robot.table.n
    for name, shape in (("R_nb", (3, 3)), ("nu", (6,)), ("mu", (n,)), ("mu_dot", (n,))):
        array(f"state.{name}", getattr(state, name), shape)
    return array("pi", pi, (robot.table.size,))


def generalized_inertia(robot: RobotModel, state: State, pi: np.ndarray) -> np.ndarray:
    """M (C, C) of the coupled system with parameters pi (p,): column k is the effort that a unit
    acceleration of channel k needs beyond the effort at rest."""
    of_parameters, known = inertia_regressor(robot, state)
    return of_parameters @ pi + known


def inertia_regressor(robot: RobotModel, state: State) -> tuple[np.ndarray, np.ndarray]:
    """(N (C, C, p), K (C, C)): the generalized inertia of any parameters pi (p,) is N pi + K."""
    still, C = replace(state, nu=np.zeros(6), mu_dot=np.zeros(robot.table.n)), robot.table.channels
    at_rest, *unit = (rows_of(robot, still, accelerations)
                      for accelerations in (np.zeros(C), *np.eye(C)))
    return (np.stack([raw.Y - at_rest.Y for raw in unit], axis=1),
            np.column_stack([raw.tau_known - at_rest.tau_known for raw in unit]))


def rows_of(robot: RobotModel, state: State, accelerations: np.ndarray,
            pi: np.ndarray | None = None, sign: np.ndarray | None = None,
            wrench: np.ndarray | None = None, drag: LinksDrag | None = None) -> RawRows:
    """Regressor and known load of a motion.

    accelerations (C,): nu_dot, if there is a vehicle, then mu_ddot. pi (p,), sign (n,), drag: see
    `RobotModel.raw_rows`. wrench (6,): measured or commanded, for term set 'thrust_by_direction';
    without it that set's efforts are zero."""
    nu_dot, mu_ddot = _split(accelerations, robot.vehicle)
    return robot.raw_rows(
        Sample(0.0, state.R_nb, state.nu, nu_dot, state.mu, state.mu_dot, mu_ddot,
               np.zeros(6) if wrench is None else wrench, np.zeros(robot.table.n),
               np.ones(robot.table.channels, bool)), pi, sign, drag)


def _split(accelerations: np.ndarray, vehicle: bool) -> tuple[np.ndarray, np.ndarray]:
    return (accelerations[:6], accelerations[6:]) if vehicle else (np.zeros(6), accelerations)
