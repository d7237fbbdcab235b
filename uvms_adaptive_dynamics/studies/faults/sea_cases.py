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

"""Faults of sensors, drivers and actuators at sea, beyond the plain ones: lost bottom lock, another
frame after a restart, steel, vibration, limits, single dropped readings, several faults at once."""
from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...model.rotations import FRD_FROM_FLU
from ...simulation.faults.clocks import JitteringStamps
from ...simulation.faults.delivery import Late, Lost, OnChange, Repeated, Thinned
from ...simulation.faults.kinds import Slipping, TurnedImu, WithAltitude
from ...simulation.faults.outliers import noise
from ...simulation.faults.stream import Fault
from ...simulation.faults.values import (
    Coasting,
    Drifting,
    InWorld,
    LaggingField,
    Rewritten,
    altered,
    at_times,
    clipped,
    field_of,
    filled,
    headed,
    huge,
    one_of,
    plus,
    reordered,
    rounded,
    sometimes,
    times,
    with_field,
)
from .case import NONE, TOUCHES_ALL, TOUCHES_ARM, TOUCHES_VEHICLE, Allowed, Case, Expected
from .change_cases import CHANGE_UNDONE, MEANWHILE
from .setting_cases import to_world

LONG_FAULT, SHORT_FAULT = 10.0, 5.0  # [s]
# Costs only its own time, like any burst.
BURST = Allowed(wrong=NONE, recover=3.0)
# Must not cost anything.
HARMLESS = Allowed(samples=0.95, vehicle=0.95, arm=0.95, recover=None)
DOUBTED = ("reject|refus|wrong|implausib|outlier|spike|finite|range|fit|frozen|identical|restart|"
           "contradict|doubt|turn|rotated|masked",)

STATED = {
    "imu shaken for 10 s":
        "Noise on all axes at once contradicts nothing: the rows are noisier, 5 % of them by six "
        "times, and the DVL is doubted instead, since it does not fit the integral of noise. The "
        "estimate tolerates it (.0007; .006 on a livelier robot, .04 on one in rough sea).",
    "gyro at its limit of .1 rad/s for 10 s":
        "A range far below the vehicle's rates looks like an intermittent bias: 1 % of the rows "
        "are wrong. It is reported after 2 s; the estimate tolerates it (.0007).",
    "the thrusters do not follow their commands for 5 s":
        "It acts like any other force on the vehicle, from a tether or a hand: most rows of these "
        "seconds are wrong, 2.8 % of all. It is mistaken for a change of the vehicle's inertia, "
        "which is withdrawn when it is over (.0003).",
    "dvl five times as noisy from then on":
        "The noise for averaging velocities is first learnt from some seconds of it: .3 % of the "
        "rows are wrong. The estimate tolerates it (.0004).",
}


def sea_cases(onset: float) -> list[Case]:
    """The cases, each of one of the other kinds; faults in the middle of the run begin at `onset`
    [s]."""
    cases = [*_bursts(onset), _landing(onset), *_harmless(onset), *_changes(onset),
             *_several(onset)]
    return [replace(case, stated=STATED.get(case.name, "")) for case in cases]


