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

"""Local least-squares polynomials through timestamped rows: value and derivatives at an instant."""
from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg.lapack import dposv


def polynomial_at(times: np.ndarray, rows: np.ndarray, t: float,
                  degree: int) -> tuple[list[float], list[float]] | None:
    """(value, derivative) at t, m floats each, of the polynomial through rows (K, m).

    None if K is too small for the degree. Times [s] are scaled by the window, for conditioning.
    """
    if len(times) <= degree or degree < 1:
        return None
    half = max(abs(times.item(0) - t), abs(times.item(-1) - t))
    A = _powers((times - t) / half, degree)
    x = _solve(A @ A.T, rows.T @ A.T)
    return None if x is None else (x[0].tolist(), (x[1] / half).tolist())


def motion_at(times: np.ndarray, positions: np.ndarray, velocities: np.ndarray | None, t: float,
              degree: int, ratio: float) -> list[list[float]] | None:
    """[position, velocity, acceleration] at t, n floats each, of one polynomial.

    It is fitted to positions (K, n) and, if given, velocities (K, n); `ratio` [s]: standard
    deviation of a position over that of a velocity. None if there are too few for the degree.
    """
    K = len(times)
    half = max(abs(times.item(0) - t), abs(times.item(-1) - t)) if K else 0.0
    if degree < 2 or K * (1 if velocities is None else 2) <= degree + 1 or half == 0.0:
        return None
    A = _powers((times - t) / half, degree)
    N, B = A @ A.T, positions.T @ A.T
    if velocities is not None:
        D = A[:-1] * _slopes(degree) * (ratio / half)
        N[1:, 1:] += D @ D.T
        B[:, 1:] += ratio * (velocities.T @ D.T)
    x = _solve(N, B)
    if x is None:
        return None
    return [x[0].tolist(), (x[1] / half).tolist(), (x[2] * (2.0 / half ** 2)).tolist()]


def _powers(x: np.ndarray, degree: int) -> np.ndarray:
    """(degree + 1, K) powers of x (K,)."""
    A = np.empty((degree + 1, len(x)))
    A[0] = 1.0
    for d in range(degree):
        np.multiply(A[d], x, out=A[d + 1])
    return A


def _solve(N: np.ndarray, B: np.ndarray) -> np.ndarray | None:
    """N^-1 B^T for symmetric N (d, d) and B (m, d); None if N is not positive definite.

    Calls LAPACK directly, since this runs at every tick.
    """
    _, x, info = dposv(N, B.T, overwrite_a=True, overwrite_b=True)
    return x if info == 0 else None


@lru_cache(maxsize=16)
def _slopes(degree: int) -> np.ndarray:
    return np.arange(1.0, degree + 1)[:, None]
