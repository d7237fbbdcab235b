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

"""Glitches and outages: a sensor is wrong for 0.6 s, or silent for a while."""
from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...signals.decode.input_state import SILENCE_TIMEOUTS
from ...simulation.faults.delivery import Frozen, Lost
from ...simulation.faults.values import (
    LaggingField,
    altered,
    filled,
    headed,
    huge,
    one_of,
    plus,
    rotated,
    times,
)
from .case import NONE, SIMULATED_ROLES, TOUCHES_ARM, TOUCHES_VEHICLE, Allowed, Case, Expected

SHORT_GLITCH, LONG_GLITCH = 0.6, 10.0  # [s]
OUTAGES = (0.1, 0.5, 2.0, 10.0, 30.0)   # [s]
# Rejected data cost only their own time; rows return within 3 s, including the filters' windows.
REJECTED_LIMITS = Allowed(wrong=NONE, recover=3.0, rmse=1.3)
# 2 s after the silence, plus half a window of the DVL's filter (1 s).
SILENT = Allowed(wrong=NONE, recover=3.0)
TILT_UNKNOWN = (
    "After some seconds the tilt of the vehicle is unknown: the predicted attitude is off by 7 "
    "degrees, six times the noise of axis_d. Rows dominated by the tilt error (all joints but the "
    "last) are not learnt from, so that 90 % of the arm's rows count with 10 s of silence, 70 % "
    "with 30 s; with them .3 and 1.5 % of all rows would be wrong. Predictions continue for all.")
REJECTED = ("reject|refus|wrong|implausib|outlier|spike|finite|range|fit|frozen|identical|restart",)
REJECTED_AND_MASKED = "rejected; rows reconstructed from it are masked, filters restart"
HUGE = (1e6, 1e100, 1e200)
FIELD_ROLES = {"gyro": "imu", "accelerometer": "imu", "orientation": "imu", "velocity": "dvl",
               "pressure": "depth", "position": "joint_states", "speed": "joint_states",
               "effort": "joint_states", "commands": "thrusters"}
# Slow roles, whose every message is used: at ten a second or fewer, 0.6 s are too short to prove a
# fault unless the number itself is impossible.
SLOW_ROLES = ("dvl", "depth")


def glitch_cases(onset: float) -> list[Case]:
    """The cases of kind 'glitch', from `onset` [s] on."""
    end = onset + SHORT_GLITCH
    wrong = [
        ("gyro +2 rad/s", "gyro", plus(2.0)), ("gyro -2 rad/s", "gyro", plus(-2.0)),
        ("gyro in deg/s", "gyro", times(math.degrees(1.0))),
        ("accelerometer +5 m/s^2", "accelerometer", plus(5.0)),
        ("attitude turned by 30 degrees", "orientation", rotated(np.radians(30.0), (1, 1, 1))),
        ("dvl x 3", "velocity", times(3.0)),
    ]
    found = [Case(f"{name} for {SHORT_GLITCH} s", "glitch", REJECTED_AND_MASKED,
                  (altered(f, change, onset, end),),
                  Expected(FIELD_ROLES[f], REJECTED), REJECTED_LIMITS,
                  short=name == "dvl x 3")
             for name, f, change in wrong]
    found += [Case(f"{name} for {LONG_GLITCH:g} s", "glitch", REJECTED_AND_MASKED,
                   (altered(f, change, onset, onset + LONG_GLITCH),),
                   Expected(FIELD_ROLES[f], REJECTED), replace(REJECTED_LIMITS, rmse=None))
              for name, f, change in wrong]
    found += [Case(f"{role} frozen for {SHORT_GLITCH} s", "glitch", "masked from when it froze",
                   (Frozen(role, onset, end),),
                   None if role in SLOW_ROLES else Expected(role, ("frozen|identical",)),
                   REJECTED_LIMITS)
              for role in SIMULATED_ROLES if role != "thrusters"]
    found += [Case(f"{role} frozen for 3 s", "glitch", "masked from when it froze",
                   (Frozen(role, onset, onset + 3.0),), Expected(role, ("frozen|identical",)),
                   REJECTED_LIMITS)
              for role in ("imu", "dvl", "joint_states")]
    found += [Case(f"{f} NaN for {SHORT_GLITCH} s", "glitch", "each message is rejected",
                   (altered(f, filled(math.nan), onset, end),), Expected(role, ("finite|NaN",)),
                   REJECTED_LIMITS, short=f == "effort") for f, role in FIELD_ROLES.items()]
    found += [
        Case("positions of the joints frozen for 3 s, velocities go on", "glitch",
             "masked from when they froze",
             (LaggingField("joint_states", onset, onset + 3.0, "position", math.inf),),
             Expected("joint_states", ("stays the same|fit",)), REJECTED_LIMITS),
        Case("heading turned by 30 degrees for 5 s", "glitch", "masked where it jumps",
             (altered("orientation", headed(math.radians(30.0)), onset, onset + 5.0),),
             Expected("imu", REJECTED), REJECTED_LIMITS),
        Case("encoder slips by 5 degrees", "glitch",
             "rows of arm and vehicle masked until the new zero is accepted",
             (altered("position", one_of(1, plus(math.radians(5.0))), onset),),
             Expected("joint_states", REJECTED),
             replace(REJECTED_LIMITS, rmse=None, recover=None, wrong=0.002))]
    return found + [
        Case(f"{f} of {size:g} for {SHORT_GLITCH} s", "glitch", REJECTED_AND_MASKED,
             (altered(f, huge(size), onset, end),), Expected(role, REJECTED), REJECTED_LIMITS,
             short=(f, size) == ("gyro", 1e200))
        for f, role in FIELD_ROLES.items() for size in HUGE]


def outage_cases(onset: float) -> list[Case]:
    """The cases of kind 'outage': a role is silent for a while, from `onset` [s] on."""
    found = []
    for role in SIMULATED_ROLES:
        timeout = SILENCE_TIMEOUTS[role]
        for length in OUTAGES:
            noticed = length > timeout + 1.0
            found.append(Case(
                f"{role} silent for {length:g} s", "outage",
                "rows that need it are masked, all others continue; recovers by itself",
                (Lost(role, onset, onset + length),),
                Expected(role, ("no message|silent",)) if noticed else None,
                replace(SILENT, detect=timeout + 1.0,
                        arm=None if role == "joint_states" else 0.95),
                touches=TOUCHES_ARM if role == "joint_states" else TOUCHES_VEHICLE,
                stated=TILT_UNKNOWN if role == "imu" and length >= 10.0 else "",
                short=(role, length) == ("dvl", 10.0)))
    return found