def _bursts(onset: float) -> list[Case]:
    masked = "rows reconstructed from it are masked"
    found: list[tuple[str, Fault | tuple[Fault, ...], Expected | None, Allowed, str]] = [
        ("dvl coasts to zero for 10 s without a bottom lock",
         Coasting("dvl", onset, onset + LONG_FAULT, field="velocity", time=2.0),
         Expected("dvl", DOUBTED), replace(BURST, detect=2.0, wrong=0.002), TOUCHES_VEHICLE),
        ("dvl says zero for 10 s", altered("velocity", filled(0.0), onset, onset + LONG_FAULT),
         Expected("dvl", DOUBTED), replace(BURST, detect=2.0), TOUCHES_VEHICLE),
        ("dvl tracks the water for 10 s in a current of .3 m/s",
         InWorld("dvl", onset, onset + LONG_FAULT, change=_current), Expected("dvl", DOUBTED),
         replace(BURST, detect=2.0), TOUCHES_VEHICLE),
        ("dvl's heave NaN for 5 s",
         altered("velocity", one_of(2, filled(math.nan)), onset, onset + SHORT_FAULT),
         Expected("dvl", ("finite|NaN",)), BURST, TOUCHES_VEHICLE),
        ("accelerometer reversed for 5 s",
         altered("accelerometer", times(-1.0), onset, onset + SHORT_FAULT),
         Expected("imu", DOUBTED), BURST, TOUCHES_VEHICLE),
        ("accelerometer without gravity for 5 s",
         Rewritten("imu", onset, onset + SHORT_FAULT, _without_gravity), Expected("imu", DOUBTED),
         BURST, TOUCHES_VEHICLE),
        ("imu shaken for 10 s",
         (altered("gyro", noise(0.2), onset, onset + LONG_FAULT),
          altered("accelerometer", noise(2.0), onset, onset + LONG_FAULT)), None,
         replace(BURST, wrong=0.002), TOUCHES_VEHICLE),
        ("gyro at its limit of .1 rad/s for 10 s",
         altered("gyro", clipped(0.1), onset, onset + LONG_FAULT), Expected("imu", DOUBTED),
         replace(BURST, wrong=0.002), TOUCHES_VEHICLE),
        ("joint velocities zero for 5 s", altered("speed", filled(0.0), onset, onset + SHORT_FAULT),
         Expected("joint_states", DOUBTED), replace(BURST, wrong=0.002), TOUCHES_ARM),
        ("efforts zero for 5 s", altered("effort", filled(0.0), onset, onset + SHORT_FAULT),
         Expected("joint_states", ("effort",)), replace(BURST, wrong=0.002, detect=2.0),
         TOUCHES_ARM),
        ("efforts at a limit of .3 N m for 10 s",
         altered("effort", clipped(0.3), onset, onset + LONG_FAULT), None,
         replace(BURST, wrong=0.002), TOUCHES_ARM),
        ("the thrusters do not follow their commands for 5 s",
         LaggingField("thrusters", onset, onset + SHORT_FAULT, field="commands", lag=4.0), None,
         replace(BURST, wrong=0.02), TOUCHES_VEHICLE),
    ]
    return [Case(name, "glitch", masked, fault if isinstance(fault, tuple) else (fault,), said,
                 limits, touches=touches)
            for name, fault, said, limits, touches in found]


def _landing(onset: float) -> Case:
    """The bottom takes the thrust; the DVL says how near it is, from before until after that."""
    end = onset + LONG_FAULT
    return Case(
        "the vehicle pushes on the bottom", "glitch",
        "the vehicle's rows are masked below dvl.minimum_altitude",
        (Rewritten("dvl", onset, end, _landed),
         LaggingField("thrusters", onset + 1.0, end - 1.0, field="commands", lag=4.0)), None, BURST,
        touches=TOUCHES_VEHICLE, given=(WithAltitude("dvl"),),
        settings={"dvl.type": "dvl_msgs/msg/DVL", "dvl.minimum_altitude": 0.3})


