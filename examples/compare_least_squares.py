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

"""Compare predictions of the estimator and of ordinary least squares on unseen motion.

Learn from the first 70 % of a recording's samples, freeze, and test on the rest:

    estimator         as on a robot: prior, robust, within the physical set
    least squares     ordinary, on the same rows with the same regressor, no prior, no constraints
    with an offset    the same with a constant offset for each channel

With --test BAG, learn from all of the given recordings and test on BAG.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

# On matrices of this size BLAS threads only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Appended, so that an installed package takes precedence over the checkout.
sys.path.append(str(Path(__file__).resolve().parent.parent))

import numpy as np

from uvms_adaptive_dynamics import options
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import UvmsError
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.estimation.prediction import Prediction
from uvms_adaptive_dynamics.evaluation.bags import read_messages
from uvms_adaptive_dynamics.model.metrics import channel_metrics
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.sample import Sample
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.samples import samples_of
from uvms_adaptive_dynamics.signals.topics import inputs

TRAINING_SHARE = 0.7
ROUNDING = 1e-9             # of the largest effort, of efforts that do not vary
METHODS = ("estimator", "least squares", "with an offset")


class Rows(NamedTuple):
    """Low-passed rows of a run: regressors Y (T, C, p); measured and predicted efforts less the
    known load, standard deviation of the prediction, and valid, all (T, C) [N, N m]."""

    Y: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    stddev: np.ndarray
    valid: np.ndarray


class Comparison(NamedTuple):
    """R^2 on the tested rows by method and channel (None: no rows), coverage: share of the tested
    rows inside the estimator's 95 % interval, number of changes accepted, and messages of estimator
    and front end."""

    learnt: Rows
    tested: Rows
    r2: dict[str, dict[str, float | None]]
    coverage: dict[str, float | None]
    changes: int
    sentences: tuple[str, ...]


def main(arguments: list[str] | None = None) -> int:
    parser = options.Parser(description=__doc__.splitlines()[0])
    parser.add_argument("bags", nargs="+", metavar="BAG", type=options.bag,
                        help="folder of a bag, or one .mcap or .db3 file")
    parser.add_argument("--test", type=options.bag, metavar="BAG",
                        help="test on this recording; default: the last 30 %% of the first")
    options.add_settings(parser)
    try:
        given = parser.parse_args(arguments)
        print(report(compare(given.bags, given.test, options.config_of(given))))
    except UvmsError as error:
        print(f"compare_least_squares: {error}", file=sys.stderr)
        return 1
    return 0


def compare(bags: Sequence[Path], test: Path | None, config: Config) -> Comparison:
    """Learn from the bags with all methods and test on `test`, or, if None, on the last 30 % of the
    only bag; raises UvmsError."""
    robot, sentences = RobotModel.from_config(config), []
    if test is None:
        if len(bags) > 1:
            raise UvmsError(f"got {len(bags)} recordings without --test; expected one recording to "
                            "split, or --test BAG.")
        (samples,) = usable_samples(bags, config, robot, sentences)
        cut = round(TRAINING_SHARE * len(samples))
        training, testing = [samples[:cut]], samples[cut:]
    else:
        training = list(usable_samples(bags, config, robot, sentences))
        (testing,) = usable_samples([test], config, robot, sentences)
    estimator = Estimator(config, robot=robot)
    learnt = rows_of(estimator, training)
    frozen = Estimator(config, estimator.parameter_set(), robot=robot, learn=False)
    tested = rows_of(frozen, [testing])
    predictions = {"estimator": tested.predicted,
                   "least squares": least_squares(learnt, tested, robot, offset=False),
                   "with an offset": least_squares(learnt, tested, robot, offset=True)}
    found = {method: metrics(robot, tested, predicted)
             for method, predicted in predictions.items()}
    return Comparison(learnt, tested,
                      {method: {name: by["r2"] for name, by in channels.items()}
                       for method, channels in found.items()},
                      {name: by["coverage95"] for name, by in found["estimator"].items()},
                      estimator.changes, (*sentences, *estimator.notes))


def usable_samples(bags: Iterable[Path], config: Config, robot: RobotModel,
                   sentences: list[str]) -> Iterator[list[Sample]]:
    """Yields the samples of each bag, and appends the front end's warnings to `sentences`."""
    for bag in bags:
        front = SignalFrontEnd(config, robot)
        found = samples_of(front, read_messages(bag, inputs(config)))
        if not found:
            raise UvmsError(f"bag '{bag}' gave no usable sample; run `evaluate` to see why.")
        sentences += [f"{bag.name}: {sentence}" for sentence in front.warnings]
        yield found


