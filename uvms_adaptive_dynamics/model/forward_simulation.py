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

"""Forward simulation with uncertainty bands from an estimate's covariance.

Paper, "Forward Dynamics"; docs/mathematics.md, "Forward bands". `error_covariance` defines the
state and its error.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..errors import ParameterError, brief, require
from .arguments import array, optional_array
from .covariance import deviations
from .dynamics import State, vector_at
from .equations_of_motion import EquationsOfMotion
from .error_covariance import Disturbance, ErrorCovariance, error_size
from .parameter_draws import has_inertia
from .robot import RobotModel
from .rotations import to_rotation_vector


class Forward(NamedTuple):
    """A simulated run of T instants.

    t (T,) [s] from the start; states; position (T, 3) NED [m]; covariance (T, d, d) of the state's
    error, or None. d = 12 + 2n, or 2n without a vehicle; `error_covariance` states order and
    frames."""

    t: np.ndarray
    states: tuple[State, ...]
    position: np.ndarray
    covariance: np.ndarray | None

    @property
    def stddev(self) -> np.ndarray:
        """(T, d) standard deviation of the state's error; raises ParameterError for a run without a
        covariance."""
        if self.covariance is None:
            raise ParameterError("this run has no covariance, so it has no bands; expected a "
                                 "covariance of the parameters, a disturbance or the start.")
        return deviations(self.covariance)


def simulate(robot: RobotModel, start: State, efforts: Callable[[float], np.ndarray],
             pi: np.ndarray, duration: float, covariance: np.ndarray | None = None,
             disturbance: Disturbance | None = None, start_covariance: np.ndarray | None = None,
             step: float = 0.01, body: EquationsOfMotion | None = None) -> Forward:
    """Simulate the motion under efforts tau(t) (C,) [N, N m] for `duration` [s], with the
    covariance of its error.

    Sources of uncertainty: covariance (p, p) of pi, disturbance, start_covariance (d, d); without
    any of them the result has no covariance. The propagation is linear and evaluates the model at
    pi only, so pi plus an error need not lie within P. body: equations of motion at pi, by default
    those of the free robot. Raises ParameterError if the motion diverges, if pi has no positive
    definite inertia, or for arguments of another kind or shape.
    """
    pi, p, C = vector_at(robot, start, pi), robot.table.size, robot.table.channels
    covariance = optional_array("covariance", covariance, (p, p))
    for name, value in (("duration", duration), ("step", step)):
        if not (np.isfinite(array(name, value, ())) and value > 0):
            raise ParameterError(f"{name}: got {value!r}, expected more than 0 s.")
    if not callable(efforts):
        raise ParameterError(f"efforts: got {brief(efforts)}, expected a function of the time [s].")
    if disturbance is not None:
        require("disturbance", disturbance, Disturbance)
        array("disturbance.covariance", disturbance.covariance, (C, C))
        array("disturbance.time", disturbance.time, ())
    steps = max(1, round(duration / step))
    body, position = body or EquationsOfMotion(robot, pi), np.zeros(3)
    if not has_inertia(robot, start, pi):
        raise ParameterError(
            "cannot simulate these parameters: their generalized inertia is not positive definite "
            "at the start; expected parameters within the physical set, as in every estimate.")
    start_covariance = optional_array("start_covariance", start_covariance,
                                      (error_size(body),) * 2)
    states, positions, found = [start], [position], []
    spread = None
    if covariance is not None or disturbance is not None or start_covariance is not None:
        spread = ErrorCovariance(body, covariance, disturbance, start_covariance)
        found.append(spread.covariance())
    state = start
    for k in range(steps):
        after, moved = body.step(state, efforts(k * step), efforts((k + 1) * step), step)
        if spread is not None:
            spread.step(state, after, step)
            found.append(spread.covariance())
        state, position = after, position + moved
        states.append(state)
        positions.append(position)
    return Forward(step * np.arange(steps + 1), tuple(states), np.array(positions),
                   np.array(found) if found else None)


def error_of(robot: RobotModel, states: tuple[State, ...], position: np.ndarray,
             of: Forward) -> np.ndarray:
    """(T, d) error (tangent vectors) of a run, states and position (T, 3), relative to the run
    `of` at the same instants."""
    errors = []
    for state, place, base, base_place in zip(states, position, of.states, of.position):
        attitude = to_rotation_vector(base.R_nb.T @ state.R_nb)
        vehicle = [place - base_place, attitude, state.nu - base.nu] if robot.vehicle else []
        errors.append(np.concatenate([*vehicle, state.mu - base.mu, state.mu_dot - base.mu_dot]))
    return np.array(errors)
