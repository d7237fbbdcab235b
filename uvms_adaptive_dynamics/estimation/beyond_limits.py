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

"""Values beyond the settings `limits`, and which channels' rows they cost."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class _Beyond(NamedTuple):
    """Rows lost to one setting: their number, the largest value, the limit."""

    rows: int
    most: float
    limit: float


class BeyondLimits:
    """Counts what exceeds a limit, per channel."""

    def __init__(self, channels: Sequence[str]):
        self._channels = tuple(channels)
        self._found: dict[str, dict[str, _Beyond]] = {}

    def add(self, places: Sequence[int], setting: str, value: float, limit: float) -> None:
        """The rows of the channels at `places` are lost, since the value (a magnitude, or NaN)
        exceeds the limit that the setting leads to."""
        if not value > limit:
            return
        for place in places:
            found = self._found.setdefault(self._channels[place], {})
            rows, most, _ = found.get(setting, (0, 0.0, 0.0))
            found[setting] = _Beyond(rows + 1, max(most, value), limit)

    def sentences(self) -> dict[str, str]:
        """Channel -> what exceeds the limit that costs most of its rows, and what to do."""
        said = {}
        for channel, found in self._found.items():
            setting = max(found, key=lambda name: found[name].rows)
            _, most, limit = found[setting]
            said[channel] = (f"values reach {_digits(most)}, beyond the {_digits(limit)} that "
                             f"{setting} allows; raise it if they are right")
        return said


def _digits(value: float) -> str:
    """The value with three digits, without an exponent unless it is huge."""
    return f"{float(f'{value:.3g}'):g}"
