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

"""Planned commands that arrive now and then, as seen from a given instant."""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..errors import ParameterError
from ..model.robot import RobotModel
from ..model.sample import Sample
from .commands import Commands, held, holding, tabulated, through

MOST_ROWS = 10_000      # of a plan: more than a minute at 100 Hz, and still quick to process


class PlannedValues(NamedTuple):
    """values (k, m) at times t (k,) [s] of a plan that begins at `begin` [s]."""

    begin: float
    t: np.ndarray
    values: np.ndarray


class Planned:
    """The latest plans; without one, or after its end, the present commands are held. Their times
    are on the planner's clock.

    arm: 'positions' or 'efforts': what the joints follow and what their plan contains. An arm on a
    fixed base always follows efforts, since otherwise there is nothing to forecast.
    """

    def __init__(self, robot: RobotModel, arm: str):
        self._robot = robot
        self.arm = arm if robot.vehicle else "efforts"
        self._wrench: PlannedValues | None
        self._joints: PlannedValues | None
        self.forget()

    def forget(self) -> None:
        """Drop all plans, as after a jump of time."""
        self._wrench = self._joints = None

    def plan_wrench(self, begin: float, t: np.ndarray, wrench: np.ndarray) -> None:
        """Set thruster wrenches (k, 6) [N, N m] body FRD at t (k,) [s] after `begin` [s]; raises
        ParameterError for an unusable plan."""
        self._wrench = _table("wrench", begin, t, wrench, 6 if self._robot.vehicle else 0)

    def plan_joints(self, begin: float, t: np.ndarray, values: np.ndarray) -> None:
        """Set positions [rad or m] or efforts [N m or N] (k, n), in the robot's joint order."""
        self._joints = _table("joints", begin, t, values, self._robot.table.n)

    def commands(self, sample: Sample, ahead: float, behind: float = 0.0,
                 effort_factor: np.ndarray | float = 1.0) -> tuple[Commands, str]:
        """(commands for `ahead` [s] from a sample on, 'planned' or 'held').

        behind: the planner's clock minus that of the samples [s]; effort_factor (C,): the
        estimator's. A plan that begins after those
        `ahead` seconds is not in force; the word for 'held' says so.
        """
        now, vehicle = sample.t + behind, self._robot.vehicle
        wrench, joints = _rest(self._wrench, now, ahead), _rest(self._joints, now, ahead)
        by_effort = self.arm == "efforts"
        parts = [_column(wrench, sample.wrench)] if vehicle else []
        parts.append(_column(joints if by_effort else None, sample.joint_torque))
        word = "held" if wrench is None and joints is None else "planned"
        efforts = held(effort_factor * np.concatenate([part(0.0) for part in parts]))
        if word == "planned":
            def efforts(t: float) -> np.ndarray:
                return effort_factor * np.concatenate([part(t) for part in parts])
        elif any(plan is not None and plan.begin > now + ahead
                 for plan in (self._wrench, self._joints)):
            word = "held, a plan begins later"
        if by_effort or not sample.mu.size:
            return Commands(efforts), word
        arm = (holding(sample.mu, sample.mu_dot) if joints is None
               else through(sample.mu, joints.t, joints.values))
        return Commands(efforts, arm), word


def _table(what: str, begin: float, t: np.ndarray, values: np.ndarray, width: int) -> PlannedValues:
    t, values = np.asarray(t, float), np.asarray(values, float)
    if values.ndim != 2 or values.shape[1] != width or not 0 < len(t) <= MOST_ROWS:
        raise ParameterError(f"planned {what}: got {len(t)} times and values of shape "
                             f"{values.shape}; expected 1 to {MOST_ROWS} rows of {width} values.")
    tabulated(t, values)     # raises if not finite or not increasing
    return PlannedValues(begin, begin + t, values)


def _rest(table: PlannedValues | None, now: float, ahead: float) -> PlannedValues | None:
    """The part of a plan after `now`, with times relative to it; None if there is none, or if the
    plan begins more than `ahead` [s] later."""
    if table is None or table.t[-1] <= now or table.begin > now + ahead:
        return None
    left = table.t > now
    return PlannedValues(table.begin - now, table.t[left] - now, table.values[left])


def _column(rest: PlannedValues | None, present: np.ndarray) -> Callable[[float], np.ndarray]:
    """From the present value through the plan's rows, linearly interpolated."""
    if rest is None:
        return held(present)
    return tabulated(np.concatenate([[0.0], rest.t]), np.vstack([present, rest.values]))
