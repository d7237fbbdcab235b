"""What every kind of recording offers: its topics, its times, its messages in order of reception.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

# Of what a library says of a damaged file, the part that is passed on [characters]: some repeat a
# whole message definition.
MOST_REASON = 200


class Topic(NamedTuple):
    """A topic of a recording: message types (more than one only where a bag is in disorder), and
    how many messages."""

    types: tuple[str, ...]
    messages: int


class Recording(Protocol):
    """An open recording. `start`, `end` [s since the epoch] are times of reception."""

    @property
    def topics(self) -> Mapping[str, Topic]:
        """By name, with the leading '/'."""

    @property
    def start(self) -> float: ...

    @property
    def end(self) -> float: ...

    @property
    def warnings(self) -> list[str]:
        """What the operator should know of the file."""

    def messages(self, topics: Collection[str], begin: float,
                 end: float) -> Iterator[tuple[str, Any, float]]:
        """`(topic, message, receive_time)` from `begin` to `end` [s since the epoch]; the message
        is None where it cannot be decoded. Raises BagError."""


class Piece(NamedTuple):
    """A part of a recording, from `begin` to `end` [s] from its start; None: to its end."""

    path: Path
    begin: float = 0.0
    end: float | None = None


def as_piece(recording: str | Path | Piece) -> Piece:
    """The piece, or the whole of a path."""
    return recording if isinstance(recording, Piece) else Piece(Path(recording))


def reason(error: Exception) -> str:
    """What an error says, in one line without a full stop."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= MOST_REASON else f"{text[:MOST_REASON]}..."
