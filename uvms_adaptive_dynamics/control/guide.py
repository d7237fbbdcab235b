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

"""From one stage of a schedule to the next: when a motion is designed, flown, and when all is done.

The estimator decides when a stage is done (`control/stage_runner.py`); the guide asks for motions
that show what the stage at hand is there for, and sends the pilot along them. The motion of a stage
that is over goes on until the next stage's is designed, and then ends early. Node and offline study
use this one class.
"""
from __future__ import annotations

from typing import NamedTuple

from .excitation.trajectory import Trajectory
from .motion_guard import Cause
from .pilot import Pilot

# Size of a stage's first motion, and factor on the size after a motion that was broken off, its
# inverse after one that was not; smaller than the least, it is the robot that is wrong.
SMALLER, SMALLEST_SIZE = 0.5, 0.1
# Motions in a row that are held back before they begin; then the robot is too weak for what is
# asked of it, or what is believed of it does not become better.
HELD_BACK = 3


class StageView(NamedTuple):
    """What of a stage matters here: name; title in plain words; move: patterns of channels; kind:
    'motion' or 'tilt'; complete: the schedule is, this being its last stage."""

    name: str
    title: str
    move: tuple[str, ...]
    kind: str = "motion"
    complete: bool = False


class Request(NamedTuple):
    """A motion to be designed: for a stage, the number-th of this arming (its seed); size: share
    of the limits of tilt, speeds and rates that it may use; doubt [m] of where the robot will be
    forward and right by its end."""

    stage: StageView
    number: int
    size: float = 1.0
    doubt: float = 0.0


class Guide:
    """One for each arming; times [s] are the pilot's."""

    def __init__(self, pilot: Pilot, design_time: float):
        """design_time [s] that a design is given: the next one is begun so long before the motion
        at hand ends."""
        self._pilot, self._design_time = pilot, design_time
        self._pending: Request | None = None
        self._ready: tuple[Request, Trajectory] | None = None
        self._asked, self._size = 0, SMALLER
        self._stage = ""                # that the size is of
        self._broken_off, self._held_back = pilot.broken_off, pilot.held_back
        self._in_a_row = 0              # held back
        self._goes_well = False         # a motion was begun and has not been broken off
        self._stale = False             # what is being designed was asked for before a break-off
        self.flown: list[str] = []      # names of the stages of each motion

    @property
    def designing(self) -> bool:
        """Whether a design is waited for."""
        return self._pending is not None

    def stage_flown(self, t: float) -> str:
        """Name of the stage whose motion is being flown at time t; '' on the way to where it
        starts, and while the robot holds."""
        flies = self.flown and self._pilot.following(t) and self._pilot.flown(t) >= 0.0
        return self.flown[-1] if flies else ""

    def next(self, t: float, stage: StageView) -> Request | Cause | None:
        """Go on, in this stage at time t: a motion to be designed now, why to stop, or None."""
        pilot = self._pilot
        if not pilot.armed:
            return None
        if stage.complete:
            return Cause("done", "the schedule is complete")
        if pilot.broken_off > self._broken_off:
            self._be_smaller(pilot.broken_off)
        if pilot.held_back > self._held_back:
            self._ask_again(pilot.held_back)
        if self._in_a_row >= HELD_BACK:
            return Cause("overloaded", f"{HELD_BACK} motions in a row start where the robot needs "
                                       "more effort to hold still than the limits leave to a whole "
                                       "motion. Check excitation.torque_share, .thrust_share, "
                                       ".joint_low and .joint_high, and what the arm carries")
        if self._size < SMALLEST_SIZE:
            return Cause("astray", f"{pilot.broken_off} motions were broken off, and one of "
                                   f"{SMALLEST_SIZE:.0%} of the limits is too large still. Does "
                                   "every thruster and joint do what it is told?")
        if self._ready is not None and self._ready[0].stage.name != stage.name:
            self._ready = None      # designed for a stage that is over
        if not stage.move:
            return None             # holding still is all that it asks for
        if self._ready is not None and not pilot.following(t):
            request, trajectory = self._ready
            self._ready = None
            pilot.follow(t, trajectory)
            self._goes_well = True
            self.flown.append(request.stage.name)
        own = bool(self.flown) and self.flown[-1] == stage.name
        if self._ready is not None and not own:
            pilot.end_early(t)
        if self._pending is not None or self._ready is not None or (
                own and pilot.time_left(t) > self._design_time):
            return None
        if stage.name != self._stage:
            self._stage, self._size = stage.name, SMALLER
        elif self._goes_well:
            self._in_a_row = 0
            self._size = min(self._size / SMALLER, 1.0)
        self._asked += 1
        self._pending = Request(stage, self._asked, self._size)
        return self._pending

    def designed(self, trajectory: Trajectory) -> None:
        """The motion that was asked for."""
        assert self._pending is not None
        self._ready = None if self._stale else (self._pending, trajectory)
        self._pending, self._stale = None, False

    def failed(self, why: str) -> Cause:
        """There is none: why to stop."""
        assert self._pending is not None
        title, self._pending = self._pending.stage.title, None
        return Cause("no_motion", f"no motion can be designed for '{title}': {why}")

    def _be_smaller(self, broken_off: int) -> None:
        """After a motion that was broken off: what was asked for before is not flown."""
        self._broken_off = broken_off
        self._size *= SMALLER
        self._goes_well = False
        self._ready, self._stale = None, self._pending is not None

    def _ask_again(self, held_back: int) -> None:
        """After a motion that was held back: the next starts elsewhere, from what is known now."""
        self._held_back = held_back
        self._in_a_row += 1
        self._goes_well = False
        self.flown.pop()
        self._ready, self._stale = None, self._pending is not None
