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

"""Runs a recording through front end and estimator, and notes every message with its time."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...estimation.estimator import Estimator
from ...estimation.prediction import Prediction
from ...evaluation.failures import kind_of
from ...garbage import ShortCollections
from ...model.prior import prior_from_config
from ...model.robot import RobotModel
from ...model.sample import Sample
from ...signals.front_end import SignalFrontEnd
from ...signals.samples import samples_of
from ...simulation.faults.stream import Received
from ..held_out import HeldOut

POLL = 0.1          # [s] of true time between two looks at the messages
# rows: two solves a second suffice, since rows and the last estimate are judged
FAULTS_SOLVE_EVERY = 25


class Sentence:
    """A message: its wordings, which differ in numbers, each with the true time [s] when it first
    came."""

    def __init__(self, text: str, at: float):
        self.wordings = {text: at}
        self.last = text

    def again(self, text: str, at: float) -> None:
        """Note the message at another time, possibly with other numbers."""
        self.wordings.setdefault(text, at)
        self.last = text

    @property
    def begin(self) -> float:
        """When it first came."""
        return next(iter(self.wordings.values()))


class Ran(NamedTuple):
    """Result of a run; times [s] are true time from the first message.

    sample_t (S,): ticks of the samples; sample_valid (S, C): rows that the front end calls valid;
    t (T,), valid, residual, error (T, C): rows behind the low-pass, with the residual of the
    prequential prediction, and the error with the reference parameters (without a reference, with
    the last estimate); pi (p,): the last estimate; said: messages by kind; trouble: what must never
    happen: exceptions, NaN or infinity, estimates outside P; counters: of the front end.
    """

    sample_t: np.ndarray
    sample_valid: np.ndarray
    t: np.ndarray
    valid: np.ndarray
    residual: np.ndarray
    error: np.ndarray
    pi: np.ndarray
    said: dict[str, Sentence]
    trouble: tuple[str, ...]
    counters: dict[str, int]


def run_through(stream: Iterable[Received], config: Config, robot: RobotModel,
                reference: np.ndarray | None = None) -> Ran:
    """Run front end and estimator on the stream; reference (p,): parameters for the errors."""
    with ShortCollections():
        run = _Run(config, robot)
        try:
            for item in stream:
                run.take(item)
        # A fault that crashes the run is the bench's worst result, but must not end the bench.
        except Exception as error:
            run.trouble[f"raised {type(error).__name__}: {error}"] = None
    return run.result(reference)


class _Run:
    """Front end, estimator and notes of one run."""

    def __init__(self, config: Config, robot: RobotModel):
        self.front = SignalFrontEnd(config, robot)
        self.estimator = Estimator(config, prior_from_config(config, robot), robot)
        self.said: dict[str, Sentence] = {}
        self.trouble: dict[str, None] = {}
        self._rows = 0
        self._changes = 0
        self._first_ns: int | None = None
        self._next_poll = POLL
        self._last: Received | None = None
        self._samples: list[tuple[float, np.ndarray]] = []
        self._predictions: list[tuple[float, Prediction]] = []

    def take(self, item: Received) -> None:
        """Process one message, after the polls that were due before it."""
        if self._first_ns is None:
            self._first_ns = item.true_ns
        elapsed = (item.true_ns - self._first_ns) * 1e-9
        while self._next_poll <= elapsed:
            self._poll(self._next_poll)
            self._next_poll += POLL
        self._last = item
        self.front.add_message(item.role, item.message, item.t)
        for sample in self.front.samples():
            self._sample(sample, elapsed - self.front.latency)

    def _sample(self, sample: Sample, tick: float) -> None:
        self._samples.append((tick, sample.valid))
        prediction = self.estimator.add(sample)
        if prediction is None:
            return
        self._predictions.append((tick + prediction.t - sample.t, prediction))
        self._rows += 1
        finite = np.isfinite(prediction.predicted).all() and np.isfinite(
            prediction.predicted_stddev).all()
        if not finite:
            self.trouble["a prediction is not finite"] = None
        if self.estimator.learn and self._rows % FAULTS_SOLVE_EVERY == 0:
            self._solve()

    def _solve(self) -> None:
        estimator = self.estimator
        estimate = estimator.solve()
        if estimate is None:
            return
        if not (np.isfinite(estimate.pi).all() and np.isfinite(estimate.stddev).all()):
            self.trouble["an estimate is not finite"] = None
        elif estimator.physical.is_outside(estimate.pi):
            self.trouble["an estimate lies outside P"] = None

    # --- messages ---------------------------------------------------------------------------------

    def _poll(self, at: float) -> None:
        if self._last is None or self._first_ns is None:
            return
        now = self._last.t + at - (self._last.true_ns - self._first_ns) * 1e-9
        for status in self.front.status(now):
            if status.name != "frames":      # repeats the first of the warnings below
                self._note(f"{status.name}: {status.message}", at)
        for warning in self.front.warnings:
            self._note(warning, at)
        for reason, count in self.front.resets.items():
            self._note(f"reset: {reason} ({count} times)", at)
        if self.estimator.changes > self._changes:
            self._changes = self.estimator.changes
            self._note(f"change: {self.estimator.last_change}", at)
        cause = self.estimator.findings.trust_cause()
        if "wrong" in cause or "one scale" in cause:
            self._note(f"trust: {cause}", at, "trust")

    def _note(self, text: str, at: float, kind: str = "") -> None:
        kind = kind or kind_of(text)
        if kind in self.said:
            self.said[kind].again(text, at)
        else:
            self.said[kind] = Sentence(text, at)

    def result(self, reference: np.ndarray | None) -> Ran:
        """The result as arrays."""
        C = self.estimator.table.channels
        pi = self.estimator.pi if reference is None else reference
        rows = [p for _, p in self._predictions]
        stack = lambda values, kind=float: np.array(values, kind).reshape(-1, C)
        return Ran(
            np.array([t for t, _ in self._samples]), stack([v for _, v in self._samples], bool),
            np.array([t for t, _ in self._predictions]), stack([p.valid for p in rows], bool),
            stack([p.residual for p in rows]),
            stack([p.measured - p.tau_known - p.regressor @ pi for p in rows]),
            self.estimator.pi, self.said, tuple(self.trouble), self.front.counters)


def held_out(stream: Sequence[Received], config: Config, robot: RobotModel) -> HeldOut:
    """The rows of a recording for the held-out test."""
    front = SignalFrontEnd(config, robot)
    frozen = Estimator(config, prior_from_config(config, robot), robot, learn=False)
    Y, tau = [], []
    for sample in samples_of(front, ((item.role, item.message, item.t) for item in stream)):
        row = frozen.add(sample)
        if row is not None:
            Y.append(row.regressor)
            tau.append(np.where(row.valid, row.measured - row.tau_known, np.nan))
    return HeldOut(np.array(Y), np.array(tau))
