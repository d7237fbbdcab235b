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

"""One recording: simulate it, evaluate it, and judge the verdict."""
from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...config import Config, load_config
from ...evaluation.judged import statement_of
from ...evaluation.run import run
from ...simulation.bag import write_bag
from ...simulation.configured import true_robot_of
from ...simulation.true_robot import TrueRobot
from ...uncertainty.answer import GOOD
from .case import Setup
from .table import TABLES


@dataclass(frozen=True)
class Trial:
    """A case by its table and index, with its seed; or a recording with its settings that should be
    called `good`."""

    table: str = ""
    place: int = 0
    seed: int = 0
    recording: Path | None = None
    config: Path | None = None


def judged(trial: Trial) -> dict[str, Any]:
    """{"name", "seed", "asked", "verdict", "right", "reasons", "channels"}; raises UvmsError for
    unusable input."""
    if trial.recording is not None:
        name, good = trial.recording.name, True
        found = _evaluated(trial.recording, load_config(trial.config))
    else:
        case = TABLES[trial.table][trial.place]
        name, good = case.name, case.good
        with tempfile.TemporaryDirectory(prefix="uvms_verdicts_") as folder:
            found = _evaluated(*_made(case, trial.seed, Path(folder) / "bag"))
    word = found["verdict"]["word"]
    return {"name": name, "seed": None if trial.recording else trial.seed,
            "asked": GOOD if good else f"not {GOOD}", "verdict": word,
            "right": (word == GOOD) == good, "reasons": found["verdict"]["reasons"],
            "channels": found["channels"]}


def _made(case: Setup, seed: int, bag: Path) -> tuple[Path, Config]:
    """(the recording of a case, the settings for its evaluation)."""
    shared = Config().with_values(dict(case.publish))
    robot = true_robot_of(shared) if case.publish else TrueRobot()
    write_bag(bag, seed=seed, duration=case.duration, true_robot=replace(robot, **case.robot),
              faults=case.faults, rough=case.rough, individual=case.individual,
              config=shared if case.publish else None, motion_share=case.motion)
    return bag, shared.with_values(dict(case.settings))


def _evaluated(bag: Path, config: Config) -> Mapping[str, Any]:
    """The statement, as `evaluate` writes it."""
    return statement_of(run([bag], config)).document()
