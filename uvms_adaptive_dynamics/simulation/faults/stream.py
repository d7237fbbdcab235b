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

"""Faults as transformations of a message stream: messages without the fault in, messages with the
fault out. Faults are chained; messages are replaced, never modified.
"""
from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Received(NamedTuple):
    """A message with its role.

    t_ns [ns since the epoch]: receive time by the host's clock; true_ns: receive time by a clock
    that no fault affects; messages are ordered by it.
    """

    role: str
    message: Any
    t_ns: int
    true_ns: int

    @property
    def t(self) -> float:
        """Receive time by the host's clock [s since the epoch]."""
        return self.t_ns * 1e-9

    def delayed(self, seconds: float) -> Received:
        """The same message, received `seconds` later by both clocks."""
        ns = round(seconds * 1e9)
        return self._replace(t_ns=self.t_ns + ns, true_ns=self.true_ns + ns)


@dataclass(frozen=True)
class Fault:
    """A fault of the messages of `role` ('' for all) from `begin` to `end` [s of true time since
    the stream's first message]; other messages pass. `spoiled` defines the fault."""

    role: str = ""
    begin: float = 0.0
    end: float = math.inf

    def apply(self, stream: Iterable[Received], rng: np.random.Generator) -> Iterator[Received]:
        """The stream with the fault, ordered by true time."""
        first: int | None = None
        memory: dict[str, Any] = {}
        for item in stream:
            first = item.true_ns if first is None else first
            elapsed = (item.true_ns - first) * 1e-9
            if self.concerns(item, elapsed):
                yield from self.spoiled(item, elapsed, rng, memory)
            else:
                yield item

    def concerns(self, item: Received, elapsed: float) -> bool:
        """True if the fault acts on a message received `elapsed` [s] after the first one."""
        return self.role in ("", item.role) and self.begin <= elapsed < self.end

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        """The replacements of a message; memory: private to this fault, initially empty."""
        raise NotImplementedError


class Reordering(Fault):
    """A fault that changes receive times: the stream is sorted by true time again."""

    def apply(self, stream: Iterable[Received], rng: np.random.Generator) -> Iterator[Received]:
        yield from sorted(super().apply(stream, rng), key=lambda item: item.true_ns)


def with_faults(stream: Iterable[Received], faults: Sequence[Fault],
                seed: int = 0) -> Iterator[Received]:
    """The stream with all faults applied, the first one first; the same seed gives the same result.
    """
    found: Iterable[Received] = stream
    for fault, rng in zip(faults, np.random.default_rng(seed).spawn(len(faults))):
        found = fault.apply(found, rng)
    return iter(found)


def stamp_ns(message: Any) -> int | None:
    """The header's timestamp [ns since the epoch]; None without a header."""
    header = getattr(message, "header", None)
    return None if header is None else header.stamp.sec * 10**9 + header.stamp.nanosec


def with_stamp(message: Any, ns: int) -> Any:
    """The message with another timestamp [ns since the epoch]; itself if it has no header."""
    if getattr(message, "header", None) is None:
        return message
    found, header = copy.copy(message), copy.copy(message.header)
    stamp = copy.copy(header.stamp)
    stamp.sec, stamp.nanosec = ns // 10**9, ns % 10**9
    found.header, header.stamp = header, stamp
    return found


def later(message: Any, seconds: float) -> Any:
    """The message with its timestamp shifted by `seconds`; itself if it has no header."""
    ns = stamp_ns(message)
    return message if ns is None else with_stamp(message, ns + round(seconds * 1e9))
