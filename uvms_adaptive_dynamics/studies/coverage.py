"""`coverage`: do 95 % intervals of parameters hold the true parameter? On data that the linear model explains exactly.

Each seed is another robot, motion, noise and wrong prior. The estimate at the end of the data is compared with the truth:
by the information covariance, and by the paper's covariance of increments from the same run. With --draws the flags are judged too:
the same motion is estimated many times with other noise and from another wrong prior, which shows what of a parameter's error is left.
"""
from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterable, Sequence

import numpy as np
from scipy.special import chdtri

from ..config import Config
from ..errors import ConfigError
from ..estimation.estimator import Estimator
from ..uncertainty.identifiability import MEASURED, WEAK
from ..model.parameter_file import ParameterSet
from ..model.prior import perturbed, prior_stddev
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..uncertainty.parameter_covariance import deviations
from ..evaluation.command import config_of
from ..evaluation.files import output_folder, write_json
from .linear_data import linear_samples, true_parameters

LEVEL = 1.959964            # of a standard normal's 95 % interval
TRUTH_SEED = 10_000         # the robot of seed s is drawn with s + 10,000
CALIBRATED = 1.5            # rms of an error in the deviations that the estimate claims, above which its interval is too narrow
FEW = 20                    # a parameter is listed by itself from so many seeds in which it was measured


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = "Coverage of true parameters by their 95 % intervals, on data of the linear model."
    parser.add_argument("--seeds", type=int, default=200, metavar="N", help="number of robots, motions, noises and priors; default 200")
    parser.add_argument("--first-seed", type=int, default=0, metavar="S", help="seeds are S, S + 1, ...; default 0")
    parser.add_argument("--duration", type=float, default=60.0, help="length of the data of a seed [s]; default 60")
    parser.add_argument("--colour", type=float, default=0.0, metavar="A", help="AR(1) coefficient of the noise from one 20 ms to the next; default 0 (white)")
    parser.add_argument("--prior-factor", type=float, default=2.0, metavar="K", help="every non-zero parameter of the prior times K or 1/K; default 2")
    parser.add_argument("--draws", type=int, default=0, metavar="M", help="also judge the flags of the first seed, by M draws of prior and noise; default 0: no")
    parser.add_argument("--every", type=int, default=25, metavar="K", help="ticks between two solves; default 25")
    parser.add_argument("--config", type=Path, metavar="YAML", help="ROS parameter file with the settings that differ from the defaults")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="change one setting (may be repeated)")
    parser.add_argument("--solver", metavar="S", help="setting estimation.solver")
    parser.add_argument("--output", type=Path, metavar="DIR", required=True, help="folder for coverage.json")


def run(args: argparse.Namespace) -> int:
    """Run the seeds and return 0; raises UvmsError where an argument cannot be used."""
    for name, value, low in (("--seeds", args.seeds, 1), ("--first-seed", args.first_seed, 0), ("--duration", args.duration, 2.0), ("--every", args.every, 1), ("--draws", args.draws, 0)):
        if not value >= low:
            raise ConfigError(f"{name} got {value:g}; expected at least {low:g}.")
    if not 0 <= args.colour < 1:
        raise ConfigError(f"--colour got {args.colour:g}; expected 0 (white) or more, below 1.")
    if not args.prior_factor > 0:
        raise ConfigError(f"--prior-factor got {args.prior_factor:g}; expected a positive number.")
    config, folder = config_of(args), output_folder(args.output)
    outcomes = []
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        outcomes.append(run_seed(config, seed, args.duration, args.colour, args.prior_factor, args.every))
        if len(outcomes) % 10 == 0 or len(outcomes) == args.seeds:
            # An interrupted run keeps what it has.
            found = summary(outcomes)
            write_json(folder / "coverage.json", found)
    if args.draws:
        found["flags"] = judge_flags(config, args.first_seed, args.duration, args.draws, args.every)
        write_json(folder / "coverage.json", found)
    print(table(found))
    print(f"\n{folder / 'coverage.json'}")
    return 0


@dataclass(frozen=True)
class Outcome:
    """One seed's end: names; error = estimate less truth (p,); standard deviations (p,) of both covariances; flags (p,)."""

    names: tuple[str, ...]
    error: np.ndarray
    stddev: dict[str, np.ndarray]
    known_from: tuple[str, ...]


def run_seed(config: Config, seed: int, duration: float, colour: float = 0.0, prior_factor: float = 2.0, every: int = 25) -> Outcome:
    """Estimate from `duration` [s] of one seed's samples, solving each `every` ticks."""
    robot = RobotModel.from_config(config)
    truth = _truth(config, robot, seed)
    estimator = Estimator(config, perturbed(truth, prior_factor, seed), robot)
    _learn(estimator, linear_samples(config, robot, truth.values, duration, seed, colour), every)
    covariances = {"information": estimator.covariance, "increments": estimator.increments_covariance}
    return Outcome(robot.table.names, estimator.pi - truth.values,
                   {kind: deviations(found) for kind, found in covariances.items()}, estimator.known_from())


