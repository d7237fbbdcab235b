"""From messages to stamped readings: clocks, delays, decoding; rejections are counted."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...config import Config
from ...errors import MessageError
from ..topics import inputs
from .clock import StampStatus, TimeBase
from .decoder import Decoder, stamp_of
from .input_state import InputState


class Reading(NamedTuple):
    """One measurement: `t` [s] since the reader's origin, and the values listed in `decoder`."""

    t: float
    values: list[float]


class ClockJump(NamedTuple):
    """The clock of a message jumped: everything stored is invalid, and the message was not read."""


class MessageReader:
    """Reads messages of every role; `inputs` holds the counts of each.

    `origin` [s since the epoch] is the zero of all readings' times, None before the first.
    """

    def __init__(self, config: Config):
        self.inputs = {i.role: InputState(i.role, i.topic) for i in inputs(config)}
        self._decoder = Decoder(config)
        self.time = TimeBase()
        # A sensor's stamp is late by its delay. A command acts late, by its delay after the stamp.
        self._delays = {"imu": config.imu.delay, "dvl": config.dvl.delay,
                        "depth": config.depth.delay, "joint_states": config.joint_states.delay,
                        "thrusters": -config.thrusters.delay, "wrench": -config.thrusters.delay,
                        "battery": 0.0}
        self.reset()

    def reset(self) -> None:
        """Forget all times, as between bags; counts stay."""
        self.origin: float | None = None
        self.time.reset()
        for state in self.inputs.values():
            state.last_stamp = -math.inf

    def read(self, role: str, message: Any, receive_time: float) -> Reading | ClockJump | None:
        """The reading of a message, None if it was rejected.

        `receive_time` is in seconds since the epoch. After a ClockJump the caller resets everything
        and reads the same message again.
        """
        state = self.inputs[role]
        stamp = stamp_of(message)
        status = self.time.observe(stamp, receive_time)
        if status is StampStatus.CLOCK_JUMPED:
            return ClockJump()
        state.received += 1
        state.last_receive = receive_time
        if status is StampStatus.IMPLAUSIBLE:
            assert stamp is not None
            state.count_rejected("stamp far from the clock", (
                f"its stamp is {receive_time - stamp:.2f} s before reception, other stamps "
                f"{self.time.offset:.2f} s; synchronize that sensor's clock"))
            return None
        try:
            values = self._decoder.decode(role, message)
        except MessageError as error:
            state.count_rejected(_short_reason(role, str(error)), str(error))
            return None
        sent = stamp if stamp is not None else self.time.to_stamp_clock(receive_time)
        t = sent - self._delays[role]
        if t <= state.last_stamp:
            state.count_rejected("stamp not later than the last")
            return None
        state.last_stamp = t
        if self.origin is None:
            self.origin = math.floor(t)
        return Reading(t - self.origin, values)


def _short_reason(role: str, text: str) -> str:
    """The counter's name for an error: its sentence without the role and without advice."""
    return text.split(":", 1)[-1].split("(")[0].strip() if role in text else text
