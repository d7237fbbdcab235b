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

"""One sensor's clock: how its stamps compare with the times at which its messages are received.

    reception - stamp = transport delay of the message - error of the sensor's clock

A low quantile of this difference shows the clock, since some messages always travel fast. When the
difference changes at once, either the clock has stepped or the transport has: the intervals tell
which. A clock's step shows in the stamps while messages come as regularly as ever; a stall of the
network shows in the reception of messages that were stamped regularly.
"""
from __future__ import annotations

import math
from collections import deque
from enum import Enum
from statistics import median_high, pstdev  # (one of the values, which a mean need not be)

BUCKET = 0.1            # [s] of reception; the smallest difference in it counts
BUCKETS = 100           # of which the quantile is taken: ten seconds of a fast sensor
BUCKET_QUANTILE = 0.1   # of the buckets: one message that is wrong is outvoted by ten
CLOCK_STEP = 0.1        # [s] of difference that jitter of a driver does not reach
AGREE = 0.03            # [s] between the differences of a clock that stepped
STEP_TIME = 0.5         # [s] over which a step has to be confirmed, with so many messages:
STEP_MESSAGES = 3
RIGHT_CLOCK = 0.03      # [s] within which synchronized clocks agree
LONGEST_LATENCY = 0.5   # [s] of transport; stamps older than this are another clock's
LATEST = 1.0            # [s] late, from which on a message belongs to no tick that is still open
TOLD_IN_DAYS = 1e6      # [s] from which an error is told in days: a clock that was never set
PERIOD_INTERVALS = 25   # between stamps, whose median is the period
JITTER_INTERVALS = 100  # between stamps that show how regular they are, outages left out:
OUTAGE_PERIODS = 5.0
# A sensor that measures regularly, or as often as it can, has no intervals far below the
# usual one, though half be lost on the way. At .3 m/s^2 so much jitter is a small DVL's noise.
SHORT_INTERVAL, SHORT_SHARE, MOST_CLOCK_JITTER = 0.4, 0.1, 0.03


class StampStatus(Enum):
    """What its time of reception says of a message's stamp."""

    GOOD = "good"
    NEW = "clock not known yet"
    AHEAD = "stamp ahead of its clock"
    LATE = "stamp or message far too late"
    STEPPED = "clock stepped"


