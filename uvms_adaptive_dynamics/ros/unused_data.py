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

"""Statuses of refused data (messages, rows, samples) and of doubted single values in used
messages."""
from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from ..estimation.snapshot import EstimatorSnapshot
from .status import OK, REPORTS, WARN, Status

# Share of an input's messages, or of all samples, and their number, above which someone should act.
# Every sensor has single outliers, and the first messages after a silence are few.
UNUSED_SHARE, MIN_UNUSED = 0.1, 20
MOST_LISTED = 40      # reasons listed


class UnusedData:
    """Keeps the counts of the last REPORTS reports, to report only recent data."""

    def __init__(self) -> None:
        self._refused: deque[Counter] = deque([Counter()], maxlen=REPORTS)
        self._doubted: deque[Counter] = deque([Counter()], maxlen=REPORTS)
        self._totals: deque[Counter] = deque([Counter()], maxlen=REPORTS)

    def statuses(self, front_end: Any, state: EstimatorSnapshot, samples: int,
                 dropped: Mapping[str, int]) -> list[Status]:
        """Both statuses; `dropped`: messages the node itself could not use, by reason."""
        inputs = front_end.inputs
        self._refused.append(_by_input(inputs, "rejected") + Counter(dropped) + Counter({
            "implausible rows": state.rejected.implausible,
            "rows of an unknown attitude": state.rejected.unknown_attitude,
            "samples with a repeated stamp": state.rejected.repeated_stamps}))
        self._doubted.append(_by_input(inputs, "doubted"))
        totals = {role: state_of.received for role, state_of in inputs.items()}
        self._totals.append(Counter({**totals, "samples": samples}))
        grown = self._totals[-1] - self._totals[0]
        return [_status("refused messages", "refused", self._refused, grown),
                _status("doubted values", "doubted", self._doubted, grown)]


def _by_input(inputs: Mapping[str, Any], kind: str) -> Counter:
    return Counter({f"{role}: {reason}": count for role, state in inputs.items()
                    for reason, count in getattr(state, kind).items()})


def _status(name: str, verb: str, reports: deque[Counter], totals: Counter) -> Status:
    """`totals`: messages per input, and samples, over the same reports."""
    fresh, values = reports[-1] - reports[0], dict(reports[-1].most_common(MOST_LISTED))
    if not fresh:
        return Status(OK, name, "none recently", values)
    by_input: Counter = Counter()
    for reason, count in fresh.items():
        by_input[reason.partition(":")[0]] += count
    many = [role for role, count in by_input.items()
            if count > max(MIN_UNUSED, UNUSED_SHARE * totals.get(role, totals["samples"]))]
    said = ", ".join(f"{reason} {count}" for reason, count in fresh.most_common(MOST_LISTED))
    return Status(WARN if many else OK, name, f"{verb} in the last {REPORTS} reports: {said}",
                  values)