def _harmless(onset: float) -> list[Case]:
    used = "used unchanged"
    found: list[tuple[str, str, tuple[Fault, ...], Allowed, str]] = [
        ("imu stamps jitter by 5 ms", "clock", (JitteringStamps("imu", most=0.005),),
         HARMLESS, ""),
        ("joint stamps jitter by 10 ms", "clock",
         (JitteringStamps("joint_states", most=0.01),), HARMLESS, ""),
        ("encoder of a joint drops to zero in 1 % of messages", "outliers",
         (altered("position", one_of(1, at_times(0.01, filled(0.0)))),), HARMLESS, ""),
        ("all joint readings drop to zero in 1 % of messages", "outliers",
         tuple(altered(field, sometimes(0.01, filled(0.0)))
               for field in ("position", "speed", "effort")), replace(HARMLESS, arm=0.9), ""),
        ("commands when they change alone", "rate", (OnChange("thrusters", 0.0, math.inf,
                                                              "commands", 4.0),), HARMLESS, ""),
        ("depth set anew by .3 m", "change", (altered("pressure", plus(3000.0), onset),), HARMLESS,
         ""),
        ("a joint wraps by a turn for 5 s", "glitch",
         (altered("position", one_of(0, plus(2 * math.pi)), onset, onset + SHORT_FAULT),),
         HARMLESS, TOUCHES_ARM),
        ("quaternion of either sign", "structure",
         (altered("orientation", sometimes(0.5, times(-1.0))),), HARMLESS, ""),
        ("imu at half its rate from then on", "rate", (Thinned("imu", onset, each=2),), HARMLESS,
         ""),
        ("joint_states at a fifth of their rate from then on", "rate",
         (Thinned("joint_states", onset, each=5),),
         replace(HARMLESS, vehicle=0.9, arm=0.9), ""),
        ("imu messages twice and out of order", "order",
         (Late("imu", share=0.1, wait=0.015), Repeated("imu")), HARMLESS, ""),
        ("efforts in steps of .05 N m", "structure", (altered("effort", rounded(0.05)),), HARMLESS,
         TOUCHES_ARM),
        ("dvl five times as noisy from then on", "change",
         (altered("velocity", noise(0.05), onset),), HARMLESS, TOUCHES_VEHICLE),
        ("pressure a hundred times as noisy from then on", "change",
         (altered("pressure", noise(2000.0), onset),), HARMLESS, ""),
        ("heading drifts by 1 degree a second for 20 s beside steel", "change",
         (Drifting("imu", onset, field="orientation", change=_steel),),
         replace(HARMLESS, vehicle=0.5), ""),
    ]
    return [Case(name, kind, used, faults, None, limits, touches=touches)
            for name, kind, faults, limits, touches in found]


def _changes(onset: float) -> list[Case]:
    named = ("named, possibly after being mistaken for a change of the robot; corrected where the "
             "finding tells how, else left out; what was learnt since its onset is undone, and "
             "learnt again where that is right")
    found: list[tuple[str, Fault, Expected]] = [
        ("dvl in the world's axes from then on", InWorld("dvl", onset, change=to_world),
         Expected("dvl|imu", DOUBTED)),
        ("dvl's sway reversed from then on",
         altered("velocity", times(1.0, -1.0, 1.0), onset), Expected("dvl", ("sway|mirror|sign",))),
        ("dvl mounted the other way round from then on",
         altered("velocity", times(-1.0, -1.0, 1.0), onset), Expected("dvl", ("180",))),
        ("dvl's axes swapped from then on", altered("velocity", reordered(1, 0, 2), onset),
         Expected("dvl", ("axes",))),
        ("imu in another frame from then on",
         Rewritten("imu", onset, change=TurnedImu(roll=math.pi)), Expected("imu", ("frame|rpy",))),
        ("imu mounted turned by 90 degrees from then on",
         Rewritten("imu", onset, change=TurnedImu(yaw=math.pi / 2)),
         Expected("imu|dvl", ("rpy|turn",))),
        ("gyro's pitch and yaw reversed from then on",
         altered("gyro", times(1.0, -1.0, -1.0), onset), Expected("imu", ("sign|-z",))),
        ("quaternion with w first from then on",
         altered("orientation", reordered(3, 0, 1, 2), onset),
         Expected("imu", ("w, x, y, z",))),
        ("imu slips by 10 degrees in half a second",
         Slipping("imu", onset, roll=math.radians(10.0), within=0.5), Expected("imu|dvl", DOUBTED)),
        ("efforts of joints permuted from then on", altered("effort", reordered(1, 2, 3, 0), onset),
         Expected("joint effort|change", ("order|effort",))),
        ("efforts a third from then on", altered("effort", times(1 / 3), onset),
         Expected("change|trust", ("scale",))),
        ("efforts without a sign from then on", altered("effort", _sizes, onset),
         Expected("joint effort", ("without its sign",))),
        ("a thruster reversed from then on", altered("commands", one_of(2, _mirrored), onset),
         Expected("thrusters", ("3",))),
        ("commands exchanged in pairs from then on",
         altered("commands", _in_pairs, onset),
         Expected("change|thrusters", ("order|swapped|drive thrusters",))),
        ("a thruster gives 60 % from then on", altered("commands", one_of(2, _weak(0.6)), onset),
         Expected("thrusters", ("3",))),
        ("a thruster gives 30 % from then on", altered("commands", one_of(2, _weak(0.3)), onset),
         Expected("thrusters", ("3",))),
        ("commands .2 s late from then on",
         LaggingField("thrusters", onset, field="commands", lag=0.2),
         Expected("thrusters", ("delay",))),
        ("efforts later by .15 s from then on",
         LaggingField("joint_states", onset, field="effort", lag=0.15),
         Expected("joint effort", ("late",))),
    ]
    return [Case(name, "change", named, (fault,), said, CHANGE_UNDONE, others=MEANWHILE)
            for name, fault, said in found]


