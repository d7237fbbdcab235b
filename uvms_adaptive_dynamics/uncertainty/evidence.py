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

"""What a verdict rests on: findings, the predictions of each channel, and which rows can tell."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..model.metrics import STILL_SHARE
from ..model.normal import Z95
from ..model.parameters import ParameterTable
from ..model.sample import BY_SETTING, FILTERS_START, JOINT_AT_REST
from .trust import MATTERS_BY_STATE

# Unexplained share of the effort's power above which a channel is only usable: that at which trust
# enters its state.
MATTERING_SHARE = MATTERS_BY_STATE[0]
# Share of rows that sensor faults may mask.
MOST_MASKED = 0.5
# Mask reasons that are not faults: nothing moves, a setting asks for it, or filters start.
NO_FAULTS = (JOINT_AT_REST, BY_SETTING, FILTERS_START)
INPUT_CODES = ("imu", "dvl", "depth", "joint_states", "thrusters", "battery", "wrench")
# Codes of findings that other questions answer, or that concern the past.
JUDGED_ELSEWHERE = ("trust", "residual", "masked rows", "robot.dry_mass")


class ReportedFinding(NamedTuple):
    """Something found wrong: its code (a setting, or a kind of finding), the sentence, and when:
    t_s [s] since the first sample of the run (of the recording for a sensor's), None without a
    time."""

    code: str
    sentence: str
    t_s: float | None = None

    def entry(self) -> dict[str, Any]:
        """The entry in metrics.json; `evidence` is the sentence without its advice."""
        seen = self.sentence.partition(f"{self.code}: ")[2] or self.sentence
        return {"code": self.code, "sentence": self.sentence, "time": self.t_s,
                "evidence": seen.partition("; ")[0]}


def finding_of(sentence: str) -> ReportedFinding:
    """The finding of a sentence that begins with its code."""
    return ReportedFinding(sentence.partition(":")[0], sentence)


class ChannelEvidence(NamedTuple):
    """Evidence on the predictions of one channel.

    figures: `channel_metrics` of the judged rows; seconds: their duration [s]; masked: mask reason
    -> ticks; rows: ticks in all; trust: current state; moved: whether the judged rows
    are rows in motion (False: too few of them, so all valid rows are judged); counted: rows that
    counted in the end, None if only the masks are known; unused: why the channel is left out, one
    of LEFT_OUT, '' if it is not; negligible: effort that such a robot hardly notices [N, N m];
    beyond: which setting `limits` its rows exceeded, in words, '' if none.
    """

    figures: Mapping[str, Any]
    seconds: float
    masked: Mapping[str, int]
    rows: int
    trust: str
    moved: bool = True
    counted: int | None = None
    unused: str = ""
    negligible: float = 0.0
    beyond: str = ""

    @property
    def idle(self) -> bool:
        """Whether effort and errors are both negligible and the effort is unexplained. That proves
        nothing about the model: thrusters may be in the dead zone of their curve, for instance."""
        r2 = self.figures["r2"]
        if r2 is None or 1 - r2 <= MATTERING_SHARE:
            return False
        rmse = self.figures["rmse"]
        effort = rmse / np.sqrt(1 - r2)     # standard deviation
        return max(rmse, effort) < self.negligible

    @property
    def narrow_by_factor(self) -> bool:
        """Whether intervals that are too narrow would be wide enough if a constant factor on the
        effort were known. Predictions that do not fit, such as none at all, have no such factor."""
        r2, slope, ratio = self.figures["r2"], self.figures["slope"], self.width_ratio
        if r2 is None or ratio is None or 1 - r2 > MATTERING_SHARE:
            return False
        by_factor = (1 - slope) ** 2 / (1 - r2)     # share of the squared error
        return bool(ratio ** 2 >= 1 - by_factor)

    @property
    def lost(self) -> int:
        """Rows that did not count."""
        masked = sum(self.masked.values())
        return masked if self.counted is None else self.rows - self.counted

    @property
    def width_ratio(self) -> float | None:
        """Mean width of the 95 % intervals, relative to a constant interval for Gaussian residuals
        of the same RMSE; None without intervals or residuals."""
        width, rmse = self.figures["interval_width"], self.figures["rmse"]
        return None if width is None or not rmse else width / (2 * Z95 * rmse)

    @property
    def left_out(self) -> str:
        """Why the channel is left out; '' if it is not."""
        masked = self.masked.get(BY_SETTING, 0) > MOST_MASKED * max(self.rows, 1)
        return self.unused or (BY_SETTING if masked else "")

    @property
    def faults(self) -> dict[str, int]:
        """Rows masked because of faults, by reason."""
        return {reason: rows for reason, rows in self.masked.items() if reason not in NO_FAULTS}

    @property
    def faulty(self) -> bool:
        """Whether faults mask most rows."""
        return sum(self.faults.values()) > MOST_MASKED * max(self.rows, 1)


@dataclass(frozen=True)
class Evidence:
    """Everything a verdict rests on.

    channels: by name; which: the judged rows, in words; learnt: whether parameters were estimated
    from these rows (otherwise they were held out); known_from (p,): empty if unknown; limited (p,):
    see `ParameterSet`; findings: on
    sensors, settings and masses; violations: number of estimates outside P; update_ms: median
    duration of an update, None if none was timed (recordings use processor time, since they share
    the computer with other programs); period_ms: tick period; remedies: mask reason -> its cause;
    explained: channel -> what explains its remaining effort, in words; failed: why the estimator
    fails at present, '' if it does not; facts: what checks tell that found no fault, in words;
    uncompared: why the sensors were not compared with each other, '' if they were.
    """

    channels: Mapping[str, ChannelEvidence]
    which: str
    learnt: bool
    table: ParameterTable
    known_from: Sequence[str]
    findings: Sequence[ReportedFinding]
    violations: int
    update_ms: float | None
    period_ms: float
    remedies: Mapping[str, str] = field(default_factory=dict)
    explained: Mapping[str, str] = field(default_factory=dict)
    failed: str = ""
    facts: Sequence[str] = ()
    limited: Sequence[bool] = ()
    uncompared: str = ""

    @property
    def misset(self) -> list[ReportedFinding]:
        """Findings on settings, units and calibrations. A finding on the sensor itself (a corrected
        clock, for example) is not a wrong setting; its cost shows in the rows that it masks."""
        return [each for each in self.findings
                if each.code not in (*JUDGED_ELSEWHERE, *INPUT_CODES)]


# `Evidence.which` for parameters that were held fixed, on new data and on those behind them.
HELD_OUT = "rows never learnt from"
PARTLY_LEARNT = "rows of which some were learnt from"


def telling(table: ParameterTable, in_motion: np.ndarray, effort: np.ndarray,
            stddev: np.ndarray) -> np.ndarray:
    """(..., C) mask of the rows that can show whether a model fits, if they are valid: the
    vehicle's rows in_motion (..., C) under thrust, and all rows of the joints. What moves a vehicle
    without thrust is its past or an outside force: its effort is zero, has no power that could be
    explained, and any force on it would count as the model's error. Joints are masked at rest
    anyway, and `in_motion` depends on the model, which predicts no motion for an effort of the
    wrong sign. effort, stddev (..., C): measured, and stated for the prediction."""
    found = np.array(in_motion, bool) & ~(np.abs(effort) <= STILL_SHARE * stddev)
    found[..., table.channels - table.n:] = True
    return found
