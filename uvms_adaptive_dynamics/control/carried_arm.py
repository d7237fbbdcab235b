"""Equations of motion of a vehicle whose arm moves as planned: servos see to the joints."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..model.dynamics import State
from ..model.motion import EquationsOfMotion
from ..model.robot import RobotModel
from .commands import Plan


class CarriedArm(EquationsOfMotion):
    """The vehicle alone follows its efforts; it feels the arm's planned motion, which a servo of
    metal gears keeps to, whatever the joints' parameters are.

    Steps are taken one after the other, from the plan's time zero on.
    """

    def __init__(self, robot: RobotModel, pi: np.ndarray, plan: Plan):
        super().__init__(robot, pi)
        self._plan, self._t = plan, 0.0
        self.free = slice(0, self.head)

    def given(self, h: float) -> np.ndarray:
        """(C,) zero, and the planned accelerations of the joints over the next step."""
        (_, before), (_, after) = self._plan(self._t), self._plan(self._t + h)
        return np.concatenate([np.zeros(self.head), (after - before) / h])

    def step(self, state: State, tau: np.ndarray, tau_after: np.ndarray,
             h: float) -> tuple[State, np.ndarray]:
        """See `EquationsOfMotion`; the joints are where they are planned to be."""
        after, moved = super().step(state, tau, tau_after, h)
        self._t += h
        mu, mu_dot = self._plan(self._t)
        return replace(after, mu=mu, mu_dot=mu_dot), moved
