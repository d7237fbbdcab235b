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

"""Delivery faults: rates, order, bursts, two publishers, structure of messages, outliers."""
from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...simulation.faults.delivery import (
    Added,
    Batched,
    Densified,
    Jittered,
    Late,
    Lost,
    Repeated,
    Republished,
    SecondPublisher,
    SplitJoints,
    StalledNetwork,
    Thinned,
)
from ...simulation.faults.outliers import effort_outliers, velocity_outliers
from ...simulation.faults.stream import Fault
from ...simulation.faults.values import (
    Rewritten,
    altered,
    at_times,
    field_of,
    filled,
    one_of,
    rounded,
    with_field,
)
from .case import NONE, TOUCHES_ALL, TOUCHES_ARM, Allowed, Case, Expected

WHOLE = Allowed(samples=0.95, vehicle=0.95, arm=0.95, recover=None, detect=10.0)
PART = Allowed(wrong=NONE, recover=2.0, rmse=1.3)
# With slow sensors the motion between two messages is interpolated.
RATE_LIMITS = Allowed(samples=0.95, vehicle=0.9, arm=0.9, loss=0.05, recover=None, detect=10.0)
# Why rows of a sensor slower than the rows' low-pass still count.
UNSEEN = {
    "imu at 4 Hz": "The motion between two messages is not observed: 1.3 % of the rows are wrong. "
                   "It is reported; masking the rows would leave none.",
    "thrusters at 5 Hz": "The data do not show if the thrusters were commanded more often than the "
                         "topic shows: if not, all rows are right. It is reported; if they were, "
                         "8.5 % of the rows are wrong."}
RATE_SAID = (r"\brate\b|Hz|slow|latency",)


def stream_cases(onset: float) -> list[Case]:
    """The cases of kinds 'rate', 'order', 'publisher', 'structure' and 'outliers'."""
    return [*_rates(), *_order(onset), *_publishers(onset), *_structure(onset), *_outliers(onset)]


def _rates() -> list[Case]:
    follows = "defaults adapt to the measured rate, or the message names the setting to change"
    found: list[tuple[str, Fault, Allowed]] = [
        ("imu at 4 Hz", Thinned("imu", each=25), RATE_LIMITS),
        ("imu at 20 Hz", Thinned("imu", each=5), RATE_LIMITS),
        ("imu at 4 kHz", Densified("imu", factor=40), WHOLE),
        ("dvl at 2 Hz", Thinned("dvl", each=5), RATE_LIMITS),
        ("dvl at 3.3 Hz", Thinned("dvl", each=3), WHOLE),
        ("joint_states at 10 Hz", Thinned("joint_states", each=5), RATE_LIMITS),
        ("joint_states at 400 Hz", Densified("joint_states", factor=8), WHOLE),
        ("thrusters at 5 Hz", Thinned("thrusters", each=10), RATE_LIMITS),
    ]
    return [Case(name, "rate", follows, (fault,), Expected(fault.role, RATE_SAID), limits,
                 short=name == "dvl at 3.3 Hz", or_said=True, stated=UNSEEN.get(name, ""))
            for name, fault, limits in found]


