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

"""One common low-pass for every column of Y, the known load and tau (docs/mathematics.md,
"Low-pass").

tau = Y pi is linear in pi, so a common linear filter leaves it exact, however nonlinear Y is in the
state. Masked instants are left out of the weighted mean: with weights h_k m_k on both sides the row
is exact for any mask m."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..config import Config, Filter
from ..model.kernel import correlation_length, gaussian_kernel
from ..model.robot import RawRows


class Row(NamedTuple):
    """Low-passed rows of one instant: tau (C,) = Y (C, p) pi + tau_known (C,).

    t [s]: the instant that they belong to; valid (C,); nu_dot (6,), R_nb (3, 3): of that instant,
    unfiltered; by_velocity (C, 2), by_thruster (C, N): see `RawRows`; load (12,): the external
    force contained in tau_known (`ExternalLoad`)."""

    t: float
    Y: np.ndarray
    tau_known: np.ndarray
    tau: np.ndarray
    valid: np.ndarray
    nu_dot: np.ndarray | None = None
    by_velocity: np.ndarray | None = None
    R_nb: np.ndarray | None = None
    load: np.ndarray | None = None
    by_thruster: np.ndarray | None = None


class RowFilter:
    """Raw rows of contiguous ticks in, low-passed rows out, `delay` [s] later.

    minimum_share: share of the kernel's weight that must be valid for a row to be valid.
    """

    def __init__(self, settings: Filter, channels: int, size: int, thrusters: int = 0):
        """size: columns of Y; thrusters: columns of by_thruster."""
        self.kernel = gaussian_kernel(settings)
        self.correlation_length = correlation_length(self.kernel)
        self.delay = (len(self.kernel) // 2) * settings.period
        self.minimum_share = settings.minimum_share
        K = len(self.kernel)
        # Each instant is written twice, K apart: the last K are always one contiguous view.
        ends = np.cumsum([size, 1, 1, 2, thrusters])
        self._Y, self._known, self._tau, self._by_velocity, self._by_thruster = (
            slice(begin, end) for begin, end in zip([0, *ends], ends))
        self._values = np.zeros((2 * K, channels, ends[-1]))
        self._mask = np.zeros((2 * K, channels))
        self._instants: list = [None] * K
        self._filled = 0
        self._place = 0

    def change_settings(self, config: Config) -> None:
        """Adopt another `filter.minimum_share`."""
        self.minimum_share = config.filter.minimum_share

    def reset(self) -> None:
        """Drop all instants, as after a gap in time."""
        self._filled = self._place = 0

    def add_row(self, t: float, raw: RawRows, valid: np.ndarray,
                nu_dot: np.ndarray | None = None, R_nb: np.ndarray | None = None) -> Row | None:
        """Add the instant t [s] with raw rows, valid (C,) bool, and the motion that its row will
        state, nu_dot (6,) and R_nb (3, 3). Returns the low-passed rows of the instant half a kernel
        ago, None while the kernel fills.

        Values of invalid channels are replaced by zero, since zero weight times infinity is NaN.
        """
        K, place = len(self.kernel), self._place
        values = self._values[place]
        values[:, self._Y] = raw.Y
        values[:, self._known], values[:, self._tau] = raw.tau_known[:, None], raw.tau[:, None]
        values[:, self._by_velocity] = 0.0 if raw.by_velocity is None else raw.by_velocity
        values[:, self._by_thruster] = 0.0 if raw.by_thruster is None else raw.by_thruster
        values[~valid] = 0.0
        self._values[place + K] = values
        self._mask[place] = self._mask[place + K] = valid
        self._instants[place] = (t, valid.copy(), None if nu_dot is None else nu_dot.copy(),
                                 None if R_nb is None else R_nb.copy())
        self._place = (place + 1) % K
        self._filled = min(self._filled + 1, K)
        if self._filled < K:
            return None
        window = slice(self._place, self._place + K)
        share = (self.kernel[:, None] * self._mask[window]).sum(axis=0)
        values = self._values[window]   # zero where masked
        sums = np.einsum("k,kx->x", self.kernel, values.reshape(K, -1)).reshape(values.shape[1:])
        sums /= np.maximum(share, 1e-12)[:, None]
        t, valid, nu_dot, R_nb = self._instants[(self._place + K // 2) % K]
        return Row(t, sums[:, self._Y], sums[:, self._known.start], sums[:, self._tau.start],
                   (share >= self.minimum_share) & valid, nu_dot, sums[:, self._by_velocity], R_nb,
                   by_thruster=sums[:, self._by_thruster])


def low_passed(settings: Filter, t: np.ndarray, values: np.ndarray, valid: np.ndarray,
               stride: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows that `RowFilter` gives for a whole recording, every stride-th of them: (places (m,)
    of their instants, values (m, C, k), valid (m, C)).

    t (T,) [s], where a step other than a period is a gap; values (T, C, k) before the low-pass;
    valid (T, C)."""
    kernel = gaussian_kernel(settings)
    K = len(kernel)
    gaps = np.abs(np.diff(t) - settings.period) > 0.5 * settings.period
    piece = np.concatenate([np.zeros(min(len(t), 1), int), np.cumsum(gaps)])
    last = np.arange(-(-(K - 1) // stride) * stride, len(t), stride)
    last = last[piece[last] == piece[last - K + 1]]
    values = np.where(valid[:, :, None], values, 0.0)       # zero times infinity is NaN
    sums, share = np.zeros((len(last), *values.shape[1:])), np.zeros((len(last), valid.shape[1]))
    for k, weight in enumerate(kernel):
        of = last - K + 1 + k
        sums += weight * values[of]
        share += weight * valid[of]
    sums /= np.maximum(share, 1e-12)[:, :, None]
    places = last - K // 2
    return places, sums, (share >= settings.minimum_share) & valid[places]
