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

"""The newest readings once more, put right: of a sensor that was right and is found wrong.

What is wrong with it is known by then, but its wrong readings have gone through the filters. A
second chain of filters goes through the kept readings, some with each message so that a node stays
awake, and takes the place of the first; its samples are learnt from again."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from ..config import Config
from ..model.robot import RobotModel
from ..model.rotations import from_down
from ..model.sample import Sample
from .checks.finding import Mend
from .checks.imu_check import MIN_ORIENTATION_LAG
from .checks.odometry_check import turned_twist
from .decode.clocks import Clocks
from .decode.readings import Reading
from .filter_chain import FilterChain, FoundWrong
from .filters.thrusters import OnCommand
from .masks import RowMasks

# [s] of the newest readings that are kept: a check of a minute may find a fault that began before
# the last three checks.
KEPT_SECONDS = 80.0
MOST_KEPT = 50_000      # readings, of all sensors but one of some kilohertz
# Readings replayed with each new one: they catch up within seconds.
AT_ONCE = 40
# IMU readings kept for the attitude at the time of a late velocity, and how far from it one may be
# [s], in which a vehicle turns little.
ATTITUDES_KEPT, ATTITUDE_AGE = 500, 0.1


class CutOff(NamedTuple):
    """The readings of a role after t [s] are discarded."""

    role: str
    t: float


class Kept:
    """The newest readings and cut-offs, in order of arrival, and the samples made of them."""

    def __init__(self) -> None:
        self.readings: deque[Reading | CutOff] = deque(maxlen=MOST_KEPT)
        self.samples: deque[tuple[int, Sample]] = deque()

    def add(self, event: Reading | CutOff) -> None:
        """Keep a reading, or a cut-off."""
        self.readings.append(event)
        while self.readings[0].t < event.t - KEPT_SECONDS:
            self.readings.popleft()

    def add_sample(self, tick: int, sample: Sample) -> None:
        """Keep the sample of a tick."""
        self.samples.append((tick, sample))
        while self.samples[0][1].t < sample.t - KEPT_SECONDS:
            self.samples.popleft()

    def without(self, robot: RobotModel, wrong: FoundWrong,
                since: float = -math.inf) -> tuple[tuple[Sample, Sample], ...]:
        """The samples, each as it was and, from the stamp `since` [s] on, without the rows that
        depend on a wrong sensor."""
        spoilt = np.full(len(robot.channels), wrong.attitude)
        spoilt[robot.vehicle_rows] |= wrong.vehicle
        spoilt[robot.arm_rows] |= wrong.arm
        return tuple((sample, replace(sample, valid=sample.valid & ~(spoilt & (sample.t >= since))))
                     for _, sample in self.samples)

    def clear(self) -> None:
        """Forget all."""
        self.readings.clear()
        self.samples.clear()


class Mends(NamedTuple):
    """What puts readings right; steps: (since [s], the mends in force from then on), in order."""

    steps: tuple[tuple[float, tuple[Mend, ...]], ...] = ()

    @property
    def now(self) -> tuple[Mend, ...]:
        """The mends in force."""
        return self.steps[-1][1] if self.steps else ()

    def then(self, since: float, mends: Sequence[Mend]) -> Mends:
        """These and, since then [s], other mends of what they make of the readings."""
        earlier = tuple(step for step in self.steps if step[0] < since)
        return Mends((*earlier, (since, composed([*self.now, *mends]))))

    @property
    def late(self) -> float:
        """[s] How long a sample has to wait for readings that are brought to their time. Of an IMU,
        some values wait for the others; commands that act later hurry nothing."""
        waits = (abs(mend.late) if mend.role == "imu" else mend.late for mend in self.now)
        return max([0.0, *waits])

    def at(self, t: float) -> tuple[Mend, ...]:
        """The mends in force at t [s]."""
        return next((mends for since, mends in reversed(self.steps) if t > since), ())

    def mended(self, reading: Reading, R_nb: np.ndarray | None = None) -> Reading | None:
        """The reading, put right but for the times of an IMU's values; None if that needs the
        attitude R_nb (3, 3) and it is unknown."""
        for mend in self.at(reading.t):
            if mend.of_world and mend.role == reading.role and R_nb is None:
                return None
            if mend.role == reading.role and mend.of_thrust:
                reading = reading._replace(thrust_shares=tuple(np.diag(mend.matrix).tolist()))
            elif mend.role == reading.role:
                late = 0.0 if mend.role == "imu" else mend.late
                reading = reading._replace(t=reading.t - late,
                                           values=mend.mended(reading.values, R_nb))
                if mend.of_world and reading.odometry:
                    reading = reading._replace(odometry=turned_twist(reading.odometry))
        return reading


NO_MENDS = Mends()


def composed(mends: Sequence[Mend]) -> tuple[Mend, ...]:
    """The mends, applied in order, with one for each place; those that change nothing are left out.
    """
    found: dict[tuple[str, int, int, bool, bool, bool], Mend] = {}
    for mend in mends:
        place = (mend.role, mend.first, len(mend.matrix), mend.of_thrust, mend.turn, mend.of_world)
        before = found.get(place)
        found[place] = mend if before is None else mend._replace(
            matrix=mend.matrix @ before.matrix, late=mend.late + before.late)
    return tuple(mend for mend in found.values()
                 if mend.of_world or abs(mend.late) > MIN_ORIENTATION_LAG
                 or not np.array_equal(mend.matrix, np.eye(len(mend.matrix))))


class PutRight:
    """Puts the readings of all roles right by mends, one after the other."""

    def __init__(self, mends: Mends = NO_MENDS):
        self.mends = mends
        self._imu: deque[Reading] = deque()     # as far back as its late values belong to
        self._given = -math.inf                 # [s] of the last IMU reading that was returned
        self._attitudes: deque[Reading] = deque(maxlen=ATTITUDES_KEPT)

    @classmethod
    def always(cls, mends: Sequence[Mend]) -> PutRight:
        """With the same mends for all readings."""
        return cls(NO_MENDS.then(-math.inf, mends))

    def add(self, reading: Reading) -> Reading | None:
        """The reading, put right; of an IMU with late values, the earlier one that they belong to.
        None while that is unknown, and for one that is left out."""
        if any(mend.role == reading.role and reading.t <= mend.out_until
               for mend in self.mends.at(reading.t)):
            return None
        right = self.mends.mended(reading, self._attitude(reading))
        if right is None or right.role != "imu":
            return right
        if not math.isnan(right.values[0]):
            self._attitudes.append(right)
        mend = next((one for one in self.mends.at(right.t) if one.late and one.role == "imu"), None)
        if mend is None:
            self._imu, self._given = deque([right]), max(self._given, right.t)
            return right
        t = right.t - abs(mend.late)
        self._imu.append(right)
        while len(self._imu) > 1 and self._imu[1].t <= t:
            self._imu.popleft()
        before, after = self._imu[0], self._imu[min(1, len(self._imu) - 1)]
        if not max(before.t, self._given + 1e-9) <= t or after.t - before.t > abs(mend.late):
            return None
        self._given = t
        then = _between(before, after, t)
        late_values, others = (right.values, then) if mend.late > 0.0 else (then, right.values)
        places = range(mend.first, mend.first + len(mend.matrix))
        return right._replace(t=t, values=[late_values[k] if k in places else others[k]
                                           for k in range(len(others))])

    def _attitude(self, reading: Reading) -> np.ndarray | None:
        """R_nb (3, 3) at about the reading's time; None if it is unknown, or not needed."""
        t = reading.t
        if not any(mend.of_world and mend.role == reading.role for mend in self.mends.at(t)):
            return None
        if reading.role == "imu":
            return from_down(reading.values[:3], reading.values[9])
        near = min(self._attitudes, key=lambda one: abs(one.t - t), default=None)
        if near is None or abs(near.t - t) > ATTITUDE_AGE:
            return None
        return from_down(near.values[:3], near.values[9])


