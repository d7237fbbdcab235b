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

"""From messages to timestamped readings: clocks, delays, decoding, counts of rejections."""
from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...config import Config
from ...errors import MessageError, OtherJointsError
from ..topics import inputs
from .clocks import Clocks, Handling, delays, usual_latencies
from .decoder import Decoder
from .input_state import InputState
from .joint_parts import NOT_LATER, JointParts
from .poses import PoseReader, pose_readers
from .stamps import read_stamp

NUMBER_IN_REASON = re.compile(r"[-+]?(\d[\d.]*(e[-+]?\d+)?|inf|nan)\b")
# Messages held until their clock is known: half a second of a 4 kHz sensor and of all the others.
MOST_HELD = 3000


class Reading(NamedTuple):
    """A measurement: `t` [s] since the reader's origin, and the values listed in `decoder`;
    `altitude` [m] of a DVL, NaN if it is unknown; thrust_shares (N,): share of the thrust that a
    command asks for which each thruster has been found to give, empty: all of it; odometry: see
    `decoder`."""

    role: str
    t: float
    values: list[float]
    altitude: float = math.nan
    thrust_shares: tuple[float, ...] = ()
    odometry: Sequence[float] = ()


class ClockJump(NamedTuple):
    """The common clock jumped: all stored data are invalid, and the message was not read."""


class _Held(NamedTuple):
    """A message with its stamp [s], None without one, and its time of reception [s]."""

    role: str
    message: Any
    stamp: float | None
    receive: float


