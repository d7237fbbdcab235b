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

"""Validity of the present parameters, from the worker, its snapshot and the time since its newest
tick; see docs/validity.md."""
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..estimation.snapshot import EstimatorSnapshot
from ..estimation.validity import FAILED, Situation, Validity, validity
from ..model.parameters import ParameterTable
from ..uncertainty.advisories import measured_blocks
from .status import ERROR, OK, WARN
from .worker import KnownFromData, Worker


class Report(NamedTuple):
    """Validity of a snapshot's parameters; row_age (C,) [s]: age of each channel's newest learnt
    row."""

    validity: Validity
    snapshot: EstimatorSnapshot
    row_age: np.ndarray

    @property
    def level(self) -> int:
        """Level of a diagnostic status."""
        if self.validity.trusted:
            return OK
        wrong = self.validity.state == FAILED or "wrong" in self.snapshot.trust
        return ERROR if wrong else WARN


def failure(worker: Worker, channels: Sequence[str]) -> str:
    """Why the worker's newest values are no longer updated, on any thread; '' if they are."""
    now = validity(Situation.of(worker.snapshot, channels, 0.0, not worker.ended,
                                worker.exceptions_in_a_row))
    return now.reason if now.state == FAILED else ""


class ValidityMonitor:
    """Makes reports, on one thread at a time. `latest`: last validity, for any thread."""

    def __init__(self, worker: Worker, channels: tuple[str, ...], table: ParameterTable,
                 now: Callable[[], float]):
        """now [s]: a clock that does not step, or that of the simulation."""
        self._worker, self._channels, self._table, self._now = worker, channels, table, now
        self._done, self._tick_at, self._busy_since = 0, -np.inf, np.inf
        self._knowledge: KnownFromData | None = None
        self._measured: tuple[str, ...] = ()
        self.latest = self.report().validity

    def report(self, new_tick: bool = False) -> Report:
        """Present validity of the worker's snapshot; new_tick: the worker is just finishing the
        sample of this snapshot."""
        worker, snapshot = self._worker, self._worker.snapshot
        tick_age, stuck = self._ages(worker.done + new_tick)
        situation = Situation.of(snapshot, self._channels, tick_age, not worker.ended,
                                 worker.exceptions_in_a_row, stuck,
                                 worker.learns_again)
        self.latest = validity(situation)
        return Report(self.latest, snapshot, situation.row_age)

    def figures(self, report: Report) -> dict[str, object]:
        """Keys and values of ~/status."""
        (state, trusted, reason), snapshot, row_age = report
        progress, scales = snapshot.progress, snapshot.scales
        knowledge = self._worker.knowledge
        if knowledge is not None and knowledge is not self._knowledge:
            self._knowledge = knowledge
            self._measured = measured_blocks(self._table, knowledge.known_from)
        return {
            "state": state, "reason": reason, "trusted": "true" if trusted else "false",
            "reset_count": progress.jumps, "reset_reason": progress.jump_reason,
            "solver": snapshot.solver, "rank": knowledge.identifiable_rank if knowledge else 0,
            "measured": ",".join(self._measured),
            "corrected": ",".join(scales.words(self._channels)) if scales else "",
            "scales": json.dumps(scales.stated(self._channels)) if scales else "{}",
            "external_force": snapshot.external_force,
            **{f"trust {channel}": level for channel, level in zip(self._channels,
                                                                   snapshot.trust)},
            **{f"age {channel}": age for channel, age in zip(self._channels, row_age.tolist())},
            **{f"noise {channel}": noise for channel, noise in zip(self._channels,
                                                                   snapshot.noise_stddev.tolist())}}

    def _ages(self, done: int) -> tuple[float, float]:
        """(age [s] of the newest finished sample, inf before the first; observed time [s] for which
        the next one has been in work)."""
        now = self._now()
        if done != self._done or now < self._tick_at:       # or the clock jumped back
            self._done, self._tick_at, self._busy_since = done, now, np.inf
        self._busy_since = min(self._busy_since, now) if self._worker.backlog else np.inf
        return now - self._tick_at, max(now - self._busy_since, 0.0)
