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

"""Conversion of all sensors' clocks to a common one, the clock of the samples (docs/signals.md,
"Clocks").

Most sensors share a clock: the host's, a vehicle computer's, a simulator's. The common clock is the
one that best explains the differences between reception and stamp, given the usual transport delays
of sensors. Stamps on it are used unchanged. A sensor whose messages would have been received before
they were stamped, or later than any transport takes, has a clock of its own; its stamps are
converted to the common clock by their times of reception.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import Enum
from statistics import median

from ...config import Config
from ...config.sensors import ODOMETRY, POSES
from .sensor_clock import LONGEST_LATENCY, RIGHT_CLOCK, SensorClock, StampStatus, clock_sentence

START_TIME = 0.5        # [s] of reception in which clocks are compared before the first sample
REVIEW_PERIOD = 1.0     # [s] between comparisons
WENT_BACK = 0.2         # [s] backward step of reception: the receiver's clock was set
# [s] without a message of any sensor after which everything restarts, whether all sensors paused or
# the receiver's clock was set.
SILENT_PAUSE = 5.0
# [s] Usual transport delays of drivers, by role: a DVL measures for a tenth of a second before it
# can publish; others publish at once.
USUAL_LATENCY = {"dvl": 0.1, "depth": 0.03}
LEAST_LATENCY = 0.005   # [s] of all others
# Natural logarithms: probability that a sensor has a clock of its own, lower bound on that of an
# unusual latency, probability that the common clock is not the receiver's, and the odds required
# for another clock to replace the common one.
OWN_CLOCK, UNUSUAL, NOT_RECEIVERS, CLEARLY = -4.0, -3.0, -2.0, 2.0


class Handling(Enum):
    """What to do with a message, judged by its stamp and reception."""

    USE = "use"
    HOLD = "hold"            # until its clock is known
    RELEASE = "release"      # use it, after the held messages of its clock
    AHEAD = StampStatus.AHEAD.value
    LATE = StampStatus.LATE.value
    JUMPED = "a clock jumped, or all sensors paused"


class Clocks:
    """Clocks of all sensors; `reference` [s]: reception minus the common clock, None until known.
    """

    def __init__(self, roles: Iterable[str], delays: Mapping[str, float] | None = None,
                 usual: Mapping[str, float] | None = None):
        """delays, usual [s] by role, as of `delays` and `usual_latencies`; without: none, and
        USUAL_LATENCY."""
        self._delays = delays or {}
        self._usual = USUAL_LATENCY if usual is None else usual
        self.sensors = {role: SensorClock(regularly=role != "thrusters") for role in roles}
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
                unstamped: bool = False, copy: bool = False) -> Handling:
        """Judge a message by its stamp [s] (None if it has none) and time of reception [s].

        `unstamped`: it has a header with a zero stamp; `copy` as in `SharedStamps.add`.

        After JUMPED all stored data are invalid: reset, and observe the message again.
        """
        if self.last_receive is None:
            self.last_receive = self._begin = receive
        if not self.last_receive - WENT_BACK <= receive <= self.last_receive + SILENT_PAUSE:
            return Handling.JUMPED
        self.last_receive = max(receive, self.last_receive)
        sensor = self.sensors[role]
        status = sensor.add(stamp, receive, copy)
        sensor.note_stamp(unstamped)
        if unstamped or not sensor.tells_time:
            sensor.note_latency(self._usual_latency(role), measured=False)
        if self.reference is None:
            if receive - self._begin < START_TIME:
                return Handling.HOLD
            self.decide()
            return Handling.RELEASE
        if status is StampStatus.NEW:
            if not sensor.can_begin:
                return Handling.HOLD
            sensor.begin()
            return Handling.RELEASE if self._review() else Handling.JUMPED
        # A step is handled at once; a drift can wait for the next review.
        if status is StampStatus.STEPPED or receive - self._reviewed > REVIEW_PERIOD:
            if not self._review():
                return Handling.JUMPED
        if status in (StampStatus.AHEAD, StampStatus.LATE):
            return Handling(status.value)
        return Handling.USE

    def decide(self) -> None:
        """Compare the clocks by the messages so far."""
        for sensor in self.sensors.values():
            sensor.begin()
        if self.last_receive is not None:
            self._review()

    def data_time(self, role: str, stamp: float | None, receive: float) -> float:
        """The time [s], on the common clock, of what a message tells; that clock must be known. To
        be called once for each message of a sensor, in order.

        Without a stamp, or with one that several messages share, the transport delay is assumed to
        be the role's usual one, or that of the fastest sensor.
        """
        assert self.reference is not None
        if stamp is None or not self.sensors[role].tells_time:
            t = receive - self.reference - self._usual_latency(role)
        else:
            t = self.sensors[role].corrected(stamp)
        return t - self._delays.get(role, 0.0)

    def now(self) -> float | None:
        """The last time of reception [s] on the common clock, None until it is known."""
        if self.reference is None or self.last_receive is None:
            return None
        return self.last_receive - self.reference

    def sentences(self) -> list[str]:
        """A sentence for each wrong clock of a sensor, and for a common clock that is not the
        receiver's."""
        said = {role: clock_sentence(sensor) for role, sensor in self.sensors.items()}
        found = [f"{role}: {sentence}" for role, sentence in said.items() if sentence]
        if self.reference is not None and abs(self.reference) > LONGEST_LATENCY:
            side = "behind" if self.reference > 0 else "ahead of"
            found.append(f"clock: all stamps are {abs(self.reference):.2f} s {side} the times of "
                         "reception (simulated time, or another computer's clock); they are used "
                         "unchanged")
        return found

    def drifts(self) -> dict[str, float]:
        """Drift [s/s] of each sensor's clock relative to most others, or to the receiver's if half
        of them drift, by role."""
        rates = {role: sensor.drift for role, sensor in self.sensors.items()
                 if sensor.offset is not None}
        usual = min(rates.values(), default=0.0, key=lambda rate: (
            sum(abs(rate - other) for other in rates.values()), abs(rate)))
        return {role: rate - usual for role, rate in rates.items()
                if abs(rate - usual) > 0.5 * abs(rate)}

    def guessed(self) -> list[str]:
        """Roles whose readings are dated at reception, less an assumed transport delay."""
        return [role for role, sensor in self.sensors.items()
                if sensor.unstamped or not sensor.tells_time or sensor.error is not None]

    def _usual_latency(self, role: str) -> float:
        return self._usual.get(role, self._transport)

    # --- comparison -------------------------------------------------------------------------------

    def _review(self) -> bool:
        """Compare the clocks and set each sensor's correction; False if the common clock jumped."""
        assert self.last_receive is not None
        self._reviewed = self.last_receive
        offsets = {role: sensor.offset for role, sensor in self.sensors.items()
                   if sensor.offset is not None}
        best = max((0.0, *offsets.values()), key=lambda at: self._evidence(at, offsets))
        if self.reference is None or not offsets:
            self.reference = best
        elif abs(best - self.reference) > RIGHT_CLOCK:
            # The old clock may have drifted: take its best evidence within the tolerance.
            near = [at for at in (self.reference, *offsets.values())
                    if abs(at - self.reference) <= RIGHT_CLOCK]
            kept = max(near, key=lambda at: self._evidence(at, offsets))
            if self._evidence(best, offsets) > self._evidence(kept, offsets) + CLEARLY:
                return False
            self.reference = kept
        else:
            self.reference = best
        drifting = self.drifts()
        for role, offset in offsets.items():
            self._place(role, self.sensors[role], offset - self.reference, drifting.get(role, 0.0))
        self._transport = min((max(sensor.latency, 0.0) for sensor in self.sensors.values()
                               if sensor.latency is not None and sensor.correction is None),
                              default=0.0)
        return True

    def _evidence(self, reference: float, offsets: Mapping[str, float]) -> float:
        """Log likelihood of the offsets [s] by role if the common clock is at `reference` [s]."""
        total = 0.0 if reference == 0.0 else NOT_RECEIVERS
        for role, offset in offsets.items():
            latency = offset - reference
            if -RIGHT_CLOCK <= latency <= LONGEST_LATENCY:
                usual = self._usual.get(role, LEAST_LATENCY)
                total += max(-abs(latency) / usual, UNUSUAL)
            else:
                total += OWN_CLOCK
        return total

    def _place(self, role: str, sensor: SensorClock, latency: float, drift: float) -> None:
        """Use a sensor's stamps unchanged, or correct them to the common clock. A clock that was
        wrong once is corrected from then on."""
        if sensor.correction is None:
            usual = self._usual.get(role, LEAST_LATENCY)
            if -RIGHT_CLOCK <= latency <= LONGEST_LATENCY:
                sensor.note_latency(latency, measured=True)
                if not drift:
                    return
            first, last = sensor.first_latency, sensor.latency
            # The first one may be that of a queue, and the last one has drifted with the clock.
            assumed = usual if first is None or last is None else median((first, last, usual))
            sensor.note_latency(assumed, measured=False)
        sensor.correct(latency - max(sensor.latency or 0.0, 0.0), -drift)


def delays(config: Config) -> dict[str, float]:
    """Delays [s] by role, to be subtracted from the stamps: a sensor's stamp is late by its delay,
    whereas a command takes effect that long after its stamp."""
    return {"imu": config.imu.delay, "dvl": config.dvl.delay, "depth": config.depth.delay,
            "joint_states": config.joint_states.delay, "thrusters": -config.thrusters.delay,
            "wrench": -config.thrusters.delay, "battery": 0.0}


def usual_latencies(config: Config) -> dict[str, float]:
    """USUAL_LATENCY [s] of the sensors that are set: an odometry, or poses, in place of a DVL come
    as fast as in place of an IMU."""
    velocities_at_once = config.dvl.type in (ODOMETRY, *POSES)
    return {role: latency for role, latency in USUAL_LATENCY.items()
            if not (role == "dvl" and velocities_at_once)}
