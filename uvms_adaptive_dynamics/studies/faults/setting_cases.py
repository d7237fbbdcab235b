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

"""Wrong settings for the whole run: units, signs, order. The message must name the setting."""
from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...model.rotations import FRD_FROM_FLU, NED_FROM_ENU
from ...model.thrust_curve import NEUTRAL_PWM_US
from ...simulation.faults.kinds import TurnedImu
from ...simulation.faults.stream import Fault
from ...simulation.faults.values import (
    InWorld,
    LaggingField,
    Rewritten,
    altered,
    cut_below,
    filled,
    one_of,
    plus,
    reordered,
    rolled,
    swapped,
    times,
    without_dead_zone,
)
from .case import TOUCHES_ALL, Allowed, Case, Expected
from .change_cases import CORRECTED

# Found from the motion; the checks need 30 s of it. Meanwhile the estimate is wrong, and is
# reported as such.
SETTING_FOUND = Allowed(loss=None, wrong=None, detect=45.0, recover=None)
# Physically impossible values: recognized from the first message.
IMPOSSIBLE = Allowed(loss=None, wrong=0.02, detect=1.0, recover=None)
SURFACE = 101325.0      # [Pa]


def to_world(velocity: np.ndarray, R_wb: np.ndarray) -> np.ndarray:
    """A driver of a DVL in FRD that outputs north, east and down."""
    return NED_FROM_ENU @ R_wb @ FRD_FROM_FLU @ velocity


def setting_cases() -> list[Case]:
    """The cases of kind 'setting'."""
    found: list[tuple[str, Fault, Expected, Allowed]] = [
        ("efforts in mN m", altered("effort", times(1000.0)),
         Expected("joint_states", ("effort", "unit|scale")), IMPOSSIBLE),
        ("depth in kPa", altered("pressure", times(0.001)),
         Expected("depth|robot", ("kPa|unit|Pa",)), IMPOSSIBLE),
        ("depth as gauge pressure", altered("pressure", plus(-SURFACE)),
         Expected("robot|depth", ("surface",)), IMPOSSIBLE),
        ("dvl in mm/s", altered("velocity", times(1000.0)), Expected("dvl", ("mm/s|unit|m/s",)),
         IMPOSSIBLE),
        ("gyro in deg/s", altered("gyro", times(math.degrees(1.0))),
         Expected("imu", ("deg",)), SETTING_FOUND),
        ("gyro's yaw rate zero", altered("gyro", one_of(2, filled(0.0))),
         Expected("imu", ("yaw rate",)), CORRECTED),
        ("two thrusters swapped", altered("commands", swapped(1, 2)),
         Expected("thrusters", ("swapped|order|2.*3",)), SETTING_FOUND),
        ("all thrusters permuted", altered("commands", rolled(3)),
         Expected("thrusters", ("seem to drive",)), SETTING_FOUND),
        ("a thruster reversed", altered("commands", one_of(2, _mirrored)),
         Expected("thrusters", ("sign", "3")), SETTING_FOUND),
        ("thrusters with a dead zone of 25 us that their curve lacks",
         altered("commands", without_dead_zone(25.0, NEUTRAL_PWM_US)),
         Expected("thrusters", ("dead_zone to 0.0[67]",)), SETTING_FOUND),
        ("efforts of joints permuted", altered("effort", rolled(1)),
         Expected("joint effort", ("order",)), SETTING_FOUND),
        ("sign of an effort", altered("effort", one_of(1, times(-1.0))),
         Expected("joint_states", ("sign|scale",)), SETTING_FOUND),
        ("efforts below .1 N m read zero", altered("effort", cut_below(0.1)),
         Expected("joint effort", ("zero below 0.1",)), SETTING_FOUND),
        ("dvl 15 % fast", altered("velocity", times(1.15)), Expected("dvl", ("times those",)),
         SETTING_FOUND),
        ("dvl 13 % slow", altered("velocity", times(0.87)), Expected("dvl", ("times those",)),
         SETTING_FOUND),
        ("dvl's sway reversed", altered("velocity", times(1.0, -1.0, 1.0)),
         Expected("dvl", ("sway|sign|frame|mirror",)), SETTING_FOUND),
        ("dvl in the world's axes", InWorld("dvl", change=to_world),
         Expected("dvl", ("world's axes",)), replace(SETTING_FOUND, loss=0.02)),
        ("accelerometer in g", altered("accelerometer", times(1 / 9.80665)),
         Expected("imu", ("probably g;",)), SETTING_FOUND),
        ("efforts 0.15 s late", LaggingField("joint_states", field="effort", lag=0.15),
         Expected("joint effort", ("late",)), SETTING_FOUND),
        ("orientation 0.1 s late", LaggingField("imu", field="orientation", lag=0.1),
         Expected("imu", ("later",)), SETTING_FOUND),
        ("quaternion with w first", altered("orientation", reordered(3, 0, 1, 2)),
         Expected("imu", ("w, x, y, z",)), SETTING_FOUND),
        ("imu turned by 90 degrees", Rewritten("imu", change=TurnedImu(yaw=math.pi / 2)),
         Expected("imu|dvl", ("rpy",)), SETTING_FOUND),
        ("position of one joint in degrees",
         altered("position", one_of(1, times(math.degrees(1.0)))),
         Expected("joint position", ("deg",)), SETTING_FOUND),
    ]
    # A contradiction between two sensors shows earlier than which of them is wrong.
    either = dict.fromkeys(("imu turned by 90 degrees", "quaternion with w first", "gyro in deg/s",
                            "accelerometer in g"),
                           (Expected("dvl", ("does not fit the IMU",)),))
    return [Case(name, "setting", "named, with the setting to change", (fault,), said, limits,
                 others=either.get(name, ()), touches=TOUCHES_ALL, short=name == "efforts in mN m")
            for name, fault, said, limits in found]


def _mirrored(values, rng):
    return 3000.0 - values
