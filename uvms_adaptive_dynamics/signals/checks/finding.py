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

"""The result of a frame check: mismatches, and whether there was enough motion to judge."""
from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from ...model.normal import Z999

CHANGE_WINDOW = 1.0       # [s] over which changes of two signals are compared
MAX_STANDARD_ERROR = 0.12      # of an entry of a fit that is judged
# Of one sensor's velocities to another's: sea water is 3 % denser than fresh, and sound is 3 %
# faster in it.
SCALE_TOLERANCE = 0.95, 1.05


NO_VALUES: Mapping[str, Any] = MappingProxyType({})


class Harm(IntEnum):
    """What a mismatch does to the estimate: SLIGHT, some per cent or none, since no row depends on
    it; FOLLOWED, rows agree with each other and are learnt from, but their parameters are not the
    robot's; CONTRADICTS, rows fit no parameters."""

    SLIGHT = 0
    FOLLOWED = 1
    CONTRADICTS = 2


SIGN = "it has the wrong sign"


class Finding(NamedTuple):
    """A mismatch: the setting that probably causes it, or, without a dot, what is wrong with a
    sensor or its driver; a sentence; the settings, by dotted name, that would mend it, where the
    data tell their values; the harm it does; and the joint whose effort alone it is about."""

    setting: str
    sentence: str
    values: Mapping[str, Any] = NO_VALUES
    harm: Harm = Harm.CONTRADICTS
    joint: str = ""

    @property
    def is_of_sign(self) -> bool:
        """Whether it is that of a single joint's effort, or of its position and velocity."""
        return bool(self.joint) and SIGN in self.sentence


class CheckResult(NamedTuple):
    """The mismatches of one check; `complete` if there was enough motion to judge all of it."""

    findings: list[Finding]
    complete: bool


CONSISTENT = CheckResult([], True)
UNDECIDED = CheckResult([], False)


def mismatch(setting: str, sentence: str, values: Mapping[str, Any] = NO_VALUES,
             harm: Harm = Harm.CONTRADICTS) -> CheckResult:
    """A complete result with one finding."""
    return CheckResult([Finding(setting, sentence, values, harm)], True)


def outside(low: float, high: float, error: float, bounds: tuple[float, float]) -> bool:
    """Whether a figure between `low` and `high`, of standard error `error`, is outside `bounds`
    with 99.9 % certainty."""
    return high + Z999 * error < bounds[0] or low - Z999 * error > bounds[1]
