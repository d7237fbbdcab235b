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

"""Knowledge from the time when all sensors were right, to return to when one becomes faulty."""
from __future__ import annotations

import math

from ..model.sample import Sample
from .accepted_change import Checkpoint

CHECKS_REMEMBERED = 3  # several, since a fault may have begun before the last check


class Checkpoints:
    """Checkpoints of the last checks that found the sensors right, each with its stamp [s].

    first: of the first sample, None before it; nothing wrong has been learnt by then."""

    def __init__(self) -> None:
        self.first: tuple[float, Checkpoint] | None = None
        self._kept: list[tuple[float, Checkpoint]] = []
        self._newest = -math.inf
        self._found_wrong = False

    def before_fault(self, sample: Sample) -> tuple[float, Checkpoint] | None:
        """The checkpoint to return to, with its stamp [s], if this sample is the first with a
        faulty sensor: the newest from the time it was right, else the oldest.

        None for any other sample, and without a checkpoint."""
        begins = sample.found_wrong and not self._found_wrong
        self._found_wrong = sample.found_wrong
        right = [kept for kept in [*self._of_first(sample), *self._kept]
                 if kept[0] <= sample.right_until]
        if not begins or not (right or self._kept):
            return None
        found = right[-1] if right else self._kept[0]
        self._kept = []
        return found

    def _of_first(self, sample: Sample) -> list[tuple[float, Checkpoint]]:
        """The first sample's checkpoint, if all samples since then can be learnt again."""
        again = self.first is not None and sample.again and sample.again[0][0].t <= self.first[0]
        return [self.first] if self.first is not None and again else []

    def is_due(self, sample: Sample) -> bool:
        """Whether a new check has found the sensors right, so that a checkpoint is due."""
        is_new = sample.right_until > (self._newest if self._newest <= sample.t else -math.inf)
        return is_new and not sample.found_wrong

    def keep(self, sample: Sample, known: Checkpoint) -> None:
        """Keep a checkpoint at this sample's `right_until`."""
        self._newest = sample.right_until
        self._kept = [*self._kept, (self._newest, known)][-CHECKS_REMEMBERED:]
