"""One diagnostic status, and its levels."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..signals.decode.input_state import ERROR, OK, WARN

__all__ = ["ERROR", "OK", "REPORTS", "WARN", "Status"]

# Reports, each about a second, over which shares are taken.
REPORTS = 10


class Status(NamedTuple):
    """One diagnostic: level, name, sentence, values."""

    level: int
    name: str
    message: str
    values: Mapping[str, Any]