def _order(onset: float) -> list[Case]:
    ignored = "messages older than the newest are ignored; nothing else is affected"
    late = "latency is measured, or the message says how late it is"
    return [
        Case("10 % of imu messages behind the next", "order", ignored,
             (Late("imu", share=0.1, wait=0.015),), None, WHOLE),
        Case("10 % of joint messages behind the next", "order", ignored,
             (Late("joint_states", share=0.1, wait=0.03),), None, WHOLE),
        Case("10 % of dvl messages 0.3 s late", "order", late,
             (Late("dvl", share=0.1, wait=0.3),), None, WHOLE),
        Case("10 % of imu messages behind the third next", "order", ignored,
             (Late("imu", share=0.1, wait=0.035),), None, WHOLE),
        Case("dvl late by up to 0.4 s, each time another", "order", late,
             (Jittered("dvl", most=0.4),), Expected("dvl", ("late|latency|reception",)), WHOLE,
             or_said=True),
        Case("joints read five at a time, then stamped", "order",
             "their times are spread evenly", (Batched("joint_states", size=5),),
             Expected("joint_states", ("at a time",)), WHOLE),
        Case("imu read five at a time, then stamped", "order",
             "their times are spread evenly", (Batched("imu", size=5),),
             Expected("imu", ("at a time",)), WHOLE),
        Case("each dvl velocity published four times", "rate",
             "only the first one counts; gaps follow the rate of new values",
             (Republished("dvl", each=4),), Expected("dvl", ("new value",)),
             RATE_LIMITS),
        Case("every message twice", "order", "the duplicate is ignored", (Repeated(""),), None,
             WHOLE, short=True),
        Case("all topics stall for 2 s", "order", "samples of the stall come after it",
             (StalledNetwork("", onset, onset + 2.0),), None, PART, short=True),
        Case("dvl stalls for 2 s", "order", "its rows of the stall are masked",
             (StalledNetwork("dvl", onset, onset + 2.0),), None, PART),
        Case("20 % of all messages lost", "order", "filters bridge single gaps",
             (Lost("", share=0.2),), None, Allowed(samples=0.95, vehicle=0.9, recover=None)),
    ]


def _publishers(onset: float) -> list[Case]:
    named = "named, with both publishers"
    two = ("two|second node|publisher|several|interleav|contradict",)
    limits = Allowed(recover=None, detect=5.0, loss=None, wrong=0.02)
    return [
        Case("two publishers of the dvl's topic", "publisher", named,
             (SecondPublisher("dvl", onset, change=_with("velocity", 0.0), after=0.02),),
             Expected("dvl", two), limits),
        Case("two publishers of the dvl's topic from the start", "publisher", named,
             (SecondPublisher("dvl", change=_with("velocity", 0.0), after=0.02),),
             Expected("dvl", ("two series",)), limits),
        Case("two publishers of the commands", "publisher", named,
             (SecondPublisher("thrusters", onset, change=_with("commands", 1500.0), after=0.005),),
             Expected("thrusters", two), limits),
        Case("two publishers of the imu's topic", "publisher", named,
             (SecondPublisher("imu", onset, change=_with("gyro", 0.0)),),
             Expected("imu", two), limits),
        Case("two publishers of the joints", "publisher", named,
             (SecondPublisher("joint_states", onset, change=_with("position", 1.0), after=0.005),),
             Expected("joint_states", two), limits),
    ]


def _with(field: str, value: float) -> Any:
    """A change that sets all numbers of a field to one value."""
    def changed(message: Any) -> Any:
        return with_field(message, field, np.full_like(field_of(message, field), value))
    return changed


def _structure(onset: float) -> list[Case]:
    gone = Allowed(wrong=NONE, recover=2.0)
    end = onset + 5.0
    return [
        Case("joints in another order", "structure", "matched by name",
             (Rewritten("joint_states", change=_permuted),), None, WHOLE, short=True),
        Case("two joints exchange places under their names", "structure",
             "each continues where the other was: put back in order",
             (Rewritten("joint_states", onset, change=_exchanged),),
             Expected("joint_states", ("each other's place",)), WHOLE),
        Case("unknown joints beside the known", "structure", "ignored",
             (Rewritten("joint_states", change=_one_more),), None, WHOLE),
        Case("a joint is missing for 5 s", "structure", "arm's and vehicle's rows masked",
             (Rewritten("joint_states", onset, end, _one_less),),
             Expected("joint_states", ("missing",)), gone),
        Case("joints under other names for 5 s", "structure", "each message is rejected",
             (Rewritten("joint_states", onset, end, _renamed),),
             Expected("joint_states", ("missing",)), gone),
        Case("joint messages truncated for 5 s", "structure", "each message is rejected",
             (Rewritten("joint_states", onset, end, _truncated),),
             Expected("joint_states", ("expected|values",)), gone),
        Case("efforts left empty for 5 s", "structure", "the arm's rows are masked",
             (Rewritten("joint_states", onset, end, _no_effort),),
             Expected("joint_states", ("effort",)), gone, touches=TOUCHES_ARM),
        Case("effort of one joint NaN for ever", "structure",
             "that joint's row is masked, all others continue",
             (altered("effort", one_of(2, filled(math.nan)), onset),),
             Expected("joint_states", ("effort",)), Allowed(vehicle=0.95, arm=0.8, recover=None),
             touches=TOUCHES_ARM, short=True),
        Case("joints in two messages", "structure", "the messages are put together",
             (SplitJoints("joint_states"),), None, WHOLE),
        Case("depth in steps of 10 cm", "structure", "used unchanged",
             (altered("pressure", rounded(981.0)),), None, WHOLE),
        Case("commands of 6 thrusters for 5 s", "structure", "each message is rejected",
             (Rewritten("thrusters", onset, end, _fewer_commands),),
             Expected("thrusters", ("expected",)), gone),
        Case("commands out of range for 5 s", "structure", "each message is rejected",
             (altered("commands", filled(65535.0), onset, end),),
             Expected("thrusters", ("range|PWM|unit|saturat",)), gone),
        Case("battery of garbage", "structure", "thrusters.voltage is used instead",
             (Added("battery", make=lambda: SimpleNamespace(voltage=1e6), every=0.5),),
             Expected("battery", ("voltage",)), Allowed(samples=0.95, vehicle=0.95, recover=None,
                                                   detect=10.0),
             settings={"battery.enabled": True}),
    ]


