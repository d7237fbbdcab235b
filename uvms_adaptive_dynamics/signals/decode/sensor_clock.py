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

"""One sensor's clock: its stamps compared with the times of reception (docs/signals.md, "Clocks").

    reception - stamp = transport delay of the message - error of the sensor's clock

A low quantile of this difference follows the clock, since transport can only delay and some
messages always travel fast. When the difference changes suddenly, either the clock or the transport
has stepped, and the intervals tell which: after a clock step the stamps jump while messages arrive
as regularly as before; in a network stall, or where messages arrive in bursts, reception is
irregular while the stamps are regular.

Stamps of measurements that come in batches are spread first (`stamp_intervals`).
"""
from __future__ import annotations

import math
from collections import deque
from enum import Enum
from statistics import median
from typing import NamedTuple

from .clock_drift import ClockDrift
from .shared_stamps import SharedStamps
from .stamp_intervals import StampIntervals

BUCKET = 0.1            # [s] of reception; the extreme differences in each bucket count
BUCKETS = 100           # over which the quantile is taken: ten seconds of a fast sensor
BUCKET_QUANTILE = 0.1   # over the buckets: ten buckets outvote a wrong message
CLOCK_STEP = 0.1        # [s] of difference beyond any driver's jitter
SLEW = 0.01             # [s/s] at which a correction changes; speeds are off by as much meanwhile
AGREE = 0.03            # [s] spread of the differences after a clock step
STEP_TIME = 0.5         # [s] over which messages have to confirm a step
STEP_MESSAGES = 3       # that confirm a step
ZERO_STAMPS = 10        # messages of which most have a stamp of zero if the driver sets none
RIGHT_CLOCK = 0.03      # [s] within which synchronized clocks agree
LONGEST_LATENCY = 0.5   # [s] of transport; older stamps come from another clock
LATEST = 1.0            # [s] late, beyond which a message belongs to no open tick
TOLD_IN_DAYS = 1e6      # [s] from which an error is reported in days: a clock that was never set


class StampStatus(Enum):
    """Status of a message's stamp by its time of reception."""

    GOOD = "good"
    NEW = "clock not known yet"
    AHEAD = "stamp ahead of its clock"
    LATE = "stamp or message far too late"
    STEPPED = "clock stepped"


class Bucket(NamedTuple):
    """Smallest and largest difference [s] of the messages received from `begin` [s] on."""

    begin: float
    least: float
    most: float


class _Odd(NamedTuple):
    """Time of reception and difference [s] of a message far from the clock."""

    receive: float
    difference: float
    refused: bool


