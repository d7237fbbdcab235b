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

"""Flies the robot along designed motions and brings it to neutral.

While armed it holds the position, heading and posture of arming, upright. `follow` flies a
trajectory about that station and returns, `hold_back` skips one that has not begun, `end_early`
fades one out, and `break_off` one that the robot does not keep up with. `stop` ramps the last
commands linearly to neutral without any sensor, since a lost sensor may be the cause. It never arms
itself.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..model.parameter_set import ParameterSet
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

# Share of a joint's speed limit at which it approaches the start of a motion.
APPROACH_SHARE = 0.5
# [s] pause at the start of a motion, for the loop to settle after the previous one.
SETTLE = 1.0
# Share of that pause still left when the holding efforts are judged.
DECIDED = 0.1
SURE = 2.0      # standard deviations of position that count as doubt: 95 % of errors are smaller


class PilotOutput(NamedTuple):
    """pwm (k,) [us], wrench (6,) [N, N m] FRD that it produces, joint_torque (n,) [N m], set-points
    mu [rad or m] and mu_dot (n,); neutral: all efforts are zero after a stop."""

    pwm: np.ndarray
    wrench: np.ndarray
    joint_torque: np.ndarray
    mu: np.ndarray
    mu_dot: np.ndarray
    neutral: bool = False


class Station(NamedTuple):
    """Where and when it was armed: position (3,) NED [m] of the state filter, heading [rad], t [s];
    place_variance [m^2] of the filter's position at that time."""

    position: np.ndarray
    heading: float
    t: float
    place_variance: float = 0.0


