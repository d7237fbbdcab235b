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

"""A finished run and its metrics, as in metrics.json.

Everything that reports on a run (files, figures, report, studies) starts here.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .. import __version__
from ..config import Config
from ..control.stage_runner import StageEnd
from ..estimation.payload import Payload
from ..model.kernel import pass_band
from ..model.metrics import all_channels, timing
from ..model.normal import Z95
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from ..signals.checks.finding import Mend
from ..uncertainty.evidence import ReportedFinding
from ..uncertainty.trust import TRUST_STATES
from .bags import BagContents
from .failures import Failure
from .input_log import InputFigures
from .mask_spans import Span, reasons_of_rows
from .run_log import Rows, RunLog

RUN_SCHEMA = 2


@dataclass(frozen=True)
class Run:
    """A finished run: its log, the parameters at start and end, and what was rejected.

    masked: channel -> mask reason -> ticks, of `ticks` in all; saved_noise (C,): the noise saved
    with the initial parameters, or None; longest_gap [s]: longest time without a `sample` and
    without a `vehicle_row`; mask_spans (C,): when each channel's samples were masked, and why;
    remedies: mask reason -> its cause; explained: channel -> what explains its remaining effort;
    standing_change: the last change of the robot, unless withdrawn; facts: what checks tell that
    found no fault, in words; doubted: whether a sensor or a setting was found wrong that rows or
    parameters depend on; mends: what puts the readings right at the end; payload: what the arm
    holds at the end, None if nothing; beyond: channel -> which setting `limits` its rows exceeded;
    compared: whether a recording was long enough to compare its sensors.
    """

    bags: tuple[BagContents, ...]
    config: Config
    robot: RobotModel
    frozen: bool
    log: RunLog
    prior: ParameterSet
    final: ParameterSet
    solver: str | None
    identifiable_rank: int | None
    solver_failures: int
    counters: Mapping[str, int]
    masked: Mapping[str, Mapping[str, int]]
    ticks: int
    notes: tuple[str, ...]
    saved_noise: np.ndarray | None
    findings: tuple[ReportedFinding, ...] = ()
    inputs: Mapping[str, InputFigures] = field(default_factory=dict)
    changes: tuple[ReportedFinding, ...] = ()
    failures: tuple[Failure, ...] = ()
    longest_gap: Mapping[str, float | None] = field(default_factory=dict)
    mask_spans: Sequence[Sequence[Span]] = ()
    stages: tuple[StageEnd, ...] = ()
    remedies: Mapping[str, str] = field(default_factory=dict)
    standing_change: str = ""
    explained: Mapping[str, str] = field(default_factory=dict)
    facts: tuple[str, ...] = ()
    doubted: bool = False
    compared: bool = True
    mends: tuple[Mend, ...] = ()
    payload: Payload | None = None
    beyond: Mapping[str, str] = field(default_factory=dict)
    version: str = __version__

    @property
    def duration(self) -> float:
        """Total recorded time of all bags [s]."""
        return sum(bag.end - bag.start for bag in self.bags)


def fixed_stddev(done: Run, noise: np.ndarray) -> np.ndarray:
    """(T, C) standard deviations of the run's predictions with a constant noise (C,)."""
    rows = done.log.rows()
    parameters = np.maximum(rows.stddev ** 2 - rows.noise ** 2, 0.0)
    return np.sqrt(parameters + noise ** 2)


def saved_intervals(done: Run) -> dict[str, dict[str, Any]]:
    """Per channel: coverage and width of intervals with the saved noise (None without one), and
    `width_expected`, the width of a constant interval for Gaussian residuals of this RMSE."""
    names, units, rows = done.robot.channels, done.robot.units, done.log.rows()
    none = np.full(len(names), np.nan)
    stddev = fixed_stddev(done, none if done.saved_noise is None else done.saved_noise)
    found = all_channels(names, units, rows.measured, rows.predicted, stddev, rows.valid)
    mean_square = [np.mean((rows.measured - rows.predicted)[rows.valid[:, c], c] ** 2)
                   if rows.valid[:, c].any() else np.nan for c in range(len(names))]
    return {
        name: {"coverage95_saved": channel["coverage95"], "width_saved": channel["interval_width"],
               "width_expected": 2 * Z95 * np.sqrt(square)}
        for (name, channel), square in zip(found.items(), mean_square, strict=True)
    }


