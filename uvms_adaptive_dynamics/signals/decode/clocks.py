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

"""The clocks of all sensors brought to one: the clock of the samples.

Most sensors share a clock: the host's, a vehicle computer's, a simulator's. It is found as the one
that explains the differences between reception and stamp best, together with the transport delays
that sensors usually have. Stamps on it are used as they are. A sensor that is not on it, because
its messages would have been received before they were stamped or later than any transport takes,
has a clock of its own, and is brought to the common one by its times of reception.
"""
from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from statistics import median

from .sensor_clock import LONGEST_LATENCY, RIGHT_CLOCK, SensorClock, StampStatus, clock_sentence

START_TIME = 0.5        # [s] of reception over which clocks are compared before the first sample
REVIEW_PERIOD = 1.0     # [s] between comparisons
WENT_BACK = 0.2         # [s] by which reception goes back only if the receiver's clock was set
# [s] without a message of any sensor, after which it does not matter whether all of them paused or
# the receiver's clock was set: everything begins anew.
SILENT_PAUSE = 5.0
# [s] Transport delays that drivers usually have, by role: a DVL measures for a tenth of a second
# before it can publish, others publish what they have read.
USUAL_LATENCY = {"dvl": 0.1, "depth": 0.03}
LEAST_LATENCY = 0.005   # [s] of all others
# Natural logarithms of probabilities: that a sensor has a clock of its own, at most that a latency
# is unusual, that the common clock is not the receiver's, and the odds from which on another clock
# replaces the common one.
OWN_CLOCK, UNUSUAL, NOT_RECEIVERS, CLEARLY = -4.0, -3.0, -2.0, 2.0


class Verdict(Enum):
    """What to do with a message by its times."""

    USE = "use"
    HOLD = "hold"            # until its clock is known
    RELEASE = "release"      # use it, and before it those of its clock that were held
    AHEAD = StampStatus.AHEAD.value
    LATE = StampStatus.LATE.value
    JUMPED = "a clock jumped, or all sensors paused"


