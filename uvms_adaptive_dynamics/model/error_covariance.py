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

"""Covariance of a simulated state's error, propagated along the motion (docs/mathematics.md,
"Forward bands").

State x = (position, attitude, nu, mu, mu_dot). Its error is the tangent vector (position NED (3),
attitude body (3), nu (6), mu (n), mu_dot (n)); a robot without a vehicle has only mu and mu_dot.
To first order a parameter error d(pi) shifts the state by P d(pi) with dP/dt = F P + G,
F = df/dx, G = df/dpi = -M^-1 Y (see `forward_dynamics`).
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import expm

from .dynamics import State
from .equations_of_motion import EquationsOfMotion, smooth_sign
from .rotations import from_rotation_vector, skew, to_rotation_vector

STATE_STEP = 1e-6  # step of central differences in the state


@dataclass(frozen=True)
class Disturbance:
    """Unmodelled efforts: covariance (C, C) [N^2, (N m)^2] of residuals with correlation time
    `time` [s].

    For residuals of low-passed rows that time is `RowFilter.correlation_length` periods (0.24 s by
    default).
    """

    covariance: np.ndarray
    time: float


class Linear(NamedTuple):
    """F (d, d), G (d, p) and B (d, C) of d(error)/dt = F error + G d(pi) + B d(tau)."""

    F: np.ndarray
    G: np.ndarray
    B: np.ndarray


def error_size(body: EquationsOfMotion) -> int:
    """d, the size of the state's error vector."""
    return 2 * body.n + (12 if body.head else 0)


class ErrorCovariance:
    """Covariance (d, d) of the state's error along a motion, caused by parameter errors,
    disturbances and the uncertainty of the start."""

    def __init__(self, body: EquationsOfMotion, covariance: np.ndarray | None,
                 disturbance: Disturbance | None, start: np.ndarray | None):
        self._body, self._disturbance = body, disturbance
        self._d = d = error_size(body)
        values, vectors = ((np.zeros(0), np.zeros((body.pi.size, 0))) if covariance is None
                           else np.linalg.eigh(covariance))
        # Propagate a factor of the covariance, not each parameter: fewer columns if some parameters
        # are certain.
        kept = values > 0
        self._root = vectors[:, kept] * np.sqrt(values[kept])
        self._P = np.zeros((d, self._root.shape[1]))
        self._N = np.zeros((d, d)) if start is None else np.array(start, float)

    def covariance(self) -> np.ndarray:
        """(d, d) covariance at the instant reached."""
        return self._P @ self._P.T + self._N

    def step(self, before: State, after: State, h: float) -> None:
        """Propagate the covariance over a step h [s], linearized midway between the two states."""
        F, G, B = linearized(self._body, before, after, h)
        whole, integral = transition(F, h)
        self._P = whole @ self._P + integral @ (G @ self._root)
        self._N = whole @ self._N @ whole.T
        if self._disturbance is not None:
            # White noise with the low-frequency spectral density of a residual of this covariance
            # and correlation time.
            push = integral @ B / h
            self._N += push @ self._disturbance.covariance @ push.T * self._disturbance.time * h


def transition(F: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """(exp(F h), its integral over h [s]) of error dynamics F (d, d)."""
    d = len(F)
    double = np.zeros((2 * d, 2 * d))
    double[:d, :d], double[:d, d:] = h * F, h * np.eye(d)
    both = expm(double)
    return both[:d, :d], both[:d, d:]


def linearized(body: EquationsOfMotion, before: State, after: State, h: float) -> Linear:
    """The error dynamics, linearized midway through a step h [s] between two states."""
    n, head, x = body.n, body.head, _between(before, after)
    d, C, free = error_size(body), head + n, body.free
    M = body.inertia(x, 0.0)[free, free]
    # Mean over the step: if friction stops a joint, the acceleration midway says little.
    a = (body.velocity(after) - body.velocity(before)) / h
    sign = (smooth_sign(before.mu_dot) + smooth_sign(after.mu_dot)) / 2
    F = np.zeros((d, d))
    # Places of the velocities in the error vector; the other entries are their integrals.
    speeds = np.arange(n, d)
    if head:
        speeds = np.concatenate([np.arange(6, 12), np.arange(12 + n, d)])
        v, w = x.nu[:3], x.nu[3:]
        F[0:3, 3:6], F[0:3, 6:9] = -x.R_nb @ skew(v), x.R_nb
        F[3:6, 3:6], F[3:6, 9:12] = -skew(w), np.eye(3)
    F[2 * head:2 * head + n, d - n:] = np.eye(n)
    slopes = np.zeros((C, d))
    for k in range(3 if head else 0, d):
        e = np.zeros(d)
        e[k] = STATE_STEP
        slopes[:, k] = (body.load(_nudged(x, e, head, n), a, sign)
                        - body.load(_nudged(x, -e, head, n), a, sign)) / (2 * STATE_STEP)
    slopes[head:, d - n:] += np.diag(body.coulomb_slope(before.mu_dot, after.mu_dot))
    G, B, moved = np.zeros((d, body.pi.size)), np.zeros((d, C)), speeds[free]
    F[moved] = -np.linalg.solve(M, slopes[free])
    G[moved] = -np.linalg.solve(M, body.rows(x, a, sign)[0][free])
    B[moved, free] = np.linalg.inv(M)
    return Linear(F, G, B)


def _nudged(x: State, error: np.ndarray, head: int, n: int) -> State:
    """The state x displaced by an error (d,)."""
    mu, mu_dot = x.mu + error[2 * head:2 * head + n], x.mu_dot + error[2 * head + n:]
    if not head:
        return replace(x, mu=mu, mu_dot=mu_dot)
    return State(x.R_nb @ from_rotation_vector(error[3:6]), x.nu + error[6:12], mu, mu_dot)


def _between(a: State, b: State) -> State:
    """The middle of two neighbouring states."""
    half = 0.5 * to_rotation_vector(a.R_nb.T @ b.R_nb)
    return State(a.R_nb @ from_rotation_vector(half), (a.nu + b.nu) / 2, (a.mu + b.mu) / 2,
                 (a.mu_dot + b.mu_dot) / 2)
