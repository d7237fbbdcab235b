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

"""The common interface of recordings: topics, times, and messages in order of reception."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

# [characters] of a library's error on a damaged file that are reported; some repeat a whole message
# definition.
MOST_REASON = 200


class RecordedTopic(NamedTuple):
    """A topic of a recording: message types (several only in an inconsistent bag) and number of
    messages."""

    types: tuple[str, ...]
    messages: int


class Recording(Protocol):
    """An open recording. `start`, `end` [s since the epoch] are times of reception."""

    @property
    def topics(self) -> Mapping[str, RecordedTopic]:
        """Topics by name, with the leading '/'."""

    @property
    def start(self) -> float: ...

    @property
    def end(self) -> float: ...

    @property
    def warnings(self) -> list[str]:
        """What the operator should know about the file."""

    def messages(self, topics: Collection[str], begin: float,
                 end: float) -> Iterator[tuple[str, Any, float]]:
        """Yield `(topic, message, receive_time)` from `begin` to `end` [s since the epoch]; the
        message is None if it cannot be decoded. Raises BagError."""


class Piece(NamedTuple):
    """A part of a recording, from `begin` to `end` [s] after its start (None: to its end)."""

    path: Path
    begin: float = 0.0
    end: float | None = None


def as_piece(recording: str | Path | Piece) -> Piece:
    """The piece itself, or the whole recording at a path."""
    return recording if isinstance(recording, Piece) else Piece(Path(recording))


Result = TypeVar("Result")


def kept_while_unchanged(most: int) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Decorate `read(path, *options)` with a cache of the last `most` results, valid until the file
    changes, so that checking and then reading a file reads it once. Options must be hashable."""
    def decorate(read: Callable[..., Result]) -> Callable[..., Result]:
        @lru_cache(maxsize=most)
        def kept(path: Path, changed_ns: int, size: int, *options: Any) -> Result:
            return read(path, *options)

        @wraps(read)
        def reader(path: Path, *options: Any) -> Result:
            state = path.stat()
            return kept(path, state.st_mtime_ns, state.st_size, *options)
        return reader
    return decorate


def reason(error: Exception) -> str:
    """The message of an error, on one line without a full stop."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= MOST_REASON else f"{text[:MOST_REASON]}..."