def judge_flags(config: Config, seed: int, duration: float, draws: int, every: int = 25) -> dict[str, Any]:
    """Flags against the truth: the same motion, each time with other noise and another prior, each of whose parameters is one prior
    deviation off.

    A flag says how much of the prior's standard deviation is left (`identifiability`). Really left is the rms of the estimate's error
    over the draws, in prior deviations. Rightly 'measured': at most MEASURED, within CALIBRATED deviations of the estimate's own (rms).
    Rightly 'weak': at most WEAK (a caution that turns out to be unneeded is not wrong). Rightly 'prior': at least WEAK of what the
    prior was off once it was inside P. An rms of so few draws is known to some `tolerance`, by which a share may be on the wrong side.

    right: share of flags that are right; strictly: without that tolerance; cautious: share of flags that say 'weak' where no more
    than MEASURED is left.
    """
    robot = RobotModel.from_config(config)
    truth = _truth(config, robot, seed)
    stddev = prior_stddev(truth.values, robot.table, config.estimation.prior_stddev)
    before, after, z, words = [], [], [], []
    for k in range(draws):
        signs = np.random.default_rng([seed, k, 0]).choice([-1.0, 1.0], size=stddev.size)
        estimator = Estimator(config, ParameterSet(truth.names, truth.values + signs * stddev), robot)
        _learn(estimator, linear_samples(config, robot, truth.values, duration, seed, noise_seed=[seed, k, 1]), every)
        before.append((estimator.prior.values - truth.values) / stddev)
        after.append((estimator.pi - truth.values) / stddev)
        z.append(after[-1] * stddev / np.maximum(deviations(estimator.covariance), 1e-9 * robot.table.scale))
        words.append(estimator.known_from())
    off, left, missed = (np.sqrt(np.mean(np.square(values), axis=0)) for values in (before, after, z))

    def judged(tolerance: float) -> np.ndarray:
        right = {"measured": (left <= MEASURED * tolerance) & (missed <= CALIBRATED), "weak": left <= WEAK * tolerance,
                 "prior": left >= WEAK * np.minimum(off, 1.0) / tolerance, "frozen": np.ones(left.size, bool)}
        return np.array([[right[word][i] for i, word in enumerate(row)] for row in words])

    tolerance = float(np.sqrt(chdtri(draws, 0.05) / draws))
    right = judged(tolerance)
    wrong = {f"{robot.table.names[i]} ({row[i]}, {left[i]:.2f} of the prior's deviation left, {missed[i]:.1f} deviations off)"
             for row, good in zip(words, right) for i in np.flatnonzero(~good)}
    cautious = (np.array(words) == "weak") & (left <= MEASURED)
    return {"draws": draws, "tolerance": tolerance, "right": float(right.mean()), "strictly": float(judged(1.0).mean()),
            "cautious": float(cautious.mean()), "wrong": sorted(wrong)}


def _truth(config: Config, robot: RobotModel, seed: int) -> ParameterSet:
    """The seed's robot, projected onto P where the draw is outside."""
    return Estimator(config, true_parameters(config, robot, np.random.default_rng(TRUTH_SEED + seed)), robot).prior


def _learn(estimator: Estimator, samples: Iterable[Sample], every: int) -> None:
    for k, sample in enumerate(samples):
        estimator.add(sample)
        if k % every == every - 1:
            estimator.solve()


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What coverage.json holds: pooled coverage over measured parameters and each parameter's own, by either covariance, and
    `width`, the median of the interval's width as a multiple of the information covariance's."""
    names, error = outcomes[0].names, np.array([o.error for o in outcomes])
    measured = np.array([[word == "measured" for word in o.known_from] for o in outcomes])
    content: dict[str, Any] = {"schema": 1, "seeds": len(outcomes), "measured_per_seed": float(measured.sum(axis=1).mean()), "covariance": {}}
    narrow = np.array([o.stddev["information"] for o in outcomes])
    for kind in outcomes[0].stddev:
        stddev = np.array([o.stddev[kind] for o in outcomes])
        inside = np.abs(error) <= LEVEL * stddev
        each = {name: {"seeds": int(measured[:, i].sum()), "coverage": float(inside[measured[:, i], i].mean())}
                for i, name in enumerate(names) if measured[:, i].any()}
        listed = {name: found for name, found in each.items() if found["seeds"] >= min(FEW, len(outcomes))}
        lowest = min(listed, key=lambda name: listed[name]["coverage"]) if listed else None
        content["covariance"][kind] = {
            "pooled": float(inside[measured].mean()) if measured.any() else None,
            "width": float(np.median((stddev / np.maximum(narrow, 1e-300))[measured])) if measured.any() else None, "lowest": lowest,
            "lowest_coverage": listed[lowest]["coverage"] if lowest else None, "parameters": each}
    return content


def table(found: dict[str, Any]) -> str:
    """The summary for a terminal."""
    information, increments = found["covariance"]["information"], found["covariance"]["increments"]
    lines = [f"{found['seeds']} seeds, {found['measured_per_seed']:.1f} parameters measured per seed; share of true parameters inside their 95 % interval",
             f"{'parameter':<14}{'seeds':>7}{'information':>14}{'increments (paper)':>21}"]
    for name, own in information["parameters"].items():
        lines.append(f"{name:<14}{own['seeds']:>7}{own['coverage']:>14.1%}{increments['parameters'][name]['coverage']:>21.1%}")
    lines.append(f"{'pooled':<14}{'':>7}{information['pooled']:>14.1%}{increments['pooled']:>21.1%}" if information["pooled"] is not None
                 else "nothing is measured")
    if increments["width"] is not None:
        lines.append(f"{'median width':<14}{'':>7}{1:>14.2f}{increments['width']:>21.2f}")
    if information["lowest"]:
        lines.append(f"lowest of those measured in at least {min(FEW, found['seeds'])} seeds: {information['lowest']} {information['lowest_coverage']:.1%}")
    if "flags" in found:
        flags = found["flags"]
        lines.append(f"flags right for {flags['right']:.1%} of parameters over {flags['draws']} draws of prior and noise (without the {flags['tolerance'] - 1:.0%} to "
                     f"which a share is known from these: {flags['strictly']:.1%}); needlessly cautious: {flags['cautious']:.1%}" + "".join(f"\n  wrong: {text}" for text in flags["wrong"]))
    return "\n".join(lines)
