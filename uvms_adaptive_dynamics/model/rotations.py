"""Rotations and the border between REP-103 (FLU body, ENU world) and FRD body, NED world (DESIGN section 2)."""
from __future__ import annotations

import math

import numpy as np

# Both are their own inverses.
FRD_FROM_FLU = np.diag([1., -1., -1.])
NED_FROM_ENU = np.array([[0., 1., 0.], [1., 0., 0.], [0., 0., -1.]])
for _matrix in (FRD_FROM_FLU, NED_FROM_ENU):
    _matrix.setflags(write=False)


def from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """R = Rz(yaw) Ry(pitch) Rx(roll) (3, 3), the URDF's and Fossen's convention [rad]."""
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr]])


def from_rotation_vector(phi: np.ndarray) -> np.ndarray:
    """exp(S(phi)) (3, 3) by Rodrigues' formula; phi (3,) [rad]."""
    angle = math.sqrt(float(phi @ phi))
    S = skew(phi)
    first, second = (math.sin(angle) / angle, (1 - math.cos(angle)) / (angle * angle)) if angle > 1e-8 else (1.0, 0.5)
    return np.eye(3) + first * S + second * (S @ S)


def to_quaternion(R: np.ndarray) -> tuple[float, float, float, float]:
    """Unit quaternion (x, y, z, w) of a rotation matrix (3, 3), from its largest component (Shepperd, 1978)."""
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    trace = a + e + i
    largest = max(trace, a, e, i)
    if largest == trace:
        q = (h - f, c - g, d - b, 1 + trace)
    elif largest == a:
        q = (1 + a - e - i, b + d, c + g, h - f)
    elif largest == e:
        q = (b + d, 1 + e - a - i, f + h, c - g)
    else:
        q = (c + g, f + h, 1 + i - a - e, d - b)
    size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return q[0] / size, q[1] / size, q[2] / size, q[3] / size


def skew(x: np.ndarray) -> np.ndarray:
    """S(x) (3, 3) with S(x) y = x x y."""
    return np.array([[0., -x[2], x[1]], [x[2], 0., -x[0]], [-x[1], x[0], 0.]])
