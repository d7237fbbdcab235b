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

"""Survey the topics of a recording: rate, gaps and clock of each, and samples of its messages."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import MessageError
from ...signals.decode.stamps import stamp_of
from ..bags import opened, types_of
from ..recording import Piece, as_piece

SURVEYED_ROLES = ("imu", "dvl", "depth", "joint_states", "thrusters", "battery")
WRENCH = "geometry_msgs/msg/WrenchStamped"
# [s] surveyed from the beginning: twice what the frame checks need.
SURVEYED_SECONDS = 180.0
MOST_MESSAGES = 4000     # messages kept per topic, evenly spaced, to inspect their values


@dataclass
class TopicSurvey:
    """One topic: number of messages in total (`count`) and in the surveyed time (`looked`), median
    rate [Hz], longest gap [s], receptions of the first and last message [s from the beginning of
    the recording], median of reception minus stamp [s] (None without stamps), messages with zero
    stamps (`unstamped`) and with stamps that go back; `kept`: sample messages."""

    name: str
    type: str
    count: int
    looked: int = 0
    undecodable: int = 0
    rate: float | None = None
    gap: float | None = None
    first: float | None = None
    last: float | None = None
    delay: float | None = None
    unstamped: int = 0
    backward: int = 0
    kept: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Survey:
    """A recording: surveyed piece, length [s], warnings, topics by name."""

    piece: Piece
    length: float
    warnings: tuple[str, ...]
    topics: dict[str, TopicSurvey]

    def of_types(self, types: Sequence[str]) -> list[TopicSurvey]:
        """Topics with messages of one of these types."""
        return [topic for topic in self.topics.values() if topic.type in types and topic.looked]


def survey(recording: Piece) -> Survey:
    """Read the recording once; raises BagError."""
    piece = as_piece(recording)
    wanted = {kind for role in SURVEYED_ROLES for kind in types_of(role)} | {WRENCH}
    with opened(piece.path) as source:
        begin = source.start + piece.begin
        end = min(source.end if piece.end is None else source.start + piece.end,
                  begin + SURVEYED_SECONDS)
        topics = {name: TopicSurvey(name, " and ".join(topic.types), topic.messages)
                  for name, topic in source.topics.items()}
        readable = [name for name, topic in topics.items() if topic.type in wanted and topic.count]
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in readable}
        for name, message, t in source.messages(readable, begin, end):
            topic = topics[name]
            if message is None:
                topic.undecodable += 1
                continue
            topic.looked += 1
            times[name].append((t, _stamp(topic, message)))
            _keep(topic, message, source.end - source.start)
        start, length, warnings = source.start, source.end - source.start, tuple(source.warnings)
    for name in readable:
        _judge(topics[name], np.array(times[name]).reshape(-1, 2), start)
    return Survey(piece._replace(end=end - start), length, warnings, topics)


def _stamp(topic: TopicSurvey, message: Any) -> float:
    """The stamp [s since the epoch], NaN without one; counts messages with an empty header."""
    try:
        stamp = stamp_of(message)
    except MessageError:
        stamp = None
    if stamp is None:
        topic.unstamped += hasattr(message, "header")
        return np.nan
    return stamp


def _keep(topic: TopicSurvey, message: Any, length: float) -> None:
    """Keep the message; of a topic with very many only some, evenly spaced."""
    expected = topic.count * min(1.0, SURVEYED_SECONDS / max(length, 1e-9))
    if topic.looked % max(1, int(expected // MOST_MESSAGES) + 1) == 0:
        topic.kept.append(message)


def _judge(topic: TopicSurvey, times: np.ndarray, start: float) -> None:
    received, stamps = times[:, 0], times[:, 1]
    if len(received):
        topic.first, topic.last = float(received[0]) - start, float(received[-1]) - start
    stamped = np.isfinite(stamps)
    clock = stamps[stamped] if stamped.all() and len(stamps) else received
    if len(clock) > 2:
        steps = np.diff(clock)
        period = float(np.median(steps))
        topic.rate = 1.0 / period if period > 0.0 else None
        topic.gap = float(steps.max())
        topic.backward = int((steps < 0.0).sum())
    if stamped.any():
        topic.delay = float(np.median(received[stamped] - stamps[stamped]))
