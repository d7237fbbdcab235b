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

"""Delivery faults: messages lost, late, repeated, too rare, too frequent, or from another node."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..sensors import (
    ACCELEROMETER_NOISE,
    ATTITUDE_NOISE,
    DVL_NOISE,
    EFFORT_NOISE,
    GYRO_NOISE,
    JOINT_NOISE,
    JOINT_SPEED_NOISE,
    PRESSURE_NOISE,
)
from .stream import Fault, Received, Reordering, later, stamp_ns, with_stamp
from .values import FIELD_PATHS, field_of, has_field, with_field

BURST_SPACING = 1e-4  # [s] between messages of a burst, 10,000 a second
FIELD_NOISE = {"gyro": GYRO_NOISE, "accelerometer": ACCELEROMETER_NOISE,
               "orientation": 0.5 * ATTITUDE_NOISE, "position": JOINT_NOISE,
               "speed": JOINT_SPEED_NOISE, "effort": EFFORT_NOISE, "velocity": DVL_NOISE,
               "pressure": PRESSURE_NOISE}


@dataclass(frozen=True)
class Lost(Fault):
    """Each message is lost with probability `share`; by default all are."""

    share: float = 1.0

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        if self.share < 1.0 and rng.random() >= self.share:
            yield item


@dataclass(frozen=True)
class Frozen(Fault):
    """The first reading repeats with new timestamps."""

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        first = memory.setdefault(item.role, item.message)
        stamp = stamp_ns(item.message)
        yield item._replace(message=first if stamp is None else with_stamp(first, stamp))


@dataclass(frozen=True)
class StalledNetwork(Reordering):
    """The network stalls from `begin` to `end`, then delivers all waiting messages at once."""

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        memory["count"] = memory.get("count", 0) + 1
        yield item.delayed(self.end - elapsed + BURST_SPACING * memory["count"])


@dataclass(frozen=True)
class Late(Reordering):
    """A `share` of messages arrives `wait` [s] late, after messages sent later."""

    share: float = 0.1
    wait: float = 0.1

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        yield item.delayed(self.wait) if rng.random() < self.share else item


@dataclass(frozen=True)
class Jittered(Reordering):
    """Every message is delayed by a random time of up to `most` [s]; restamped: its timestamp is
    the receive time."""

    most: float = 0.1
    restamped: bool = False

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        wait = self.most * rng.random()
        stamped = later(item.message, wait) if self.restamped else item.message
        yield item._replace(message=stamped).delayed(wait)


@dataclass(frozen=True)
class Lagging(Reordering):
    """A driver with an undeclared latency: each message is timestamped (if it has a header) and
    received `lag` [s] after the instant of measurement."""

    lag: float = 0.0

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        yield item._replace(message=later(item.message, self.lag)).delayed(self.lag)


@dataclass(frozen=True)
class Repeated(Reordering):
    """Every message arrives twice, as over two network paths."""

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        yield item
        yield item.delayed(BURST_SPACING)


@dataclass(frozen=True)
class Batched(Reordering):
    """A driver reads `size` measurements at a time and stamps them on arrival."""

    size: int = 5

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        waiting = memory.setdefault("waiting", [])
        waiting.append(item)
        if len(waiting) == self.size:
            stamp = stamp_ns(item.message)
            for k, each in enumerate(waiting):
                message = each.message if stamp is None else with_stamp(
                    each.message, stamp + round(1e9 * BURST_SPACING * k))
                yield item._replace(message=message).delayed(BURST_SPACING * k)
            waiting.clear()


@dataclass(frozen=True)
class Republished(Fault):
    """A node publishes the sensor's last measurement at a fixed rate, with new timestamps: only one
    in `each` messages is a new one."""

    each: int = 1

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        count = memory["count"] = memory.get("count", -1) + 1
        if count % self.each == 0:
            memory["measured"] = item.message
        measured, stamp = memory["measured"], stamp_ns(item.message)
        yield item._replace(message=measured if stamp is None else with_stamp(measured, stamp))


@dataclass(frozen=True)
class Thinned(Fault):
    """Only one in `each` messages is published: a sensor set to a lower rate."""

    each: int = 1

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        memory["count"] = memory.get("count", -1) + 1
        if memory["count"] % self.each == 0:
            yield item


@dataclass(frozen=True)
class OnChange(Fault):
    """A message is published only when a number of the field differs by more than `step` from the
    last published one, as in teleoperation."""

    field: str = ""
    step: float = 0.0

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        values, last = field_of(item.message, self.field), memory.get("last")
        if last is None or np.max(np.abs(values - last)) > self.step:
            memory["last"] = values
            yield item


@dataclass(frozen=True)
class SplitJoints(Reordering):
    """Joint states arrive in two messages with half of the joints each, as from an arm and its
    gripper."""

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        half = len(item.message.name) // 2
        for k, part in enumerate((slice(0, half), slice(half, None))):
            message = copy.copy(item.message)
            for name in ("name", "position", "velocity", "effort"):
                setattr(message, name, getattr(message, name)[part])
            yield item._replace(message=message).delayed(k * BURST_SPACING)


@dataclass(frozen=True)
class SecondPublisher(Reordering):
    """Another node also publishes on the topic: the same message, modified by `change`, `after` [s]
    later."""

    change: Callable[[Any], Any] = copy.copy
    after: float = 0.004

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        yield item
        message = later(self.change(item.message), self.after)
        yield item._replace(message=message).delayed(self.after)


@dataclass(frozen=True)
class Added(Fault):
    """Adds messages of a role that the recording lacks: one from `make` every `every` [s]."""

    make: Callable[[], Any] = float
    every: float = 1.0

    def apply(self, stream: Iterable[Received], rng: np.random.Generator) -> Iterator[Received]:
        due: int | None = None
        for item in stream:
            due = item.true_ns + round(self.begin * 1e9) if due is None else due
            while due <= item.true_ns:
                yield Received(self.role, self.make(), due + item.t_ns - item.true_ns, due)
                due += round(self.every * 1e9)
            yield item


@dataclass(frozen=True)
class Densified(Reordering):
    """A sensor with `factor` times the rate: adds messages interpolated linearly between
    neighbours, each with independent noise."""

    factor: int = 1

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        before: Received | None = memory.get("before")
        memory["before"] = item
        if before is not None:
            for k in range(1, self.factor):
                yield _between(before, item, k / self.factor, rng)
        yield item


def _between(a: Received, b: Received, part: float, rng: np.random.Generator) -> Received:
    message, begin, end = a.message, stamp_ns(a.message), stamp_ns(b.message)
    if begin is not None and end is not None:
        message = with_stamp(message, begin + round(part * (end - begin)))
    for field, (role, _) in FIELD_PATHS.items():
        if role == a.role and has_field(message, field):
            x, y = field_of(a.message, field), field_of(b.message, field)
            mixed = (1.0 - part) * x + part * (-y if field == "orientation" and x @ y < 0 else y)
            mixed = mixed + FIELD_NOISE.get(field, 0.0) * rng.standard_normal(x.size)
            if field == "orientation":
                mixed /= np.linalg.norm(mixed)
            message = with_field(message, field, mixed)
    return Received(a.role, message, a.t_ns + round(part * (b.t_ns - a.t_ns)),
                    a.true_ns + round(part * (b.true_ns - a.true_ns)))
