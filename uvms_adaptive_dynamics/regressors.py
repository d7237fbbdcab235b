"""Vehicle regressor Y_v in closed form: tau_v + tau_mv = M nu_dot + C(nu) nu + D(nu) nu + g = Y_v pi_v.

DESIGN section 4; paper, eq. (vehicle_dynamics_uncertain_linear); Fossen's C(nu) = [[0, -S(a)], [-S(a), -S(b)]].
"""
from __future__ import annotations

import numpy as np

from .parameters import INERTIA_PLACES, VEHICLE, VEHICLE_DAMPING, VEHICLE_INERTIA

_ROWS = np.array([row for row, _ in INERTIA_PLACES])
_COLUMNS = np.array([column for _, column in INERTIA_PLACES])
_KM = len(VEHICLE_INERTIA)
_D = np.arange(6)
_W, _B, _H = _KM + len(VEHICLE_DAMPING) + np.array([0, 1, 2])


def vehicle_regressor(nu: np.ndarray, nu_dot: np.ndarray, R_nb: np.ndarray) -> np.ndarray:
    """Y_v (6, 27) in body FRD: rows X Y Z [N], K M N [N m]; columns in the order of the parameter table.

    nu, nu_dot (6,) body velocity and its derivative in the body frame [m/s, rad/s; per s]; R_nb (3, 3) maps
    body FRD to NED (only its third row, the direction of gravity in the body, enters).
    """
    Y = np.zeros((6, len(VEHICLE)))
    # M nu_dot: entry M[i, j] contributes nu_dot[j] to row i.
    Y[_ROWS, np.arange(_KM)] = nu_dot[_COLUMNS]
    # C(nu) nu: a parameter at M[i, j] makes a (i < 3) or b (i >= 3) equal to nu[j] e_i, and
    # C nu = [-a x w; -a x v - b x w] = [w x a; v x a + w x b].
    v, w = nu[:3], nu[3:]
    for k in range(_KM):
        i, value = _ROWS[k], nu[_COLUMNS[k]]
        if i < 3:
            Y[:3, k] += value * _cross_axis(w, i)
            Y[3:, k] += value * _cross_axis(v, i)
        else:
            Y[3:, k] += value * _cross_axis(w, i - 3)
    # D(nu) nu with D = -diag(lin) - diag(quad |nu|): coefficients are negative numbers.
    Y[_D, _KM + _D] = -nu
    Y[_D, _KM + 6 + _D] = -np.abs(nu) * nu
    # g = [-(W - B) n3; -(h x n3)] with n3 = R_nb^T e3; -(h x n3) = S(n3) h.
    n3 = R_nb[2]
    Y[:3, _W] = -n3
    Y[:3, _B] = n3
    Y[3:, _H:_H + 3] = skew(n3)
    return Y


def skew(x: np.ndarray) -> np.ndarray:
    """S(x) (3, 3) with S(x) y = x x y."""
    return np.array([[0., -x[2], x[1]], [x[2], 0., -x[0]], [-x[1], x[0], 0.]])


def _cross_axis(x: np.ndarray, axis: int) -> np.ndarray:
    """x x e_axis."""
    if axis == 0:
        return np.array([0., x[2], -x[1]])
    if axis == 1:
        return np.array([-x[2], 0., x[0]])
    return np.array([x[1], -x[0], 0.])
