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

"""One-second windows of motion and thrust, for the checks of the thrusters."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .finding import CHANGE_WINDOW
from .fits import integral, rows_in

MIN_THRUST_WINDOWS = 15       # that do not overlap
THRUST_GAP = 0.5      # [s] gap after which the thrust is unknown
MIN_VELOCITY_STDDEV = 0.02   # [m/s, rad/s] of an axis or direction that is judged
MIN_IMPULSE_STDDEV = 0.05    # [N s] of a thruster that is judged
PULL_STEP = 10.0      # [s] in which an external pull may change


class Windows(NamedTuple):
    """One-second windows.

    slow (k, m): change of velocity and slow effects; impulse (k, N) [N s]; lag: rows of the DVL's
    log per window, which is also how many windows overlap; inside: for each row, whether the window
    that begins there is used."""

    slow: np.ndarray
    impulse: np.ndarray
    lag: int
    inside: np.ndarray

    def independent(self, columns: int) -> float:
        """Number of independent windows less those that a fit of so many columns takes for itself,
        at least zero: what is left of a short recording after a fit of many is no evidence."""
        return max(len(self.slow) / self.lag - columns, 0.0)

    def drag(self, t: np.ndarray, nu: np.ndarray) -> np.ndarray:
        """(k, 6) integral of the squared velocities nu at times t [s] of the DVL's log."""
        return self.change_of(t, np.abs(nu) * nu)

    def damping_under_way(self, t: np.ndarray, nu: np.ndarray) -> np.ndarray:
        """(k, 6) integral of the velocities nu at times t [s] times the speed."""
        return self.change_of(t, np.linalg.norm(nu[:, :3], axis=1)[:, None] * nu)

    def effects(self, dvl: np.ndarray) -> np.ndarray:
        """(k, m) what changes the velocity besides thrust: slow effects and drag. dvl: the log."""
        return np.hstack([self.slow[:, 6:], self.drag(dvl[:, 0], dvl[:, 1:7])])

    def change_of(self, t: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """(k, ...) integral over each window of a rate (m, ...) at times t (m,) [s] of the DVL's
        log."""
        return self._change(integral(t, rate))

    def impulses(self, tried: np.ndarray, t: np.ndarray, count: int) -> np.ndarray:
        """(K, k, N) `impulse` for further integrals `tried` (m, 1 + K N): times, and K times the
        thrust of all N thrusters. t [s]: times of the DVL's log."""
        total = at_times(t, tried)
        return np.moveaxis(self._change(total.reshape(len(t), -1, count)), 1, 0)

    def _change(self, path: np.ndarray) -> np.ndarray:
        return (path[self.lag:] - path[:-self.lag])[self.inside]


def at_times(t: np.ndarray, log: np.ndarray) -> np.ndarray:
    """(k, n) values at the times t (k,) [s] of a log (m, 1 + n) of times and values."""
    return np.column_stack([np.interp(t, log[:, 0], column) for column in log.T[1:]])


def _inside(thrust: np.ndarray, dvl: np.ndarray, lag: int) -> np.ndarray:
    """Whether each window of `lag` rows of the DVL's log is covered by thrust, without a gap."""
    t, known = dvl[:, 0], thrust[:, 0]
    inside = ((t[:-lag] >= known[0]) & (t[lag:] <= known[-1])
              & (t[lag:] - t[:-lag] < 1.5 * CHANGE_WINDOW))
    for k in np.flatnonzero(np.diff(known) > THRUST_GAP):
        inside &= (t[lag:] < known[k]) | (t[:-lag] > known[k + 1])
    return inside


def _moves(nu: np.ndarray, lag: int) -> np.ndarray:
    """Whether the vehicle moves in each window of `lag` rows of velocities nu (m, 6)."""
    total = np.cumsum(nu ** 2, axis=0)
    return ((total[lag:] - total[:-lag]) / lag > MIN_VELOCITY_STDDEV ** 2).any(axis=1)


def thrust_windows(thrust: np.ndarray, dvl: np.ndarray) -> Windows | None:
    """The windows with known thrust; None if there is too little motion to tell."""
    t, nu, n3 = dvl[:, 0], dvl[:, 1:7], dvl[:, 19:22]
    lag = rows_in(t, CHANGE_WINDOW)
    # whatever holds a vehicle that stands still takes any thrust
    inside = _inside(thrust, dvl, lag) & _moves(nu, lag)
    if inside.sum() < MIN_THRUST_WINDOWS * lag or np.all(nu.std(axis=0) < MIN_VELOCITY_STDDEV):
        return None
    # Slow external pulls (tether, floor, hand) must not be blamed on a thruster.
    knots = np.arange(t[0], t[-1] + PULL_STEP, PULL_STEP)
    pulls = np.maximum(1.0 - np.abs(t[:, None] - knots) / PULL_STEP, 0.0)
    slow = np.hstack([nu, n3, np.cross(nu[:, 3:], nu[:, :3]), pulls])
    path = integral(t, slow)
    change = np.hstack([nu[lag:] - nu[:-lag], path[lag:] - path[:-lag]])[inside]
    total = at_times(t, thrust)
    return Windows(change, (total[lag:] - total[:-lag])[inside], lag, inside)
