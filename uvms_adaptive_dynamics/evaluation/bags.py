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

"""Messages of a recording in order of reception, each under its role.

A recording is a rosbag2 bag, an ArduPilot log, a telemetry log or a CSV file with its mapping; its
name tells which. Any problem with it raises one BagError that names the culprit and says what to
do.
"""
from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..config import Config
from ..errors import BagError
from ..options import BAG_SUFFIXES
from ..signals.topics import Input, topic_setting
from .recording import Piece, RecordedTopic, Recording, as_piece

# Optional inputs, and what is lost without them.
OPTIONAL_INPUTS = {"battery": "the constant thrusters.voltage is used",
                   "depth": "rows at the surface and on the floor cannot be recognized and masked"}


@dataclass(frozen=True)
class BagContents:
    """A checked recording: topic of each role, first and last time of reception [s since the epoch]
    of the piece in use, most messages that an input has, warnings."""

    path: Path
    topics: dict[str, str]
    start: float
    end: float
    messages: int
    warnings: tuple[str, ...]
    piece: Piece

    @property
    def title(self) -> str:
        """The recording's name, and which part of it is in use."""
        begin, end = self.piece.begin, self.piece.end
        name = self.path.resolve().name
        if not begin and end is None:
            return name
        return f"{name} (from {begin:.0f} s on)" if end is None else (
            f"{name} ({begin:.0f} to {end:.0f} s)")


def check_bag(bag: str | Path | Piece, inputs: Sequence[Input]) -> BagContents:
    """Open the recording and match its topics to `inputs`.

    Raises BagError if a required topic is missing or has the wrong type, or if the piece lies
    outside the recording."""
    piece = as_piece(bag)
    with opened(piece.path) as recording:
        chosen, warnings = _match(piece.path, recording.topics, inputs)
        begin, end = _bounds(piece, recording)
        return BagContents(piece.path, chosen, max(begin, recording.start),
                           min(end, recording.end),
                           max(recording.topics[topic].messages for topic in chosen.values()),
                           (*recording.warnings, *warnings), piece)


def read_messages(bag: str | Path | Piece, inputs: Sequence[Input],
                  refused: Counter | None = None) -> Iterator[tuple[str, Any, float]]:
    """Yield `(role, message, receive_time)` [s since the epoch] in order of reception.

    Messages that cannot be decoded are skipped and counted in `refused` as `"<role>: not
    decodable"`. Raises BagError like `check_bag`, and when reading reaches a damaged part.
    """
    piece = as_piece(bag)
    with opened(piece.path) as recording:
        chosen, _ = _match(piece.path, recording.topics, inputs)
        roles: dict[str, list[str]] = {}      # one topic may serve several roles
        for role, topic in chosen.items():
            roles.setdefault(topic, []).append(role)
        for topic, message, t in recording.messages(roles, *_bounds(piece, recording)):
            if message is None:
                if refused is not None:
                    refused.update(f"{role}: not decodable" for role in roles[topic])
                continue
            for role in roles[topic]:
                yield role, message, t


@contextmanager
def opened(path: str | Path) -> Iterator[Recording]:
    """An open recording of any kind; raises BagError if it cannot be opened or later read."""
    path = Path(path).expanduser()
    if not os.path.exists(path):     # also false for invalid file names
        raise BagError(f"bag '{path}' does not exist.")
    if path.is_dir() or path.suffix in BAG_SUFFIXES:
        from .rosbag_file import opened_bag
        with opened_bag(path) as bag:
            yield bag
        return
    from .logs.kinds import read_log
    yield read_log(path)


def _bounds(piece: Piece, recording: Recording) -> tuple[float, float]:
    """Times of reception [s since the epoch] between which a recording is read."""
    length = recording.end - recording.start
    if piece.begin > length:
        raise BagError(f"bag '{piece.path}' is {length:.1f} s long; got a beginning at "
                       f"{piece.begin:g} s, expected one before the end.")
    return (recording.start + piece.begin if piece.begin > 0.0 else -math.inf,
            math.inf if piece.end is None else recording.start + piece.end)


def _match(path: str | Path, there: Mapping[str, RecordedTopic],
           inputs: Sequence[Input]) -> tuple[dict[str, str], list[str]]:
    """The topic of each role, and warnings; raises BagError if a required topic is unusable."""
    chosen: dict[str, str] = {}
    warnings = []
    for needed in inputs:
        topic = find_topic(path, there, needed)
        if topic is None or not there[topic].messages:
            lack = (f"has no topic '{needed.topic}'" if topic is None
                    else f"has no messages on '{topic}'")
            sentence = (f"bag '{path}' {lack} ({needed.type}), "
                        f"which {_setting(needed.role, 'topic')} names")
            if needed.role not in OPTIONAL_INPUTS:
                raise BagError(f"{sentence}; it has {_listing(there)}. The command inspect "
                               "proposes settings for it.")
            warnings.append(f"{sentence}: {OPTIONAL_INPUTS[needed.role]}.")
            continue
        if there[topic].types != (needed.type,):
            raise BagError(_other_type(path, topic, there[topic].types, needed))
        chosen[needed.role] = topic
    return chosen, warnings


def find_topic(path: str | Path, there: Mapping[str, RecordedTopic], needed: Input) -> str | None:
    """The bag's topic for an input: the topic of that name or, for a relative name, the only one
    that ends in it; None without one. Raises BagError if several end in it."""
    exact = needed.topic if needed.topic.startswith("/") else f"/{needed.topic}"
    if exact in there or needed.topic.startswith("/"):
        return exact if exact in there else None
    matching = [topic for topic in there if topic.endswith(exact)]
    if len(matching) > 1:
        raise BagError(
            f"bag '{path}' has several topics for '{needed.topic}': {', '.join(matching)}; "
            f"set {_setting(needed.role, 'topic')} to the full name of the one to use.")
    return matching[0] if matching else None


def _other_type(path: str | Path, topic: str, types: Sequence[str], needed: Input) -> str:
    sentence = f"topic '{topic}' in bag '{path}' is {' and '.join(types)}, expected {needed.type}"
    allowed = types_of(needed.role)
    if len(types) == 1 and types[0] in allowed:
        return f"{sentence}; set {_setting(needed.role, 'type')} to '{types[0]}'."
    return f"{sentence}; set {_setting(needed.role, 'topic')} to a topic of that type" + (
        f", or {_setting(needed.role, 'type')} to one of {', '.join(allowed)}."
        if len(allowed) > 1 else ".")


def types_of(role: str) -> tuple[str, ...]:
    """The message types that a role's settings allow; empty for a role without a section."""
    section = getattr(Config(), role, None)
    return next((f.metadata["choices"] for f in fields(section) if f.name == "type"),
                ()) if section else ()


def _setting(role: str, what: str) -> str:
    return f"setting {topic_setting(role, what)}"


def _listing(there: Mapping[str, RecordedTopic]) -> str:
    return ", ".join(f"'{name}' ({topic.types[0]}, {topic.messages} messages)"
                     for name, topic in there.items())