def _outliers(onset: float) -> list[Case]:
    behaviour = "rejected one by one; the status shows how many"
    # The robust cost must tolerate what remains of an outlier in a row: only the loss counts.
    limits = {share: Allowed(samples=0.95, wrong=None, recover=None, detect=10.0, loss=loss)
              for share, loss in ((0.2, 0.002), (0.4, 0.05))}
    return [
        *(Case(f"{share:.0%} outliers in efforts", "outliers", behaviour,
               (altered("effort", effort_outliers(share)),), Expected("joint_states", ("effort",)),
               limits[share], short=share == 0.2, counted="effort") for share in limits),
        Case("10 % outliers of the dvl", "outliers", behaviour,
             (altered("velocity", velocity_outliers(0.1)),), None,
             Allowed(samples=0.95, recover=None)),
        Case("dvl says zero for 0.5 s every 5 s", "outliers", behaviour,
             tuple(altered("velocity", filled(0.0), begin, begin + 0.5)
                   for begin in np.arange(10.0, 2.1 * onset, 5.0)), None,
             Allowed(samples=0.95, recover=None)),
        Case("1 % of gyro rates of 1e6", "outliers", behaviour,
             (altered("gyro", at_times(0.01, filled(1e6))),), None,
             Allowed(samples=0.95, vehicle=0.9, recover=None)),
        Case("NaN in 5 % of efforts", "outliers", behaviour,
             (altered("effort", at_times(0.05, filled(math.nan))),), None,
             Allowed(samples=0.95, recover=None), touches=TOUCHES_ALL),
    ]


# --- messages with another structure --------------------------------------------------------------

JOINT_FIELDS = ("name", "position", "velocity", "effort")


def _permuted(message: Any) -> None:
    for name in JOINT_FIELDS:
        values = list(getattr(message, name))
        values = values[1:] + values[:1]
        setattr(message, name, values if name == "name" else np.array(values))


def _exchanged(message: Any) -> None:
    for name in JOINT_FIELDS[1:]:
        getattr(message, name)[[1, 2]] = getattr(message, name)[[2, 1]]


def _one_more(message: Any) -> None:
    message.name = ["gripper_left", *message.name, "gripper_right"]
    for name in JOINT_FIELDS[1:]:
        setattr(message, name, np.concatenate([[9.0], getattr(message, name), [-9.0]]))


def _renamed(message: Any) -> None:
    message.name = [f"arm/{name}" for name in message.name]     # as by a driver with a prefix


def _one_less(message: Any) -> None:
    for name in JOINT_FIELDS:
        setattr(message, name, getattr(message, name)[:-1])


def _truncated(message: Any) -> None:
    message.velocity, message.effort = message.velocity[:2], message.effort[:1]


def _no_effort(message: Any) -> None:
    message.effort = message.effort[:0]


def _fewer_commands(message: Any) -> None:
    message.data = message.data[:6]
