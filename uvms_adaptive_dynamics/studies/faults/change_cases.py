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

"""Lasting changes of a sensor that was right before: knocked, restarted, heated, worn."""
from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...simulation.faults.delivery import Frozen, Jittered
from ...simulation.faults.kinds import TurnedImu
from ...simulation.faults.stream import Fault
from ...simulation.faults.values import (
    Drifting,
    LaggingField,
    Rewritten,
    altered,
    filled,
    one_of,
    plus,
    swapped,
    times,
)
from .case import TOUCHES_ALL, TOUCHES_VEHICLE, Allowed, Case, Expected

# Until a gradual fault is found, the rows of its first seconds count.
CORRECTED = Allowed(vehicle=0.9, arm=0.9, wrong=0.005, loss=0.02, detect=5.0, recover=None)
CHANGE_FOUND = Allowed(wrong=None, loss=None, detect=45.0, recover=None)
# The fault is named, and what was learnt since its onset is undone.
CHANGE_UNDONE = replace(CHANGE_FOUND, loss=0.02)
EITHER = Expected("dvl", ("does not fit the IMU|contradicted the IMU",))
# Before it is found, the fault may look like a change of the robot.
MEANWHILE = (Expected("trust|change"), EITHER)


def change_cases(onset: float) -> list[Case]:
    """The cases of kind 'change', from `onset` [s] on."""
    taken, named = "found by comparison with another sensor and corrected", "named, with its onset"
    undone = ("named, with its onset; corrected where the finding tells how, else left out; what "
              "was learnt since its onset is undone, and learnt again where that is right")
    found: list[tuple[str, str, Fault, Expected, Allowed, tuple[Expected, ...], str]] = [
        ("gyro off by .05 rad/s", taken, altered("gyro", plus(0.05, -0.03, 0.02), onset),
         Expected("imu", ("gyro has had a bias",)), CORRECTED, (), ""),
        ("gyro off by .05 rad/s about the vertical", taken,
         altered("gyro", plus(0.0, 0.0, 0.05), onset),
         Expected("imu", ("gyro",)), Allowed(arm=0.9, wrong=0.005, recover=None, detect=5.0), (),
         ""),
        ("gyro's pitch rate zero from then on", "replaced by the attitude's rate, and named",
         altered("gyro", one_of(1, filled(0.0)), onset), Expected("imu", ("pitch rate",)),
         CORRECTED, (EITHER,), ""),
        ("accelerometer off by .3 m/s^2 forward", taken,
         altered("accelerometer", plus(0.3, 0.0, 0.0), onset),
         Expected("imu", ("specific force changed",)), CORRECTED, (EITHER,), ""),
        ("accelerometer off by .3 m/s^2 upward", taken,
         altered("accelerometer", plus(0.0, 0.0, 0.3), onset),
         Expected("imu", ("specific force changed",)), CORRECTED, (EITHER,), ""),
        ("dvl 15 % fast from then on", named, altered("velocity", times(1.15), onset),
         Expected("dvl", ("times those",)), CHANGE_FOUND,
         (Expected("depth", ("DVL's scale",)), Expected("imu", ("DVL's velocities are off",))),
         TOUCHES_ALL),
        ("imu knocked by 10 degrees", "rotated back, and named",
         Rewritten("imu", onset, change=TurnedImu(roll=math.radians(10.0))),
         Expected("imu", ("tilted by 10|rpy",)),
         replace(CHANGE_UNDONE, vehicle=0.9, arm=0.9, wrong=0.002), (), ""),
        ("dvl turned to the other frame", undone,
         altered("velocity", times(1.0, -1.0, -1.0), onset),
         Expected("dvl", ("wrong sign|does not fit the IMU",)), CHANGE_UNDONE, MEANWHILE, ""),
        ("dvl repeats its last velocity for 20 s", "masked from when it froze",
         Frozen("dvl", onset, onset + 20.0), Expected("dvl", ("identical",)),
         Allowed(arm=0.95, recover=3.0, detect=1.0), (), TOUCHES_VEHICLE),
        ("depth drifts by 3 cm/s", "used unchanged",
         Drifting("depth", onset, field="pressure", change=_warming), Expected("depth"),
         Allowed(samples=0.95, vehicle=0.95, arm=0.95, recover=None), (), ""),
        ("gyro later by .15 s", undone, LaggingField("imu", onset, field="gyro", lag=0.15),
         Expected("imu", ("earlier than the gyro",)), CHANGE_UNDONE, MEANWHILE, ""),
        ("two thrusters swapped from then on", undone, altered("commands", swapped(1, 2), onset),
         Expected("thrusters", ("swapped",)), CHANGE_UNDONE, MEANWHILE, ""),
        ("sign of an effort from then on", undone,
         altered("effort", one_of(1, times(-1.0)), onset),
         Expected("joint_states", ("sign",)), CHANGE_UNDONE, MEANWHILE, ""),
        ("sign of a joint's velocity from then on", undone,
         altered("speed", one_of(1, times(-1.0)), onset),
         Expected("joint velocity", ("wrong sign",)), CHANGE_UNDONE, MEANWHILE, ""),
        ("thrust falls to two thirds in 30 s", "named as one factor",
         Drifting("thrusters", onset, field="commands", change=_weaker),
         Expected("trust|change", ("one scale|thrust scale",)), CHANGE_FOUND, (), TOUCHES_ALL),
        ("dvl stamped at reception, with .4 s of jitter", named,
         Jittered("dvl", onset, most=0.4, restamped=True),
         Expected("dvl", ("given at reception",)), CHANGE_FOUND, (), TOUCHES_ALL),
    ]
    unsaid = ("depth drifts by 3 cm/s",)
    return [Case(name, "change", behaviour, (fault,), None if name in unsaid else said, limits,
                 others=others, touches=touches)
            for name, behaviour, fault, said, limits, others, touches in found]


def _warming(pressure: np.ndarray, seconds: float) -> np.ndarray:
    """A warming sensor: 300 Pa/s, 3 cm/s of depth."""
    return pressure + 300.0 * seconds


def _weaker(pwm: np.ndarray, seconds: float) -> np.ndarray:
    """Commands with two thirds of their effect after 30 s, as from a sagging battery; thrust is
    roughly quadratic in the command."""
    return 1500.0 + (pwm - 1500.0) * math.sqrt(1.0 + 0.5 * min(1.0, seconds / 30.0))
