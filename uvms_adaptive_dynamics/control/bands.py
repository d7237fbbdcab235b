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

"""Covariance of a forecast's error, on a coarse grid along its motion.

Five sources, each propagated by the linear error equation (`model/error_covariance.py`): the
initial state, the parameters, the unexplained (correlated) residual, the noise of measured joint
efforts, and friction at rest. docs/twin.md.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import expm

from ..model.dynamics import State
from ..model.equations_of_motion import EquationsOfMotion, smooth_sign
from ..model.error_covariance import Linear, linearized, transition
from .unexplained import BAND_STEP, Unexplained

HALVINGS = 10   # of a step, to resolve a joint's friction time constant (milliseconds)


def bands(body: EquationsOfMotion, states: Sequence[State], within: np.ndarray, root: np.ndarray,
          start: np.ndarray, unexplained: Unexplained, measured: bool) -> np.ndarray:
    """Error covariances (K + 1, d, d) along K + 1 states BAND_STEP apart.

    within (K, n): variance of Coulomb friction in each step, see `friction_at_rest`. root (p, r):
    a factor of the parameters' covariance. start (d, d): initial covariance. measured: joint
    efforts are readings, whose noise acts on the joints.
    """
    d, K, h = len(start), len(states) - 1, BAND_STEP
    roots = unexplained.roots(K)
    P, Q = np.zeros((d, root.shape[1])), np.zeros((d, roots.shape[0], K))
    noise = _EffortNoise(body, unexplained) if measured else None
    N, found = start, [start]
    for k in range(K):
        linear = linearized(body, states[k], states[k + 1], h)
        whole, integral = transition(linear.F, h)
        push = integral @ linear.B
        P = whole @ P + integral @ (linear.G @ root)
        Q = np.tensordot(whole, Q, 1) + push[:, :, None] * roots[None, :, k, :]
        at_rest = push[:, body.head:] * np.sqrt(within[k])
        N = whole @ N @ whole.T + at_rest @ at_rest.T
        flat = Q.reshape(d, -1)
        covariance = P @ P.T + N + flat @ flat.T
        if noise is not None:
            covariance = covariance + noise.after(linear, h)
        found.append(covariance)
    return np.array(found)


def friction_at_rest(body: EquationsOfMotion, states: Sequence[State]) -> np.ndarray:
    """(n,) variance of Coulomb friction in these states, beyond the model's.

    At rest friction may be anything between -fs and fs, and the estimate knows nothing of it since
    such rows are masked. Hence uniform, fs^2 / 3; zero while the joint moves.
    """
    rest = 1 - np.mean([smooth_sign(state.mu_dot) ** 2 for state in states], axis=0)
    return body.coulomb ** 2 / 3 * rest


class _EffortNoise:
    """Effect of the noise of measured joint efforts: an exponentially correlated process in each
    joint, propagated together with the error since a joint responds within milliseconds."""

    def __init__(self, body: EquationsOfMotion, unexplained: Unexplained):
        n, self._head, self._d = body.n, body.head, 2 * body.n + (12 if body.head else 0)
        self._rate = -np.diag(1 / unexplained.effort_time)
        self._density = 2 * unexplained.effort_variance / unexplained.effort_time
        self._covariance = np.zeros((self._d + n, self._d + n))
        own = np.arange(self._d, self._d + n)
        self._covariance[own, own] = unexplained.effort_variance
        self._own = own

    def after(self, linear: Linear, h: float) -> np.ndarray:
        """(d, d) its contribution to the error covariance after a further step h [s]."""
        d, size = self._d, len(self._covariance)
        F = np.zeros((size, size))
        F[:d, :d], F[:d, d:] = linear.F, linear.B[:, self._head:]
        F[d:, d:] = self._rate
        part = h / 2 ** HALVINGS
        whole, added = expm(F * part), np.zeros((size, size))
        added[self._own, self._own] = part * self._density
        for _ in range(HALVINGS):     # doubling: the noise of one half, propagated, plus the other
            added, whole = added + whole @ added @ whole.T, whole @ whole
        self._covariance = whole @ self._covariance @ whole.T + added
        return self._covariance[:d, :d]
