"""One diagnostic status, and its levels."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

OK, WARN, ERROR = 0, 1, 2

# Reports, each about a second, over which shares are taken.
REPORTS = 10


class Status(NamedTuple):
    """One diagnostic: level, name, sentence, values."""

    level: int
    name: str
    message: str
    values: Mapping[str, Any]
