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

"""Detection of joint positions that are published but not measured: bit-identical, while the
velocities say that the joint moves."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .joint_consistency import RETURNED
from .resolution import ROUNDING, Resolution

# [rad/s or m/s] Mean speed up to which a velocity may be off while its joint rests.
STANDSTILL_SPEED = 0.05
STEPS_AT_REST = 2.0     # of a quantized position, that a joint may move before it changes


class _Run(NamedTuple):
    """A position that has been the same since t [s]; `way` [rad or m]: of the velocity since."""

    position: float
    t: float
    way: float


class StuckPositions:
    """Follows each joint independently.

    `since` [s]: when the oldest position that is stuck now was measured, infinite if none is.
    """

    def __init__(self, joints: int):
        self._joints, self._resolution = range(joints), Resolution(joints)
        self.reset()

    def reset(self) -> None:
        """Forget all readings, as across a gap; the positions' resolution stays."""
        self._runs: list[_Run] = []
        self._last_t, self._last = 0.0, [0.0 for _ in self._joints]
        self._stuck = [False for _ in self._joints]

    @property
    def since(self) -> float:
        """See the class."""
        return min((run.t for run, stuck in zip(self._runs, self._stuck) if stuck),
                   default=math.inf)

    def stuck(self, t: float, position: Sequence[float], velocity: Sequence[float],
              held: float) -> list[bool]:
        """Whether each joint's position in a reading, (n,) and (n,), is not measured; a joint
        without a velocity (NaN) is not judged. held [s]: a driver may publish a position for so
        long before it reads the next one."""
        self._resolution.add(position)
        velocity = [v if math.isfinite(v) else 0.0 for v in velocity]
        if not self._runs:
            self._runs = [_Run(q, t, 0.0) for q in position]
            self._last_t, self._last = t, velocity
        step = t - self._last_t
        for j, (q, v, last, run, coarse) in enumerate(zip(
                position, velocity, self._last, self._runs, self._resolution.stddev)):
            if q != run.position:
                self._runs[j], self._stuck[j] = _Run(q, t, 0.0), False
                continue
            run = self._runs[j] = run._replace(way=run.way + 0.5 * step * (last + v))
            most = (RETURNED + STEPS_AT_REST * coarse / ROUNDING
                    + STANDSTILL_SPEED * (t - run.t))
            self._stuck[j] |= t - run.t > held and abs(run.way) > most
        self._last_t, self._last = t, velocity
        return self._stuck
