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

"""The whole table of faults."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...errors import ConfigError
from .case import Case
from .change_cases import change_cases
from .clock_cases import clock_cases
from .glitch_cases import glitch_cases, outage_cases
from .sea_cases import sea_cases
from .setting_cases import setting_cases
from .stream_cases import stream_cases

# Loss allowed in the short form: its 22 s determine yaw's R^2 no better, since .6 s of masked rows
# move it by .0025.
SHORT_LOSS = 0.005

CASE_KINDS = {
    "clock": "clocks of sensors and of the host",
    "glitch": "a sensor is wrong for a moment",
    "outage": "a topic is silent for a while",
    "rate": "sensors that are slow or fast",
    "order": "messages late, twice, in bursts, lost",
    "publisher": "two nodes on one topic",
    "structure": "messages that are not as expected",
    "outliers": "single wrong values all the time",
    "change": "a sensor that becomes wrong at some moment and stays wrong",
    "setting": "units, signs and order that are wrong for the whole run",
}


def table(onset: float) -> list[Case]:
    """All cases; faults in the middle of the recording begin at `onset` [s]."""
    return [*clock_cases(onset), *glitch_cases(onset), *outage_cases(onset),
            *stream_cases(onset), *change_cases(onset), *setting_cases(), *sea_cases(onset)]


def chosen(onset: float, kinds: Sequence[str], names: Sequence[str], short: bool) -> list[Case]:
    """The cases of these kinds (of all, if empty) whose name contains one of `names`; only those of
    the short form if `short`. Raises ConfigError if none is left."""
    found = [case for case in table(onset)
             if (not kinds or case.kind in kinds) and (case.short or not short)
             and (not names or any(name in case.name for name in names))]
    if not found:
        raise ConfigError(f"--only: got {', '.join(names)}, expected a part of a fault's name, "
                          "as docs/faults.md lists them.")
    return [_lenient(case) for case in found] if short else found


def _lenient(case: Case) -> Case:
    if case.limits.loss is None:
        return case
    return replace(case, limits=replace(case.limits, loss=max(case.limits.loss, SHORT_LOSS)))
