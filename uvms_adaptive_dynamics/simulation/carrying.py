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

"""A motion that an arm can follow with a payload in hand."""
from __future__ import annotations

import numpy as np

from .motion import Motion, Reference

# At these angles [rad] a payload of .38 kg hangs nearly below both elbows; at the centre of the
# exciting motion it would need more than the 1 N m of their motors.
CARRYING_CENTRE = np.array([3.1, 2.58, 2.1, 2.85])
# Share of the exciting motion's swing: reduced at the elbows, so that with a payload a motor is at
# its limit for at most 4 % of the time in seeds 1 to 5.
CARRYING_SWING = np.array([1.0, 0.45, 0.6, 1.0])
CARRYING_RAMP = 8.0  # [s] from the other motion to this one


class CarryingMotion:
    """A given motion with the arm moved to CARRYING_CENTRE and less swing; it blends over from the
    given motion in the first CARRYING_RAMP seconds."""

    def __init__(self, motion: Motion):
        self._motion = motion
        self.centre = motion.centre.copy()
        self.centre[6:] = CARRYING_CENTRE

    def at(self, t: float) -> Reference:
        """Reference at t [s], consistent with its rate and acceleration."""
        value, rate, acceleration = (x.copy() for x in self._motion.at(t))
        swing = value[6:] - self._motion.centre[6:]
        way = self.centre[6:] + CARRYING_SWING * swing - value[6:]
        less = CARRYING_SWING - 1.0
        s, s_dot, s_ddot = ramp(t)
        acceleration[6:] += (s * less * acceleration[6:] + 2.0 * s_dot * less * rate[6:]
                             + s_ddot * way)
        rate[6:] += s * less * rate[6:] + s_dot * way
        value[6:] += s * way
        return Reference(value, rate, acceleration)


def ramp(t: float) -> tuple[float, float, float]:
    """A quintic from 0 to 1 within CARRYING_RAMP, at rest at both ends, and its first two
    derivatives."""
    x = min(max(t / CARRYING_RAMP, 0.0), 1.0)
    return (x ** 3 * (10 - 15 * x + 6 * x * x), 30 * x * x * (1 - x) ** 2 / CARRYING_RAMP,
            60 * x * (1 - x) * (1 - 2 * x) / CARRYING_RAMP ** 2)
