"""What the frame checks are shown of a sensor that is doubted.

A burst of garbage is not a wrong setting. What lasts longer than one may well be.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

LASTING = 10.0      # [s] of doubt, after which it is how the sensor is


class BurstFilter:
    """Passes rows on to `log(name, t, *values)`; doubted ones wait until the doubt lasts."""

    def __init__(self, name: str, log: Callable[..., None]):
        self._name, self._log = name, log
        self.reset()

    def reset(self) -> None:
        """Forget the rows that wait."""
        self._waiting: list[tuple[Any, ...]] = []
        self._since: float | None = None

    def add(self, doubted: bool, t: float, *values: Any) -> None:
        """Add a row at t [s]."""
        if not doubted:
            self.reset()
        elif self._since is None:
            self._since = t
        if self._since is not None and t - self._since <= LASTING:
            self._waiting.append((t, *values))
            return
        for row in (*self._waiting, (t, *values)):
            self._log(self._name, *row)
        self._waiting.clear()
