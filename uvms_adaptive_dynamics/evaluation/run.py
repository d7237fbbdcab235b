"""A run: recordings through front end and estimator by data time, and what is counted about it (DESIGN section 12)."""
from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

import numpy as np

from .. import __version__
from ..config import Config
from ..errors import BagError
from ..estimation.estimator import Estimator
from ..model.parameter_file import ParameterSet, save_parameters
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..signals.front_end import SignalFrontEnd
from ..signals.topics import inputs
from ..uncertainty.parameter_covariance import deviations
from .bags import BagContents, check_bag, read_messages
from .files import output_folder, write_json, write_samples
from .log import RunLog
from .metrics import all_channels, timing

SCHEMA = 1
# An estimate farther outside P than this (scaled) counts as a violation (DESIGN section 12).
VIOLATION = 1e-7
# Samples that the front end makes before the estimator takes them: each then finds its own data in the processor's caches,
# which saves a twentieth of a run.
TURN = 64


@dataclass(frozen=True)
class Run:
    """A finished run: its log, the parameters at start and end, and what was rejected on the way."""

    bags: tuple[BagContents, ...]
    config: Config
    robot: RobotModel
    frozen: bool
    log: RunLog
    prior: ParameterSet
    final: ParameterSet
    solver: str | None
    identifiable_rank: int | None
    solver_failures: int
    counters: dict[str, int]
    masked: dict[str, dict[str, int]]
    notes: tuple[str, ...]
    version: str = __version__

    @property
    def duration(self) -> float:
        """Recorded time of all bags together [s]."""
        return sum(bag.end - bag.start for bag in self.bags)


def evaluate(bags: Sequence[str | Path], config: Config, prior: ParameterSet | None = None, frozen: bool = False,
             output: str | Path | None = None, report: bool = True, save_to: str | Path | None = None,
             say: Callable[[str], None] = lambda sentence: None) -> dict[str, Any]:
    """Run the bags, write metrics.json, samples.csv and the report into `output` (if given), return the metrics.

    `save_to` keeps the last estimate as a parameter file; `say` gets warnings and notes, sentence by sentence. Raises a
    UvmsError for whatever cannot be used.
    """
    folder = None if output is None else output_folder(output)
    if save_to is not None:
        output_folder(Path(save_to).expanduser().parent)
    done = run(bags, config, prior, frozen, _progress_on_terminal())
    for sentence in (*(warning for bag in done.bags for warning in bag.warnings), *done.notes):
        say(sentence)
    metrics = metrics_of(done)
    if save_to is not None:
        save_parameters(save_to, done.final)
    if folder is not None:
        write_json(folder / "metrics.json", metrics)
        write_samples(folder / "samples.csv", done.robot.channels, done.log.rows())
        if report:
            # Only here: a run without a report needs no matplotlib.
            from .report import write_report
            write_report(folder, done, metrics)
    return metrics


def run(bags: Sequence[str | Path], config: Config, prior: ParameterSet | None = None, frozen: bool = False,
        progress: Callable[[str, float], None] = lambda bag, share: None) -> Run:
    """Drive front end and estimator with the messages of each bag, one bag after another.

    Between bags the horizon is emptied and the estimate kept. `frozen` predicts with `prior` and learns nothing.
    All bags are checked before the first is run. The same input gives the same numbers.
    """
    needed = inputs(config)
    contents = [check_bag(bag, needed) for bag in bags]
    robot = RobotModel.from_config(config)
    front = SignalFrontEnd(config, robot)
    estimator = Estimator(config, prior, robot=robot, learn=not frozen)
    start = estimator.parameter_set()
    recorder = _Recorder(estimator, robot, frozen)
    undecodable: Counter = Counter()
    doubts: list[str] = []
    for number, bag in enumerate(contents):
        if number:
            front.reset()
            estimator.reset_horizon()
        waiting: list[Sample] = []
        for role, message, received in read_messages(bag.path, needed, undecodable):
            front.push(role, message, received)
            waiting += front.samples()
            if len(waiting) >= TURN:
                recorder.take(waiting, number)
                waiting.clear()
                progress(bag.path.name, min(0.999, (received - bag.start) / max(bag.end - bag.start, 1e-9)))
        recorder.take(waiting, number)
        doubts += [f"{bag.path.name}: {sentence}" for sentence in front.warnings]
        # The last `filter.latency` of a bag is left: the node could not finish those ticks either, and so both end alike.
        progress(bag.path.name, 1.0)
    counters = {**front.counters, **undecodable}
    if not len(recorder.log):
        raise BagError(_nothing_usable(contents, counters))
    return Run(tuple(contents), config, robot, frozen, recorder.log, start, estimator.parameter_set(),
               None if frozen else estimator.solver_name, None if frozen else estimator.identifiable_rank(),
               estimator.solver_failures, counters, front.masked, (*doubts, *estimator.notes))