class MessageReader:
    """Reads messages of every role; `inputs` holds each role's counts, `clocks` their clocks.

    `origin` [s since the epoch] is the zero of all readings' times, None before the first reading.
    """

    def __init__(self, config: Config, prismatic: Sequence[bool] = ()):
        """prismatic (n,): see `Decoder`."""
        needed = inputs(config)
        self.clocks = Clocks((i.role for i in needed), delays(config), usual_latencies(config))
        self.inputs = {i.role: InputState(i.role, i.topic, self.clocks.sensors[i.role])
                       for i in needed}
        self._decoder = Decoder(config, prismatic)
        self._poses: dict[str, PoseReader] = pose_readers(config)
        self._joints = JointParts(config.joint_states.names or config.robot.joints,
                                  config.joint_states.timeout)
        self.reset()

    def change_settings(self, config: Config) -> None:
        """See `Decoder.change_settings`."""
        self._decoder.change_settings(config)
        self._joints.change_settings(config)

    def wrapped(self) -> Sequence[bool]:
        """(n,) Joints whose encoder has begun again after a whole turn."""
        return self._decoder.turns.wrapped

    def sentences(self) -> list[str]:
        """Warnings for the operator about clocks and contents."""
        return [*self.clocks.sentences(), *self._decoder.unset_twist.sentences()]

    def reset(self) -> None:
        """Forget all times, as between bags; counts stay."""
        self.origin: float | None = None
        self._held: list[_Held] = []
        self._newest: dict[str, _Held] = {}
        self.clocks.reset()
        self._decoder.turns.restart()
        self._decoder.unset_twist.reset()
        self._joints.reset()
        self._joints_received = -math.inf   # [s] last message with joints of this robot
        for poses in self._poses.values():
            poses.reset()
        for state in self.inputs.values():
            state.forget_stamp()

    def read(self, role: str, message: Any, receive_time: float) -> list[Reading] | ClockJump:
        """The readings that a message makes available: none if it is rejected or held until its
        clock is known, several if others had been held.

        `receive_time` [s since the epoch]. After a ClockJump the caller must reset everything and
        read the same message again.
        """
        state = self.inputs[role]
        try:
            stamp, unstamped = read_stamp(message)
            if not math.isfinite(receive_time):
                raise MessageError("time of reception is not finite")
        except MessageError as error:
            state.note_received(None)
            state.count_rejected(_short_reason(role, str(error)), str(error))
            return []
        before, now = self._newest.get(role), _Held(role, message, stamp, receive_time)
        self._newest[role] = now
        # (Messages of a recording hold arrays, which `==` does not compare as a whole.)
        copy = (stamp is not None and before is not None and before.stamp == stamp
                and repr(before.message) == repr(message))
        handling = self.clocks.observe(role, stamp, receive_time, unstamped, copy)
        if handling is Handling.JUMPED:
            return ClockJump()
        state.note_received(receive_time)
        if handling is Handling.HOLD:
            self._hold(now)
            return []
        if handling in (Handling.AHEAD, Handling.LATE):
            assert stamp is not None and state.clock.offset is not None
            causes = ("and connection" if handling is Handling.AHEAD else
                      "and connection, and the load on this computer")
            state.count_rejected(handling.value, (
                f"its stamp is {_before_reception(receive_time - stamp)}, usually "
                f"{_before_reception(state.clock.offset)}; check that driver's clock {causes}"))
            return []
        # Held messages were not checked against their clock; nor was the one that made it known.
        return self._readings(self._fitting([*self._released(), now])
                              if handling is Handling.RELEASE else [now])

    def flush(self) -> list[Reading]:
        """The readings still held, at the end of a recording."""
        if self._held:
            self.clocks.decide()
        return self._readings(self._fitting(self._released()))

    def _hold(self, held: _Held) -> None:
        if len(self._held) == MOST_HELD:
            # the oldest of the fastest sensor: seven commands may be all that there are
            (fastest, _), = Counter(one.role for one in self._held).most_common(1)
            lost = self._held.pop(next(k for k, one in enumerate(self._held)
                                       if one.role == fastest))
            self.inputs[lost.role].count_rejected("came before the clocks were known")
        self._held.append(held)

    def _released(self) -> list[_Held]:
        """Remove and return the held messages whose clock is known by now."""
        ready: list[_Held] = []
        waiting: list[_Held] = []
        for held in self._held:
            known = held.stamp is None or self.inputs[held.role].clock.known
            (ready if known else waiting).append(held)
        self._held = waiting
        return ready

    def _fitting(self, messages: list[_Held]) -> list[_Held]:
        """The messages whose stamps fit their clocks; the others are counted as rejected."""
        fitting = []
        for held in messages:
            state = self.inputs[held.role]
            if held.stamp is None or state.clock.fits(held.stamp, held.receive):
                fitting.append(held)
            else:
                offset = state.clock.offset
                late = offset is not None and held.receive - held.stamp > offset
                state.count_rejected((Handling.LATE if late else Handling.AHEAD).value)
        return fitting

    def _readings(self, messages: list[_Held]) -> list[Reading]:
        found: list[Reading] = []
        for held in messages:
            reading = self._reading(*held)
            if reading is not None:
                found += self._differentiated(reading)
        return found

    def _differentiated(self, reading: Reading) -> list[Reading]:
        """The readings, of earlier times, that a pose or a part of the joints completes; any other
        reading unchanged."""
        if reading.role == "joint_states":
            return self._whole(reading)
        poses = self._poses.get(reading.role)
        if poses is None or not self.inputs[reading.role].clock.of_poses:
            return [reading]
        found, refused = poses.add(reading.t, reading.values)
        if refused:
            self.inputs[reading.role].count_outlier(refused)
        return [Reading(reading.role, t, values) for t, values in found]

    def _whole(self, reading: Reading) -> list[Reading]:
        """The readings of all joints that a reading of all or some of them completes."""
        role, t, values = reading[:3]
        state = self.inputs[role]
        try:
            return [Reading(role, *whole) for whole in self._joints.add(t, values)]
        except MessageError as error:
            state.count_rejected(_short_reason(role, str(error)), f"{role}: {error}")
            return []

    def _reading(self, role: str, message: Any, stamp: float | None,
                 receive: float) -> Reading | None:
        state = self.inputs[role]
        try:
            values = self._decoder.decode(role, message)
            altitude, = self._decoder.decode("altitude", message) if role == "dvl" else [math.nan]
            odometry = self._decoder.decode("odometry", message) if role == "dvl" else []
        except OtherJointsError as error:
            # Another driver's message on the same topic, as long as ours come too.
            if receive - self._joints_received > self._joints.timeout:
                state.count_rejected(_short_reason(role, str(error)), str(error))
            return None
        except MessageError as error:
            state.count_rejected(_short_reason(role, str(error)), str(error))
            return None
        if role == "joint_states":
            self._joints_received = receive
        state.clock.of_poses = self._decoder.gave_pose(role)
        t = self.clocks.data_time(role, stamp, receive)
        if t <= state.last_stamp and role != "joint_states":     # (by part, in `_whole`)
            state.count_rejected(NOT_LATER)
            return None
        state.note_stamp(t)
        if self.origin is None:
            self.origin = math.floor(t)
        return Reading(role, t - self.origin, values, altitude, odometry=odometry)


def _before_reception(seconds: float) -> str:
    """A time [s] from stamp to reception, in words."""
    return (f"{seconds:.2f} s before reception" if seconds >= 0 else
            f"{-seconds:.2f} s after reception")


def _short_reason(role: str, text: str) -> str:
    """The counter's name for an error: its sentence without role, numbers and advice, so that each
    kind of error has one name."""
    text = text.split(":", 1)[-1] if role in text else text
    return " ".join(NUMBER_IN_REASON.sub("", re.split("[(;]", text)[0]).split())
