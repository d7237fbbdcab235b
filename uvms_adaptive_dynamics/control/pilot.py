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

"""Flies the robot along designed motions and brings it to neutral: what goes out at each moment.

Armed it holds the place, heading and posture in which it was armed, upright; `follow` sends it
along a trajectory about that place and back, `hold_back` leaves one out that has not begun,
`end_early` lets one fade away, and `break_off` one that it does not keep up with. `stop` takes the
commands in a straight line to neutral, by the last commands alone, since a sensor may be what is
lost. It never arms itself.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..model.parameter_file import ParameterSet
from ..model.robot import RobotModel
from ..model.rotations import from_rpy
from .allocation import Curve, allocation_of
from .desired_motion import DesiredMotion, desired_motion, placed
from .excitation.early_end import FADES, WAITS, ended_early
from .excitation.trajectory import Trajectory, approach
from .feedforward import Feedforward, effort_limits
from .gain_schedule import GainSchedule
from .motion_controller import MotionController
from .motion_guard import Cause
from .state_filter import MotionState

# Share of a joint's speed limit at which it goes to where a motion starts.
APPROACH_SHARE = 0.5
# [s] that a motion is waited for at its start: the loop comes to rest from the one before.
SETTLE = 1.0
# Share of that time which is left when the efforts are looked at that hold it there.
DECIDED = 0.1
SURE = 2.0      # deviations of the place that are counted: 95 % of the time it is nearer


class Commands(NamedTuple):
    """pwm (k,) [us], wrench (6,) [N, N m] FRD that it gives, joint_torque (n,) [N m], mu [rad or m]
    and mu_dot (n,) set-points; neutral: nothing acts any more."""

    pwm: np.ndarray
    wrench: np.ndarray
    joint_torque: np.ndarray
    mu: np.ndarray
    mu_dot: np.ndarray
    neutral: bool = False


class Station(NamedTuple):
    """Where it was armed: position (3,) NED [m] of the state filter, heading [rad], time [s];
    place_variance [m^2] of the filter's place by then."""

    position: np.ndarray
    heading: float
    t: float
    place_variance: float = 0.0


