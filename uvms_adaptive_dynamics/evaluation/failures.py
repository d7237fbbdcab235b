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

"""Repeated failures of a run, one line for each kind."""
from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

NUMBER_IN_FAILURE = re.compile(r"[-+]?\d[\d.]*(e[-+]?\d+)?")
MOST_KINDS = 20     # kinds kept: if there are more, the first ones explain the run


def kind_of(sentence: str) -> str:
    """The sentence without its numbers: equal for failures of one kind."""
    return NUMBER_IN_FAILURE.sub("", sentence)


@dataclass
class Failure:
    """Failures of one kind: sentence of the first one, count, and times [s] of the first and last
    one since the first row."""

    sentence: str
    count: int
    first_s: float
    last_s: float

    def line(self) -> str:
        """The sentence with its count."""
        if self.count == 1:
            return self.sentence
        return (f"{self.sentence} ({self.count} times, from {self.first_s:.1f} to "
                f"{self.last_s:.1f} s)")


class FailureLog(logging.Handler):
    """Context that counts the core's warnings (such as failed solves) instead of printing each.

    `elapsed()` [s]: time since the first row."""

    def __init__(self, elapsed: Callable[[], float]):
        super().__init__(logging.WARNING)
        self._elapsed = elapsed
        self._kinds: dict[str, Failure] = {}
        self._log = logging.getLogger(__name__.split(".")[0])

    def __enter__(self) -> FailureLog:
        self._log.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._log.removeHandler(self)

    @property
    def failures(self) -> list[Failure]:
        """One entry for each kind, in order of occurrence."""
        return list(self._kinds.values())

    def emit(self, record: logging.LogRecord) -> None:
        """Count a warning."""
        sentence, t = record.getMessage(), self._elapsed()
        kind = kind_of(sentence)
        if kind in self._kinds:
            self._kinds[kind].count += 1
            self._kinds[kind].last_s = t
        elif len(self._kinds) < MOST_KINDS:
            self._kinds[kind] = Failure(sentence, 1, t, t)
