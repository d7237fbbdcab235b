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

"""The intervals between one sensor's messages: their period, their jitter, and batches.

A driver that reads its sensor in batches, and stamps the measurements when it has them, gives most
of them almost the same time. Such stamps are spread: each measurement is one period later than the
last, but not earlier than the batch before its own arrived, nor later than its own stamp. A sensor
measures no faster because it is read in batches: where the rate has risen, a second node publishes.
"""
from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from statistics import fmean, median, median_high, pstdev  # (median_high is one of the values)
from typing import NamedTuple

from ..gates.two_publishers import RATE_RATIO, UNEVEN

PERIOD_INTERVALS = 25   # between stamps; their median is the period
JITTER_INTERVALS = 100  # between stamps, to measure their regularity without outages, longer than:
OUTAGE_PERIODS = 5.0
# A sensor that measures regularly, or as often as it can, has no intervals far below the usual
# one, even if half of its messages are lost. At .3 m/s^2 this jitter equals a small DVL's noise.
SHORT_INTERVAL, SHORT_SHARE, MOST_CLOCK_JITTER = 0.4, 0.1, 0.03
# Share of messages that come together from which they are batches: of pairs half do, of messages
# at random instants 1 - exp(-.2), a fifth.
BATCH_SHARE = 0.42
# Share of the mean interval within which messages come together, and interval [s] that no driver
# waits. Beyond either, messages came as they were measured, between outages: a DVL that loses its
# bottom lock.
TOGETHER, LONGEST_BATCHING = 0.2, 1.0
LONGEST_BATCH = 0.95    # quantile of the intervals that is one between batches of up to 20 messages
# [s] No node sends a robot's commands or readings that fast without stamps: messages received
# closer together than this, with pauses that matter (the second) between, had waited on the way.
TOO_FAST, LONG_WAIT = 0.001, 0.1


class Batches(NamedTuple):
    """Messages that come in batches: period [s] of the measurements, interval [s] between batches.
    """

    period: float
    interval: float

    def described(self) -> str:
        """'its messages come about 5 at a time, every 0.10 s'"""
        return (f"its messages come about {self.interval / self.period:.0f} at a time, every "
                f"{self.interval:.2f} s")


