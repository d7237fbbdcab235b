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

"""The DVL's velocities beside the IMU's integral, and the curve of the offset between them."""
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from ...config import Config
from ...model.rotations import FRD_FROM_FLU
from .finding import CHANGE_WINDOW
from .fits import integral, rows_in

MIN_VELOCITIES = 60       # of three values each, for seventeen unknowns and the offset
SHORTEST_LOG = 5          # windows of CHANGE_WINDOW
# [s] of the offset's pieces: three periods of a DVL at 4 Hz. An attitude that wanders by half a
# degree within two seconds needs as many; with 1.5 s the map's errors were up to twice as large as
# said.
KNOT_SPACING = 0.75


def dvl_place(config: Config) -> np.ndarray:
    """(3,) [m] place of the DVL relative to the IMU, FRD."""
    return FRD_FROM_FLU @ np.subtract(config.dvl.xyz, config.imu.xyz)


def at_dvl(dvl: np.ndarray, place: np.ndarray) -> np.ndarray:
    """(k, 3) the DVL's own readings, in its axes as configured, from the rows of `dvl` (as in
    `frames`), which hold them as velocities of the IMU; place (3,): as `dvl_place`."""
    return dvl[:, 1:4] + np.cross(dvl[:, 4:7], place)


def turned_dvl(dvl: np.ndarray, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """The rows of `dvl` (as in `frames`) if the DVL's readings are rotated by `turn` (3, 3)."""
    rows = dvl.copy()
    rows[:, 1:4] = at_dvl(dvl, place) @ turn.T - np.cross(dvl[:, 4:7], place)
    return rows


def turned_imu(dvl: np.ndarray, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """The rows of `dvl` (as in `frames`) if the IMU's readings are rotated by `turn` (3, 3)."""
    rows = dvl.copy()
    rows[:, 4:7], rows[:, 19:22] = dvl[:, 4:7] @ turn.T, dvl[:, 19:22] @ turn.T
    rows[:, 10:19] = (dvl[:, 10:19].reshape(-1, 3, 3) @ turn.T).reshape(-1, 9)
    rows[:, 1:4] = at_dvl(dvl, place) - np.cross(rows[:, 4:7], place)
    return rows


class VelocityLog(NamedTuple):
    """Rows with neighbours: times t (k,) [s], axes R (k, 3, 3) of the velocities v (k, 3), rates w
    (k, 3), the integral C (k, 3), its slope a (k, 3), the integral of R (k, 3, 3); hats (k, J): the
    share of each of the offset's knots; kinks (m, J): their second differences. v and C are at the
    DVL: what the DVL measures is a map of the velocity there, and of no other place's."""

    t: np.ndarray
    R: np.ndarray
    v: np.ndarray
    w: np.ndarray
    C: np.ndarray
    a: np.ndarray
    turns: np.ndarray
    hats: np.ndarray
    kinks: np.ndarray

    @classmethod
    def of(cls, dvl: np.ndarray, place: np.ndarray, of_world: bool = False,
           off: np.ndarray | float = 0.0) -> VelocityLog | None:
        """The log of the rows of `dvl`, as in `frames`; None if too few have neighbours. place
        (3,): as `dvl_place`; of_world: the DVL's velocities are in world axes; off (3,) [m]: how
        far the DVL's place is wrong."""
        t, v, R = dvl[:, 0], at_dvl(dvl, place), dvl[:, 10:19].reshape(-1, 3, 3)
        C = dvl[:, 7:10] + np.einsum("kij,kj->ki", R, np.cross(dvl[:, 4:7], place - off))
        axes = np.broadcast_to(np.eye(3), R.shape) if of_world else R
        period = float(np.median(np.diff(t)))
        a, near = _slope(t, C, 3 * period)
        if near.sum() < max(MIN_VELOCITIES, SHORTEST_LOG * rows_in(t, CHANGE_WINDOW)):
            return None
        longest = max(3 * period, CHANGE_WINDOW)
        hats, kinks = _pieces(t[near], longest)
        log = cls(t[near], axes[near], v[near], dvl[near, 4:7],
                  _joined(t[near], C[near], longest), a[near], integral(t, R)[near], hats, kinks)
        return log if len(log.changes(log.C)) else None

    def changes(self, x: np.ndarray) -> np.ndarray:
        """Changes (m, 3) of x (k, 3) over CHANGE_WINDOW."""
        now, then = self.pairs()
        return x[then] - x[now]

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows (m,), and for each the one CHANGE_WINDOW later, whatever has been lost between."""
        half = 0.5 * float(np.median(np.diff(self.t)))
        then = np.searchsorted(self.t, self.t + CHANGE_WINDOW - half)
        now = np.flatnonzero(then < len(self.t))
        now = now[self.t[then[now]] - self.t[now] < 1.5 * CHANGE_WINDOW]
        return now, then[now]

    @property
    def windows(self) -> float:
        """Number of changes that do not overlap."""
        return len(self.pairs()[0]) / rows_in(self.t, CHANGE_WINDOW)

    def earlier(self, lag: float) -> VelocityLog:
        """The log with what the IMU measured `lag` [s] before each velocity."""
        imu = (self.R, self.w, self.C, self.a, self.turns)
        rows = np.hstack([each.reshape(len(self.t), -1) for each in imu])
        then = np.column_stack([np.interp(self.t - lag, self.t, column) for column in rows.T])
        R, w, C, a, turns = np.split(then, [9, 12, 15, 18], axis=1)
        return self._replace(R=R.reshape(-1, 3, 3), w=w, C=C, a=a, turns=turns.reshape(-1, 3, 3))


def _pieces(t: np.ndarray, longest: float) -> tuple[np.ndarray, np.ndarray]:
    """(hats, kinks) as in `VelocityLog` for times t (k,) [s], with a curve of its own for each
    stretch without a gap longer than `longest` [s]."""
    ends = [0, *np.flatnonzero(np.diff(t) > longest) + 1, len(t)]
    hats, kinks = [], []
    for begin, end in zip(ends, ends[1:]):
        x = t[begin:end] - t[begin]
        knots = np.linspace(0.0, max(x[-1], 1e-3), 1 + max(1, math.ceil(x[-1] / KNOT_SPACING)))
        hat = np.zeros((len(t), len(knots)))
        hat[begin:end] = np.maximum(1.0 - np.abs(x[:, None] - knots) / knots[1], 0.0)
        hats.append(hat)
        kinks.append(np.diff(np.eye(len(knots)), 2, axis=0))
    return np.hstack(hats), block_diag(*kinks)


def _joined(t: np.ndarray, C: np.ndarray, longest: float) -> np.ndarray:
    """C (k, 3) at times t (k,) [s] without what it gathers in gaps longer than `longest` [s], which
    each stretch's offset takes up anyway: five seconds of a reversed accelerometer are 100 m/s, and
    `VelocityLog.earlier` interpolates."""
    jumps = np.where(np.diff(t)[:, None] > longest, np.diff(C, axis=0), 0.0)
    return np.vstack([C[:1], C[1:] - np.cumsum(jumps, axis=0)])


def _slope(t: np.ndarray, C: np.ndarray, longest: float) -> tuple[np.ndarray, np.ndarray]:
    """(slope of C (k, 3) between the neighbours of each row, (k,) whether these are less than
    `longest` [s] apart)."""
    slope, near = np.zeros_like(C), np.zeros(len(t), bool)
    span = t[2:] - t[:-2]
    slope[1:-1], near[1:-1] = (C[2:] - C[:-2]) / span[:, None], span < longest
    return slope, near