class Pilot:
    """Times [s] are of one clock, that of the states; `armed` from `arm` to `stop`."""

    def __init__(self, config: Config, robot: RobotModel, nominal: ParameterSet, curve: Curve,
                 feedforward: Feedforward | None, period: float):
        """nominal: by whose inertias and friction the gains are set; period [s] of `commands`.
        Raises ConfigError for thrusters that cannot be commanded."""
        self._settings, self._robot = config.identification, robot
        arm = robot.arm
        speed = np.array(config.excitation.joint_speed or
                         (() if arm is None else arm.speed_limits), float)
        self._approach_speed = APPROACH_SHARE * speed
        self._allocation = allocation_of(config, curve)
        settings, limits = self._settings, effort_limits(robot, config)
        self._make_gains = lambda: GainSchedule(nominal, robot.joints, settings.bandwidth,
                                                settings.known_bandwidth, feedforward)
        self._gains = self._make_gains()
        self._make_controller = lambda: MotionController(
            config, feedforward, self._gains.present, self.wanted, curve, limits, period,
            cautious=True)
        self._controller = self._make_controller()
        self._effort = np.zeros(limits.size)
        self._mu = np.zeros(len(robot.joints))
        self._heading, self.turned = 0.0, 0.0    # [rad] since it was armed, full turns included
        # of the way to neutral, in periods
        self._left, self._fade = 0, max(1, round(self._settings.ramp / period))
        self.armed = False
        self.station: Station | None = None
        self.cause: Cause | None = None         # of the last stop
        self.trajectory: Trajectory | None = None
        self.broken_off = self.held_back = 0    # trajectories since it was armed
        self._still: list[np.ndarray] = []      # efforts while it waits where a motion starts
        self._motion = self._to_start = self._rest(np.zeros(0))
        self._begin, self._duration, self._lead_in = 0.0, 0.0, 0.0
        self._ends_early = False

    # --- what to do -------------------------------------------------------------------------------

    def arm(self, t: float, state: MotionState) -> None:
        """Hold this place, heading and posture from now on."""
        heading = _heading(state)
        self.station = Station(state.position.copy(), heading, t, state.place_variance)
        self._heading, self.turned = heading, 0.0
        self._gains = self._make_gains()
        self._controller = self._make_controller()
        self._motion, self.trajectory = self._rest(state.mu), None
        self._mu, self._effort = state.mu.copy(), np.zeros(self._effort.size)
        self._begin, self._duration, self._lead_in = t, 0.0, 0.0
        self.armed, self.cause = True, None
        self.broken_off = self.held_back = 0

    def follow(self, t: float, trajectory: Trajectory) -> None:
        """Bring the arm to where the trajectory starts, then go along it; raises ParameterError
        where a joint without speed would have to move."""
        posture = self._motion(math.inf).mu
        way, self._to_start = approach(self._robot.joints, posture, trajectory.posture,
                                       self._approach_speed)
        self._begin, self._lead_in = t, way + SETTLE
        self._still, self._ends_early = [], False
        self._go_along(trajectory)

    def held(self, t: float) -> np.ndarray | None:
        """(C,) mean effort that holds it where a motion starts, when that is about to; None at all
        other times."""
        left = self._begin + self._lead_in - t
        if self.trajectory is None or not 0.0 < left <= DECIDED * SETTLE or not self._still:
            return None
        return np.mean(self._still, axis=0)

    def hold_back_if(self, t: float,
                     overloaded: Callable[[np.ndarray], Cause | None]) -> Cause | None:
        """Leave out a motion that is about to begin where holding still there is too much by what
        `overloaded` makes of the effort (C,); its cause, None where the motion goes on."""
        held = self.held(t)
        cause = None if held is None else overloaded(held)
        if cause is not None:
            self.hold_back(t)
        return cause

    def hold_back(self, t: float) -> None:
        """Leave the trajectory at hand out, before it has begun, and stay where it would have."""
        posture = self._motion(self._lead_in).mu
        self._motion, self.trajectory = self._rest(posture), None
        self._begin, self._duration, self._lead_in = t, 0.0, 0.0
        self.held_back += 1

    def break_off(self, t: float) -> bool:
        """`end_early` for a motion that is not followed well, which counts."""
        ends = self.end_early(t, at_once=True)
        self.broken_off += ends
        return ends

    def end_early(self, t: float, at_once: bool = False) -> bool:
        """End the trajectory at hand early, as it would have ended: its motion fades away about the
        station while it goes on, at once or when that makes nothing faster. False where there is
        none, or it ends already."""
        flown = self.flown(t)
        if self.trajectory is None or not self.following(t) or flown < 0.0 or (
                self._ends_early and not at_once):
            return False
        ended = ended_early(self.trajectory, flown, at_once)
        if ended is None:
            return False
        self._go_along(ended)
        self._ends_early = True
        return True

    def _go_along(self, trajectory: Trajectory) -> None:
        to_start, lead_in = self._to_start, self._lead_in

        def motion(elapsed: float) -> DesiredMotion:
            return (to_start(elapsed) if elapsed < lead_in else
                    trajectory.at(min(elapsed - lead_in, trajectory.duration)))
        self._motion, self.trajectory = motion, trajectory
        self._duration = lead_in + trajectory.duration

    def stop(self, cause: Cause) -> None:
        """To neutral, from the next commands on; the first cause counts."""
        if self.armed:
            self.armed, self.cause, self._left = False, cause, self._fade
            self.trajectory = None

    # --- where it is ------------------------------------------------------------------------------

    def following(self, t: float) -> bool:
        """Whether it is on its way along a trajectory."""
        return self.armed and self.time_left(t) > 0.0

    def time_left(self, t: float) -> float:
        """[s] until the trajectory ends, at least 0."""
        return max(self._begin + self._duration - t, 0.0)

    def flown(self, t: float) -> float:
        """[s] since the trajectory began, negative on the way to its start."""
        return t - self._begin - self._lead_in

    def share(self, t: float) -> float:
        """Share of the trajectory that is done."""
        way = self._duration - self._lead_in
        return min(max(self.flown(t) / way, 0.0), 1.0) if way > 0 else 0.0

    def wanted(self, t: float) -> DesiredMotion:
        """The motion wanted at time t; it must have been armed."""
        assert self.station is not None
        return placed(self._motion(t - self._begin), self.station.position, self.station.heading)

    def moved(self, state: MotionState) -> np.ndarray | None:
        """(3,) [m] forward, right, down of the station, None before there is one."""
        if self.station is None:
            return None
        turn = from_rpy(0.0, 0.0, self.station.heading)
        return turn.T @ (state.position - self.station.position)

    def doubt(self, state: MotionState, ahead: float = 0.0) -> float:
        """[m] horizontally, SURE deviations of how far it may be from where dead reckoning has it
        since it was armed, `ahead` [s] from now."""
        if self.station is None:
            return 0.0
        variance = (state.place_variance - self.station.place_variance
                    + ahead * state.place_growth)
        return SURE * math.sqrt(max(variance, 0.0))

    def doubt_after(self, t: float, state: MotionState, duration: float) -> float:
        """The same when a motion of `duration` [s], behind the one at hand, has been flown."""
        left = self.time_left(t)
        if self.trajectory is not None:     # of a stage that is over, it ends early
            left = min(left, self._settings.design_time
                       + (WAITS[-1] + FADES[-1]) * self.trajectory.ramp)
        return self.doubt(state, left + duration)

    # --- what goes out ----------------------------------------------------------------------------

    def commands(self, t: float, state: MotionState | None) -> Commands | None:
        """What goes out at time t; None before it was armed for the first time. Armed without a
        state the last commands are kept: it is the guard's to stop it."""
        if self.station is None:
            return None
        if not self.armed:
            # by periods: a clock that jumps may be why it stops
            self._left = max(self._left - 1, 0)
            return self._given(self._left / self._fade * self._effort, np.zeros(self._mu.size),
                               self._left == 0)
        if state is None:
            return self._given(self._effort, np.zeros(self._mu.size))
        heading = _heading(state)
        self.turned += math.remainder(heading - self._heading, 2 * math.pi)
        self._heading = heading
        wanted = self.wanted(t)
        if self._settings.hold == "depth_heading":
            # Without an error there: the place is not held, its speed is.
            state = state._replace(position=np.append(wanted.position[:2], state.position[2]))
        self._controller.gains = self._gains.at(t)
        command = self._controller.command(t, state)
        come_in = min((t - self.station.t) / self._settings.ramp, 1.0)
        self._mu = wanted.mu
        given = self._given(come_in * np.concatenate([command.effort[:6], command.joint_torque]),
                            wanted.mu_dot)
        # what acts, from where a stop goes down
        self._effort = np.concatenate([given.wrench, given.joint_torque])
        if self.trajectory is not None and 0.0 < self._begin + self._lead_in - t <= SETTLE:
            self._still.append(self._effort)
        return given

    def _given(self, effort: np.ndarray, mu_dot: np.ndarray, neutral: bool = False) -> Commands:
        given = self._allocation.allocate(effort[:6])
        return Commands(given.pwm, given.wrench, effort[6:], self._mu, mu_dot, neutral)

    def _rest(self, mu: np.ndarray) -> Callable[[float], DesiredMotion]:
        place, still = np.concatenate([np.zeros(6), mu]), np.zeros(6 + mu.size)
        motion = desired_motion(place, still, still)
        return lambda elapsed: motion


def _heading(state: MotionState) -> float:
    return math.atan2(state.R_nb[1, 0], state.R_nb[0, 0])
