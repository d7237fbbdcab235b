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

"""Masks: which rows of a sample the model can be compared with, and why the others cannot."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from ..config import Config
from ..model.robot import RobotModel
from ..model.sample import FILTERS_START
from .filters.body_motion import NO_DVL, NO_IMU
from .filters.joints import NO_STATE
from .filters.thrusters import NO_COMMAND
from .filters.wrench import NO_WRENCH

NEVER_SEEN = "arm never seen"
# The input whose silence each of these mask reasons means.
SILENT_ROLES = {NO_IMU: "imu", NO_DVL: "dvl", NO_STATE: "joint_states", NEVER_SEEN: "joint_states",
                NO_COMMAND: "thrusters", NO_WRENCH: "wrench"}
# [s] from a sensor's first reading, or from the beginning; the slowest, a DVL at 2 Hz, takes 1.4.
START_UP = 1.5
FOUND_WRONG = "a sensor is found wrong"     # one that was right before


class RowMasks:
    """Counts masked rows: `counts` maps channel -> reason -> ticks, of `ticks` in all."""

    def __init__(self, config: Config, robot: RobotModel):
        self._report: Callable[[float, Sequence[str]], None] = lambda t, reasons: None
        self.counts: dict[str, Counter] = {channel: Counter() for channel in robot.channels}
        self.ticks = 0
        self.reset()
        self._has_dvl = config.dvl.enabled
        self._needs_arm = bool(config.robot.joints) and robot.coupled

    def report_to(self, report: Callable[[float, Sequence[str]], None]) -> None:
        """Call report(t, reasons) with each sample's time [s] and the mask reasons of its C rows,
        '' for a valid row."""
        self._report = report

    def reset(self) -> None:
        """Expect the first reading of every sensor again; counts stay."""
        self._first: dict[str, float] = {}

    def note_reading(self, role: str, t: float) -> None:
        """Note a reading of this role at t [s since the origin]."""
        self._first.setdefault(role, t)

    @property
    def begin(self) -> float:
        """[s since the origin] of the first reading; 0 before it."""
        return min(self._first.values(), default=0.0)

    def since_start(self, reason: str, t: float) -> str:
        """The reason at t [s since the origin], or FILTERS_START if the silent sensor may just have
        begun."""
        role = SILENT_ROLES.get(reason)
        begins = role is not None and t < self._first.get(role, self.begin) + START_UP
        return FILTERS_START if begins else reason

    def vehicle_reason(self, motion_reason: str, wrench_reason: str, arm_reason: str,
                       place_reason: str) -> str:
        """Why the vehicle's six rows are masked (the first of several reasons), '' if they are not.
        The place first: out of the water no sensor can be blamed for its silence."""
        if place_reason:
            return place_reason
        if motion_reason:
            return motion_reason if self._has_dvl else "no source of velocity"
        if wrench_reason:
            return wrench_reason
        return arm_reason if self._needs_arm else ""

    def valid(self, t: float, reasons: Sequence[str]) -> np.ndarray:
        """Count the reasons (C,) of the sample at t [s]; returns which rows are valid (C,)."""
        self._report(t, reasons)
        self.ticks += 1
        for counter, reason in zip(self.counts.values(), reasons):
            if reason:
                counter[reason] += 1
        return np.array([not reason for reason in reasons])

    def mask_all(self, reason: str) -> None:
        """Count a tick without a sample under `reason`, on all channels."""
        self.ticks += 1
        for counter in self.counts.values():
            counter[reason] += 1
