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

"""Detection of joint velocities that are published but not measured: bit-identical, mostly zero,
while the positions change."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .joint_consistency import JUMP_SPEED

ELSEWHERE = 20.0    # standard deviations of a position's noise that prove motion


class _Run(NamedTuple):
    """A velocity that has been the same since t [s], when the position was `position`."""

    velocity: float
    t: float
    position: float


class StuckVelocities:
    """Follows each joint independently. A velocity too coarse for a slow motion also counts as not
    measured while the motion lasts."""

    def __init__(self, joints: int, position_stddev: float):
        """position_stddev: noise of a position [rad or m]."""
        self._joints, self._elsewhere = range(joints), ELSEWHERE * position_stddev
        self.reset()

    def reset(self) -> None:
        """Forget all readings, as across a gap."""
        self._runs: list[_Run] = []
        self._last_t, self._last = 0.0, [0.0 for _ in self._joints]
        self._stuck = [False for _ in self._joints]

    def stuck(self, t: float, position: Sequence[float], velocity: Sequence[float]) -> list[bool]:
        """Whether each joint's velocity in a reading, (n,) and (n,), is not measured."""
        if not self._runs:
            self._runs = [_Run(v, t, q) for q, v in zip(position, velocity)]
        # A jump of position is no motion; other gates judge it.
        jump = JUMP_SPEED * (t - self._last_t)
        for j, (q, v, last, run) in enumerate(zip(position, velocity, self._last, self._runs)):
            if v != run.velocity or abs(q - last) > jump:
                self._runs[j], self._stuck[j] = _Run(v, t, q), False
            else:
                way = q - run.position
                self._stuck[j] |= min(abs(way), abs(way - v * (t - run.t))) > self._elsewhere
        self._last_t, self._last = t, list(position)
        return self._stuck
