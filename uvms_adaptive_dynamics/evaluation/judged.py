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

"""Evidence, verdict and statement of a finished run."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..model.metrics import channel_metrics, timing
from ..signals.checks.frames import SHORTEST_COMPARED
from ..uncertainty.channel_answers import JUDGED_SECONDS
from ..uncertainty.evidence import HELD_OUT, PARTLY_LEARNT, ChannelEvidence, Evidence, telling
from ..uncertainty.statement import Statement, statement
from .run_log import Rows
from .run_record import Run, trust_of

LEARNT = "the later half of the rows in motion, each predicted before it was learnt from"


def evidence_of(done: Run) -> Evidence:
    """The evidence for the verdict.

    Per channel it judges the valid rows that can show whether the model fits, or all valid ones if
    these are too few. If the run learnt, only their later half counts, since the first rows were
    predicted with the prior, and only rows after the last change of the robot."""
    rows, period = done.log.rows(), done.config.filter.period
    begin, enough = _last_change(rows, done.log.changes), JUDGED_SECONDS / period
    left_out = done.robot.left_out(done.config)
    trust = trust_of(rows, left_out)
    tells = telling(done.robot.table, rows.in_motion, rows.measured, rows.stddev)
    channels: dict[str, ChannelEvidence] = {}
    all_after = begin > 0
    for c, (name, unit) in enumerate(zip(done.robot.channels, done.robot.units, strict=True)):
        valid = rows.valid[:, c]
        judged = _judged(valid & tells[:, c], done.frozen, begin, enough)
        moved = judged.size >= enough
        if not moved:
            judged = _judged(valid, done.frozen, begin, enough)
        all_after &= not judged.size or bool(judged[0] > begin)
        figures = channel_metrics(rows.measured[judged, c], rows.predicted[judged, c],
                                  rows.stddev[judged, c], np.ones(judged.size, bool), unit)
        masked = done.masked.get(name, {})
        channels[name] = ChannelEvidence(
            figures, judged.size * period, dict(masked), done.ticks, trust[c]["trust"] or "",
            moved=moved, counted=int(valid.sum()), unused=left_out[c],
            negligible=float(done.robot.negligible[c]), beyond=done.beyond.get(name, ""))
    which = LEARNT + (", after the robot changed" if all_after else "")
    if done.frozen:
        which = PARTLY_LEARNT if any(each.code == "learned" for each in done.findings) else HELD_OUT
    return Evidence(
        channels, which, learnt=not done.frozen,
        table=done.robot.table, known_from=done.final.known_from, findings=done.findings,
        violations=done.log.violations, update_ms=timing(done.log.cpu_ms)["median"],
        period_ms=1e3 * period, remedies=done.remedies, explained=done.explained, facts=done.facts,
        limited=done.final.limited, uncompared=_uncompared(done))


def _uncompared(done: Run) -> str:
    """That the sensors behind the parameters were not compared with each other, '' if they were."""
    longest = max((bag.end - bag.start for bag in done.bags), default=0.0)
    return "" if done.frozen or done.compared else (
        "too short to compare the sensors with each other, so a wrong scale, axis or delay may "
        f"have gone unnoticed: {SHORTEST_COMPARED:g} s with all sensors are needed, after the "
        f"filters' start, and the longest recording lasts {longest:.1f} s; record for longer")


def _last_change(rows: Rows, changes: Sequence[float]) -> int:
    """Index of the row at which the last of the changes [s] was accepted or withdrawn; 0 without a
    change."""
    return int(np.flatnonzero(rows.t == changes[-1])[-1]) if changes else 0


def _judged(rows: np.ndarray, frozen: bool, begin: int, enough: float) -> np.ndarray:
    """Indices of the judged rows among rows (T,) bool; only those after `begin` if these are
    `enough`."""
    places = np.flatnonzero(rows)
    later = places if frozen else places[places.size // 2:]
    after = later[later > begin]
    return after if begin and after.size >= enough else later


def statement_of(done: Run, saved_to: str | Path | None = None) -> Statement:
    """The statement at the end of a run; saved_to: file with its parameters."""
    notes = [change.sentence for change in done.changes]
    notes += [found.sentence for found in done.findings if found.code == "residual"]
    return statement(evidence_of(done), done.final, ", ".join(bag.title for bag in done.bags),
                     None if saved_to is None else str(saved_to), notes,
                     {end.stage: end.sentence() for end in done.stages} if done.stages else None,
                     done.standing_change)
