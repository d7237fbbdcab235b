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

"""Clock faults: of one sensor, of all, of the host, and timestamps that come from no clock."""
from __future__ import annotations

from dataclasses import replace

from ...simulation.faults.clocks import (
    Clock,
    HeaderAdded,
    HostStep,
    Looped,
    SinceBoot,
    SingleStamps,
    Unstamped,
    WholeSeconds,
)
from ...simulation.faults.delivery import Lost
from .case import ANY, SIMULATED_ROLES, Allowed, Case, Expected

CLOCK_OFFSETS = (0.1, 0.3, 0.9, 5.0, -0.8, -5.0, -30.0)
# Commands with a header; in the default recording they have none.
STAMPED = {"given": (HeaderAdded("thrusters"),),
           "settings": {"thrusters.type": "mavros_msgs/msg/RCOut"}}
# Clocks are compared over seconds: the delay of a single message is no offset.
OFF_LIMITS = Allowed(samples=0.95, vehicle=0.95, arm=0.95, loss=0.01, detect=10.0, recover=None)
# If timestamps tell nothing about latency, it must be guessed: the DVL's 0.1 s may be missed
# entirely, and then one row in a hundred is off as far as a wrong one.
GUESSED = replace(OFF_LIMITS, loss=0.03, wrong=0.02)
# A clock ahead by the sensor's delay stamps messages at reception: only the motion reveals that.
BY_MOTION = replace(GUESSED, detect=45.0)
# A clock has drifted once it has gained what synchronized clocks may, 0.03 s.
DRIFT_LIMITS = replace(GUESSED, detect=20.0)
STEP_LIMITS = replace(OFF_LIMITS, recover=2.0)
WORDS = ("clock|stamp",)
ALL = ("clock",)        # of a sentence about no particular sensor
ALIGNED = "aligned by receive times; rows of all sensors continue"


def clock_cases(onset: float) -> list[Case]:
    """The cases of kind 'clock'; faults in the middle of the run begin at `onset` [s]."""
    return [*_offsets(), *_no_clock(), *_single(), *_changing(onset), *_everything(onset)]


def _of(role: str) -> dict:
    return STAMPED if role == "thrusters" else {}


def _offsets() -> list[Case]:
    found = []
    for role in SIMULATED_ROLES:
        for offset in CLOCK_OFFSETS:
            side = "ahead" if offset > 0 else "behind"
            found.append(Case(
                f"{role} clock {abs(offset):g} s {side}", "clock", ALIGNED,
                (Clock(role, offset=offset),), Expected(role, WORDS, offset),
                _limits(role, offset), **_of(role),
                short=(role, offset) == ("dvl", 5.0)))
    return found


def _limits(role: str, offset: float) -> Allowed:
    if (role, offset) == ("dvl", 0.1):
        return BY_MOTION
    return GUESSED if role in ("dvl", "imu") else OFF_LIMITS


def _no_clock() -> list[Case]:
    boot = [Case(f"{role} stamps from 1970", "clock", ALIGNED, (SinceBoot(role),),
                 Expected(role, WORDS), GUESSED, **_of(role))
            for role in SIMULATED_ROLES]
    sensors = [role for role in SIMULATED_ROLES if role != "thrusters"]
    zero = [Case(f"{role} stamps of zero", "clock",
                 "uses the receive time less a usual transport delay", (Unstamped(role),),
                 Expected(role, WORDS), GUESSED) for role in sensors]
    whole = [Case(f"{role} stamps in whole seconds", "clock",
                  "uses the receive time less a usual transport delay", (WholeSeconds(role),),
                  Expected(role, WORDS), GUESSED) for role in sensors]
    return boot + zero + whole


def _single() -> list[Case]:
    return [Case(f"{role} single stamps 0.9 s ahead", "clock", "only that message is rejected",
                 (SingleStamps(role, 1.0, offset=0.9),), None, OFF_LIMITS, **_of(role),
                 short=role == "imu") for role in SIMULATED_ROLES]


def _changing(onset: float) -> list[Case]:
    return [
        Case("dvl clock steps by 2 s", "clock", "realigned; only its own readings wait",
             (Clock("dvl", onset, offset=2.0),), Expected("dvl", WORDS, 2.0), STEP_LIMITS),
        Case("imu clock steps by -2 s", "clock", "realigned; only its own readings wait",
             (Clock("imu", onset, offset=-2.0),), Expected("imu", WORDS, 2.0), STEP_LIMITS),
        Case("joint_states clock drifts by 5 ms/s", "clock", "followed",
             (Clock("joint_states", onset, drift=0.005),), Expected("joint_states", WORDS),
             OFF_LIMITS),
        *(Case(f"{role} clock {'gains' if drift > 0 else 'loses'} {1e3 * abs(drift):g} ms/s from "
               "the start", "clock", "followed", (Clock(role, drift=drift),),
               Expected(role, WORDS), DRIFT_LIMITS)
          for role, drift in (("imu", -0.005), ("imu", 0.005), ("imu", -0.02), ("dvl", -0.005),
                              ("dvl", 0.005), ("depth", -0.005), ("joint_states", -0.005))),
    ]


def _everything(onset: float) -> list[Case]:
    """All clocks at once: the sensors still agree with each other."""
    host = [Case(f"host clock steps by {step:+g} s" + (", stamps too" if stamps else ""), "clock",
                 "followed; samples continue within a second",
                 (HostStep("", onset, step=step, stamps=stamps),),
                 Expected(ANY, ALL) if abs(step) > 1 else None, STEP_LIMITS,
                 others=(Expected(ANY, ALL),), short=step == -30.0 and not stamps)
            for stamps in (False, True) for step in (0.3, -0.3, 30.0, -30.0)]
    return host + [
        Case("simulated stamps on wall-clock reception", "clock",
             "the timestamps' clock is used; samples within a second", (SinceBoot(""),),
             Expected(ANY, ALL), OFF_LIMITS, others=(Expected(ANY, ALL),), short=True),
        Case("bag looped", "clock", "restarts when the timestamps jump back",
             (Looped("", 1.5 * onset),), Expected(ANY, ("clock|loop",)), STEP_LIMITS,
             others=(Expected(ANY, ALL),)),
        # (5 s of the clean recording are missing.)
        Case("two runs with an hour between them", "clock", "restarts with the second one",
             (Lost("", onset, onset + 5.0), HostStep("", onset, step=3600.0, stamps=True)),
             Expected(ANY, ALL), replace(STEP_LIMITS, samples=0.9, vehicle=0.9, arm=0.9),
             others=(Expected(ANY, ALL),)),
    ]
