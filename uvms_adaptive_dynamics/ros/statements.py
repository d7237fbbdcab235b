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

"""The statement of a running estimator: made on request, after each stage and at exit, and written
beside its state (docs/statement.md)."""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..config import Config
from ..disk.writing import attempt_all, write_file
from ..estimation.saved_state import dated
from ..model.parameter_file import save_parameters
from ..model.parameter_set import ParameterSet
from ..model.physical_set import PhysicalSet
from ..model.robot import RobotModel
from ..model.sample import LEFT_OUT
from ..uncertainty.evidence import HELD_OUT, ChannelEvidence, Evidence, ReportedFinding, finding_of
from ..uncertainty.statement import Statement, statement
from .inputs import NodeInputs
from .node_stages import NodeStages
from .recent_fit import RecentFit
from .validity import failure
from .worker import Worker

STATEMENT_FILE = "statement"  # file name; .md, .json, and .yaml with the parameters
# [s] of rows in motion to judge: long enough for several manoeuvres.
JUDGED = 60.0


class _Asked(NamedTuple):
    """Data that only the estimator's own thread may read."""

    parameters: ParameterSet
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    learn: bool
    trust: tuple[str, ...]
    rows_learned: int
    stages: Mapping[str, str] | None
    change: str
    failed: str
    beyond: Mapping[str, str]


class Statements:
    """Makes and writes statements; on any thread but the worker's."""

    def __init__(self, robot: RobotModel, config: Callable[[], Config], worker: Worker,
                 inputs: NodeInputs, fit: RecentFit, stages: NodeStages, folder: Path, node: str,
                 reviews: Callable[[], Sequence[ReportedFinding] | None] = lambda: None):
        """config: returns the present settings; fit: of the last JUDGED seconds in motion; reviews:
        returns the findings of the last review."""
        self._robot, self._config, self._worker = robot, config, worker
        self._inputs, self._fit, self._stages = inputs, fit, stages
        self._folder, self._node, self._reviews = folder, node, reviews
        self._physical = PhysicalSet(robot.table, config().estimation)

    def write(self) -> tuple[Path, Statement]:
        """Write a statement; returns (path of statement.md, the statement).

        Also writes statement.json, and statement.yaml with the parameters that the next dive starts
        from. Raises UvmsError if it cannot be made or written.
        """
        return self._write(self._worker.call(self._asked))

    def write_learned(self) -> tuple[Path, Statement] | None:
        """Like `write`; returns None and writes nothing if nothing was learnt."""
        asked = self._worker.call(self._asked)
        return self._write(asked) if asked.rows_learned else None

    def _write(self, asked: _Asked) -> tuple[Path, Statement]:
        path = self._folder / f"{STATEMENT_FILE}.md"
        file = path.with_suffix(".yaml")
        made = statement(self._evidence(asked), asked.parameters, self._node, str(file),
                         asked.notes, asked.stages, asked.change)
        document = json.dumps(made.document(), indent=1)
        attempt_all(lambda: save_parameters(file, dated(asked.parameters)),
                    lambda: write_file(path, made.text()),
                    lambda: write_file(path.with_suffix(".json"), document + "\n"))
        return path, made

    def _asked(self, estimator: Any) -> _Asked:
        held = estimator.payload.payload()
        notes = [*([estimator.last_change] if estimator.last_change else []),
                 *([f"held: {held.sentence()}"] if held is not None else []),
                 *estimator.findings.of_residuals()]
        return _Asked(estimator.parameter_set(),
                      tuple(f"{setting}: {said}" for setting, said in estimator.mass_findings()),
                      tuple(notes), estimator.learn, estimator.snapshot().trust,
                      estimator.information.rows_learned, self._stages.summary(),
                      estimator.standing_change,
                      failure(self._worker, self._robot.channels), estimator.beyond_limits)

    def _evidence(self, asked: _Asked) -> Evidence:
        with self._inputs.lock:
            front_end = self._inputs.front_end
            warnings = list(front_end.warnings)
            masked = {channel: dict(counts) for channel, counts in front_end.masked.items()}
            ticks = front_end.ticks
        period = self._config().filter.period
        channels = {
            name: ChannelEvidence(figures, float(figures["n"]) * period, masked.get(name, {}),
                                  ticks, trust, unused=trust if trust in LEFT_OUT else "",
                                  negligible=negligible, beyond=asked.beyond.get(name, ""))
            for (name, figures), trust, negligible in zip(
                self._fit.metrics().items(), asked.trust, self._robot.negligible.tolist())}
        update_ms = list(self._worker.update_ms)
        which = f"the last {JUDGED:g} s of rows in motion" + (
            ", each predicted before it was learnt" if asked.learn else f", {HELD_OUT}")
        return Evidence(
            channels, which, learnt=asked.learn, table=self._robot.table,
            known_from=asked.parameters.known_from,
            findings=[*(finding_of(said) for said in (*warnings, *asked.sentences)),
                      *(self._reviews() or ())],
            violations=int(self._physical.is_outside(asked.parameters.values)),
            update_ms=float(np.median(update_ms)) if update_ms else None, period_ms=1e3 * period,
            failed=asked.failed, limited=asked.parameters.limited)