class _Recorder:
    """Hands samples to the estimator and keeps what it answers."""

    def __init__(self, estimator: Estimator, robot: RobotModel, frozen: bool):
        self.log = RunLog(robot.table)
        self._estimator, self._frozen = estimator, frozen
        if frozen:
            self._follow_physical(estimator.prior.values)

    def take(self, samples: Iterable[Sample], bag: int) -> None:
        """The samples of a turn, one after the other."""
        for sample in samples:
            self._take(sample, bag)

    def _take(self, sample: Sample, bag: int) -> None:
        """One sample: the row that was predicted before it was learnt, then the new estimate."""
        estimator, log = self._estimator, self.log
        if self._frozen:
            prediction = estimator.add(sample)
            if prediction is not None:
                log.add_row(prediction, bag)
            return
        failures = estimator.solver_failures
        estimate = estimator.step(sample)
        if estimate is None:
            return
        # The estimate carries the new parameters, its prediction the ones that predicted.
        log.add_row(estimator.prediction, bag)
        log.update_ms.append(estimate.update_ms)
        log.solve_ms.append(estimate.solve_ms)
        if estimator.solver_failures > failures:
            log.skipped += 1
            return
        log.updates += 1
        log.add_estimate(estimate.t, bag, estimate.pi, deviations(estimate.covariance))
        self._follow_physical(estimate.pi)

    def _follow_physical(self, pi: np.ndarray) -> None:
        physical = self._estimator.physical
        self.log.add_physical(physical.min_eig_M(pi), physical.min_eig_J(pi), physical.violation(pi) > VIOLATION)


def metrics_of(done: Run) -> dict[str, Any]:
    """The content of metrics.json."""
    log, robot = done.log, done.robot
    rows = log.rows()

    def block(predicted: np.ndarray, stddev: np.ndarray) -> dict[str, Any]:
        return all_channels(robot.channels, robot.units, rows.measured, predicted, stddev, rows.valid)

    solve, covariance = timing(log.solve_ms), done.final.covariance
    return {
        "schema": SCHEMA, "duration_s": done.duration, "updates": log.updates, "skipped": log.skipped,
        "channels": block(rows.predicted, rows.stddev),
        "prior": {"channels": block(*log.predict(done.prior.values, done.prior.covariance))},
        "final": {"channels": block(*log.predict(done.final.values, covariance))},
        "solver": None if done.frozen else {"name": done.solver, "median_ms": solve["median"], "p99_ms": solve["p99"],
                                            "max_ms": solve["max"], "failures": done.solver_failures},
        "update_ms": timing(log.update_ms),
        "parameters": {
            "names": list(done.final.names), "value": done.final.values,
            "stddev": [None] * len(done.final.names) if covariance is None else deviations(covariance),
            "identifiable_rank": done.identifiable_rank},
        "physical": {"min_eig_M": log.min_eig_M, "min_eig_J": log.min_eig_J, "violations": log.violations}}


def _nothing_usable(bags: Sequence[BagContents], counters: dict[str, int]) -> str:
    reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(counters.items()) if count)
    seconds = sum(bag.end - bag.start for bag in bags)
    return (f"{' '.join(str(bag.path) for bag in bags)}: {seconds:.1f} s of recording gave no usable sample"
            + (f"; rejected: {reasons}." if reasons else "; expected at least a few seconds in which all sensors run."))


def _progress_on_terminal() -> Callable[[str, float], None]:
    """Progress on stderr where that is a terminal, silence elsewhere."""
    if not sys.stderr.isatty():
        return lambda bag, share: None
    last = 0.0

    def show(bag: str, share: float) -> None:
        nonlocal last
        if time.monotonic() - last > 0.2 or share >= 1.0:
            last = time.monotonic()
            sys.stderr.write(f"\r{bag}: {100 * share:5.1f} %" + ("\n" if share >= 1.0 else ""))
            sys.stderr.flush()
    return show