def _several(onset: float) -> list[Case]:
    masked = "each handled as if alone"
    times_of = np.arange(10.0, 2.1 * onset, 20.0)
    found: list[tuple[str, str, tuple[Fault, ...], Allowed, str]] = [
        ("imu and dvl silent for 5 s", "outage",
         (Lost("imu", onset, onset + SHORT_FAULT), Lost("dvl", onset, onset + SHORT_FAULT)), BURST,
         TOUCHES_VEHICLE),
        ("imu and joints silent for 5 s", "outage",
         (Lost("imu", onset, onset + SHORT_FAULT),
          Lost("joint_states", onset, onset + SHORT_FAULT)), BURST, TOUCHES_ALL),
        ("dvl silent while the gyro is off by 2 rad/s for .6 s", "glitch",
         (Lost("dvl", onset, onset + SHORT_FAULT),
          altered("gyro", plus(2.0), onset + 2.0, onset + 2.6)), BURST, TOUCHES_VEHICLE),
        ("gyro off by 2 rad/s for .6 s every 20 s", "glitch",
         tuple(altered("gyro", plus(2.0), t, t + 0.6) for t in times_of), BURST, ""),
        ("dvl of 1e6 for .6 s every 20 s", "glitch",
         tuple(altered("velocity", huge(1e6), t, t + 0.6) for t in times_of), BURST, ""),
        ("efforts of 1e6 for .6 s every 20 s", "glitch",
         tuple(altered("effort", huge(1e6), t, t + 0.6) for t in times_of), BURST, ""),
    ]
    return [Case(name, kind, masked, faults, None, limits, touches=touches)
            for name, kind, faults, limits, touches in found]


# --- changes of numbers and messages --------------------------------------------------------------

def _current(velocity: np.ndarray, R_wb: np.ndarray) -> np.ndarray:
    """Velocity, FRD, relative to water that flows east."""
    return velocity - FRD_FROM_FLU @ R_wb.T @ np.array([0.3, 0.0, 0.0])


def _without_gravity(message: Any) -> None:
    """A driver that publishes acceleration without gravity."""
    x, y, z, w = field_of(message, "orientation")
    up = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    changed = with_field(message, "accelerometer", field_of(message, "accelerometer") - 9.81 * up)
    vars(message).update(vars(changed))


def _landed(message: Any) -> None:
    message.altitude = 0.1


def _steel(orientation: np.ndarray, seconds: float) -> np.ndarray:
    angle = math.radians(min(seconds, 20.0))
    return headed(angle)(orientation, np.random.default_rng(0))


def _sizes(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.abs(values)


def _mirrored(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 3000.0 - values


def _in_pairs(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The first four numbers exchanged in pairs."""
    return values[[1, 0, 3, 2, *range(4, values.size)]]


def _weak(share: float) -> Any:
    """Commands with only a share of their effect; thrust is roughly quadratic in the command."""
    return lambda values, rng: np.clip(1500.0 + (values - 1500.0) / math.sqrt(share), 1100.0,
                                       1900.0)