def metrics_of(done: Run) -> dict[str, Any]:
    """The content of metrics.json."""
    log, robot = done.log, done.robot
    rows = log.rows()

    def block(predicted: np.ndarray, stddev: np.ndarray) -> dict[str, Any]:
        return all_channels(robot.channels, robot.units, rows.measured, predicted, stddev,
                            rows.valid)

    channels = block(rows.predicted, rows.stddev)
    for channel, trust, masked_by in zip(
            channels.values(), trust_of(rows, robot.left_out(done.config)),
            reasons_of_rows(done.mask_spans, rows), strict=True):
        channel |= trust | {"masked_by": masked_by}
    solve, covariance = timing(log.solve_ms), done.final.covariance
    saved, band = saved_intervals(done), pass_band(done.config.filter)
    return {
        "schema": RUN_SCHEMA, "duration_s": done.duration, "updates": log.updates,
        "skipped": log.skipped, "channels": {
            name: channel | saved[name] for name, channel in channels.items()
        }, "prior": {
            "channels": block(*log.predict(done.prior.values, done.prior.covariance))
        }, "final": {"channels": block(*log.predict(done.final.values, covariance))},
        "solver": None if done.frozen else {
            "name": done.solver, "median_ms": solve["median"], "p99_ms": solve["p99"],
            "max_ms": solve["max"], "failures": done.solver_failures
        }, "update_ms": timing(log.update_ms), "parameters": {
            "names": list(done.final.names), "value": done.final.values,
            "stddev": ([None] * len(done.final.names) if done.final.stddev is None
                       else done.final.stddev),
            "interval95": (None if done.final.intervals is None
                           else done.final.intervals.T.tolist()),
            "identifiable_rank": done.identifiable_rank
        }, "physical": {
            "min_eig_M": log.min_eig_M, "min_eig_J": log.min_eig_J, "violations": log.violations
        }, "inputs": {role: figures._asdict() for role, figures in done.inputs.items()},
        "findings": [found.entry() for found in done.findings],
        "changes": [change.entry() for change in done.changes],
        "payload": None if done.payload is None else payload_entry(done.payload, float(rows.t[0])),
        "failures": [asdict(failure) for failure in done.failures],
        "longest_gap_s": dict(done.longest_gap),
        "lowpass": None if band is None else band._asdict(),
        "external_load_share": log.loaded / max(len(log), 1),
        "stages": [stage_entry(stage, float(rows.t[0])) for stage in done.stages],
        "settings_changed": {
            name: {"default": default, "value": value}
            for name, (default, value) in done.config.changed_settings().items()}
    }


def stage_entry(stage: StageEnd, first: float) -> dict[str, Any]:
    """A stage's entry in metrics.json; first [s]: origin of its times."""
    begin, end = (None if t is None else t - first for t in (stage.begin, stage.end))
    return {"name": stage.stage, "begin_s": begin, "end_s": end, "why_ended": stage.why,
            "missing": list(stage.missing),
            "stddev": {name: {"begin": before, "end": after}
                       for name, (before, after) in stage.deviations.items()}}


def payload_entry(held: Payload, first: float) -> dict[str, Any]:
    """The payload's entry in metrics.json; first [s]: origin of its times."""
    return {"name": held.name, "joint": held.joint, "since_s": held.since - first,
            "seconds": held.seconds, "mass": held.mass, "mass_stddev": held.mass_stddev,
            "mass95": list(held.mass_interval), "place": held.place.tolist(),
            "place_stddev": held.place_stddev.tolist()}


def trust_of(rows: Rows, left_out: Sequence[str]) -> list[dict[str, Any]]:
    """Per channel: 'trust' at the end, 'trust_share' of the rows in each state, and 'trust_since_s'
    [s], the time since the first row at which each state was first reached, or None. A channel
    that is left out (left_out (C,): why, or '') has only that as its trust."""
    found = []
    for levels, why in zip(rows.trust.T, left_out):
        levels = levels[:0] if why else levels
        places = [np.flatnonzero(levels == level) for level in range(len(TRUST_STATES))]
        found.append({
            "trust": why or (TRUST_STATES[levels[-1]] if levels.size else None),
            "trust_share": {state: place.size / max(levels.size, 1)
                            for state, place in zip(TRUST_STATES, places)},
            "trust_since_s": {state: float(rows.t[place[0]] - rows.t[0]) if place.size else None
                              for state, place in zip(TRUST_STATES, places)}})
    return found
