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

"""One trial: learn with some sets of parameters, freeze, predict held-out rows."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...errors import BagError
from ...estimation.estimator import Estimator
from ...evaluation.bags import read_messages
from ...model.robot import RobotModel
from ...model.sample import Sample
from ...signals.front_end import SignalFrontEnd
from ...signals.samples import samples_of
from ...signals.topics import inputs

# [rows] between solves while learning: half a second. The final estimate uses all rows, however
# often it was solved on the way.
TERMS_SOLVE_EVERY = 25


class SampleSets(NamedTuple):
    """Samples to learn from, run by run, held-out samples, and warnings of the front end."""

    learn: list[list[Sample]]
    held_out: list[Sample]
    warnings: tuple[str, ...]


class HeldOutRows(NamedTuple):
    """Held-out rows: t (T,) [s]; measured, and predicted with frozen parameters, (T, C) [N, N m];
    valid (T, C)."""

    t: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    valid: np.ndarray


def read_recordings(bags: Sequence[Path], config: Config, share: float) -> SampleSets:
    """Samples of the bags; held out are the last of several bags, or the last `share` of a single
    one.

    Raises BagError for a bag without samples.
    """
    robot, runs, warnings = RobotModel.from_config(config), [], []
    for bag in bags:
        front = SignalFrontEnd(config, robot)
        runs.append(samples_of(front, read_messages(bag, inputs(config))))
        warnings += [f"{bag.name}: {sentence}" for sentence in front.warnings]
        if not runs[-1]:
            raise BagError(f"'{bag}' gave no usable sample; run `evaluate` to see why.")
    if len(runs) > 1:
        return SampleSets(runs[:-1], runs[-1], tuple(warnings))
    (run,) = runs
    cut = round((1 - share) * len(run))
    return SampleSets([run[:cut]], run[cut:], tuple(warnings))


def with_terms(config: Config, terms: Sequence[str], tried: Sequence[str]) -> Config:
    """The settings with `terms` out of the sets tried; other sets stay as configured."""
    kept = tuple(name for name in config.robot.terms if name not in tried)
    values: dict[str, object] = {"robot.terms": kept + tuple(terms)}
    if "rotor" in tried:
        values["robot.estimate_rotor_inertia"] = False
    return config.with_values(values)


def trial(config: Config, recordings: SampleSets) -> HeldOutRows:
    """Learn, freeze and predict; raises BagError if there is nothing to predict."""
    robot = RobotModel.from_config(config)
    estimator = Estimator(config, robot=robot)
    for run in recordings.learn:
        estimator.break_off()
        for k, sample in enumerate(run):
            is_due = k % TERMS_SOLVE_EVERY == 0 or k == len(run) - 1
            if estimator.add(sample) is not None and is_due:
                estimator.solve()
    frozen = Estimator(config, estimator.parameter_set(described=False), robot=robot, learn=False)
    rows = [row for row in map(frozen.add, recordings.held_out) if row is not None]
    if not rows:
        raise BagError("the held-out recording is shorter than the low-pass; expected several "
                       "seconds. Give a longer one, or a larger --hold-out.")
    return HeldOutRows(np.array([row.t for row in rows]), np.array([row.measured for row in rows]),
                       np.array([row.predicted for row in rows]),
                       np.array([row.valid for row in rows]))
