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

"""Vehicle regressor in closed form: tau_v + tau_mv = M nu_dot + C(nu) nu + D(nu) nu + g = Y_v pi_v.

Paper, eq. (vehicle_dynamics_uncertain_linear); Fossen's C(nu) = [[0, -S(a)], [-S(a), -S(b)]].
docs/mathematics.md, "Vehicle".
"""
from __future__ import annotations

import numpy as np

from .arguments import array
from .body_functions import (
    DOWN,
    FUNCTIONS,
    LINEAR,
    SQUARE,
    body_functions,
    inertia_coefficients,
)
from .parameters import INERTIA_PLACES, VEHICLE_DAMPING, VEHICLE_INERTIA, VEHICLE_PARAMETERS
from .rotations import cross, skew

CURRENT_STEP = 1e-3      # [m/s] step of central differences; exact for terms of second degree

_KM = len(VEHICLE_INERTIA)
_W, _B, _H = _KM + len(VEHICLE_DAMPING) + np.array([0, 1, 2])


def vehicle_regressor(nu: np.ndarray, nu_dot: np.ndarray, R_nb: np.ndarray) -> np.ndarray:
    """Y_v (6, 27) in body FRD: rows X Y Z [N], K M N [N m]; columns in the order of the parameter
    table.

    nu, nu_dot (6,) body velocity and its derivative in the body frame [m/s, rad/s; per s]; R_nb (3,
    3) maps body FRD to NED (only its third row, the direction of gravity in the body, is used).
    Raises ParameterError for other shapes.
    """
    nu, nu_dot, R_nb = (array(name, value, shape) for name, value, shape in (
        ("nu", nu, (6,)), ("nu_dot", nu_dot, (6,)), ("R_nb", R_nb, (3, 3))))
    return _regressors(nu, nu_dot, R_nb)


def regressors_in_current(nu: np.ndarray, nu_dot: np.ndarray, R_nb: np.ndarray,
                          current: np.ndarray, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Y_v (..., 6, 27), its efforts' derivative (..., 6, 2) by the current's north and east) in a
    current (3,) NED [m/s], at states nu, nu_dot (..., 6), R_nb (..., 3, 3) of a vehicle with
    parameters pi (27,)."""
    def columns(current: np.ndarray) -> np.ndarray:
        return _regressors(*through_water(nu, nu_dot, R_nb, current), R_nb)

    by_current = [(columns(current + step) - columns(current - step)) @ pi / (2 * CURRENT_STEP)
                  for step in CURRENT_STEP * np.eye(3)[:2]]
    return columns(current), np.stack(by_current, axis=-1)


def _regressors(nu: np.ndarray, nu_dot: np.ndarray, R_nb: np.ndarray) -> np.ndarray:
    """(..., 6, 27) `vehicle_regressor` of states nu, nu_dot (..., 6), R_nb (..., 3, 3)."""
    functions = body_functions(nu, nu_dot, R_nb[..., 2, :])
    return (_COEFFICIENTS @ functions[..., None]).reshape(*nu.shape[:-1], 6, -1)


def through_water(nu: np.ndarray, nu_dot: np.ndarray, R_nb: np.ndarray,
                  current: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(nu_r (..., 6), its derivative (..., 6)): velocity relative to the water of a vehicle in a
    steady, irrotational current (3,) NED [m/s]. All of Fossen's terms depend on nu_r then."""
    drift = current @ R_nb
    turning = np.array(cross(nu[..., 3:].T, drift.T)).T   # the current rotates in body axes
    return (np.concatenate([nu[..., :3] - drift, nu[..., 3:]], axis=-1),
            np.concatenate([nu_dot[..., :3] + turning, nu_dot[..., 3:]], axis=-1))


def by_linear_velocity(nu: np.ndarray) -> np.ndarray:
    """(2, 6, 27) S, Q: multiplying the linear velocity by f turns Y_v into Y_v + (f - 1) S +
    (f - 1)^2 Q; nu (6,) as in `vehicle_regressor`. Accelerations stay, since an IMU measures
    them."""
    functions = body_functions(nu, _ZERO, _ZERO[:3])
    return ((_CHANGES * functions) @ _COEFFICIENTS.T).reshape(2, 6, -1)


def load_columns(R_nb: np.ndarray) -> np.ndarray:
    """(..., 6, 12) L for attitudes R_nb (..., 3, 3), body FRD to NED.

    A force f (3,) [N], constant in the world, that acts at the point r (3,) [m] of the body gives
    the wrench L @ (f, r_1 f, r_2 f, r_3 f) about the body's origin, in the body frame."""
    R_bn = np.swapaxes(R_nb, -1, -2)
    columns = np.zeros((*R_nb.shape[:-2], 6, 12))
    columns[..., :3, :3] = R_bn
    for i in range(3):
        columns[..., 3:, 3 + 3 * i:6 + 3 * i] = _CROSS[i] @ R_bn
    return columns


def _coefficients() -> np.ndarray:
    """(6 * 27, 57) coefficients of these functions in each entry of Y_v."""
    Y, eye = np.zeros((6, len(VEHICLE_PARAMETERS), FUNCTIONS)), np.eye(3)
    for k, place in enumerate(INERTIA_PLACES):
        Y[:, k] = inertia_coefficients(*place)
    # D(nu) nu with D = -diag(lin) - diag(quad |nu|): coefficients are negative numbers.
    for i in range(6):
        Y[i, _KM + i, LINEAR + i] = -1.0
        Y[i, _KM + 6 + i, SQUARE + i] = -1.0
    # g = [-(W - B) n3; -(h x n3)]; -(h x n3) = S(n3) h, where S(n3) e_i = -S(e_i) n3.
    for i in range(3):
        Y[i, _W, DOWN + i], Y[i, _B, DOWN + i] = -1.0, 1.0
        Y[3:, _H + i, DOWN:DOWN + 3] = -skew(eye[i])
    return Y.reshape(-1, FUNCTIONS)


_COEFFICIENTS = _coefficients()
_CROSS = np.array([skew(e) for e in np.eye(3)])
_ZERO = np.zeros(6)
_LINEAR_ONES = np.array([1.0, 1, 1, 0, 0, 0])
# degree of each function in the linear velocity
_DEGREES = np.concatenate([_ZERO, _LINEAR_ONES, 2 * _LINEAR_ONES, _ZERO[:3],
                           np.add.outer(_LINEAR_ONES, _LINEAR_ONES).ravel()])
_CHANGES = np.array([_DEGREES, _DEGREES == 2])      # f^d - 1 = d (f - 1) + [d = 2] (f - 1)^2