class SensorClock:
    """Differences between reception and stamp [s] of one sensor.

    `offset`: their low quantile, None before `begin`; `lateness`: delay [s] behind the fastest
    messages within which nearly all arrive, the first ones of a burst too; `intervals`: those
    between the messages.
    `correction` [s] is to be added to the stamps, `latency` is the transport delay [s] that remains
    then, `first_latency` the one at the beginning; `Clocks`, which sees all sensors, finds them.
    `of_poses`: the readings are derived from poses, so they come later than the messages.
    """

    def __init__(self, regularly: bool = True) -> None:
        """regularly: see `StampIntervals`."""
        self.intervals = StampIntervals(regularly)
        self._shared = SharedStamps()
        self.of_poses = False
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._shared.reset()
        self._forget_clock()

    def _forget_clock(self) -> None:
        self.offset: float | None = None
        self.lateness = 0.0
        self.correction: float | None = None
        self.latency: float | None = None
        self.first_latency: float | None = None
        self._zeros: deque[bool] = deque(maxlen=ZERO_STAMPS)      # whether stamps are zero
        self._stamp = self._receive = -math.inf      # of the last message
        self._first: list[tuple[float, float]] = []  # (stamp, reception) before `begin`
        self.intervals.reset()
        self._applied, self._dated = 0.0, -math.inf     # [s] correction, time of the last message
        # [s/s] growth of `correction`, and the stamp at which it was right
        self._growth, self._right_at = 0.0, 0.0
        self._restart()

    def _restart(self) -> None:
        """Forget the differences, as after a step."""
        self._drift = ClockDrift(RIGHT_CLOCK)
        self._buckets: deque[Bucket] = deque(maxlen=BUCKETS)
        self._bucket_end = -math.inf
        self._odd: list[_Odd] = []      # those of a possible step

    @property
    def tells_time(self) -> bool:
        """Whether stamps are used at all: not those that several messages share."""
        return not self._shared.found

    @property
    def tells_lateness(self) -> bool:
        """Whether its stamps are known to tell how late messages are."""
        return self.tells_time and self._shared.judged

    @property
    def known(self) -> bool:
        """Whether messages can be dated."""
        return self.offset is not None or not self.tells_time

    @property
    def period(self) -> float | None:
        """Usual interval [s] between messages; None before the third."""
        return self.intervals.period

    @property
    def rate(self) -> float | None:
        """Messages per second."""
        return 1.0 / self.period if self.period else None

    @property
    def error(self) -> float | None:
        """How far the clock is ahead of the common clock [s], None while it is right."""
        if self.correction is None or abs(self.correction) < RIGHT_CLOCK:
            return None
        return -self.correction

    @property
    def drift(self) -> float:
        """Drift [s/s] of the clock relative to the receiver's, negative if it loses; zero if none
        is certain."""
        return -self._drift.rate

    @property
    def delay(self) -> float:
        """Delay [s] within which most messages arrive after their measurement."""
        batches = self.intervals.batches
        waited = batches.interval if batches else 0.0
        return max(self.latency or 0.0, 0.0) + self.lateness + waited

    @property
    def unstamped(self) -> bool:
        """Whether most messages have headers with zero stamps; a few have them where a recording or
        a simulation begins at zero."""
        zeros = sum(self._zeros)
        return zeros >= STEP_MESSAGES and 2 * zeros > len(self._zeros)

    def note_stamp(self, is_zero: bool) -> None:
        """Note whether a message's header has a stamp of zero."""
        self._zeros.append(is_zero)

    def note_latency(self, latency: float, measured: bool) -> None:
        """Note the transport delay [s] that remains after the correction; measured: while the clock
        was right, not assumed."""
        self.latency = latency
        if measured and self.first_latency is None:
            self.first_latency = latency

    def correct(self, correction: float, growth: float) -> None:
        """Set the correction [s] at the last stamp, and its growth [s/s] since."""
        self.correction, self._growth, self._right_at = correction, growth, self._stamp

    def corrected(self, stamp: float) -> float:
        """The time [s] of a message's measurement on the common clock; to be called once for each
        message, in order.

        A small change of the correction is spread over time: at once, it would look like a joint
        that slips."""
        at, gap = self.intervals.spread(stamp), -self._applied
        if self.correction is not None:
            gap += self.correction + self._growth * (at - self._right_at)
        most = (SLEW + abs(self.drift)) * max(at - self._dated, 0.0)
        self._applied += gap if abs(gap) > CLOCK_STEP else min(max(gap, -most), most)
        self._dated = max(at, self._dated)
        return at + self._applied

    def add(self, stamp: float | None, receive: float, copy: bool = False) -> StampStatus:
        """Add a message by its stamp [s] (None without a header) and time of reception [s]; `copy`
        as in `SharedStamps.add`."""
        if stamp is not None:
            told = self.tells_time
            self._shared.add(stamp, receive, copy)
            if self.tells_time != told:     # (the offset is one of stamps that tell nothing)
                self._forget_clock()
        if stamp is None or not self.tells_time:
            self.intervals.add(receive - self._receive, of_stamps=False)
            self._receive = receive
            return StampStatus.GOOD
        if self.offset is None:
            self._first.append((stamp, receive))
            return StampStatus.NEW
        difference = receive - stamp
        # (usual delays differ by `lateness`, which contains what a clock has lost meanwhile)
        far = difference - self.offset
        if -CLOCK_STEP <= far <= self.lateness + CLOCK_STEP:
            self._odd.clear()
            self._take(stamp, receive)
            return StampStatus.GOOD
        delayed = _may_follow((self._stamp, self._receive), (stamp, receive), self.period or 0.0)
        stepping = any(odd.refused and abs(odd.difference - difference) <= AGREE
                       for odd in self._odd)
        if delayed and not stepping and far > LATEST:
            self._measure_offset(receive, difference)   # so long bursts are waited for once known
        refused = stepping or not delayed or far > LATEST
        if self._has_stepped(_Odd(receive, difference, refused)):
            return StampStatus.STEPPED
        if refused:
            return StampStatus.AHEAD if far < 0.0 else StampStatus.LATE
        self._take(stamp, receive)
        return StampStatus.GOOD

    @property
    def can_begin(self) -> bool:
        """Whether there are enough messages to outvote one wrong stamp."""
        return len(self._first) >= STEP_MESSAGES

    def begin(self) -> None:
        """Initialize the clock from the messages so far, without stamps far from the others."""
        if self.offset is not None or not self._first:
            return
        clock = self._likeliest_series()
        self.offset = min(receive - stamp for stamp, receive in clock)
        for stamp, receive in [first for first in self._first if self.fits(*first)]:
            self._take(stamp, receive)
        self._first.clear()
        self._set_offset()

    def _likeliest_series(self) -> list[tuple[float, float]]:
        """Those of the first messages, (stamp, reception), that one clock stamped."""
        intervals = [after[0] - before[0] for before, after in zip(self._first, self._first[1:])]
        period = median([each for each in intervals if each > 0.0] or [0.0])
        series: list[list[tuple[float, float]]] = []
        for stamp, receive in self._first:
            nearest = min((one for one in series if _may_follow(one[-1], (stamp, receive), period)),
                          key=lambda one: abs(receive - stamp - one[-1][1] + one[-1][0]),
                          default=None)
            if nearest is None:
                series.append(nearest := [])
            nearest.append((stamp, receive))
        # Several messages outvote a wrong stamp. Buckets of reception give messages that had queued
        # for this receiver a single vote.
        return max(series, key=lambda one: (
            len({math.floor((receive - self._first[0][1]) / BUCKET) for _, receive in one}),
            len(one), min(receive - stamp for stamp, receive in one)))

    def fits(self, stamp: float, receive: float) -> bool:
        """Whether this clock may have given a stamp."""
        if self.offset is None:
            return not self.tells_time
        latest = max(LATEST, self.lateness + CLOCK_STEP)
        return -CLOCK_STEP <= receive - stamp - self.offset <= latest

    def _take(self, stamp: float, receive: float) -> None:
        self.intervals.add(stamp - self._stamp, of_stamps=True)
        # (a copy or a straggler says nothing of the interval to the next message)
        self._stamp, self._receive = max(stamp, self._stamp), receive
        self._measure_offset(receive, receive - stamp)

    def _has_stepped(self, odd: _Odd) -> bool:
        """Whether a message far from the clock confirms that the clock, or all of the transport,
        has stepped: several agree for a while, as in no burst or stall. The clock then begins again
        with them."""
        self._odd = [one for one in self._odd if abs(one.difference - odd.difference) <= AGREE
                     and (odd.refused or not one.refused)]      # (one in time was no step)
        self._odd.append(odd)
        if len(self._odd) < STEP_MESSAGES or odd.receive - self._odd[0].receive < STEP_TIME:
            return False
        found = self._odd
        self._restart()
        self._stamp, self._receive = odd.receive - odd.difference, odd.receive
        self._buckets.extend(Bucket(at, d, d) for at, d, _ in found)
        self._set_offset()
        return True

    def _measure_offset(self, receive: float, difference: float) -> None:
        if receive >= self._bucket_end:
            if self._buckets:
                self._drift.add(*self._buckets[-1][:2])
            self._bucket_end = receive + BUCKET
            self._buckets.append(Bucket(receive, difference, difference))
            self._set_offset()
            self.intervals.find_batches()
        else:
            begin, least, most = self._buckets[-1]
            self._buckets[-1] = Bucket(begin, min(difference, least), max(difference, most))

    def _set_offset(self) -> None:
        now, rate, count = self._buckets[-1].begin, self._drift.rate, len(self._buckets)
        drifted = [rate * (now - begin) for begin, *_ in self._buckets]
        least = sorted(b.least + gained for b, gained in zip(self._buckets, drifted))
        most = sorted(b.most + gained for b, gained in zip(self._buckets, drifted))
        self.offset = least[int(BUCKET_QUANTILE * count)]
        self.lateness = most[int((1.0 - BUCKET_QUANTILE) * (count - 1))] - self.offset


