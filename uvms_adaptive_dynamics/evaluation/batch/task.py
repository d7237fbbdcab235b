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

"""Run one task of a batch: from recordings to figures of their predictions, with times kept apart.
"""
from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import UvmsError
from ...model.metrics import all_channels, negative_log_likelihood
from ...model.normal import Z95
from ...model.parameter_file import load_parameters
from ...model.parameter_set import ParameterSet
from ...uncertainty.verdict import verdict
from ..judged import evidence_of
from ..run import run
from ..run_files import jsonable
from ..run_log import Rows
from ..run_record import Run, metrics_of
from .content import code_digest, file_digest
from .plan import Task

# [s] Length of the pieces that sums are kept for, which count as independent: the low-pass
# correlates rows over .4 s, motions over some seconds.
PIECE_LENGTH = 10.0


def run_task(task: Task) -> dict[str, Any]:
    """{"result", "times"} in plain types; raises UvmsError for unusable input.

    result: "recordings" (for each judged one: channels as in metrics.json, with sums by pieces of
    time), "verdict" (on all of them: word and reasons), "findings", "changes", "failures",
    "solver", "violations", "identifiable_rank" and "parameters".
    """
    _check_content(task)
    begin = time.perf_counter()
    start = None if task.parameters is None else load_parameters(task.parameters[0])
    learnt = run([r.path for r in task.learn], task.config, start) if task.learn else None
    judged = learnt
    if task.test:
        prior = start if learnt is None else learnt.final
        judged = run([r.path for r in task.test], task.config, prior, frozen=True)
    assert judged is not None
    times = {"wall_s": time.perf_counter() - begin,
             "update_ms": metrics_of(learnt)["update_ms"] if learnt else None}
    return {"result": jsonable(_result(judged, learnt)), "times": jsonable(times)}


def _check_content(task: Task) -> None:
    """Check that code and recordings are those of the task's key."""
    if task.code != code_digest():
        raise UvmsError("this process has another version of the package or its libraries than the "
                        "one that started the batch; install the same version on every machine.")
    for recording in {*task.learn, *task.test}:
        if file_digest(recording.path) != recording.digest:
            raise UvmsError(f"recording '{recording.path}' has changed since the batch began; run "
                            "it again when nothing writes to it.")


def _result(judged: Run, learnt: Run | None) -> dict[str, Any]:
    metrics, last = metrics_of(judged), learnt or judged
    rows = judged.log.rows()
    return {
        "recordings": [_judged(judged, rows, number) for number in range(len(judged.bags))],
        "verdict": _verdict(judged),
        "findings": [finding.sentence for finding in judged.findings],
        "masked": {name: dict(reasons) for name, reasons in judged.masked.items()},
        "longest_gap_s": metrics["longest_gap_s"],
        "changes": [change.sentence for change in last.changes],
        "failures": [failure.line() for run in {id(r): r for r in (last, judged)}.values()
                     for failure in run.failures],
        "solver": last.solver, "violations": last.log.violations,
        "identifiable_rank": last.identifiable_rank, "parameters": _parameters(last.final)}


def _verdict(judged: Run) -> dict[str, Any]:
    """The verdict, independent of the computer: update times are in times.csv."""
    found = verdict(replace(evidence_of(judged), update_ms=None))
    return {"word": found.word, "reasons": found.reasons}


def _parameters(final: ParameterSet) -> dict[str, Any]:
    return {"names": list(final.names), "value": final.values, "stddev": final.stddev}


def _judged(done: Run, rows: Rows, number: int) -> dict[str, dict[str, Any]]:
    """Metrics and sums of one recording's rows, by channel."""
    own = Rows(*(column[rows.bag == number] for column in rows))
    found = all_channels(done.robot.channels, done.robot.units, own.measured, own.predicted,
                         own.stddev, own.valid)
    for c, channel in enumerate(found.values()):
        channel["pieces"] = sums_by_piece(own, c)
    return found


def sums_by_piece(rows: Rows, c: int) -> dict[str, list[float]]:
    """Sums of channel c by pieces of PIECE_LENGTH: number of rows, squared residuals, rows inside
    the 95 % interval, and negative log-likelihood [nats]."""
    counted = rows.counted(c)
    t, s = rows.t[counted], rows.stddev[counted, c]
    residual = rows.measured[counted, c] - rows.predicted[counted, c]
    piece = ((t - rows.t[0]) // PIECE_LENGTH).astype(int) if t.size else np.zeros(0, int)
    nll = negative_log_likelihood(residual, s)
    pieces = int(piece.max()) + 1 if piece.size else 0
    return {name: np.bincount(piece, weights, pieces).tolist() for name, weights in (
        ("n", np.ones(t.size)), ("squared", residual ** 2),
        ("inside", (np.abs(residual) <= Z95 * s).astype(float)), ("nll", nll))}
