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

"""Detection of a knocked IMU: its attitude steps without a turn of the gyro, and stays there
(docs/signals.md, "Garbage and outages").

If the mount has turned, the whole IMU has, so the force has stepped together with the attitude. The
attitude's step is then the mount's turn, and every reading can be turned back. If the attitude
steps without the force, the driver is the cause. Without a force, as of an odometry, the mount is
never turned, but a step has as long to end before its readings count.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...model.rotations import from_down, in_turned_axes, turned
from .imu_integral import N3, R_GB, YAW, ImuIntegral

MIN_KNOCK = math.radians(5.0)
KNOCK_TIME = 3.0          # [s] that the step has to last; garbage ends earlier
MOST_STEPPING = 0.8       # [s] from a step's start until it is noted; a burst of garbage is longer
FORCE_TIME = 2.0          # [s] over which the force before a step is averaged


class _Step(NamedTuple):
    """A step of the attitude from `begin` to t [s]: the integral's row before it (28,), its tilt
    and heading [rad]."""

    t: float
    begin: float
    before: Sequence[float]
    tilt: float
    heading: float


class MountRotation:
    """Follows the rotation of the IMU relative to its original mount; times [s] increase."""

    def __init__(self, has_force: bool = True) -> None:
        """has_force: whether readings have a specific force."""
        self._has_force = has_force
        self.reset()

    def reset(self) -> None:
        """Assume that the IMU is mounted as configured."""
        self._turn: np.ndarray | None = None    # (3, 3) from the IMU's axes to the original ones
        self._step: _Step | None = None
        self._since = -math.inf                 # [s] time of the last corrected step
        self._odd: Sequence[float] = ()         # the row before a step of the attitude alone
        self.is_judging = False
        self._usual: list[float] | None = None  # (3,) mean force in the frame G
        self._restart()

    def _restart(self) -> None:
        self._turns = np.zeros((3, 3))                      # sum
        self._force, self._down = np.zeros(3), np.zeros(3)  # sums in the frame G

    def follow(self, dt: float, R_Gb: Sequence[float], force: Sequence[float]) -> None:
        """Add the force (3,) of an undoubted reading, dt [s] after the last."""
        now = turned(R_Gb, force)
        share = dt / (dt + FORCE_TIME)
        self._usual = list(now) if self._usual is None else [
            u + share * (f - u) for u, f in zip(self._usual, now)]

    def corrected(self, reading: Sequence[float]) -> Sequence[float]:
        """A reading [down (3), rates (3), force (3), heading] in the IMU's original axes."""
        if self._turn is None:
            return reading
        return in_turned_axes(reading, self._turn)

    def note_step(self, t: float, begin: float, before: Sequence[float], imu: ImuIntegral) -> None:
        """Note a step of the attitude at `begin` [s], after the integral's row `before` (28,), now
        that attitude and gyro agree again. If it tilted quickly, it is judged from now on."""
        if self._odd and _size(imu.turn_error_since(self._odd)) < MIN_KNOCK:
            self._odd = ()
            self._step = None
            return
        n0, n1, n2, heading = imu.turn_error_since(before)
        tilt, quick = math.hypot(n0, n1, n2), t - begin < MOST_STEPPING
        size, last = max(tilt, abs(heading)), self._step
        returned = size < MIN_KNOCK or last is not None and (
            t - last.t < KNOCK_TIME or _size(imu.turn_error_since(last.before)) < MIN_KNOCK)
        # (without a force, nothing tells a gyro that was wrong for seconds from an attitude)
        told = not returned and (quick or self._has_force)
        self._step = _Step(t, begin, before, tilt, heading) if told else None
        self.is_judging = told and quick and (tilt if self._has_force else size) >= MIN_KNOCK
        self._restart()

    def judge(self, t: float, imu: ImuIntegral, force: Sequence[float]) -> bool:
        """Add the integral's newest reading with its specific force (3,); returns whether a turn of
        the mount is established now, which `corrected` removes from then on."""
        assert self._step is not None
        if not self._has_force:
            self.is_judging = t - self._step.t < KNOCK_TIME
            return False
        row, before = imu.series.last_row.tolist(), self._step.before
        # The gyro turns with the mount; carried back by it, the attitude is that after the step.
        since = np.reshape(before[R_GB], (3, 3)).T @ np.reshape(row[R_GB], (3, 3))
        after = from_down(row[N3], row[YAW]) @ since.T
        self._turns += from_down(before[N3], before[YAW]).T @ after
        self._force += turned(row[R_GB], force)
        self._down += turned(row[R_GB], row[N3])
        if t - self._step.t < KNOCK_TIME:
            return False
        self.is_judging = False
        if not self._force_stepped(_unit(self._down) - turned(before[R_GB], before[N3])):
            self._odd = before
            return False
        U, _, Vt = np.linalg.svd(self._turns)
        turn = U @ Vt
        self._turn = turn if self._turn is None else turn @ self._turn
        self._since = self._step.t
        self._usual = None
        imu.turn_axes(turn)
        return True

    def _force_stepped(self, down: np.ndarray) -> bool:
        """Whether the force has stepped together with the down vector, by `down` (3,) in G. It has
        not if only the driver's attitude has changed, or if the step is undone."""
        if self._usual is None:
            return False
        up = _unit(self._force) - _unit(np.array(self._usual))
        return bool(-up @ down > 0.5 * down @ down)

    def sentences(self, now: float) -> list[str]:
        """Warnings for the operator at `now` [s]."""
        step = self._step
        if step is None or now - step.t < KNOCK_TIME:
            return []
        seen = (f"imu orientation: at {step.begin:.0f} s it tilted by "
                f"{math.degrees(step.tilt):.0f} degrees and turned by "
                f"{math.degrees(step.heading):.0f} degrees without a turn of the gyro, and has not "
                "returned")
        if self._since == step.t:
            return [f"{seen}, and gravity stepped with it, so the IMU was knocked; this is "
                    "corrected. Mount it as it was, or set imu.rpy"]
        return [f"{seen}; if the IMU was knocked or remounted, set imu.rpy, else check its driver"]


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x)


def _size(error: Sequence[float]) -> float:
    """[rad] The larger of tilt and heading of a turn error (4,)."""
    return max(math.hypot(*error[:3]), abs(error[3]))
