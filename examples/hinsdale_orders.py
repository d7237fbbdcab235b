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

"""Test whether the order of the recordings matters.

The runs of `hinsdale_to_bag.py --all` are split into halves in random orders, and once each with
the quiet baselines at the beginning and at the end of the learnt half. For each order one estimator
learns from one half, run after run; its last estimate is tested on the other half as in
`hinsdale_compare.py`: the vehicle's own moment against the arm's. The front end does not depend on
the order, so the samples of each run are computed once.
"""
from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

# On matrices of this size BLAS threads only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Appended, so that an installed package takes precedence over the checkout.
sys.path.append(str(Path(__file__).resolve().parent.parent))

import numpy as np

from uvms_adaptive_dynamics.config import Config, load_config
from uvms_adaptive_dynamics.errors import UvmsError
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.evaluation.bags import check_bag, read_messages
from uvms_adaptive_dynamics.model.metrics import channel_metrics
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.sample import Sample
from uvms_adaptive_dynamics.options import setting
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.samples import samples_of
from uvms_adaptive_dynamics.signals.topics import inputs

MOMENTS = ("roll", "pitch")
QUIET = "baseline"      # name prefix of runs in which the arm is at rest
LOWEST = 0.97           # R^2 that each moment must reach in every order


class Recording(NamedTuple):
    """One run: its samples, and its low-passed rows of the moments for the test: regressor
    (T, 2, p), tau_known (T, 2) and valid (T, 2)."""

    name: str
    samples: list[Sample]
    regressor: np.ndarray
    tau_known: np.ndarray
    valid: np.ndarray


class Order(NamedTuple):
    """An order of the runs: names to learn from, in this order, and names to test on."""

    name: str
    learnt: list[str]
    tested: list[str]


class Outcome(NamedTuple):
    """R^2 by moment on the tested half: r2 of the last estimate, plain of ordinary least squares on
    the learnt half, and best of least squares on the tested rows themselves, for each moment alone:
    no vehicle parameters can do better. pi (p,): the last estimate; seconds of computing."""

    r2: dict[str, float]
    plain: dict[str, float]
    best: dict[str, float]
    pi: np.ndarray
    failures: int
    changes: int
    seconds: float


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bags", type=Path,
                        help="folder with the bags from hinsdale_to_bag.py --all")
    parser.add_argument("--config", type=Path, default=Path(__file__).with_name("hinsdale.yaml"),
                        help="default: hinsdale.yaml next to this file")
    parser.add_argument("--random", type=int, default=10, metavar="N",
                        help="number of random orders, in addition to the quiet runs first and "
                             "last (default 10)")
    parser.add_argument("--only", nargs="+", metavar="ORDER",
                        help="only these orders, such as 'first' or 'random-3'")
    parser.add_argument("--set", type=setting, action="append", default=[], dest="settings",
                        metavar="SETTING=VALUE", help="change a setting for all orders")
    options = parser.parse_args(arguments)
    try:
        bags = sorted(path for path in options.bags.glob("*") if path.is_dir())
        if len(bags) < 4:
            raise UvmsError(f"'{options.bags}' holds {len(bags)} bags; expected those of "
                            "hinsdale_to_bag.py --all.")
        config = load_config(options.config).with_values(dict(options.settings))
        recordings = {bag.name: recording(bag, config) for bag in bags}
        chosen = [order for order in orders(sorted(recordings), options.random)
                  if not options.only or order.name in options.only]
        return report(chosen, recordings, config)
    except UvmsError as error:
        print(f"hinsdale_orders: {error}", file=sys.stderr)
        return 1


def recording(bag: Path, config: Config) -> Recording:
    """Pass a run through front end and low-pass; raises UvmsError."""
    robot = RobotModel.from_config(config)
    needed = inputs(config)
    samples = samples_of(SignalFrontEnd(config, robot),
                         read_messages(check_bag(bag, needed).path, needed, Counter()))
    frozen = Estimator(config, robot=robot, learn=False)
    rows = [row for row in map(frozen.add, samples) if row is not None]
    if not rows:
        raise UvmsError(f"'{bag}' gave no usable sample.")
    c = [robot.channels.index(name) for name in MOMENTS]
    return Recording(bag.name, samples, *(np.array([getattr(row, name)[c] for row in rows])
                                          for name in ("regressor", "tau_known", "valid")))


