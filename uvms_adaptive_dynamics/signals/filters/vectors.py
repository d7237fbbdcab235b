"""Three-vectors and rotations as plain floats: what runs at every message, where an array costs more than its arithmetic."""
from __future__ import annotations

import math
from typing import Any, Sequence

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def cross(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """a x b."""
    a0, a1, a2 = a
    b0, b1, b2 = b
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


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
    s, c = (math.sin(a) / a, (1.0 - math.cos(a)) / (a * a)) if a > 1e-8 else (1.0, 0.5)
    cxy, cxz, cyz, sx, sy, sz = c * x * y, c * x * z, c * y * z, s * x, s * y, s * z
    return (1.0 - c * (yy + zz), cxy - sz, cxz + sy,
            cxy + sz, 1.0 - c * (xx + zz), cyz - sx,
            cxz - sy, cyz + sx, 1.0 - c * (xx + yy))


def from_quaternion(x: float, y: float, z: float, w: float) -> tuple[float, ...]:
    """Rotation matrix (9,) row by row of a quaternion of unit length."""
    return (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
            2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
            2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y))


def floats(values: Any) -> list[float]:
    """A message's sequence (array of numpy or of Python, list, tuple) as a list of floats."""
    return [float(v) for v in (values.tolist() if hasattr(values, "tolist") else values)]
