"""Two clocks, the sensors' stamps and the time of reception, and the offset between them (DESIGN section 5)."""
from __future__ import annotations

from enum import Enum

WINDOW = 10.0     # [s] of reception over which the smallest delay is sought
JUMP = 1.0        # [s] from the offset at which a stamp is not believed
PATIENCE = 20     # such stamps in excess of good ones, after which the clock itself has jumped


class Verdict(Enum):
    """What to do with a message."""

    GOOD = "good"
    STRANGE = "strange"
    JUMPED = "jumped"


class TimeBase:
    """Offset = the smallest (receive - stamp) of recent messages: what a message without delay in transport shows.

    One bad stamp is rejected; when most stamps disagree with the offset, or reception itself goes back, a clock has
    jumped and everything kept is void.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Nothing known."""
        self.offset: float | None = None
        self._current: float | None = None
        self._previous: float | None = None
        self._began = 0.0
        self._strange = 0
        self.last_receive: float | None = None

    def observe(self, stamp: float | None, receive: float) -> Verdict:
        """Take in one message's times (stamp None: no header)."""
        if self.last_receive is not None and receive < self.last_receive - JUMP:
            return Verdict.JUMPED
        self.last_receive = receive if self.last_receive is None else max(receive, self.last_receive)
        if stamp is None:
            return Verdict.GOOD
        delay = receive - stamp
        if self.offset is not None and abs(delay - self.offset) > JUMP:
            self._strange += 1
            return Verdict.JUMPED if self._strange >= PATIENCE else Verdict.STRANGE
        self._strange = max(0, self._strange - 1)
        if self._current is None or receive - self._began > WINDOW:
            # Two windows in turn: a slow drift is followed, and a new window never starts from nothing.
            self._previous, self._current, self._began = self._current, delay, receive
        self._current = min(self._current, delay)
        self.offset = self._current if self._previous is None else min(self._current, self._previous)
        return Verdict.GOOD

    def stamp_clock(self, receive: float) -> float:
        """A time of reception on the sensors' clock."""
        return receive - (self.offset or 0.0)
