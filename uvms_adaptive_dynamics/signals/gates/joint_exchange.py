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

"""Joints whose readings a driver begins to publish in each other's place."""
from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

from ...model.robot import RobotModel
from ..checks.finding import Mend
from ..checks.joint_order import reordered
from .joint_consistency import COMPARED_SPAN, RETURNED, SLIP

MOST_EXCHANGED = 6      # joints whose orders are tried: 720


class JointExchange:
    """Finds the moment from which each of several joints continues where another one was, and puts
    the readings back in their order from then on.

    A driver that restarts with another order does that. No arm moves so, and each encoder's slip
    would have to hit another joint's position."""

    def __init__(self, robot: RobotModel):
        self._joints, self._radian = robot.joints, robot.radian.tolist()
        # time [s] since the first reading, joints that exchanged places
        self._found: list[tuple[float, tuple[str, ...]]] = []
        self._begin: float | None = None
        self.reset()

    def reset(self) -> None:
        """Forget the last positions and the order, as between bags."""
        # the joint (n,) whose readings are in each place
        self._order = tuple(range(len(self._joints)))
        self.restart()

    def restart(self) -> None:
        """Forget the last positions, as after a jump of time."""
        self._last: tuple[float, Sequence[float], Sequence[float]] | None = None

    @property
    def mends(self) -> tuple[Mend, ...]:
        """What puts readings in the present order back."""
        n = len(self._joints)
        if self._order == tuple(range(n)):
            return ()
        return tuple(reordered(first, self._order) for first in (0, n, 2 * n))

    def in_order(self, t: float, reading: Sequence[float]) -> list[float]:
        """The reading (3 n,) at t [s], put back in order."""
        n, last = len(self._joints), self._last
        placed = _placed(reading, self._order)
        if not all(map(math.isfinite, placed[:n])):
            return placed
        if self._begin is None:
            self._begin = t
        if last is not None:
            order = self._new_order(t - last[0], placed[:n], last[1], last[2])
            if order is not None:
                self._order = tuple(order[k] for k in self._order)
                self._found.append((t - self._begin, tuple(
                    self._joints[j] for k, j in enumerate(order) if j != k)))
                placed = _placed(reading, self._order)
        self._last = t, placed[:n], placed[n:2 * n]
        return placed

    def sentences(self) -> list[str]:
        """What was found, for the operator."""
        if not self._found:
            return []
        t, names = self._found[-1]
        times = f" ({len(self._found)} times in all)" if len(self._found) > 1 else ""
        return [f"joint_states.names: after {t:.1f} s the readings of {' and '.join(names)} went "
                f"on in each other's place{times}; they are put back in the order of before. If "
                "the driver was restarted, let it publish the joints in its earlier order, or set "
                "joint_states.names for what was recorded since"]

    def _new_order(self, step: float, now: Sequence[float], before: Sequence[float],
                   speed: Sequence[float]) -> tuple[int, ...] | None:
        """The joint (n,) whose position is in each place, `step` [s] after the positions `before`
        with the speeds `speed`; None if each is in its own."""
        brief = step <= COMPARED_SPAN
        moves = [step * v if brief and math.isfinite(v) else 0.0 for v in speed]

        def apart(k: int, j: int) -> float:
            """How far the position in place k is from where joint j should be [rad], beyond what a
            late velocity explains."""
            return (abs(now[k] - before[j] - moves[j]) - abs(moves[j])) / self._radian[j]

        away = [j for j in range(len(now)) if apart(j, j) > SLIP]
        if not 2 <= len(away) <= MOST_EXCHANGED:
            return None
        for joints in permutations(away):
            if all(apart(k, j) <= RETURNED for k, j in zip(away, joints)):
                found = dict(zip(away, joints))
                return tuple(found.get(k, k) for k in range(len(now)))
        return None


def _placed(reading: Sequence[float], order: Sequence[int]) -> list[float]:
    """The values of a reading, n of each kind, in the places of their joints."""
    n, placed = len(order), list(reading)
    for first in range(0, len(reading), n):
        for k, j in enumerate(order):
            placed[first + j] = reading[first + k]
    return placed
