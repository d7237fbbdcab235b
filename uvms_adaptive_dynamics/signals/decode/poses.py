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

"""Velocity and rates from poses, by local parabolas that reject single glitches.

A derivative refers to the middle of its window, so it comes half a window late.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...config import Config
from ...config.sensors import ODOMETRY, POSES
from ...model.rotations import product, rotation, turned_back
from .sensor_clock import SensorClock

# [s] Half of a window: with 2 mm of noise at 100 Hz the velocity is accurate to 8 mm/s, like a
# small DVL's, and a 1 Hz motion keeps 96 % of its amplitude. Slow sources need three poses on
# either side.
POSE_HALF_WINDOW, HALF_POSES = 0.1, 3
MAX_GAP = 0.25          # [s] between poses; there is no derivative across longer gaps
POSE_OUTLIER = 4.0      # median distances from the parabola, beyond which a pose is an outlier
# [m], [rad] Median distance from the parabola: lower bound, and largest value that can be motion,
# which departs from its parabola by less than a centimetre in a tenth of a second.
LEAST_POSE_NOISE, MOST_POSE_NOISE = 5e-4, 0.02
MIN_FITTING_SHARE = 0.6  # of a window's poses that must fit one parabola
FITS = 4                # at most; each leaves out the previous one's outliers
NO_PARABOLA = "poses fit no smooth motion"

Readings = list[tuple[float, list[float]]]


class PoseReader:
    """Collects rows of poses; `derive(times (K,), rows (K, W), k)` returns the values at row k, at
    whose time `times` are zero."""

    def __init__(self, derive: Callable[[np.ndarray, np.ndarray, int], list[float] | None]):
        self._derive = derive
        self.reset()

    def reset(self) -> None:
        """Forget all poses."""
        self._times: list[float] = []
        self._rows: list[Sequence[float]] = []
        self._next = 0

    def add(self, t: float, row: Sequence[float]) -> tuple[Readings, str]:
        """([(time, values)] completed by a pose later than the last, reason if some were refused or
        '')."""
        if self._times and t - self._times[-1] > MAX_GAP:
            self.reset()
        self._times.append(t)
        self._rows.append(row)
        found: Readings = []
        refused = ""
        while self._complete(t):
            k, self._next = self._next, self._next + 1
            first = self._first(k)
            if first is None:
                continue
            last = self._last(k)
            values = self._derive(np.array(self._times[first:last + 1]) - self._times[k],
                                  np.array(self._rows[first:last + 1]), k - first)
            if values is None:
                refused = NO_PARABOLA
            else:
                found.append((self._times[k], values))
        self._forget()
        return found, refused

    def _complete(self, t: float) -> bool:
        """Whether the next pose's window is complete at t [s]."""
        k = self._next
        return len(self._times) - 1 - k >= HALF_POSES and t - self._times[k] >= POSE_HALF_WINDOW

    def _last(self, k: int) -> int:
        end = k + HALF_POSES
        while (end + 1 < len(self._times)
               and self._times[end + 1] - self._times[k] <= POSE_HALF_WINDOW):
            end += 1
        return end

    def _first(self, k: int) -> int | None:
        """Index of the first pose in the window of pose k; None if there are too few before it."""
        begin = k - HALF_POSES
        while begin > 0 and self._times[k] - self._times[begin - 1] <= POSE_HALF_WINDOW:
            begin -= 1
        return begin if begin >= 0 else None

    def _forget(self) -> None:
        """Remove the poses that no window needs."""
        first = self._first(self._next)
        if first:
            del self._times[:first], self._rows[:first]
            self._next -= first


def pose_readers(config: Config) -> dict[str, PoseReader]:
    """A reader for each role whose messages are or have poses."""
    found = {}
    if config.imu.type in (ODOMETRY, *POSES):
        found["imu"] = PoseReader(_imu)
    if config.dvl.type in (ODOMETRY, *POSES):
        found["dvl"] = PoseReader(_velocity)
    return found


def lateness(clock: SensorClock) -> float:
    """[s] delay of readings that are derived from poses; zero for others."""
    return max(POSE_HALF_WINDOW, HALF_POSES * (clock.period or 0.0)) if clock.of_poses else 0.0


def _imu(times: np.ndarray, rows: np.ndarray, k: int) -> list[float] | None:
    """[down (3,), rates (3,) [rad/s], NaN (3,), heading [rad]] from rotations R_nb (K, 9)."""
    fit = _parabola(times, _turns(rows, k))
    if fit is None:
        return None
    R = product(rows[k].tolist(), rotation(*fit[0]))
    return [*R[6:], *fit[1], math.nan, math.nan, math.nan, math.atan2(R[3], R[0])]


def _velocity(times: np.ndarray, rows: np.ndarray, k: int) -> list[float] | None:
    """Velocity (3,) [m/s] in body axes, from positions (K, 3) and rotations (K, 9) to their world.
    """
    place = _parabola(times, rows[:, :3] - rows[k, :3])
    turn = _parabola(times, _turns(rows[:, 3:], k))
    if place is None or turn is None:
        return None
    R = product(rows[k, 3:].tolist(), rotation(*turn[0]))
    return list(turned_back(R, place[1]))


def _turns(rotations: np.ndarray, k: int) -> np.ndarray:
    """Rotation vectors (K, 3) [rad] from rotation k to all rotations (K, 9), below 90 degrees."""
    R = rotations.reshape(-1, 3, 3)
    M = R[k].T @ R
    sines = 0.5 * np.stack([M[:, 2, 1] - M[:, 1, 2], M[:, 0, 2] - M[:, 2, 0],
                            M[:, 1, 0] - M[:, 0, 1]], axis=1)
    size = np.clip(np.linalg.norm(sines, axis=1), 1e-12, 1.0)
    return sines * (np.arcsin(size) / size)[:, None]


def _parabola(times: np.ndarray, values: np.ndarray) -> tuple[list[float], list[float]] | None:
    """(value, slope) (3,) at time zero of the parabola through values (K, 3), without glitches;
    None if too many values do not fit one."""
    A = np.stack([np.ones_like(times), times, times * times], axis=1)
    kept = np.ones(len(times), bool)
    for _ in range(FITS):
        x = np.linalg.lstsq(A[kept], values[kept], rcond=None)[0]
        size = np.linalg.norm(values - A @ x, axis=1)
        noise = float(np.median(size))
        fits = size <= POSE_OUTLIER * max(noise, LEAST_POSE_NOISE)
        if fits.mean() < MIN_FITTING_SHARE:
            return None
        if (fits == kept).all():
            break
        kept = fits
    return None if noise > MOST_POSE_NOISE else (x[0].tolist(), x[1].tolist())
