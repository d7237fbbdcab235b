"""Messages to readings in time: stamps, clocks, delays, decoding, frozen sensors; what cannot be used is counted (DESIGN section 5)."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...config import Config
from ...errors import MessageError
from .input_state import InputState
from .decoder import Decoder, stamp_of
from .clock import TimeBase, Verdict
from ..topics import inputs
from ..gates.frozen import FrozenWatch


class Taken(NamedTuple):
    """A usable reading: seconds since the intake's origin, and the floats of `sensors`."""

    t: float
    reading: list[float]


class Frozen(NamedTuple):
    """A sensor found frozen: seconds since the intake's origin from which on it said nothing new."""

    since: float


class ClockJumped(NamedTuple):
    """A clock has jumped: all that is kept is void; the message goes with the new time."""


class Intake:
    """Everything about a message but its meaning. `inputs` holds the counts of each role."""

    def __init__(self, config: Config):
        self.inputs = {i.role: InputState(i.role, i.topic) for i in inputs(config)}
        self._decoder = Decoder(config)
        self._frozen = FrozenWatch(config.joint_states.rest_velocity)
        self.time = TimeBase()
        # A sensor's stamp is later than the truth by its delay; a command's effect is later than its stamp.
        self._delays = {"imu": config.imu.delay, "dvl": config.dvl.delay, "depth": config.depth.delay,
                        "joint_states": config.joint_states.delay, "thrusters": -config.thrusters.delay,
                        "wrench": -config.thrusters.delay, "battery": 0.0}
        self.reset()

    def reset(self) -> None:
        """Forget all times, as between bags; counters stay."""
        self.origin: float | None = None      # [s since the epoch] of the readings' times
        self.time.reset()
        self._frozen.reset()
        for state in self.inputs.values():
            state.last_stamp = -math.inf

    def take(self, role: str, message: Any, receive_time: float) -> Taken | Frozen | ClockJumped | None:
        """What a message received at `receive_time` [s since the epoch] is good for; None where it is not to be used.

        After ClockJumped the caller resets everything and gives the same message again.
        """
        state = self.inputs[role]
        stamp = stamp_of(message)
        verdict = self.time.observe(stamp, receive_time)
        if verdict is Verdict.JUMPED:
            return ClockJumped()
        state.received += 1
        state.last_receive = receive_time
        if verdict is Verdict.STRANGE:
            return state.reject("stamp far from the clock", f"stamp is {receive_time - stamp:.2f} s before reception, others {self.time.offset:.2f} s; "
                                                            "check that sensor's clock")
        try:
            reading = self._decoder.decode(role, message)
        except MessageError as error:
            text = str(error)
            return state.reject(text.split(":", 1)[-1].split("(")[0].strip() if role in text else text, text)
        t = (stamp if stamp is not None else self.time.stamp_clock(receive_time)) - self._delays[role]
        if t <= state.last_stamp:
            return state.reject("stamp not later than the last")
        state.last_stamp = t
        if self.origin is None:
            self.origin = math.floor(t)
        t -= self.origin
        since = self._frozen.frozen_since(role, t, reading)
        if since is not None:
            state.reject("frozen", f"the same reading to the last bit for {t - since:.1f} s while other sensors show motion")
            return Frozen(since)
        state.use()
        return Taken(t, reading)
