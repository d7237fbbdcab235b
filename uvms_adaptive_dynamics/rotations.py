"""Rotations and the border between REP-103 (FLU body, ENU world) and FRD body, NED world (DESIGN section 2)."""
from __future__ import annotations

import math

import numpy as np

# Both are their own inverses.
FRD_FROM_FLU = np.diag([1., -1., -1.])
NED_FROM_ENU = np.array([[0., 1., 0.], [1., 0., 0.], [0., 0., -1.]])
for _matrix in (FRD_FROM_FLU, NED_FROM_ENU):
    _matrix.setflags(write=False)


def from_quaternion(x: float, y: float, z: float, w: float) -> np.ndarray:
    """Rotation matrix (3, 3) of a quaternion, normalized first."""
    n = math.sqrt(x * x + y * y + z * z + w * w)
    x, y, z, w = x / n, y / n, z / n, w / n
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """R = Rz(yaw) Ry(pitch) Rx(roll) (3, 3), the URDF's and Fossen's convention [rad]."""
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr]])


def from_rotation_vector(phi: np.ndarray) -> np.ndarray:
    """exp(S(phi)) (3, 3) by Rodrigues' formula; phi [rad]."""
    a = math.sqrt(phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2])
    s, c = (math.sin(a) / a, (1 - math.cos(a)) / (a * a)) if a > 1e-8 else (1.0, 0.5)
    x, y, z = phi
    return np.array([
        [1 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y],
        [c * x * y + s * z, 1 - c * (x * x + z * z), c * y * z - s * x],
        [c * x * z - s * y, c * y * z + s * x, 1 - c * (x * x + y * y)]])