def orders(names: Sequence[str], count: int) -> Iterator[Order]:
    """Yields the orders: quiet runs first, quiet runs last, and `count` random ones."""
    quiet = [name for name in names if name.startswith(QUIET)]
    lively = [name for name in names if name not in quiet]
    yield Order("first", quiet + lively[::2], lively[1::2])
    yield Order("last", lively[::2] + quiet, lively[1::2])
    for seed in range(count):
        shuffled = [names[k] for k in np.random.default_rng(seed).permutation(len(names))]
        half = (len(names) + 1) // 2
        yield Order(f"random-{seed}", shuffled[:half], shuffled[half:])


def learn(order: Order, recordings: dict[str, Recording], config: Config) -> Estimator:
    """An estimator that has learnt from the learnt half, run after run."""
    estimator = Estimator(config)
    for number, name in enumerate(order.learnt):
        if number:
            estimator.break_off()
        for sample in recordings[name].samples:
            estimator.step(sample)
    return estimator


def outcome(order: Order, recordings: dict[str, Recording], config: Config) -> Outcome:
    """Learn in one order and test the estimates."""
    begin = time.perf_counter()
    estimator = learn(order, recordings, config)
    tested = [recordings[name] for name in order.tested]
    plain = least_squares(estimator, [recordings[name] for name in order.learnt])
    best = {name: balance(estimator, least_squares(estimator, tested, [c]), tested)[name]
            for c, name in enumerate(MOMENTS)}
    return Outcome(balance(estimator, estimator.pi, tested), balance(estimator, plain, tested),
                   best, estimator.pi.copy(), estimator.solver_failures, estimator.changes,
                   time.perf_counter() - begin)


def least_squares(estimator: Estimator, learnt: Sequence[Recording],
                  moments: Sequence[int] = range(len(MOMENTS))) -> np.ndarray:
    """(p,) the estimate with the vehicle's parameters from ordinary least squares on the rows of
    some moments, without prior, weights or constraints."""
    v, m, pi = estimator.table.vehicle_slice, estimator.table.arm_slice, estimator.pi.copy()
    valid = np.concatenate([run.valid for run in learnt])
    valid &= np.isin(range(len(MOMENTS)), moments)
    Y = np.concatenate([run.regressor[..., v] for run in learnt])[valid]
    arm = np.concatenate(
        [-(run.regressor[..., m] @ pi[m] + run.tau_known) for run in learnt])[valid]
    size = np.maximum(np.linalg.norm(Y, axis=0), 1e-12)
    pi[v] = np.linalg.lstsq(Y / size, arm, rcond=1e-8)[0] / size
    return pi


def balance(estimator: Estimator, pi: np.ndarray,
            tested: Sequence[Recording]) -> dict[str, float]:
    """R^2 of the vehicle's moment Y_v pi_v against the arm's, -(Y_vm pi_m + buoyancy of its links),
    by an estimate pi (p,), all rows pooled."""
    v, m = estimator.table.vehicle_slice, estimator.table.arm_slice
    arm, vehicle, valid = (np.concatenate(parts) for parts in (
        [-(run.regressor[..., m] @ pi[m] + run.tau_known) for run in tested],
        [run.regressor[..., v] @ pi[v] for run in tested], [run.valid for run in tested]))
    return {name: channel_metrics(arm[:, c], vehicle[:, c], np.ones(len(arm)), valid[:, c],
                                  "N m")["r2"] for c, name in enumerate(MOMENTS)}


def report(chosen: Sequence[Order], recordings: dict[str, Recording], config: Config) -> int:
    """Print a line for each order; returns 0 if every moment reaches `LOWEST` in every order."""
    stiffness = RobotModel.from_config(config).table.index["zgW_zbB"]
    print(f"{'order':<12}" + "".join(f"{'R^2 ' + name:>12}" for name in MOMENTS)
          + "".join(f"{'plain ' + name:>13}" for name in MOMENTS)
          + "".join(f"{'best ' + name:>12}" for name in MOMENTS)
          + f"{'zgW_zbB':>10}{'failures':>10}{'changes':>9}{'seconds':>9}")
    missed = 0
    for order in chosen:
        found = outcome(order, recordings, config)
        low = min(found.r2.values()) < LOWEST
        missed += low
        print(f"{order.name:<12}" + "".join(f"{found.r2[name]:>12.4f}" for name in MOMENTS)
              + "".join(f"{found.plain[name]:>13.4f}" for name in MOMENTS)
              + "".join(f"{found.best[name]:>12.4f}" for name in MOMENTS)
              + f"{found.pi[stiffness]:>10.2f}{found.failures:>10}{found.changes:>9}"
              f"{found.seconds:>9.0f}" + (f"  below {LOWEST}" if low else ""), flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} orders with R^2 of at least {LOWEST} in roll "
          "and pitch")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
