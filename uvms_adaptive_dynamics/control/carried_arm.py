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

"""Equations of motion of a vehicle whose arm is servo-controlled and moves as planned."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..model.dynamics import State
from ..model.equations_of_motion import EquationsOfMotion
from ..model.robot import RobotModel
from .commands import Plan


class CarriedArm(EquationsOfMotion):
    """Only the vehicle responds to efforts. The arm's planned motion acts on it; geared servos
    follow the plan whatever the joints' parameters are.

    Steps must be consecutive, starting at the plan's time zero.
    """

    def __init__(self, robot: RobotModel, pi: np.ndarray, plan: Plan):
        super().__init__(robot, pi)
        self._plan, self._t = plan, 0.0
        self.free = slice(0, self.head)

    def given(self, h: float) -> np.ndarray:
        """(C,) zeros for the vehicle, and the joints' planned accelerations in the next step."""
        (_, before), (_, after) = self._plan(self._t), self._plan(self._t + h)
        return np.concatenate([np.zeros(self.head), (after - before) / h])

    def step(self, state: State, tau: np.ndarray, tau_after: np.ndarray,
             h: float) -> tuple[State, np.ndarray]:
        """See `EquationsOfMotion`; the joints are exactly at their planned positions."""
        after, moved = super().step(state, tau, tau_after, h)
        self._t += h
        mu, mu_dot = self._plan(self._t)
        return replace(after, mu=mu, mu_dot=mu_dot), moved
