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

"""Rotations, and the conversion between REP-103 (FLU body, ENU world) and FRD body, NED world.

All rotation formulas of the package are here (docs/conventions.md). Matrices are arrays (3, 3),
except in the second part: code that runs for every message uses plain floats, R as nine of them row
by row, since creating an array costs more than the arithmetic.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

# Both are their own inverse.
FRD_FROM_FLU = np.diag([1., -1., -1.])
NED_FROM_ENU = np.array([[0., 1., 0.], [1., 0., 0.], [0., 0., -1.]])
for _matrix in (FRD_FROM_FLU, NED_FROM_ENU):
    _matrix.setflags(write=False)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
SMALL = 1e-8         # [rad] below this the first terms of the series are exact
NEAR_HALF_TURN = 1e-3  # [rad] closer than this to pi, the axis comes from the symmetric part


# --- arrays ---------------------------------------------------------------------------------------

def to_frd(frame: str) -> np.ndarray:
    """(3, 3) rotation from the body axes that a setting names ('flu' or 'frd') to FRD."""
    return FRD_FROM_FLU if frame == "flu" else np.eye(3)


def from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """R = Rz(yaw) Ry(pitch) Rx(roll) (3, 3), angles in [rad]; the URDF's and Fossen's
    convention."""
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr]])


def from_down(down: Sequence[float], heading: float) -> np.ndarray:
    """R_nb (3, 3) from the down vector (3,) in body axes, of any length, and the heading [rad]."""
    n0, n1, n2 = down
    return from_rpy(math.atan2(n1, n2), -math.atan2(n0, math.hypot(n1, n2)), heading)


def from_rotation_vector(phi: np.ndarray) -> np.ndarray:
    """exp(S(phi)) (3, 3); phi (3,) [rad]."""
    return np.array(rotation(*phi.tolist())).reshape(3, 3)


def to_rotation_vector(R: np.ndarray) -> np.ndarray:
    """phi (3,) [rad] with exp(S(phi)) = R (3, 3), its length below pi."""
    s = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = math.sqrt(float(s @ s)), (R[0, 0] + R[1, 1] + R[2, 2] - 1) / 2
    angle = math.atan2(sine, cosine)
    if angle < SMALL:
        return s
    if math.pi - angle > NEAR_HALF_TURN:
        return angle / sine * s
    # The symmetric part is cos I + (1 - cos) a a^T with the axis a; s gives the axis its sign.
    k = int(np.argmax(np.diagonal(R)))
    axis = 0.5 * (R[:, k] + R[k])
    axis[k] -= cosine
    return math.copysign(angle / math.sqrt(float(axis @ axis)), float(axis @ s)) * axis


def to_quaternion(R: np.ndarray) -> tuple[float, float, float, float]:
    """Unit quaternion (x, y, z, w) of a rotation matrix (3, 3), from its largest component
    (Shepperd, 1978)."""
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


def in_turned_axes(values: Sequence[float], turn: np.ndarray) -> list[float]:
    """An IMU's values [down (3), rates (3), force (3), heading] in axes to which `turn` (3, 3)
    rotates the present ones."""
    R_nb = from_down(values[:3], values[9]) @ turn.T
    vectors = np.reshape(values[:9], (3, 3)) @ turn.T
    return [*vectors.ravel().tolist(), math.atan2(R_nb[1, 0], R_nb[0, 0])]


# --- plain floats ---------------------------------------------------------------------------------

def cross(a: Sequence[float] | np.ndarray,
          b: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
    """a x b."""
    a0, a1, a2 = a
    b0, b1, b2 = b
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """a . b."""
    a0, a1, a2 = a
    b0, b1, b2 = b
    return a0 * b0 + a1 * b1 + a2 * b2


def turned(R: Sequence[float], x: Sequence[float]) -> tuple[float, float, float]:
    """R x; R (9,) row by row."""
    a, b, c, d, e, f, g, h, i = R
    x0, x1, x2 = x
    return a * x0 + b * x1 + c * x2, d * x0 + e * x1 + f * x2, g * x0 + h * x1 + i * x2


def turned_back(R: Sequence[float], x: Sequence[float]) -> tuple[float, float, float]:
    """R^T x; R (9,) row by row."""
    a, b, c, d, e, f, g, h, i = R
    x0, x1, x2 = x
    return a * x0 + d * x1 + g * x2, b * x0 + e * x1 + h * x2, c * x0 + f * x1 + i * x2


def product(A: Sequence[float], B: Sequence[float]) -> tuple[float, ...]:
    """A B, all (9,) row by row."""
    a, b, c, d, e, f, g, h, i = A
    r, s, t, u, v, w, x, y, z = B
    return (a * r + b * u + c * x, a * s + b * v + c * y, a * t + b * w + c * z,
            d * r + e * u + f * x, d * s + e * v + f * y, d * t + e * w + f * z,
            g * r + h * u + i * x, g * s + h * v + i * y, g * t + h * w + i * z)


def rotation(x: float, y: float, z: float) -> tuple[float, ...]:
    """exp(S(phi)) (9,) row by row, phi = (x, y, z) [rad]; Rodrigues' formula."""
    xx, yy, zz = x * x, y * y, z * z
    a = math.sqrt(xx + yy + zz)
    s, c = (math.sin(a) / a, (1.0 - math.cos(a)) / (a * a)) if a > SMALL else (1.0, 0.5)
    cxy, cxz, cyz, sx, sy, sz = c * x * y, c * x * z, c * y * z, s * x, s * y, s * z
    return (1.0 - c * (yy + zz), cxy - sz, cxz + sy,
            cxy + sz, 1.0 - c * (xx + zz), cyz - sx,
            cxz - sy, cyz + sx, 1.0 - c * (xx + yy))


def from_quaternion(x: float, y: float, z: float, w: float) -> tuple[float, ...]:
    """Rotation matrix (9,) row by row from a unit quaternion."""
    return (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
            2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
            2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y))