class Clocks:
    """`reference` [s]: reception minus the common clock, None until it is known."""

    def __init__(self, roles: Iterable[str]):
        self.sensors = {role: SensorClock() for role in roles}
        self.reset()

    def reset(self) -> None:
        """Forget all clocks."""
        self.reference: float | None = None
        self.last_receive: float | None = None
        self._transport = 0.0       # [s] of the fastest sensor on the common clock
        self._begin = self._reviewed = math.inf
        for sensor in self.sensors.values():
            sensor.reset()

    def observe(self, role: str, stamp: float | None, receive: float,
                unstamped: bool = False) -> Verdict:
        """Judge a message by its stamp (None where it has none) and time of reception [s].

        `unstamped`: it has a header, whose stamp is zero.

        After JUMPED everything stored is invalid: reset, and observe the message again.
        """
        if self.last_receive is None:
            self.last_receive = self._begin = receive
        if not self.last_receive - WENT_BACK <= receive <= self.last_receive + SILENT_PAUSE:
            return Verdict.JUMPED
        self.last_receive = max(receive, self.last_receive)
        sensor = self.sensors[role]
        if unstamped:
            sensor.unstamped, sensor.latency = True, USUAL_LATENCY.get(role, self._transport)
        status = sensor.add(stamp, receive)
        if self.reference is None:
            if receive - self._begin < START_TIME:
                return Verdict.HOLD
            self.decide()
            return Verdict.RELEASE
        if status is StampStatus.NEW:
            if not sensor.can_begin:
                return Verdict.HOLD
            sensor.begin()
            return Verdict.RELEASE if self._review() else Verdict.JUMPED
        # A step is placed at once; a drift has time.
        if status is StampStatus.STEPPED or receive - self._reviewed > REVIEW_PERIOD:
            if not self._review():
                return Verdict.JUMPED
        if status in (StampStatus.AHEAD, StampStatus.LATE):
            return Verdict(status.value)
        return Verdict.USE

    def decide(self) -> None:
        """Compare the clocks by what has been seen so far."""
        for sensor in self.sensors.values():
            sensor.begin()
        if self.last_receive is not None:
            self._review()

    def data_time(self, role: str, stamp: float | None, receive: float) -> float:
        """The time [s] of a message on the common clock, which must be known.

        Without a stamp its transport is taken as long as is usual for the role, or as that of the
        fastest sensor.
        """
        assert self.reference is not None
        if stamp is None:
            return receive - self.reference - USUAL_LATENCY.get(role, self._transport)
        return stamp + (self.sensors[role].correction or 0.0)

    def now(self) -> float | None:
        """The last time of reception [s] on the common clock, None until that is known."""
        if self.reference is None or self.last_receive is None:
            return None
        return self.last_receive - self.reference

    def sentences(self) -> list[str]:
        """A sentence for each sensor whose clock is wrong, and for a common clock that is not the
        receiver's."""
        said = {role: clock_sentence(sensor) for role, sensor in self.sensors.items()}
        found = [f"{role}: {sentence}" for role, sentence in said.items() if sentence]
        if self.reference is not None and abs(self.reference) > LONGEST_LATENCY:
            side = "behind" if self.reference > 0 else "ahead of"
            found.append(f"clock: all stamps are {abs(self.reference):.2f} s {side} the times of "
                         "reception (simulated time, or another computer's clock); they are used "
                         "as they are")
        return found

    def drifts(self) -> dict[str, float]:
        """Seconds per second by which a sensor's clock gains on most others, by role."""
        rates = {role: sensor.drift for role, sensor in self.sensors.items()
                 if sensor.offset is not None}
        usual = median(rates.values()) if rates else 0.0
        return {role: rate - usual for role, rate in rates.items()
                if abs(rate - usual) > 0.5 * abs(rate)}

    # --- comparison -------------------------------------------------------------------------------

    def _review(self) -> bool:
        """Compare the clocks and place each sensor; False if the common clock itself has jumped."""
        assert self.last_receive is not None
        self._reviewed = self.last_receive
        offsets = {role: sensor.offset for role, sensor in self.sensors.items()
                   if sensor.offset is not None}
        best = max((0.0, *offsets.values()), key=lambda at: _evidence(at, offsets))
        if self.reference is None or not offsets:
            self.reference = best
        elif abs(best - self.reference) > RIGHT_CLOCK:
            # The evidence of the old one, wherever it has drifted to within the tolerance.
            near = [at for at in (self.reference, *offsets.values())
                    if abs(at - self.reference) <= RIGHT_CLOCK]
            kept = max(near, key=lambda at: _evidence(at, offsets))
            if _evidence(best, offsets) > _evidence(kept, offsets) + CLEARLY:
                return False
            self.reference = kept
        else:
            self.reference = best
        for role, offset in offsets.items():
            self._place(role, self.sensors[role], offset - self.reference)
        self._transport = min((max(sensor.latency, 0.0) for sensor in self.sensors.values()
                               if sensor.latency is not None and sensor.correction is None),
                              default=0.0)
        return True

    @staticmethod
    def _place(role: str, sensor: SensorClock, latency: float) -> None:
        """Use a sensor's stamps as they are, or bring them to the common clock; once its clock is
        known to be wrong it is not trusted again."""
        if sensor.correction is None and -RIGHT_CLOCK <= latency <= LONGEST_LATENCY:
            sensor.latency = latency
            return
        if sensor.latency is None:
            sensor.latency = USUAL_LATENCY.get(role, LEAST_LATENCY)
        sensor.correction = latency - max(sensor.latency, 0.0)


def _evidence(reference: float, offsets: dict[str, float]) -> float:
    """Log-likelihood of the offsets [s] if the common clock is at `reference`."""
    total = 0.0 if reference == 0.0 else NOT_RECEIVERS
    for role, offset in offsets.items():
        latency = offset - reference
        if -RIGHT_CLOCK <= latency <= LONGEST_LATENCY:
            usual = USUAL_LATENCY.get(role, LEAST_LATENCY)
            total += max(-abs(latency) / usual, UNUSUAL)
        else:
            total += OWN_CLOCK
    return total
