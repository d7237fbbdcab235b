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

"""Decides when a robot that moves by itself must stop, and why: stale data, limits, subscribers.

Each view is a snapshot; all causes are reported at once, most urgent first. Nothing here knows
topics or threads, or how the robot reacts to a cause (`control/pilot.py`).
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..model.rotations import to_rotation_vector
from .desired_motion import DesiredMotion
from .excitation.limits import MotionLimits
from .state_filter import MotionState

# [s] for which the voltage must be too low: a battery sags briefly at every full thrust.
LOW_FOR = 2.0
SENSOR_NAMES = {"imu": "IMU", "dvl": "DVL", "joint_states": "joint states", "depth": "depth",
                "battery": "battery"}


# Forward, right, down: axes in which dead reckoning drifts; depth is measured.
HORIZONTAL = np.array([1.0, 1.0, 0.0])
DIRECTION_WORDS = ("ahead", "astern"), ("to the right", "to the left"), ("below", "above")


class Cause(NamedTuple):
    """Why the robot stops: code for programs, sentence for the operator."""

    code: str
    sentence: str


@dataclass(frozen=True)
class GuardView:
    """A snapshot of what is known at one moment.

    state: None if unavailable. ages [s] of each sensor, inf before its first message. armed: False
    for a look before arming.
    listeners: number of subscribers of each command topic; other_publishers: of each command
    topic, by name. wanted: the desired motion, None before there is one. Since arming: moved (3,)
    [m] forward, right, down in the axes of arming, doubt [m] the uncertainty of forward and right,
    and turned [rad] the change of heading. depth [m] and voltage [V], NaN if not measured.
    estimator_age [s] of the estimator's last sign of life, and estimator_state, one word.
    heartbeat [s] since the last one. armed_for [s].
    """

    state: MotionState | None
    ages: Mapping[str, float]
    listeners: Mapping[str, int] = field(default_factory=dict)
    other_publishers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    wanted: DesiredMotion | None = None
    moved: np.ndarray | None = None
    turned: float = 0.0
    depth: float = math.nan
    voltage: float = math.nan
    estimator_age: float = 0.0
    estimator_state: str = ""
    heartbeat: float = 0.0
    armed_for: float = 0.0
    doubt: float = 0.0
    armed: bool = True


class MotionGuard:
    """Compares each view with the limits themselves; designed motions keep a margin to them."""

    def __init__(self, config: Config, limits: MotionLimits):
        settings = config.identification
        self._config, self._settings = config, settings
        self._limits, self._halfway = limits, limits.halfway(config)
        self._excitation, self._depth = config.excitation, config.excitation.depth_range
        self._timeouts = {"imu": settings.imu_timeout, "dvl": settings.dvl_timeout,
                          "joint_states": settings.joints_timeout,
                          "depth": settings.depth_timeout}
        if settings.least_voltage:
            self._timeouts["battery"] = settings.battery_timeout
        self._low_since: float | None = None

    def unsteady(self, view: GuardView) -> Cause | None:
        """Why the motion should be broken off: something has used half the margin between a
        designed motion and the point where `causes` stops the robot. None if the motion is
        followed well. Position doubt is ignored, since a smaller motion would not reduce it."""
        return next(self._off(replace(view, doubt=0.0), self._halfway, 0.5), None)

    def overloaded(self, effort: np.ndarray) -> Cause | None:
        """The actuator whose holding effort at a motion's start, of effort (C,), most exceeds what
        the design allows the whole motion; None if none does. Actuators that are not commanded by
        effort are skipped."""
        settings = self._settings
        beyond = self._limits.beyond_at_rest(effort, self._config)
        excess = {name: use for name, use in beyond.items() if (
            settings.joint_output == "effort" if name.endswith(" effort")
            else settings.thruster_output != "none")}
        if not excess:
            return None
        worst = max(excess, key=lambda name: excess[name])
        name = worst.removesuffix(" effort")
        return Cause("overloaded", f"{name} needs {excess[worst]:.0%} of its limit to hold the "
                                   "robot still at the start of the motion, more than "
                                   "excitation.torque_share and .thrust_share allow the whole "
                                   "motion")

    def causes(self, t: float, view: GuardView) -> list[Cause]:
        """All causes to stop at time t [s] on a monotonic clock; empty to continue."""
        found = [*self._silent(view), *self._command_topics(view)]
        if view.state is None and not any(cause.code.startswith("stale") for cause in found):
            found.append(Cause("no_state", "no motion state: the IMU or the joint states publish "
                                           "messages with old timestamps, or the first readings "
                                           "are missing. Check the clocks, and that the computer "
                                           "keeps up"))
        return [*found, *self._off(view, self._limits, 1.0), *self._battery(t, view),
                *self._agreement(view)]

    def _off(self, view: GuardView, limits: MotionLimits, share: float) -> Iterator[Cause]:
        """Causes for limits exceeded, and for tracking errors beyond this share of their limit."""
        if view.state is not None:
            yield from self._outside(view, view.state, limits, share)
            yield from self._arm(view.state, limits)
            if view.wanted is not None:
                yield from self._astray(view.state, view.wanted, share)

    # --- sensors, command topics ------------------------------------------------------------------

    def _silent(self, view: GuardView) -> Iterator[Cause]:
        for role, age in view.ages.items():
            limit = self._timeouts.get(role)
            if limit is not None and not age <= limit:
                since = f"for {age:.2f} s" if math.isfinite(age) else "yet"
                yield Cause(f"stale_{role}",
                            f"no usable {SENSOR_NAMES[role]} message {since};"
                            f" the limit is {limit:g} s. Check the sensor")

    def _command_topics(self, view: GuardView) -> Iterator[Cause]:
        for topic, count in view.listeners.items():
            if count == 0:
                yield Cause("no_subscriber", f"'{topic}' has no subscriber: start its driver")
        for topic, names in view.other_publishers.items():
            if names:
                yield Cause("other_publisher", f"{', '.join(names)} also publishes on '{topic}': "
                                               "stop it, or do not arm")

    # --- limits -----------------------------------------------------------------------------------

    def _outside(self, view: GuardView, state: MotionState, limits: MotionLimits,
                 share: float) -> Iterator[Cause]:
        tilt = math.acos(min(max(float(state.R_nb[2, 2]), -1.0), 1.0))
        if not tilt <= limits.tilt:
            yield Cause("tilt", f"tilted by {math.degrees(tilt):.0f} deg; the limit is "
                                f"{math.degrees(limits.tilt):.0f} deg")
        low, high = self._depth
        if math.isfinite(view.depth) and not low <= view.depth <= high:
            yield Cause("depth", f"at a depth of {view.depth:.2f} m; the limits are {low:g} and "
                                 f"{high:g} m")
        if view.moved is not None:
            doubt = view.doubt * HORIZONTAL
            # An axis without room stands still, but for what station keeping needs.
            room = np.maximum(limits.high[:3], share * self._excitation.position_margin)
            for k in np.flatnonzero(~(np.abs(view.moved) + doubt <= room)):
                way = DIRECTION_WORDS[k][int(view.moved[k] < 0)]
                give_or_take = (f", give or take {doubt[k]:.2f} m of drift from DVL noise since "
                                "then" if doubt[k] > 0.01 else "")
                yield Cause("box", f"{abs(view.moved[k]):.2f} m {way} of where it was armed"
                                   f"{give_or_take}; the box ends at {room[k]:g} m. Arm "
                                   "again where it should be")
        if not abs(view.turned) <= max(limits.high[5], share * self._excitation.attitude_margin):
            yield Cause("tether", f"{view.turned / (2 * math.pi):.1f} turns since it was armed; "
                                  f"the tether's limit is "
                                  f"{limits.high[5] / (2 * math.pi):g}")
        speed, rate = (float(np.linalg.norm(part)) for part in (state.nu[:3], state.nu[3:]))
        overspeed = 1.0 + share * (self._settings.overspeed - 1.0)
        fastest, quickest = overspeed * limits.speed, overspeed * limits.rate
        if not speed <= fastest:
            yield Cause("speed", f"moves at {speed:.2f} m/s; the limit is {fastest:g} m/s")
        if not rate <= quickest:
            yield Cause("rate", f"turns at {rate:.2f} rad/s; the limit is {quickest:g} rad/s")

    def _arm(self, state: MotionState, limits: MotionLimits) -> Iterator[Cause]:
        low, high = limits.low[6:], limits.high[6:]
        within = (state.mu >= low) & (state.mu <= high)
        for k in np.flatnonzero(~within):
            yield Cause("joint_range", f"joint {limits.joints[k]} is at {state.mu[k]:.2f}; its "
                                       f"limits are {low[k]:.2f} and {high[k]:.2f}")
        for k in np.flatnonzero(~(np.abs(state.mu_dot) <= limits.joint_speed)):
            yield Cause("joint_speed", f"joint {limits.joints[k]} moves at {state.mu_dot[k]:.2f} "
                                       f"/s; the limit is {limits.joint_speed[k]:.2f} /s")

    def _astray(self, state: MotionState, wanted: DesiredMotion,
                share: float) -> Iterator[Cause]:
        """The robot does not follow: a wrong sign, a dead thruster or joint, a snag."""
        settings, joints = self._settings, self._limits.joints
        if settings.thruster_output != "none":
            yield from self._vehicle_astray(state, wanted, share)
        error_mu = np.abs(wanted.mu - state.mu)
        most = share * settings.joint_error * self._limits.radian
        for k in np.flatnonzero(~(error_mu <= most)):
            yield Cause("astray", f"joint {joints[k]} is {error_mu[k]:.2f} from where it "
                                  f"should be; the limit is {most[k]:.3g}. Check that it "
                                  "follows its set-points")

    def _vehicle_astray(self, state: MotionState, wanted: DesiredMotion,
                        share: float) -> Iterator[Cause]:
        settings = self._settings
        if settings.hold == "station":
            error = float(np.linalg.norm(wanted.position - state.position))
            most = share * settings.position_error
            if not error <= most:
                yield Cause("astray", f"{error:.2f} m from where it should be; the limit is "
                                      f"{most:g} m. Check that every thruster turns "
                                      "the right way")
        turn = float(np.linalg.norm(to_rotation_vector(state.R_nb.T @ wanted.R_nb)))
        most = share * settings.attitude_error
        if not turn <= most:
            yield Cause("astray", f"{math.degrees(turn):.0f} deg from the attitude that it should "
                                  f"have; the limit is {math.degrees(most):.0f} "
                                  "deg. Check that every thruster turns the right way")

    def _battery(self, t: float, view: GuardView) -> Iterator[Cause]:
        least = self._settings.least_voltage
        if not view.voltage < least:        # NaN: not measured
            self._low_since = None
            return
        if not view.armed:      # nothing moves yet: no full thrust explains a low voltage
            self._low_since = None
            yield Cause("battery", f"battery at {view.voltage:.1f} V; the limit is {least:g} V")
            return
        self._low_since = t if self._low_since is None else self._low_since
        if t - self._low_since >= LOW_FOR:
            yield Cause("battery", f"battery at {view.voltage:.1f} V for {LOW_FOR:g} s; the limit "
                                   f"is {least:g} V")

    # --- estimator, operator ----------------------------------------------------------------------

    def _agreement(self, view: GuardView) -> Iterator[Cause]:
        settings = self._settings
        if not view.estimator_age <= settings.estimator_timeout:
            since = (f"for {view.estimator_age:.1f} s" if math.isfinite(view.estimator_age)
                     else "yet")
            yield Cause("estimator_silent", f"no message from the estimator {since}; the limit "
                                            f"is {settings.estimator_timeout:g} s")
        elif view.estimator_state == "failed":
            yield Cause("estimator_failed", "the estimator reports that it has failed; see its "
                                            "~/status")
        if settings.heartbeat and not view.heartbeat <= settings.heartbeat:
            yield Cause("heartbeat", f"no heartbeat for {view.heartbeat:.2f} s; the limit is "
                                     f"{settings.heartbeat:g} s")
        if not view.armed_for <= settings.longest:
            yield Cause("longest", f"armed for {settings.longest:g} s, the longest time allowed; "
                                   "arm again to continue")