def _may_follow(last: tuple[float, float], message: tuple[float, float], period: float) -> bool:
    """Whether the clock that stamped `last` may have stamped a message, both (stamp, reception)
    [s], of a sensor with this period [s]: its stamp is no farther from regular than its reception.
    Otherwise it would be the stamp that has moved, not the message that has waited."""
    (stamp_before, receive_before), (stamp, receive) = last, message
    return (abs(stamp - stamp_before - period)
            <= abs(receive - receive_before - period) + CLOCK_STEP)


def clock_sentence(sensor: SensorClock) -> str:
    """What to report about a sensor's clock, '' if all is well."""
    latency = max(sensor.latency or 0.0, 0.0)
    if sensor.unstamped:
        return ("its stamps are zero; its messages are dated at reception, less a usual transport "
                f"delay of {latency:.2f} s. Make its driver stamp them")
    if not sensor.tells_time:
        return ("several of its messages in a row have the same stamp (rounded to whole seconds, "
                "or a clock that has stopped); they are dated at reception, less a usual transport "
                f"delay of {latency:.2f} s. Make its driver stamp each measurement when it is "
                "taken")
    if sensor.error is None:
        return sensor.intervals.sentence()
    error = sensor.error
    far = f"{abs(error):.2f} s" if abs(error) < TOLD_IN_DAYS else f"{abs(error) / 86400:.0f} days"
    side = "ahead of" if error > 0 else "behind"
    text = (f"its clock is {far} {side} the other clocks; its stamps are corrected by the times of "
            f"reception, assuming a transport delay of {latency:.2f} s. Synchronize that clock")
    if LONGEST_LATENCY < latency - error < LATEST:
        text += (f", or, if its messages really arrive {latency - error:.2f} s late, reduce that "
                 "delay")
    return text
