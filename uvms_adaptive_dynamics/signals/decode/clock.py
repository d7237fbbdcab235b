"""The offset between the clock of the sensors' stamps and the clock of reception."""
from __future__ import annotations

from enum import Enum

OFFSET_WINDOW = 10.0    # [s] of reception over which the smallest transport delay is sought
MAX_OFFSET_ERROR = 1.0  # [s] from the offset, beyond which a stamp is implausible
MAX_IMPLAUSIBLE = 20    # implausible stamps in excess of plausible ones: the clock has jumped


class StampStatus(Enum):
    """What a message's times say of its stamp."""

    PLAUSIBLE = "plausible"
    IMPLAUSIBLE = "implausible"
    CLOCK_JUMPED = "clock jumped"


class TimeBase:
    """Offset of the two clocks: the smallest (receive - stamp) [s] of recent messages.

    The smallest, because a message without transport delay shows the offset itself. One bad stamp
    is rejected. When most stamps disagree with the offset, or the time of reception goes back, a
    clock has jumped and everything stored is invalid.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the offset."""
        self.offset: float | None = None
        self.last_receive: float | None = None
        self._smallest: float | None = None           # [s] of the current window
        self._smallest_before: float | None = None    # [s] of the window before it
        self._window_start = 0.0
        self._implausible = 0

    def observe(self, stamp: float | None, receive: float) -> StampStatus:
        """Update with the times [s] of one message; `stamp` is None without a header."""
        if self.last_receive is not None and receive < self.last_receive - MAX_OFFSET_ERROR:
            return StampStatus.CLOCK_JUMPED
        last = receive if self.last_receive is None else self.last_receive
        self.last_receive = max(receive, last)
        if stamp is None:
            return StampStatus.PLAUSIBLE
        delay = receive - stamp
        if self.offset is not None and abs(delay - self.offset) > MAX_OFFSET_ERROR:
            self._implausible += 1
            jumped = self._implausible >= MAX_IMPLAUSIBLE
            return StampStatus.CLOCK_JUMPED if jumped else StampStatus.IMPLAUSIBLE
        self._implausible = max(0, self._implausible - 1)
        if self._smallest is None or receive - self._window_start > OFFSET_WINDOW:
            # Two windows in turn: the offset follows a drift and never rests on one message.
            self._smallest_before, self._smallest = self._smallest, delay
            self._window_start = receive
        self._smallest = min(self._smallest, delay)
        self.offset = (self._smallest if self._smallest_before is None
                       else min(self._smallest, self._smallest_before))
        return StampStatus.PLAUSIBLE

    def to_stamp_clock(self, receive: float) -> float:
        """A time of reception [s] on the sensors' clock."""
        return receive - (self.offset or 0.0)
