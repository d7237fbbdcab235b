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

"""`coverage`: how often 95 % intervals of parameters contain the true parameter, on data that the
linear model explains exactly.

Each seed is another robot, motion, noise and wrong prior. The final estimate is compared with the
truth, with intervals from the information covariance and from the paper's covariance of increments
in the same run. --draws also judges the flags: it estimates the same motion many times with other
noise and another wrong prior, which shows how much of a parameter's error is left.
"""
from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.special import chdtri

from .. import options
from ..config import Config
from ..disk.writing import output_folder
from ..estimation.estimator import Estimator
from ..evaluation.run_files import write_json
from ..model.covariance import deviations
from ..model.parameter_set import ParameterSet
from ..model.prior import perturbed, prior_stddev
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..uncertainty.parameter_flags import MEASURED_SHARE, WEAK_SHARE
from .coverage_table import SeedResult, summary, table
from .linear_data import linear_samples, perfectly_measured, true_parameters

ROBOT_SEED_OFFSET = 10_000  # the robot of seed s is drawn with s + 10,000
# RMS error, in the estimate's own standard deviations, above which its intervals are too narrow
CALIBRATED = 1.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = ("Coverage of true parameters by their 95 % intervals, on data from the "
                          "linear model.")
    parser.add_argument("--seeds", type=options.count, default=200, metavar="N",
                        help="number of robots, motions, noises and priors; default 200")
    parser.add_argument("--first-seed", type=options.seed, default=0, metavar="N",
                        help="seeds are N, N + 1, ...; default 0")
    parser.add_argument("--duration", type=options.seconds(2.0), default=60.0, metavar="S",
                        help="length of the data of a seed [s]; default 60")
    parser.add_argument(
        "--colour", type=options.number(0.0, below=1.0), default=0.0, metavar="A",
        help="AR(1) coefficient of the noise from one 20 ms to the next; default 0 (white)")
    options.add_prior_factor(parser)
    parser.add_argument(
        "--draws", type=options.whole(0), default=0, metavar="M",
        help="also judge the flags of the first seed with M draws of prior and noise; default 0: "
             "do not")
    parser.add_argument("--every", type=options.count, default=25, metavar="K",
                        help="ticks between two solves; default 25")
    options.add_output(parser, "coverage.json")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run the seeds and return 0; raises UvmsError for unusable arguments."""
    config, folder = options.config_of(args), output_folder(args.output)
    outcomes: list[SeedResult] = []
    found: dict[str, Any] = {}
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        outcomes.append(run_seed(config, seed, args.duration, args.colour, args.prior_factor,
                                 args.every))
        if len(outcomes) % 10 == 0 or len(outcomes) == args.seeds:
            # so that an interrupted run keeps its results
            found = summary(outcomes)
            write_json(folder / "coverage.json", found)
    if args.draws:
        found["flags"] = judge_flags(config, args.first_seed, args.duration, args.draws, args.every)
        write_json(folder / "coverage.json", found)
    print(table(found))
    print(f"\n{folder / 'coverage.json'}")
    return 0


def run_seed(config: Config, seed: int, duration: float, colour: float = 0.0,
             prior_factor: float = 2.0, every: int = 25) -> SeedResult:
    """Estimate from `duration` [s] of one seed's samples, solving each `every` ticks."""
    config = perfectly_measured(config)
    robot = RobotModel.from_config(config)
    truth = _truth(config, robot, seed)
    estimator = Estimator(config, perturbed(truth, prior_factor, seed), robot)
    _learn(estimator, linear_samples(config, robot, truth.values, duration, seed, colour), every)
    covariances = {
        "information": estimator.covariance,
        "increments": estimator.knowledge.uncertainty.of_increments()
    }
    return SeedResult(robot.table.names, estimator.pi - truth.values,
                      {kind: deviations(found)
                       for kind, found in covariances.items()}, estimator.known_from())


def judge_flags(config: Config, seed: int, duration: float, draws: int,
                every: int = 25) -> dict[str, Any]:
    """Compare flags with the truth: the same motion, each time with other noise and another prior
    whose parameters are each one prior standard deviation off.

    A flag says how much of the prior's standard deviation is left (`identifiability`). The share
    actually left is the RMS error of the estimate over the draws, in prior deviations. 'measured'
    is right if at most MEASURED_SHARE is left and the RMS error is within CALIBRATED of the
    estimate's own deviations. 'weak' is right if at most WEAK_SHARE is left (needless caution is
    not wrong). 'prior' is right if at least WEAK_SHARE of the prior's error inside P is left. An
    RMS of so few draws has a statistical `tolerance`, by which a share may miss its bound.

    right: share of right flags; strictly: the same without tolerance; cautious: share of flags that
    say 'weak' although at most MEASURED_SHARE is left.
    """
    config = perfectly_measured(config)
    robot = RobotModel.from_config(config)
    truth = _truth(config, robot, seed)
    stddev = prior_stddev(truth.values, robot, config.estimation.prior_stddev)
    before, after, z, words = [], [], [], []
    for k in range(draws):
        signs = np.random.default_rng([seed, k, 0]).choice([-1.0, 1.0], size=stddev.size)
        estimator = Estimator(config, ParameterSet(truth.names, truth.values + signs * stddev),
                              robot)
        _learn(estimator,
               linear_samples(config, robot, truth.values, duration, seed, noise_seed=[seed, k, 1]),
               every)
        before.append((estimator.prior.values - truth.values) / stddev)
        after.append((estimator.pi - truth.values) / stddev)
        z.append(after[-1] * stddev
                 / np.maximum(deviations(estimator.covariance), 1e-9 * robot.table.scale))
        words.append(estimator.known_from())
    off, left, missed = (np.sqrt(np.mean(np.square(values), axis=0))
                         for values in (before, after, z))

    def judged(tolerance: float) -> np.ndarray:
        right = {"measured": (left <= MEASURED_SHARE * tolerance) & (missed <= CALIBRATED),
                 "weak": left <= WEAK_SHARE * tolerance,
                 "prior": left >= WEAK_SHARE * np.minimum(off, 1.0) / tolerance,
                 "frozen": np.ones(left.size, bool)}
        return np.array([[right[word][i] for i, word in enumerate(row)] for row in words])

    tolerance = float(np.sqrt(chdtri(draws, 0.05) / draws))
    right = judged(tolerance)
    wrong = {
        f"{robot.table.names[i]} ({row[i]}, {left[i]:.2f} of the prior's deviation left, "
        f"{missed[i]:.1f} deviations off)"
        for row, good in zip(words, right)
        for i in np.flatnonzero(~good)
    }
    cautious = (np.array(words) == "weak") & (left <= MEASURED_SHARE)
    return {
        "draws": draws, "tolerance": tolerance, "right": float(right.mean()), "strictly": float(
            judged(1.0).mean()), "cautious": float(cautious.mean()), "wrong": sorted(wrong)
    }


def _truth(config: Config, robot: RobotModel, seed: int) -> ParameterSet:
    """The seed's robot, projected onto P if the draw is outside."""
    drawn = true_parameters(config, robot, np.random.default_rng(ROBOT_SEED_OFFSET + seed))
    return Estimator(config, drawn, robot).prior


def _learn(estimator: Estimator, samples: Iterable[Sample], every: int) -> None:
    for k, sample in enumerate(samples):
        estimator.add(sample)
        if k % every == every - 1:
            estimator.solve()