class Pilot:
    """All times [s] are on the clock of the states; `armed` from `arm` to `stop`."""

    def __init__(self, config: Config, robot: RobotModel, nominal: ParameterSet, curve: Curve,
                 feedforward: Feedforward | None, period: float):
        """nominal: prior whose inertias and friction set the first gains; period [s] of `commands`.
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
        self._mu = self._mu_dot = np.zeros(len(robot.joints))
        self._heading, self.turned = 0.0, 0.0    # [rad] since arming, full turns included
        # ramp to neutral, in periods
        self._left, self._fade = 0, max(1, round(self._settings.ramp / period))
        self.armed = False
        self.station: Station | None = None
        self.cause: Cause | None = None         # of the last stop
        self.trajectory: Trajectory | None = None
        self.broken_off = self.held_back = 0    # trajectories since arming
        self._still: list[np.ndarray] = []      # efforts while holding at a motion's start
        self._motion = self._to_start = self._rest(np.zeros(0))
        self._begin, self._duration, self._lead_in = 0.0, 0.0, 0.0
        self._ends_early = False

    # --- what to do -------------------------------------------------------------------------------

    def arm(self, t: float, state: MotionState) -> None:
        """Hold this position, heading and posture from now on."""
        heading = _heading(state)
        self.station = Station(state.position.copy(), heading, t, state.place_variance)
        self._heading, self.turned = heading, 0.0
        self._gains = self._make_gains()
        self._controller = self._make_controller()
        self._motion, self.trajectory = self._rest(state.mu), None
        self._mu, self._effort = state.mu.copy(), np.zeros(self._effort.size)
        self._mu_dot = np.zeros(self._mu.size)
        self._begin, self._duration, self._lead_in = t, 0.0, 0.0
        self.armed, self.cause = True, None
        self.broken_off = self.held_back = 0

    def follow(self, t: float, trajectory: Trajectory) -> None:
        """Bring the arm to the trajectory's start, then fly the trajectory; raises ParameterError
        if a joint with zero speed limit would have to move."""
        way, self._to_start = approach(self._robot.joints, self.posture, trajectory.posture,
                                       self._approach_speed)
        self._begin, self._lead_in = t, way + SETTLE
        self._still, self._ends_early = [], False
        self._go_along(trajectory)

    def held(self, t: float) -> np.ndarray | None:
        """(C,) mean holding effort at a motion's start, just before it begins; None at all other
        times."""
        left = self._begin + self._lead_in - t
        if self.trajectory is None or not 0.0 < left <= DECIDED * SETTLE or not self._still:
            return None
        return np.mean(self._still, axis=0)

    def hold_back_if(self, t: float,
                     overloaded: Callable[[np.ndarray], Cause | None]) -> Cause | None:
        """Skip the motion that is about to begin if `overloaded` finds a cause in the holding
        effort (C,). Returns that cause, or None if the motion goes ahead."""
        held = self.held(t)
        cause = None if held is None else overloaded(held)
        if cause is not None:
            self.hold_back(t)
        return cause

    def hold_back(self, t: float) -> None:
        """Skip the current trajectory before it begins, and hold at its start."""
        posture = self._motion(self._lead_in).mu
        self._motion, self.trajectory = self._rest(posture), None
        self._begin, self._duration, self._lead_in = t, 0.0, 0.0
        self.held_back += 1

    def break_off(self, t: float) -> bool:
        """`end_early` for a motion that is not followed well; counted in `broken_off`."""
        ends = self.end_early(t, at_once=True)
        self.broken_off += ends
        return ends

    def end_early(self, t: float, at_once: bool = False) -> bool:
        """Fade the current trajectory out about the station, either at once or as soon as fading
        makes no coordinate faster. Returns False if there is none, or it is already ending."""
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
        """Ramp to neutral from the next commands on; only the first cause is kept."""
        if self.armed:
            self.armed, self.cause, self._left = False, cause, self._fade
            self.trajectory = None

    # --- where it is ------------------------------------------------------------------------------

    @property
    def posture(self) -> np.ndarray:
        """(n,) [rad or m] wanted of the joints at the end of the current motion."""
        return self._motion(math.inf).mu

    def following(self, t: float) -> bool:
        """True while it flies a trajectory or approaches its start."""
        return self.armed and self.time_left(t) > 0.0

    def time_left(self, t: float) -> float:
        """[s] until the trajectory ends, 0 afterwards."""
        return max(self._begin + self._duration - t, 0.0)

    def flown(self, t: float) -> float:
        """[s] since the trajectory began, negative during the approach."""
        return t - self._begin - self._lead_in

    def share(self, t: float) -> float:
        """Share of the trajectory that is done, 0 to 1."""
        way = self._duration - self._lead_in
        return min(max(self.flown(t) / way, 0.0), 1.0) if way > 0 else 0.0

    def wanted(self, t: float) -> DesiredMotion:
        """The wanted motion at time t; it must have been armed before."""
        assert self.station is not None
        return placed(self._motion(t - self._begin), self.station.position, self.station.heading)

    def moved(self, state: MotionState) -> np.ndarray | None:
        """(3,) [m] forward, right, down from the station; None before arming."""
        if self.station is None:
            return None
        turn = from_rpy(0.0, 0.0, self.station.heading)
        return turn.T @ (state.position - self.station.position)

    def doubt(self, state: MotionState, ahead: float = 0.0) -> float:
        """[m] horizontal position error of dead reckoning since arming, SURE standard deviations,
        `ahead` [s] from now."""
        if self.station is None:
            return 0.0
        variance = (state.place_variance - self.station.place_variance
                    + ahead * state.place_growth)
        return SURE * math.sqrt(max(variance, 0.0))

    def doubt_after(self, t: float, state: MotionState, duration: float) -> float:
        """`doubt` after a further motion of `duration` [s] that follows the current one."""
        left = self.time_left(t)
        if self.trajectory is not None:     # ends early once its stage is over
            left = min(left, self._settings.design_time
                       + (WAITS[-1] + FADES[-1]) * self.trajectory.ramp)
        return self.doubt(state, left + duration)

    # --- what goes out ----------------------------------------------------------------------------

    def commands(self, t: float, state: MotionState | None) -> PilotOutput | None:
        """Commands at time t; None before it was first armed. Without a state while armed, the
        last commands are kept: stopping is up to the guard."""
        if self.station is None:
            return None
        if not self.armed:
            # Counted in periods: a clock jump may be the cause of the stop.
            self._left = max(self._left - 1, 0)
            share = self._left / self._fade
            return self._given(share * self._effort, share * self._mu_dot, self._left == 0)
        if state is None:
            return self._given(self._effort, self._mu_dot)
        heading = _heading(state)
        self.turned += math.remainder(heading - self._heading, 2 * math.pi)
        self._heading = heading
        wanted = self.wanted(t)
        if self._settings.hold == "depth_heading":
            # No position error: speed is controlled, position is not.
            state = state._replace(position=np.append(wanted.position[:2], state.position[2]))
        self._controller.change_gains(self._gains.at(t))
        command = self._controller.command(t, state)
        come_in = min((t - self.station.t) / self._settings.ramp, 1.0)
        self._mu, self._mu_dot = wanted.mu, wanted.mu_dot
        given = self._given(come_in * np.concatenate([command.effort[:6], command.joint_torque]),
                            wanted.mu_dot)
        # the acting effort, from which a stop ramps down
        self._effort = np.concatenate([given.wrench, given.joint_torque])
        if self.trajectory is not None and 0.0 < self._begin + self._lead_in - t <= SETTLE:
            self._still.append(self._effort)
        return given

    def _given(self, effort: np.ndarray, mu_dot: np.ndarray, neutral: bool = False) -> PilotOutput:
        given = self._allocation.allocate(effort[:6])
        return PilotOutput(given.pwm, given.wrench, effort[6:], self._mu, mu_dot, neutral)

    def _rest(self, mu: np.ndarray) -> Callable[[float], DesiredMotion]:
        place, still = np.concatenate([np.zeros(6), mu]), np.zeros(6 + mu.size)
        motion = desired_motion(place, still, still)
        return lambda elapsed: motion


def _heading(state: MotionState) -> float:
    return math.atan2(state.R_nb[1, 0], state.R_nb[0, 0])