def _between(before: Reading, after: Reading, t: float) -> list[float]:
    """An IMU's values at t [s] between two readings."""
    share = (t - before.t) / max(after.t - before.t, 1e-9)
    steps = [b - a for a, b in zip(before.values, after.values)]
    steps[-1] = math.remainder(steps[-1], math.tau)     # heading
    return [a + share * step for a, step in zip(before.values, steps)]


class Replay:
    """A second chain of filters on its way to the present; mends: what puts the readings right,
    found: the mends of the present findings among it.

    filters: the chain; right: puts its readings right; logs: the rows of its frame checks by name.
    """

    def __init__(self, config: Config, robot: RobotModel, clocks: Clocks, kept: Kept,
                 mends: Mends, found: Sequence[Mend], origin: float, latency: float):
        self.right, self._found = PutRight(mends), tuple(found)
        self.logs: dict[str, list[np.ndarray]] = {}
        self._log: Callable[..., None] = self._note
        self._on_outlier: Callable[[str, str], None] = lambda role, reason: None
        self._on_command: OnCommand = lambda saturated, changed: None
        self.filters = FilterChain(config, robot, clocks,
                                   lambda role, reason: self._on_outlier(role, reason),
                                   lambda name, t, *values: self._log(name, t, *values),
                                   lambda *told: self._on_command(*told))
        self._masks = RowMasks(config, robot)
        self._queue, self._newest = deque(kept.readings), -math.inf
        self._before = deque(kept.samples)
        self._origin, self._latency = origin, latency
        self._pairs: list[tuple[Sample, Sample]] = []

    def add(self, event: Reading | CutOff) -> None:
        """Add a new reading, or a cut-off, and replay some of the old ones."""
        self._queue.append(event)
        for _ in range(min(AT_ONCE, len(self._queue))):
            self._replay(self._queue.popleft())

    def add_sample(self, tick: int, sample: Sample) -> None:
        """Add a new sample of the first chain."""
        self._before.append((tick, sample))

    def is_for(self, found: Sequence[Mend]) -> bool:
        """Whether these are the mends of the findings that it began with."""
        return len(found) == len(self._found) and all(map(is_, found, self._found))

    @property
    def is_done(self) -> bool:
        """Whether all readings have been replayed."""
        return not self._queue

    def _replay(self, event: Reading | CutOff) -> None:
        if isinstance(event, CutOff):
            self.filters.discard_after(*event)
            return
        self._masks.note_reading(event.role, event.t)
        right = self.right.add(event)
        if right is not None:
            self.filters.add(right)
        self._newest = max(self._newest, event.t)
        self._sample(self._newest - self._latency)

    def _sample(self, until: float) -> None:
        """Make the samples up to `until` [s]."""
        while self._before and self._before[0][1].t - self._origin <= until:
            tick, before = self._before.popleft()
            after = self.filters.sample(tick, before.t, before.t - self._origin, self._masks,
                                        FoundWrong())
            if after is not None:   # else the oldest readings are too few for the filters
                self._pairs.append((before, after))

    def finish(self) -> tuple[tuple[Sample, Sample], ...]:
        """All pairs of samples, before and after."""
        self._sample(math.inf)
        return tuple(self._pairs)

    def connect(self, on_outlier: Callable[[str, str], None], log: Callable[..., None],
                on_command: OnCommand) -> None:
        """Report from now on."""
        self._on_outlier, self._log, self._on_command = on_outlier, log, on_command

    def _note(self, name: str, t: float, *values: Any) -> None:
        self.logs.setdefault(name, []).append(np.concatenate([[t], *values]))
