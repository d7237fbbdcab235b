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

"""Longest gaps of a run without a sample, and without a row of the vehicle."""
from __future__ import annotations

from ..model.sample import Sample


class LongestGap:
    """The longest time [s] between calls of `add`, including the ends of recordings."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._data = self._received = 0.0     # tick and time of reception of the last one

    def begin(self, received: float) -> None:
        """Begin a recording at this time of reception [s]."""
        self._received, self._data = received, 0.0

    def add(self, t: float, received: float) -> None:
        """Add a sample of tick t [s], available at `received` [s]. Within a recording gaps are
        measured between ticks, since messages may arrive in bursts."""
        gap = t - self._data if self._data else received - self._received
        self.longest = max(self.longest, gap)
        self._data, self._received = t, received

    def end(self, received: float) -> None:
        """End the recording."""
        self.longest = max(self.longest, received - self._received)


class Gaps:
    """Both gaps; a robot without a vehicle has no gap of vehicle rows."""

    def __init__(self, has_vehicle: bool):
        self._samples = LongestGap()
        self._vehicle = LongestGap() if has_vehicle else None

    def begin(self, received: float) -> None:
        """Begin a recording at this time of reception [s]."""
        for gap in self._all():
            gap.begin(received)

    def add(self, sample: Sample, received: float) -> None:
        """Add a sample, available at this time of reception [s]."""
        self._samples.add(sample.t, received)
        if self._vehicle is not None and sample.valid[:6].all():
            self._vehicle.add(sample.t, received)

    def end(self, received: float) -> None:
        """End the recording."""
        for gap in self._all():
            gap.end(received)

    def _all(self) -> list[LongestGap]:
        return [self._samples, *([] if self._vehicle is None else [self._vehicle])]

    def figures(self) -> dict[str, float | None]:
        """The gaps as in metrics.json [s]."""
        return {"sample": self._samples.longest,
                "vehicle_row": None if self._vehicle is None else self._vehicle.longest}
