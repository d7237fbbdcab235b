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

"""Data of the plots in the report: a run's series, packed for the browser.

A series is base64 of little-endian float32, with NaN for gaps.
"""
from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..model.normal import Z95
from ..uncertainty.evidence import ReportedFinding
from .mask_spans import NO_REASON, reasons_between, runs
from .run_files import jsonable
from .run_record import Run
from .scene import Axis, Scene, eigenvalue_series

# Total values of all channels, and points per parameter: keeps every report below 3 MB.
CHANNEL_VALUES, PARAMETER_POINTS = 150_000, 300


def page_data(run: Run, known_from: Mapping[str, str]) -> str:
    """JSON for a script element: channels, marks, parameters, eigenvalues, solver times.

    known_from: parameter -> what it is known from; empty if nothing was learnt."""
    scene = Scene(run)
    content = {"channels": _channels(scene), "marks": _marks(scene),
               "parameters": _parameters(scene, known_from), "eigenvalues": _eigenvalues(scene),
               "solve": _solve_times(scene)}
    # '</' would end the element.
    return json.dumps(jsonable(content), allow_nan=False, separators=(",", ":")).replace(
        "<", "\\u003c")


def packed(values: np.ndarray) -> str:
    """A series as base64 text."""
    return base64.b64encode(np.asarray(values, "<f4").tobytes()).decode()


def _channels(scene: Scene) -> dict[str, Any]:
    rows, run = scene.rows, scene.run
    names = run.robot.channels
    axis = Axis(scene.t, max(1000, CHANNEL_VALUES // (3 * len(names))))
    found = []
    for c, (name, unit) in enumerate(zip(names, run.robot.units, strict=True)):
        counted = rows.valid[:, c]
        measured, predicted, half = (np.where(counted, values[:, c], np.nan) for values in (
            rows.measured, rows.predicted, Z95 * rows.stddev))
        found.append({"name": name, "unit": unit, "measured": packed(axis(measured)),
                      "predicted": packed(axis(predicted)), "half": packed(axis(half)),
                      "masked": _masked(scene, c)})
    return {"t": packed(axis.t), "each": found}


def _masked(scene: Scene, c: int) -> list[tuple[float, float, str]]:
    """(begin, end, reason) of the channel's masked rows, in elapsed time [s]."""
    rows, spans = scene.rows, scene.run.mask_spans
    found = []
    for first, last in runs(~rows.valid[:, c], rows.bag):
        reasons = reasons_between(spans[c], rows.bag[first], rows.t[first],
                                  rows.t[last]) if spans else []
        found.append((round(float(scene.t[first]), 3), round(float(scene.t[last]), 3),
                      ", ".join(reasons) or NO_REASON))
    return found


def _marks(scene: Scene) -> list[dict[str, Any]]:
    """Events to mark: changes of the robot, findings with a time, and the start of each stage."""
    run, t_rows = scene.run, scene.rows.t
    found = [(t, each.sentence) for each in (*run.changes, *run.findings)
             if (t := elapsed_of(scene, each)) is not None]
    found += [(float(scene.t[np.argmin(np.abs(t_rows - stage.begin))]),
               f"stage {stage.stage} begins")
              for stage in run.stages if stage.begin is not None and t_rows.size]
    return [{"t": round(t, 2), "text": text} for t, text in found]


def elapsed_of(scene: Scene, found: ReportedFinding) -> float | None:
    """Time of a finding on the plots' axis [s]; None if it has no time, or one relative to one of
    several recordings."""
    t = scene.rows.t
    if found.t_s is None or not t.size or (len(scene.run.bags) > 1 and found.code not in (
            "change", "trust")):
        return None
    return float(scene.t[np.argmin(np.abs(t - t[0] - found.t_s))])


def _parameters(scene: Scene, known_from: Mapping[str, str]) -> dict[str, Any] | None:
    run, trajectory = scene.run, scene.trajectory
    if len(trajectory.t) < 2:
        return None
    table = run.robot.table
    axis = Axis(scene.elapsed(trajectory.t, trajectory.bag), PARAMETER_POINTS)
    low, high = scene.intervals
    return {"t": packed(axis.t), "each": {
        name: {"label": name.rpartition(".")[2], "unit": table.units[k].replace("^2", "²"),
               "value": packed(axis(trajectory.pi[:, k])), "low": packed(axis(low[:, k])),
               "high": packed(axis(high[:, k])),
               "prior": run.prior.values[k], "known": known_from.get(name, "")}
        for k, name in enumerate(table.names)}}


def _eigenvalues(scene: Scene) -> dict[str, Any] | None:
    trajectory = scene.trajectory
    if len(trajectory.t) < 2:
        return None
    axis = Axis(scene.elapsed(trajectory.t, trajectory.bag), PARAMETER_POINTS)
    return {"t": packed(axis.t), "margin": scene.run.config.estimation.epsilon, "each": [
        {"title": title, "values": [packed(axis(column)) for column in values.T]}
        for title, values in eigenvalue_series(scene)]}


def _solve_times(scene: Scene) -> dict[str, Any] | None:
    times = np.array(scene.run.log.solve_ms)
    finite = times[np.isfinite(times)]
    if not finite.size:
        return None
    axis = Axis(scene.t[:times.size], 3000)
    return {"t": packed(axis.t), "ms": packed(axis(times)), "median": np.median(finite),
            "p99": np.percentile(finite, 99),
            # Leave out the first solve, which loads and compiles.
            "top": 1.15 * max(np.percentile(finite, 99.5), 1e-3)}
