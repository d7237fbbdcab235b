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

"""Trials: a recording to learn from, one to test on, and the rows that models predict in both."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...estimation.estimator import Estimator
from ...evaluation.bags import check_bag, read_messages
from ...evaluation.run_log import Rows, RunLog
from ...model.metrics import all_channels
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from ...model.sample import Sample
from ...signals.front_end import SignalFrontEnd
from ...signals.samples import samples_of
from ...signals.topics import inputs

# Share of a single recording's time to learn from; the rest is for the test.
LEARNT_SHARE = 0.7
# Settings that only the estimator and later stages read.
BEHIND_THE_FRONT_END = ("estimation", "uncertainty", "limits", "prior", "output")


class PaperTrial(NamedTuple):
    """Bags to learn from and to test on; tested None: the last part of the same bag."""

    name: str
    learnt: Path
    tested: Path | None

    def samples(self, signals: PreparedSamples,
                config: Config) -> tuple[list[Sample], list[Sample]]:
        """(learnt, tested)."""
        learnt = signals.samples(self.learnt, config)
        if self.tested is not None:
            return learnt, signals.samples(self.tested, config)
        if not learnt:
            return [], []
        end = learnt[0].t + LEARNT_SHARE * (learnt[-1].t - learnt[0].t)
        return ([sample for sample in learnt if sample.t <= end],
                [sample for sample in learnt if sample.t > end])


def trials_of(bags: Sequence[Path]) -> list[PaperTrial]:
    """One trial per bag, tested on the next one (the last on the first); a single bag is tested on
    its last part."""
    if len(bags) == 1:
        return [PaperTrial(bags[0].name, bags[0], None)]
    alike = len({bag.name for bag in bags}) < len(bags)     # same name in different folders
    return [PaperTrial(f"{k + 1}_{bag.name}" if alike else bag.name, bag, bags[(k + 1) % len(bags)])
            for k, bag in enumerate(bags)]


class PreparedSamples:
    """Samples of recordings, computed once for all settings that do not affect them."""

    def __init__(self) -> None:
        self._samples: dict[tuple, list[Sample]] = {}

    def samples(self, bag: Path, config: Config) -> list[Sample]:
        """The front end's samples of a bag; raises BagError for an unusable one."""
        robot = RobotModel.from_config(config)
        sections = tuple(value for name, value in vars(config).items()
                         if name not in BEHIND_THE_FRONT_END)
        key = (bag, robot.coupled, *sections)
        if key not in self._samples:
            check_bag(bag, inputs(config))
            self._samples[key] = samples_of(SignalFrontEnd(config, robot),
                                            read_messages(bag, inputs(config)))
        return self._samples[key]

    def clear(self) -> None:
        """Drop all samples."""
        self._samples.clear()


class Part(NamedTuple):
    """Rows predicted by a model, and fixed (T, C): predictions of its initial parameters (the
    prior, projected onto P)."""

    rows: Rows
    fixed: np.ndarray


class ModelPredictions(NamedTuple):
    """Predictions of one model in a trial; update_ms: of each solve."""

    prequential: Part
    held_out: Part
    solver: str
    failures: int
    update_ms: list[float]


def outcome(config: Config, prior: ParameterSet, robot: RobotModel, learnt: Sequence[Sample],
            tested: Sequence[Sample], every: int) -> ModelPredictions:
    """Predict each row, then learn from it, solving at every `every`-th; then predict `tested` with
    the last estimate frozen."""
    estimator, log = Estimator(config, prior, robot), RunLog(robot.table)
    start = estimator.pi
    for k, sample in enumerate(learnt):
        prediction = estimator.add(sample)
        if prediction is None:
            continue
        log.add_row(prediction, 0, estimator.excited.in_motion)
        estimate = estimator.solve() if k % every == 0 else None
        if estimate is not None:
            log.update_ms.append(estimate.update_ms)
    final = estimator.parameter_set()
    frozen, held_out = Estimator(config, final, robot, learn=False), RunLog(robot.table)
    for sample in tested:
        prediction = frozen.add(sample)
        if prediction is not None:
            held_out.add_row(prediction, 0, frozen.excited.in_motion)
    # Keep only parts of the logs: their regressors are a hundred times as large as the rest.
    prequential, last = (Part(one.rows(), one.predict(start, None)[0]) for one in (log, held_out))
    return ModelPredictions(prequential, last, estimator.solver.name, estimator.solver_failures,
                            log.update_ms)


class CommonRows(NamedTuple):
    """The rows that count for all models of a trial: t (T,) [s], measured and valid (T, C) of the
    first model, and (predicted, stddev) (T, C) of each model."""

    t: np.ndarray
    measured: np.ndarray
    valid: np.ndarray
    models: dict[str, tuple[np.ndarray, np.ndarray]]


def compared(parts: Mapping[str, Part], period: float) -> CommonRows:
    """Predictions of all models at the same instants and rows, against the same measured efforts.
    These are the first model's, as are the fixed parameters of 'prior'."""
    rows = {name: part.rows for name, part in parts.items()}
    ticks = {name: np.round(found.t / period).astype(np.int64) for name, found in rows.items()}
    common = sorted(set.intersection(*(set(found.tolist()) for found in ticks.values())))
    at = {name: np.searchsorted(found, common) for name, found in ticks.items()}
    first = next(iter(rows))
    models = {"prior": (parts[first].fixed[at[first]], rows[first].noise[at[first]])}
    models |= {name: (found.predicted[at[name]], found.stddev[at[name]])
               for name, found in rows.items()}
    valid = np.logical_and.reduce([found.valid[at[name]] for name, found in rows.items()])
    return CommonRows(rows[first].t[at[first]], rows[first].measured[at[first]], valid, models)


def figures(rows: CommonRows, robot: RobotModel) -> dict[str, dict[str, dict[str, object]]]:
    """{model: {channel: metrics as in metrics.json, and `signed`}}.

    signed: mean of predicted less measured, in the channel's unit."""
    found: dict[str, dict[str, dict[str, object]]] = {}
    for model, (predicted, stddev) in rows.models.items():
        found[model] = all_channels(robot.channels, robot.units, rows.measured, predicted, stddev,
                                    rows.valid)
        for c, channel in enumerate(found[model].values()):
            error = (predicted - rows.measured)[rows.valid[:, c], c]
            channel["signed"] = float(np.mean(error)) if error.size else None
    return found
