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

from ...evaluation.run_files import write_json
from ...model.robot import RobotModel
from .judge import CaseResult

FAULTS_SCHEMA = 1
LONGEST_FINDING = 300  # characters of a check's finding shown on the terminal
FAULT_COLUMNS = ("fault", "said after", "samples", "vehicle", "arm", "wrong", "back after", "RMSE",
                 "loss")
WIDTHS = (46, 11, 9, 9, 9, 9, 11, 7, 16)


def head() -> str:
    """The column titles."""
    return "".join(f"{title:<{width}}" for title, width in zip(FAULT_COLUMNS, WIDTHS))


def line(result: CaseResult, robot: RobotModel) -> str:
    """A result in one line, followed by the sentence found and the checks that failed."""
    unsaid = "never" if result.case.said and not result.case.or_said else "-"
    after = unsaid if result.detected is None else f"{result.detected:.1f} s"
    back = "-" if result.recovered is None else (
        "never" if math.isinf(result.recovered) else f"{result.recovered:.1f} s")
    rmse = "-" if math.isnan(result.rmse) else f"{result.rmse:.2f}"
    worst = int(np.argmax(result.loss))
    cells = (result.case.name, after, f"{result.samples:.1%}", f"{result.vehicle:.1%}",
             f"{result.arm:.1%}", f"{result.wrong:.2%}", back, rmse,
             f"{result.loss[worst]:.4f} {robot.channels[worst]}")
    lines = ["".join(f"{cell:<{width}}" for cell, width in zip(cells, WIDTHS))
             + ("ok" if result.ok else "RED")]
    if result.sentence:
        lines.append(f"    said: {result.sentence}")
    lines += [f"    {check.what}: {_shortened(check.found)} (asked {check.asked})"
              for check in result.checks if not check.ok]
    return "\n".join(lines)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_FINDING else f"{text[:LONGEST_FINDING]} .."


def summary(results: Sequence[CaseResult]) -> str:
    """How many faults meet their requirements, in total and per kind."""
    kinds = dict.fromkeys(one.case.kind for one in results)
    parts = [f"{kind} {sum(one.ok for one in results if one.case.kind == kind)} of "
             f"{sum(one.case.kind == kind for one in results)}" for kind in kinds]
    return (f"{sum(one.ok for one in results)} of {len(results)} faults as asked: "
            + ", ".join(parts))


def write(path: Path, results: Sequence[CaseResult], robot: RobotModel) -> None:
    """{"schema": 1, "channels", "faults": {name: figures and checks}}."""
    write_json(path, {"schema": FAULTS_SCHEMA, "channels": robot.channels,
                      "faults": {one.case.name: _figures(one) for one in results}})


def _figures(result: CaseResult) -> dict[str, Any]:
    names = ("sentence", "detected", "advice", "samples", "vehicle", "arm", "wrong", "recovered",
             "rmse", "loss", "trouble", "ok")
    return {"kind": result.case.kind, **{name: getattr(result, name) for name in names},
            "checks": [check._asdict() for check in result.checks]}
