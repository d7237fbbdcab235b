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

"""Consistency of an IMU's readings: the attitude turns as the gyro says, the force has no steps.

A burst of garbage in attitude, gyro or force leaves the other two unchanged. Which one is wrong
does not matter: no motion can be reconstructed from such readings.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from .scale import SCALE_STEP, RunningScale, judged

TURN_SPAN = 0.1           # [s] over which attitude and gyro are compared
# [rad] Smallest scale of their difference over that time: 0.2 degrees of noise at both ends, and an
# attitude that is a tenth of a second old while the vehicle turns at 0.1 rad/s.
TURN_FLOOR = 0.01
# [m/s^2] Smallest scale of the force's step from three readings to the next three. Thrusters that
# reach full thrust in 0.1 s change it by less than this from reading to reading.
STEP_FLOOR = 0.2
STEP_HALF = 3             # readings on either side of a step
LONGEST_INTERVAL = 0.05   # [s] between readings; over longer ones, the vehicle may cause a step


class ImuConsistency:
    """Judges readings by the difference of attitude and integrated gyro, and by steps of the force.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all readings and the scales."""
        self._turn_scale = RunningScale([TURN_FLOOR] * 4, SCALE_STEP, start=1.0)
        self._step_scale = RunningScale([STEP_FLOOR] * 3, SCALE_STEP, start=1.0)
        self.restart()

    def restart(self) -> None:
        """Forget the readings, as across a gap; the scales stay."""
        self._forces: list[Sequence[float]] = []
        self._t = -math.inf

    def fits(self, t: float, turn_error: Sequence[float], force: Sequence[float]) -> bool:
        """Whether a reading is consistent with those before it.

        `turn_error` (4,) [rad]: down vector and heading less their predictions by the gyro over
        TURN_SPAN; `force` (3,) [m/s^2]: specific force in body axes.
        """
        spacing = min(t - self._t, 1.0)
        self._t = t
        turns = judged(self._turn_scale, [abs(e) for e in turn_error], spacing)
        if spacing > LONGEST_INTERVAL:
            self._forces.clear()
        self._forces.append(force)
        if len(self._forces) <= 2 * STEP_HALF:
            return turns
        del self._forces[0]
        before, after = self._forces[:STEP_HALF], self._forces[STEP_HALF:]
        step = [abs(sum(a) - sum(b)) / STEP_HALF for a, b in zip(zip(*after), zip(*before))]
        return judged(self._step_scale, step, spacing) and turns
