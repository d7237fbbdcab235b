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

"""Guides a robot through the stages of a schedule: requests, flies and ends their motions.

The estimator decides when a stage is done (`control/stage_runner.py`); the guide requests motions
that excite the current stage's parameters and has the pilot fly them. The motion of a finished
stage continues until the next stage's motion is designed, and then ends early. The node and the
offline study share this class.
"""
from __future__ import annotations

from typing import NamedTuple

from .excitation.trajectory import Trajectory
from .motion_guard import Cause
from .pilot import Pilot

# Size of a channel's first motion, and factor on the size after a motion was broken off (its
# inverse after one that was not). Below the smallest size, the robot itself must be at fault.
SMALLER, SMALLEST_SIZE = 0.5, 0.1
# Motions in a row that are held back before they begin. After that many the robot is too weak for
# what is asked of it, or its estimate does not improve.
HELD_BACK = 3


class StageView(NamedTuple):
    """A stage as the guide sees it: name; title in plain words; move: patterns of channels; kind:
    'motion' or 'tilt'; complete: this is the last stage and the schedule is complete."""

    name: str
    title: str
    move: tuple[str, ...]
    kind: str = "motion"
    complete: bool = False


class Request(NamedTuple):
    """A motion to design for a stage. number: its count since arming, used as the seed; size: share
    of the limits of tilt, speeds and rates that it may use; doubt [m]: horizontal uncertainty of
    the robot's position by its end; posture (n,): of the arm before it."""

    stage: StageView
    number: int
    size: float = 1.0
    doubt: float = 0.0
    posture: tuple[float, ...] = ()


class Guide:
    """One per arming; times [s] are on the pilot's clock."""

    def __init__(self, pilot: Pilot, design_time: float):
        """design_time [s]: how long a design may take; the next one starts this long before the
        current motion ends."""
        self._pilot, self._design_time = pilot, design_time
        self._pending: Request | None = None
        self._ready: tuple[Request, Trajectory] | None = None
        self._asked = 0
        self._sizes: dict[str, float] = {}      # of each channel's next motion
        self._flies: Request | None = None      # the last motion that was not held back
        self._goes_well = False         # it was not broken off, and the sizes do not count it yet
        self._broken_off, self._held_back = pilot.broken_off, pilot.held_back
        self._in_a_row = 0              # motions held back
        self._stale = False             # the pending design was requested before a break-off
        self._stage = ""                # name of the stage at the last `next`
        self.flown: list[str] = []      # stage name of each motion

    @property
    def designing(self) -> bool:
        """Whether a design is pending."""
        return self._pending is not None

    def stage_flown(self, t: float) -> str:
        """Name of the stage whose motion is being flown at time t; '' during the approach to its
        start, and while the robot holds."""
        flies = self.flown and self._pilot.following(t) and self._pilot.flown(t) >= 0.0
        return self.flown[-1] if flies else ""

    def next(self, t: float, stage: StageView) -> Request | Cause | None:
        """Advance in this stage at time t. Returns a motion to design now, why to stop, or None."""
        pilot = self._pilot
        if not pilot.armed:
            return None
        if stage.complete:
            return Cause("done", "the schedule is complete")
        self._stage = stage.name
        if pilot.broken_off > self._broken_off:
            self._be_smaller(pilot.broken_off)
        if pilot.held_back > self._held_back:
            self._ask_again(pilot.held_back)
        if self._in_a_row >= HELD_BACK:
            return Cause("overloaded", f"{HELD_BACK} motions in a row were held back: holding "
                                       "still at their start takes more effort than the limits "
                                       "allow a whole motion. Check excitation.torque_share, "
                                       ".thrust_share, .joint_low and .joint_high, and the arm's "
                                       "payload")
        if min(self._sizes.values(), default=SMALLER) < SMALLEST_SIZE:
            return Cause("astray", f"{pilot.broken_off} motions were broken off, and the next "
                                   f"would be smaller than {SMALLEST_SIZE:.0%} of the limits. "
                                   "Check that every thruster and joint follows its commands")
        if self._ready is not None and self._ready[0].stage.name != stage.name:
            self._ready = None      # designed for a finished stage
        if not stage.move:
            return None             # this stage only needs the robot to hold still
        if self._ready is not None and not pilot.following(t):
            request, trajectory = self._ready
            self._ready = None
            pilot.follow(t, trajectory)
            self._flies, self._goes_well = request, True
            self.flown.append(request.stage.name)
        own = bool(self.flown) and self.flown[-1] == stage.name
        if self._ready is not None and not own:
            pilot.end_early(t)
        if self._pending is not None or self._ready is not None or (
                own and pilot.time_left(t) > self._design_time):
            return None
        if self._goes_well and pilot.flown(t) > 0.0:
            self._be_larger()
        self._asked += 1
        size = min(self._sizes.get(channel, SMALLER) for channel in stage.move)
        self._pending = Request(stage, self._asked, size, posture=tuple(pilot.posture.tolist()))
        return self._pending

    def designed(self, trajectory: Trajectory) -> None:
        """Take the requested motion."""
        assert self._pending is not None
        self._ready = None if self._stale else (self._pending, trajectory)
        self._pending, self._stale = None, False

    def failed(self, why: str) -> Cause | None:
        """The requested motion cannot be designed: returns the cause to stop, or None if it would
        not be flown any more."""
        assert self._pending is not None
        stage, unwanted = self._pending.stage, self._stale
        self._pending, self._stale = None, False
        if unwanted or stage.name != self._stage:
            return None
        return Cause("no_motion", f"cannot design a motion for '{stage.title}': {why}")

    def _be_larger(self) -> None:
        """Let the channels of a motion that goes well move more from now on."""
        assert self._flies is not None
        self._in_a_row, self._goes_well = 0, False
        larger = min(self._flies.size / SMALLER, 1.0)
        for channel in self._flies.stage.move:
            self._sizes[channel] = max(self._sizes.get(channel, SMALLER), larger)

    def _be_smaller(self, broken_off: int) -> None:
        """Shrink the next motion of these channels after one was broken off; discard the pending
        design."""
        assert self._flies is not None
        self._broken_off = broken_off
        self._sizes |= dict.fromkeys(self._flies.stage.move, self._flies.size * SMALLER)
        self._goes_well = False
        self._ready, self._stale = None, self._pending is not None

    def _ask_again(self, held_back: int) -> None:
        """Request another motion after one was held back: it starts elsewhere, from the present
        estimate."""
        self._held_back = held_back
        self._in_a_row += 1
        self._goes_well = False
        self.flown.pop()
        self._ready, self._stale = None, self._pending is not None
