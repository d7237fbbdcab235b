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

"""The bench's results as lines on the terminal and as JSON."""
from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...evaluation.files import write_json
from ...model.robot import RobotModel
from .judge import Verdict

FAULTS_SCHEMA = 1
LONGEST_FINDING = 300  # characters of a check's finding shown on the terminal
FAULT_COLUMNS = ("fault", "said after", "samples", "vehicle", "arm", "wrong", "back after", "RMSE",
                 "loss")
WIDTHS = (46, 11, 9, 9, 9, 9, 11, 7, 16)


def head() -> str:
    """The column titles."""
    return "".join(f"{title:<{width}}" for title, width in zip(FAULT_COLUMNS, WIDTHS))


def line(verdict: Verdict, robot: RobotModel) -> str:
    """A verdict in one line, followed by the sentence found and the checks that failed."""
    unsaid = "never" if verdict.case.said and not verdict.case.or_said else "-"
    after = unsaid if verdict.detected is None else f"{verdict.detected:.1f} s"
    back = "-" if verdict.recovered is None else (
        "never" if math.isinf(verdict.recovered) else f"{verdict.recovered:.1f} s")
    rmse = "-" if math.isnan(verdict.rmse) else f"{verdict.rmse:.2f}"
    worst = int(np.argmax(verdict.loss))
    cells = (verdict.case.name, after, f"{verdict.samples:.1%}", f"{verdict.vehicle:.1%}",
             f"{verdict.arm:.1%}", f"{verdict.wrong:.2%}", back, rmse,
             f"{verdict.loss[worst]:.4f} {robot.channels[worst]}")
    lines = ["".join(f"{cell:<{width}}" for cell, width in zip(cells, WIDTHS))
             + ("ok" if verdict.ok else "RED")]
    if verdict.sentence:
        lines.append(f"    said: {verdict.sentence}")
    lines += [f"    {check.what}: {_shortened(check.found)} (asked {check.asked})"
              for check in verdict.checks if not check.ok]
    return "\n".join(lines)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_FINDING else f"{text[:LONGEST_FINDING]} .."


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many faults meet their requirements, in total and per kind."""
    kinds = dict.fromkeys(v.case.kind for v in verdicts)
    parts = [f"{kind} {sum(v.ok for v in verdicts if v.case.kind == kind)} of "
             f"{sum(v.case.kind == kind for v in verdicts)}" for kind in kinds]
    return (f"{sum(v.ok for v in verdicts)} of {len(verdicts)} faults as asked: "
            + ", ".join(parts))


def write(path: Path, verdicts: Sequence[Verdict], robot: RobotModel) -> None:
    """{"schema": 1, "channels", "faults": {name: figures and checks}}."""
    write_json(path, {"schema": FAULTS_SCHEMA, "channels": robot.channels,
                      "faults": {v.case.name: _figures(v) for v in verdicts}})


def _figures(verdict: Verdict) -> dict[str, Any]:
    names = ("sentence", "detected", "advice", "samples", "vehicle", "arm", "wrong", "recovered",
             "rmse", "loss", "trouble", "ok")
    return {"kind": verdict.case.kind, **{name: getattr(verdict, name) for name in names},
            "checks": [check._asdict() for check in verdict.checks]}
