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

"""A case of the fault bench: a fault, the message required for it, and its largest allowed cost."""
from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...simulation.faults.stream import Fault
from ...simulation.sensors import ROLE_OF_TOPIC

OFFSET_ERROR = 0.1      # [s] accuracy required of a reported clock offset
# Relative error allowed in the count of wrong numbers: some adjacent pairs pass as motion, and some
# of their neighbours are rejected.
COUNT_ERROR = 0.2
NUMBER_SAID = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
# Share of valid rows that may be wrong where none should be: some seven rows at the edge of the
# mask; 0.6 s of the vehicle are 180 rows.
NONE = 2e-4
ANY = ".*"              # role
SIMULATED_ROLES = tuple(ROLE_OF_TOPIC.values())     # those of the bench's sensors
TOUCHES_ALL, TOUCHES_VEHICLE, TOUCHES_ARM = "all", "vehicle", "arm"


@dataclass(frozen=True)
class Expected:
    """A sentence that an operator needs. It begins with a role (or one of its settings) and
    contains all words (regular expressions); `seconds`: a number in it that must be right to
    OFFSET_ERROR."""

    role: str
    words: tuple[str, ...] = ()
    seconds: float | None = None

    def matches(self, sentence: str) -> bool:
        """True if a sentence is the required one."""
        about = sentence.removeprefix("input ")
        return (re.match(rf"(?:{self.role})\b", about) is not None
                and all(re.search(word, sentence, re.IGNORECASE) for word in self.words)
                and (self.seconds is None or any(
                    abs(float(number) - abs(self.seconds)) <= OFFSET_ERROR
                    for number in NUMBER_SAID.findall(sentence))))

    def __str__(self) -> str:
        number = [] if self.seconds is None else [f"{abs(self.seconds):g} s"]
        words = [word.replace("|", " or ").replace(r"\b", "") for word in self.words]
        role = "any" if self.role == ANY else f"`{self.role.replace('|', '` or `')}`"
        return f"{role}: " + ", ".join(words + number)


@dataclass(frozen=True)
class Allowed:
    """Limits on the cost of a fault; None for no requirement.

    samples, vehicle, arm: smallest share of the clean recording's samples and rows; wrong: largest
    share of valid rows that are wrong; loss: largest loss of held-out R^2 on channels that the
    fault does not touch; detect [s] from the onset to the sentence; recover [s] from the end until
    rows count again; rmse: largest ratio of a channel's RMSE in the 15 s after the fault to that of
    the clean run.
    """

    samples: float | None = None
    vehicle: float | None = None
    arm: float | None = None
    wrong: float | None = 0.002
    loss: float | None = 0.02
    detect: float | None = 1.0
    recover: float | None = 2.0
    rmse: float | None = None


UNLIMITED = Allowed(wrong=None, loss=None, detect=None, recover=None)


@dataclass(frozen=True)
class Case:
    """A fault of the table.

    behaviour: what the estimator should do; said: the required sentence, None if none is required;
    or_said: if the sentence comes in time, rows may be lost instead; others: sentences about other
    roles that are also right; touches: channels whose held-out loss is not judged; settings, given:
    changes of configuration and messages that also apply to the clean recording; short: part of the
    short form; stated: why a requirement cannot be met, and what happens instead; counted: the
    field whose wrong numbers the front end should count as rejected, to COUNT_ERROR of their
    number.
    """

    name: str
    kind: str
    behaviour: str
    faults: tuple[Fault, ...]
    said: Expected | None
    limits: Allowed
    others: tuple[Expected, ...] = ()
    touches: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    given: tuple[Fault, ...] = ()
    short: bool = False
    or_said: bool = False
    counted: str = ""
    stated: str = ""

    @property
    def begin(self) -> float:
        """[s] from the first message to the onset."""
        return min(fault.begin for fault in self.faults)

    @property
    def end(self) -> float:
        """[s] from the first message to the end, infinity for a lasting fault."""
        return max((fault.end for fault in self.faults), default=math.inf)
