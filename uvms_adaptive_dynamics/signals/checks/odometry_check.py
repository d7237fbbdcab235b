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

"""Check of an odometry's twist against its own pose.

nav_msgs/msg/Odometry has its twist in the axes of the child frame, which turn with the robot. Some
simulators and motion capture bridges publish it in those of the pose's frame. A velocity or a
position in a wrong unit, or of a wrong scale, contradicts the other."""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from ...config import Config
from ...config.sensors import ODOMETRY
from ...model.normal import Z999
from ...model.rotations import turned_back
from ..decode.decoder import dvl_axes, imu_axes, orientation_axes
from .dvl_check import OF_UNIT, OF_WORLD
from .finding import (
    CHANGE_WINDOW,
    CONSISTENT,
    MAX_STANDARD_ERROR,
    SCALE_TOLERANCE,
    UNDECIDED,
    CheckResult,
    Finding,
    Harm,
    Mend,
    mismatch,
    outside,
)

ENOUGH_WINDOWS = 10      # of CHANGE_WINDOW: with MOST_LEFT, white noise makes odds of 10^9
# [s] Longest time between two messages in a window: the twist between them is taken as linear.
LONGEST_STEP = 0.5
# Share that the pose's axes may leave of the squared misfit in the child frame's.
MOST_LEFT = 0.25
OF_RATES = "imu rates"


def check_odometry(rows: np.ndarray, config: Config) -> CheckResult:
    """Compare the ways between positions with the integral of the twist, in the axes of the child
    frame and in those of the pose's frame.

    rows (N, 19): time [s] and the `odometry` of `decoder`. The child frame's axes are rejected if
    the pose's leave less than MOST_LEFT of what the twist misses of the ways over CHANGE_WINDOW,
    squared: noise is the same in both, so that it rejects neither. The better axes then count for
    the angular twist. In the child frame's axes, the twist's scale is judged by the ways."""
    if len(rows) < 2 or not np.ptp(rows[:, 1:4], axis=0).any():
        return CONSISTENT       # a twist without positions has nothing to contradict it
    ways = np.diff(rows[:, 1:4], axis=0)
    farthest = config.dvl.max_speed * CHANGE_WINDOW
    windows = _Windows(rows[:, 0], np.abs(ways).max(axis=1) < farthest)
    if windows.count < ENOUGH_WINDOWS:
        return UNDECIDED
    R = rows[:, 4:13].reshape(-1, 3, 3)
    linear, turned = rows[:, 13:16], np.einsum("kij,kj->ki", R, rows[:, 13:16])
    moved = windows.squares(ways)
    body, world = (windows.squares(ways - windows.steps(one)) for one in (turned, linear))
    if world >= MOST_LEFT * body:
        return _scaled(windows.sums(windows.steps(turned)), windows.sums(ways), config)
    topic = config.dvl.topic
    linear_found = Finding(OF_WORLD, (
        f"the twist of '{topic}' is in the axes of its pose, not of its child frame as in "
        "nav_msgs/msg/Odometry: there it misses the ways between its positions by "
        f"{math.sqrt(world / moved):.0%}, in the child frame by {math.sqrt(body / moved):.0%}; "
        "make its publisher turn it"), lasting=True)
    if config.imu.type != ODOMETRY or config.imu.topic != topic:
        # The IMU's attitude may be relative to another world than the pose.
        return CheckResult([linear_found], True)
    ned, _ = orientation_axes(config)
    # (the readings to be turned are in the body's axes)
    of_dvl, of_imu = (ned @ np.reshape(axes, (3, 3)).T for axes in (
        dvl_axes(config), imu_axes(config)))
    findings = [linear_found._replace(mend=Mend("dvl", 0, of_dvl, of_world=True))]
    # rotations from each pose to the next, in the pose's axes
    turns = Rotation.from_matrix(R[1:] @ R[:-1].transpose(0, 2, 1)).as_rotvec()
    body, world = (windows.squares(turns - windows.steps(one)) for one in (
        np.einsum("kij,kj->ki", R, rows[:, 16:19]), rows[:, 16:19]))
    if world < body:
        findings.append(Finding(OF_RATES, (
            f"so is the angular twist of '{topic}'"), lasting=True,
            mend=Mend("imu", 3, of_imu, of_world=True)))
    return CheckResult(findings, True)


def _scaled(moved: np.ndarray, ways: np.ndarray, config: Config) -> CheckResult:
    """The result on the scale of a twist whose integrals over windows are `moved` (K, 3), by the
    ways (K, 3) in these. Noise of the ways lowers one regression, noise of the twist raises the
    other."""
    both, of_ways, of_twist = (np.sum(a * b, axis=1) for a, b in (
        (moved, ways), (ways, ways), (moved, moved)))
    if both.sum() <= Z999 * np.linalg.norm(both):
        return CONSISTENT       # it hardly moves
    low, high = both.sum() / of_ways.sum(), of_twist.sum() / both.sum()
    error = float(max(np.linalg.norm(both - low * of_ways) / of_ways.sum(),
                      np.linalg.norm(of_twist - high * both) / both.sum()))
    if error > MAX_STANDARD_ERROR * low or not outside(low, high, error, SCALE_TOLERANCE):
        return CONSISTENT
    return mismatch(OF_UNIT, (
        f"velocities of '{config.dvl.topic}' are {0.5 * (low + high):.3g} +- {error:.2g} times the "
        "ways between its positions; one of both has a wrong unit or scale: let its publisher give "
        "metres and m/s, and check what either is made from"), harm=Harm.FOLLOWED)


class _Windows:
    """Windows of CHANGE_WINDOW in which messages at the times t (N,) [s] follow closely enough, and
    all steps (N - 1,) from one to the next are possible.

    count: how many there are."""

    def __init__(self, t: np.ndarray, possible: np.ndarray):
        self._seconds = np.diff(t)
        self._starts = np.unique(np.searchsorted(t, np.arange(t[0], t[-1], CHANGE_WINDOW)))
        longest = np.maximum.reduceat(self._seconds, self._starts[:-1])
        self._whole = (longest < LONGEST_STEP) & np.logical_and.reduceat(
            possible, self._starts[:-1])
        self.count = int(self._whole.sum())

    def steps(self, velocity: np.ndarray) -> np.ndarray:
        """(N - 1, 3) integrals of a velocity (N, 3) from each message to the next."""
        return 0.5 * self._seconds[:, None] * (velocity[1:] + velocity[:-1])

    def sums(self, steps: np.ndarray) -> np.ndarray:
        """(K, 3) sums of steps (N - 1, 3) over each window."""
        return np.add.reduceat(steps, self._starts[:-1], axis=0)[self._whole]

    def squares(self, steps: np.ndarray) -> float:
        """Sum of the squares of the sums of steps (N - 1, 3) over each window."""
        return float((self.sums(steps) ** 2).sum())


def turned_twist(odometry: Sequence[float]) -> list[float]:
    """An `odometry` of `decoder` with its twist turned from the axes of its pose to its child
    frame's."""
    pose, twist = odometry[:12], odometry[12:]
    return [*pose, *turned_back(pose[3:], twist[:3]), *turned_back(pose[3:], twist[3:])]