def rows_of(estimator: Estimator, runs: Iterable[Sequence[Sample]]) -> Rows:
    """The rows of the runs, each predicted before it is learnt; a frozen estimator only predicts.
    """
    rows: list[Prediction] = []
    for samples in runs:
        estimator.break_off()
        for sample in samples:
            prediction = estimator.add(sample)
            if prediction is not None:
                rows.append(prediction)
                estimator.solve()
    known = np.array([row.tau_known for row in rows])
    return Rows(np.array([row.regressor for row in rows]),
                np.array([row.measured for row in rows]) - known,
                np.array([row.predicted for row in rows]) - known,
                np.array([row.predicted_stddev for row in rows]),
                np.array([row.valid for row in rows]))


def least_squares(learnt: Rows, tested: Rows, robot: RobotModel, offset: bool) -> np.ndarray:
    """(T, C) predictions on the tested rows by least squares on the learnt ones, each channel's
    rows divided by the standard deviation of its measurements; channels without any deviation are
    left out.

    If the data do not determine all parameters, takes the minimum-norm solution in the table's
    scale. The table's own offsets are left out; `offset` adds one for each channel instead.
    """
    scale = np.array(robot.table.scale)
    scale[robot.table.term_slices.get("joint_offsets", slice(0))] = 0.0
    channels = learnt.measured.shape[1]
    constant = np.eye(channels) if offset else np.empty((channels, 0))

    def columns(rows: Rows) -> np.ndarray:
        shape = (len(rows.Y), *constant.shape)
        return np.concatenate([rows.Y * scale, np.broadcast_to(constant, shape)], 2)

    spread = np.array([np.std(learnt.measured[learnt.valid[:, c], c]) if learnt.valid[:, c].any()
                       else 1.0 for c in range(channels)])
    # A channel that nothing drives measures a constant, with no noise to weigh its rows by.
    driven = spread > ROUNDING * spread.max()
    weight = learnt.valid * driven / np.where(driven, spread, 1.0)
    A, b = columns(learnt) * weight[:, :, None], learnt.measured * weight
    x = np.linalg.lstsq(A.reshape(b.size, -1), b.ravel(), rcond=None)[0]
    return columns(tested) @ x


def metrics(robot: RobotModel, tested: Rows, predicted: np.ndarray) -> dict[str, dict]:
    """`channel_metrics` of each channel by name."""
    return {name: channel_metrics(tested.measured[:, c], predicted[:, c], tested.stddev[:, c],
                                  tested.valid[:, c], unit)
            for c, (name, unit) in enumerate(zip(robot.channels, robot.units))}


def report(found: Comparison) -> str:
    """The comparison as a table."""
    wide = 2 + max(len("channel"), *map(len, found.coverage))
    shown = lambda value, form: "-" if value is None else format(value, form)
    lines = [f"R^2 on {len(found.tested.Y)} rows, after learning from {len(found.learnt.Y)}",
             f"{'channel':<{wide}}" + "".join(f"{method:>16}" for method in METHODS)
             + f"{'inside 95 %':>16}"]
    lines += [f"{name:<{wide}}" + "".join(f"{shown(found.r2[method][name], '.3f'):>16}"
                                          for method in METHODS)
              + f"{shown(inside, '.1%'):>16}" for name, inside in found.coverage.items()]
    return "\n".join([*lines, f"changes accepted: {found.changes}",
                      *(f"note: {sentence}" for sentence in found.sentences)])


if __name__ == "__main__":
    sys.exit(main())
