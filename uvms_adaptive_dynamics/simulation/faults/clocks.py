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

"""Clock faults: a sensor's clock, the host's clock, and timestamps that come from no clock."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .stream import Fault, Received, later, stamp_ns, with_stamp


@dataclass(frozen=True)
class Clock(Fault):
    """A sensor's clock is `offset` [s] ahead (behind, if negative), and gains `drift` [s/s]."""

    offset: float = 0.0
    drift: float = 0.0

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        ahead = self.offset + self.drift * (elapsed - self.begin)
        yield item._replace(message=later(item.message, ahead))


@dataclass(frozen=True)
class SingleStamps(Fault):
    """One stamp every `every` [s] is `offset` [s] ahead."""

    offset: float = 0.0
    every: float = 10.0

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        count = int((elapsed - self.begin) // self.every)
        if memory.get("count") == count:
            yield item
            return
        memory["count"] = count
        yield item._replace(message=later(item.message, self.offset))


@dataclass(frozen=True)
class JitteringStamps(Fault):
    """Each timestamp is off by a random amount of up to +- `most` [s]."""

    most: float = 0.005

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        yield item._replace(message=later(item.message, rng.uniform(-self.most, self.most)))


@dataclass(frozen=True)
class SinceBoot(Fault):
    """Timestamps count from the board's boot, `uptime` [s] before the first message."""

    uptime: float = 12.0

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        stamp = stamp_ns(item.message)
        if stamp is None:
            yield item
            return
        first = memory.setdefault("first", stamp)
        now = max(0, stamp - first + round(self.uptime * 1e9))
        yield item._replace(message=with_stamp(item.message, now))


@dataclass(frozen=True)
class Unstamped(Fault):
    """Timestamps are zero."""

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        yield item._replace(message=with_stamp(item.message, 0))


@dataclass(frozen=True)
class WholeSeconds(Fault):
    """Timestamps are rounded down to whole seconds."""

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        stamp, second = stamp_ns(item.message), 1_000_000_000
        yield item if stamp is None else item._replace(
            message=with_stamp(item.message, stamp // second * second))


@dataclass(frozen=True)
class HostStep(Fault):
    """The host's clock steps forward by `step` [s] (back, if negative), as NTP does; with `stamps`
    the drivers use that clock for their timestamps."""

    step: float = 0.0
    stamps: bool = False

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        message = later(item.message, self.step) if self.stamps else item.message
        yield item._replace(message=message, t_ns=item.t_ns + round(self.step * 1e9))


@dataclass(frozen=True)
class Looped(Fault):
    """At `begin` the recording starts over, as with `ros2 bag play --loop`: timestamps repeat while
    receive times continue. The total duration stays the same."""

    def apply(self, stream: Iterable[Received], rng: np.random.Generator) -> Iterator[Received]:
        items = list(stream)
        if not items:
            return
        first, last, again = items[0].true_ns, items[-1].true_ns, round(self.begin * 1e9)
        yield from (item for item in items if item.true_ns - first < again)
        yield from (item.delayed(self.begin) for item in items if item.true_ns + again < last)


@dataclass(frozen=True)
class HeaderAdded(Fault):
    """Commands arrive as mavros_msgs/RCOut with a header stamped `sent` [s] before reception."""

    sent: float = 0.0006

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        sent = item.t_ns - round(self.sent * 1e9)
        yield item._replace(message=stamped_commands(item.message, sent))


class _Plain:
    """A message of a type that the reader's type store does not have."""

    def __init__(self, **fields: Any):
        self.__dict__.update(fields)


def stamped_commands(message: Any, ns: int) -> Any:
    """Convert thruster commands (std_msgs/Float64MultiArray, PWM) to a mavros_msgs/RCOut with
    timestamp `ns`."""
    stamp = _Plain(sec=ns // 10**9, nanosec=ns % 10**9)
    return _Plain(header=_Plain(stamp=stamp, frame_id=""), rssi=0,
                  channels=np.round(np.asarray(message.data)).astype(int))