class SensorClock:
    """Differences between reception and stamp [s] of one sensor.

    `offset` is their low quantile, None before `begin`; `period` the median interval
    between messages [s], None before the third; `lateness` how far a message typically comes after
    the fastest ones [s]. `correction` [s] is what has to be added to its stamps, `latency` the
    transport delay [s] that this leaves: both are set by `Clocks`, which sees all sensors.
    `unstamped`: its messages have a header whose stamp is zero.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.offset: float | None = None
        self.period: float | None = None
        self.lateness = 0.0
        self.correction: float | None = None
        self.latency: float | None = None
        self.unstamped = False
        self._stamp = self._receive = -math.inf      # of the last message
        self._intervals: deque[float] = deque(maxlen=PERIOD_INTERVALS)
        self._stamped: deque[float] = deque(maxlen=JITTER_INTERVALS)     # intervals of stamps
        self._first: list[tuple[float, float]] = []  # (stamp, reception) before `begin`
        self._restart()

    def _restart(self) -> None:
        """Forget the differences, as after a step."""
        self._settled: tuple[float, float] | None = None    # (reception, offset) once they are many
        self._buckets: deque[float] = deque(maxlen=BUCKETS)
        self._bucket_end = -math.inf
        self._odd: list[tuple[float, float]] = []    # (reception, difference) while a step is open

    @property
    def rate(self) -> float | None:
        """Messages per second."""
        return 1.0 / self.period if self.period else None

    @property
    def error(self) -> float | None:
        """How far the clock is ahead of the common one [s], None while it is right."""
        if self.correction is None or abs(self.correction) < RIGHT_CLOCK:
            return None
        return -self.correction

    @property
    def drift(self) -> float:
        """Seconds per second by which its clock gains on the receiver's since it is known, zero
        where it has gained less than synchronized clocks may."""
        if self._settled is None or self.offset is None:
            return 0.0
        since, offset = self._settled
        gained = offset - self.offset
        return gained / (self._receive - since) if abs(gained) > RIGHT_CLOCK else 0.0

    @property
    def jitter(self) -> float | None:
        """Standard deviation [s] of stamps that come in bursts about a regular clock's, as those do
        that are given at reception; None where they do not, or where it is too small to matter."""
        if len(self._stamped) < JITTER_INTERVALS or self.period is None:
            return None
        usual = median_high(self._stamped)
        used = [each for each in self._stamped if each < OUTAGE_PERIODS * usual]
        short = sum(each < SHORT_INTERVAL * usual for each in used)
        if short <= SHORT_SHARE * len(used):
            return None
        jitter = pstdev(used) * math.sqrt(0.5)
        return jitter if jitter > MOST_CLOCK_JITTER else None

    @property
    def delay(self) -> float:
        """How late most messages come [s] after the time that they are of."""
        return max(self.latency or 0.0, 0.0) + self.lateness

    def add(self, stamp: float | None, receive: float) -> StampStatus:
        """Add a message with its stamp (None without a header) and time of reception [s]."""
        if stamp is None:
            self._measure_period(receive - self._receive)
            self._receive = receive
            return StampStatus.GOOD
        if self.offset is None:
            self._first.append((stamp, receive))
            return StampStatus.NEW
        difference = receive - stamp
        stamp_moved = abs(stamp - self._stamp - (self.period or 0.0))
        receive_moved = abs(receive - self._receive - (self.period or 0.0))
        if abs(difference - self.offset) <= CLOCK_STEP:
            self._odd.clear()
        elif self._odd or stamp_moved > receive_moved or difference - self.offset > LATEST:
            return self._judge_step(receive, difference)
        self._take(stamp, receive)
        return StampStatus.GOOD

    @property
    def can_begin(self) -> bool:
        """Whether enough messages have come for one wrong stamp to be outvoted."""
        return len(self._first) >= STEP_MESSAGES

    def begin(self) -> None:
        """Take the messages so far as those of a good clock, but for stamps far ahead of the
        others."""
        if self.offset is not None or not self._first:
            return
        # Of medians, so that wrong stamps are outvoted; by time of reception, so that a burst of
        # messages that had to wait for this receiver is one voice among the tenths of a second.
        buckets: dict[int, list[float]] = {}
        for stamp, receive in self._first:
            buckets.setdefault(math.floor((receive - self._first[0][1]) / BUCKET), []).append(
                receive - stamp)
        self.offset = median_high(median_high(bucket) for bucket in buckets.values())
        for stamp, receive in [first for first in self._first if self.fits(*first)]:
            self._take(stamp, receive)
        self._first.clear()

    def fits(self, stamp: float, receive: float) -> bool:
        """Whether a stamp is one that this clock may have given."""
        return self.offset is not None and -CLOCK_STEP <= receive - stamp - self.offset <= LATEST

    def _take(self, stamp: float, receive: float) -> None:
        if 0.0 < stamp - self._stamp < math.inf:
            self._stamped.append(stamp - self._stamp)
        self._measure_period(stamp - self._stamp)
        self._stamp, self._receive = stamp, receive
        self._measure_offset(receive, receive - stamp)

    def _judge_step(self, receive: float, difference: float) -> StampStatus:
        """A stamp far from the clock: wrong by itself, or one of many that show a step."""
        assert self.offset is not None
        self._odd = [(at, d) for at, d in self._odd if abs(d - difference) <= AGREE]
        self._odd.append((receive, difference))
        if len(self._odd) < STEP_MESSAGES or receive - self._odd[0][0] < STEP_TIME:
            return StampStatus.AHEAD if difference < self.offset else StampStatus.LATE
        found = [d for _, d in self._odd]
        self._restart()
        self._stamp, self._receive = receive - difference, receive
        self._buckets.extend(found)
        self._set_offset()
        return StampStatus.STEPPED

    def _measure_period(self, interval: float) -> None:
        if math.isfinite(interval) and interval > 0.0:
            self._intervals.append(interval)
            if len(self._intervals) > 1:
                self.period = median_high(self._intervals)

    def _measure_offset(self, receive: float, difference: float) -> None:
        if receive >= self._bucket_end:
            self._bucket_end = receive + BUCKET
            self._buckets.append(difference)
            self._set_offset()
        elif difference < self._buckets[-1]:
            self._buckets[-1] = difference

    def _set_offset(self) -> None:
        ordered = sorted(self._buckets)
        self.offset = ordered[int(BUCKET_QUANTILE * len(ordered))]
        if self._settled is None and len(ordered) == BUCKETS:
            self._settled = self._receive, self.offset
        self.lateness = ordered[int((1.0 - BUCKET_QUANTILE) * (len(ordered) - 1))] - self.offset


def clock_sentence(sensor: SensorClock) -> str:
    """What is to be said of a sensor's clock, '' where all is well."""
    if sensor.unstamped:
        return ("its stamps are zero; its messages count at their reception, less a usual "
                f"transport delay of {sensor.latency or 0.0:.2f} s. Let its driver stamp them")
    if sensor.error is None:
        return "" if sensor.jitter is None else (
            f"its stamps are irregular by {sensor.jitter:.2f} s or more, and come in bursts: they "
            "are probably given at reception, with the jitter of the network. Let its driver stamp "
            "each measurement when it is made")
    error, latency = sensor.error, max(sensor.latency or 0.0, 0.0)
    far = f"{abs(error):.2f} s" if abs(error) < TOLD_IN_DAYS else f"{abs(error) / 86400:.0f} days"
    side = "ahead of" if error > 0 else "behind"
    text = (f"its clock is {far} {side} the other clocks; its stamps are corrected by the times of "
            f"reception, with a transport delay of {latency:.2f} s. Synchronize that clock")
    if LONGEST_LATENCY < latency - error < LATEST:
        text += f", or, if its messages do come {latency - error:.2f} s late, shorten their way"
    return text