class StampIntervals:
    """Intervals of one sensor's messages.

    `period`: their median [s], None before the third message. `batches`: how messages come whose
    stamps are spread, None for others; `bursts`: how messages without stamps come that had waited
    for each other, None for others. `crowded`: the rate has risen and the intervals have become
    uneven, so a second node publishes. `alternates`: the values show two nodes, so no batches.
    """

    def __init__(self, regularly: bool):
        """regularly: whether the sensor measures at a rate of its own; a pilot's commands come when
        they come, and are not spread."""
        self._regularly = regularly
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.period: float | None = None
        self._intervals: deque[float] = deque()
        self._ordered: list[float] = []     # the same, ascending
        self._of_stamps: deque[float] = deque(maxlen=JITTER_INTERVALS)
        self._of_reception: deque[float] = deque(maxlen=JITTER_INTERVALS)
        self.batches: Batches | None = None
        self.bursts: Batches | None = None
        self._even: float | None = None         # [s] mean interval while they were even
        self.crowded = self.alternates = False
        # [s] stamp of the last message, of the last one of the batch before, time given to the last
        self._in_batch = self._batch_before = self._spread = -math.inf

    def add(self, interval: float, of_stamps: bool) -> None:
        """Add an interval [s] of stamps or of times of reception; others than positive ones are
        ignored."""
        if math.isfinite(interval) and interval > 0.0:
            ordered = self._ordered
            if len(ordered) == PERIOD_INTERVALS:
                del ordered[bisect_left(ordered, self._intervals.popleft())]
            self._intervals.append(interval)
            insort(ordered, interval)
            if of_stamps:
                self._of_stamps.append(interval)
            else:
                self._of_reception.append(interval)
                if interval > LONG_WAIT or self.bursts:
                    self.bursts = _bursts(self._of_reception)
            if together := self.batches or self.bursts:
                self.period = together.period
            elif len(ordered) > 1:
                self.period = ordered[len(ordered) // 2]    # the median

    def note_values(self, alternate: bool) -> None:
        """Note whether the values alternate between two nodes' ones."""
        self.alternates = alternate

    @property
    def were_even(self) -> bool:
        """Whether the messages have come at even intervals, so that the sensor's rate is known."""
        return self._even is not None

    def find_batches(self) -> None:
        """Tell by the last intervals of the stamps whether messages come in batches."""
        self.batches = None
        if len(self._of_stamps) < JITTER_INTERVALS or not self._regularly:
            return
        ordered = sorted(self._of_stamps)
        longest = ordered[int(LONGEST_BATCH * JITTER_INTERVALS)]
        outage = min(OUTAGE_PERIODS * longest, LONGEST_BATCHING)
        count = bisect_left(ordered, outage)
        if not count:
            return
        mean = fmean(ordered[:count])
        if _are_even(ordered[:count]):
            self._even = mean
        risen = self._even is not None and self._even > RATE_RATIO * mean
        # Where the newest intervals are even, the sensor itself has been set to another rate.
        self.crowded = risen and not _are_even(list(self._of_stamps)[-JITTER_INTERVALS // 4:])
        together = TOGETHER * mean
        if risen or self.alternates or bisect_left(ordered, together) < BATCH_SHARE * count:
            return
        used = [each for each in self._of_stamps if each < outage]
        ends = [k for k, each in enumerate(used) if each >= together]    # of whole batches
        if len(ends) > 1:
            self.batches = Batches(fmean(used[ends[0] + 1:ends[-1] + 1]), longest)

    @property
    def jitter(self) -> float | None:
        """Jitter [s] (standard deviation about regular stamps) if stamps come in bursts, as those
        given at reception do; None if they do not, or if it is too small to matter."""
        if len(self._of_stamps) < JITTER_INTERVALS or self.period is None:
            return None
        usual = median_high(self._of_stamps)
        used = [each for each in self._of_stamps if each < OUTAGE_PERIODS * usual]
        short = sum(each < SHORT_INTERVAL * usual for each in used)
        if short <= SHORT_SHARE * len(used):
            return None
        jitter = pstdev(used) * math.sqrt(0.5)
        return jitter if jitter > MOST_CLOCK_JITTER else None

    def spread(self, stamp: float) -> float:
        """The time [s] of a message's measurement on the sensor's clock: its stamp, unless messages
        come in batches; to be called once for each message, in order."""
        if self.batches is None:
            self._in_batch = self._batch_before = self._spread = stamp
            return stamp
        period, interval = self.batches
        if stamp - self._in_batch > SHORT_INTERVAL * period:
            self._batch_before = max(self._in_batch, stamp - interval)
        self._in_batch = stamp
        # A period too long by what the intervals leave unknown keeps the newest message of a batch
        # at its stamp.
        after = self._spread + (1.0 + 1.0 / JITTER_INTERVALS) * period
        self._spread = min(max(after, self._batch_before), stamp)
        return self._spread

    def sentence(self) -> str:
        """What to report about the intervals of a right clock's stamps, '' if all is well."""
        if self.alternates:
            return ""           # (its rejected messages are reported)
        if self.batches:
            return (f"{self.batches.described()}, with stamps given at reception; they are spread "
                    "evenly over that time. Make its driver stamp each measurement when it is "
                    "taken")
        if self.bursts:
            return (f"{self.bursts.described()}, without stamps, so nothing tells when each of "
                    f"them was sent, and rows that need them do not count or are up to "
                    f"{self.bursts.interval:.2f} s off. Receive or record them without a buffer or "
                    "a slow link between, or send a type with a header")
        if self.crowded:
            return ("its messages come more often than before, at uneven intervals, so a second "
                    "node probably publishes on its topic; stop one of them")
        return "" if self.jitter is None else (
            f"its stamps jitter by {self.jitter:.2f} s or more and come in bursts, so they are "
            "probably given at reception, with the network's jitter; make its driver stamp each "
            "measurement when it is taken")


def _bursts(intervals: Sequence[float]) -> Batches | None:
    """How messages come whose intervals of reception [s] these are, if they come in bursts."""
    longest = max(intervals)
    if len(intervals) < JITTER_INTERVALS or longest <= LONG_WAIT or median(intervals) > TOO_FAST:
        return None
    ends = [k for k, each in enumerate(intervals) if each > LONG_WAIT]
    whole = list(intervals)[ends[0] + 1:ends[-1] + 1] or intervals
    return Batches(fmean(whole), longest)


def _are_even(intervals: Sequence[float]) -> bool:
    """Whether intervals [s] differ from their mean by a small share of it."""
    mean = fmean(intervals)
    return fmean([abs(each - mean) for each in intervals]) < UNEVEN * mean
