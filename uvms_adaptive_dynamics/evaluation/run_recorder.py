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

"""What a run keeps of the estimator's answers: the log of its rows, changes of the robot, and
causes of lost trust."""
from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..control.stage_runner import StageEnd, StageRunner
from ..estimation.estimator import Estimator
from ..estimation.learned_spans import LearnedSpans
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..review.arm_check import CHECKED_EVERY
from ..uncertainty.evidence import ReportedFinding
from .failures import kind_of
from .run_log import RunLog


class Stretch(NamedTuple):
    """A recording, or the part of it before or after its clock was set back: the recording's index,
    its rows in the log from `first` to before `end`, and each CHECKED_EVERY-th of its samples."""

    bag: int
    first: int
    end: int
    samples: deque[Sample]

    @property
    def rows(self) -> np.ndarray:
        """(k,) indices of the rows."""
        return np.arange(self.first, self.end)


class RunRecorder:
    """Feeds samples to the estimator and logs the results."""

    def __init__(self, estimator: Estimator, robot: RobotModel, frozen: bool,
                 stages: StageRunner | None, samples_kept: int):
        self.log = RunLog(robot.table)
        self._stretch = self._longest = Stretch(0, 0, 0, deque(maxlen=samples_kept))
        self._count = 0
        self._estimator, self._frozen, self._stages = estimator, frozen, stages
        self.changes: list[ReportedFinding] = []
        self._lost: dict[str, ReportedFinding] = {}     # by kind
        self._told: set[str] = set()        # what these are about
        self._first_t: float | None = None
        self._t, self._bag = 0.0, 0
        self._seen = LearnedSpans()     # what frozen parameters were learnt from, and rows since
        self._seen_since: float | None = None
        if frozen:
            self._follow_physical(estimator.prior.values)
            learned = estimator.prior.learned
            self._seen = LearnedSpans(learned.get("spans"), learned.get("marks"))

    def elapsed(self) -> float:
        """Data time [s] since the first sample."""
        return 0.0 if self._first_t is None else self._t - self._first_t

    @property
    def reviewed(self) -> Stretch:
        """The longest stretch, the later of two: what only a whole recording shows is reviewed
        there."""
        present, longest = self._stretch._replace(end=len(self.log)), self._longest
        return present if len(present.samples) >= len(longest.samples) else longest

    def _begin_stretch(self, bag: int) -> None:
        self._longest = self.reviewed
        self._stretch = Stretch(bag, len(self.log), len(self.log),
                                deque(maxlen=self._stretch.samples.maxlen))

    def add_samples(self, samples: Iterable[Sample], bag: int) -> None:
        """Feed the samples to the estimator in order, with a break before a new bag."""
        if bag != self._bag:
            self._estimator.break_off()
            self._begin_stretch(bag)
            self._bag = bag
        for sample in samples:
            self._add_sample(sample, bag)

    def _add_sample(self, sample: Sample, bag: int) -> None:
        """Log the row, which was predicted before it was learnt, and then the new estimate."""
        estimator, log = self._estimator, self.log
        if self._first_t is not None and sample.t < self._t:
            self._begin_stretch(bag)    # its clock was set back
        self._follow_trust(sample.t)
        self._count += 1
        if self._count % CHECKED_EVERY == 0:
            self._stretch.samples.append(sample)
        if self._frozen:
            self._note_seen(sample)
            prediction = estimator.add(sample)
            if prediction is not None:
                log.add_row(prediction, bag, estimator.excited.in_motion)
            return
        failures, changes = estimator.solver_failures, estimator.changes
        begin, begin_cpu = time.perf_counter(), time.thread_time()
        if estimator.add(sample) is None:
            return
        if self._stages is not None:
            self._stages.follow()
        estimate = estimator.solve(begin)
        assert estimate is not None     # the estimator learns
        log.add_times(estimate, 1e3 * (time.thread_time() - begin_cpu))
        log.add_row(estimate.prediction, bag, estimator.excited.in_motion)
        if estimator.changes > changes:
            log.note_change(estimate.t)
            self.changes.append(ReportedFinding("change", estimator.last_change, self.elapsed()))
        if estimator.solver_failures > failures:
            log.note_skipped()
            return
        log.add_estimate(estimate, bag)
        self._follow_physical(estimate.pi)

    def _note_seen(self, sample: Sample) -> None:
        """Note from when on the rows that are to test the parameters were learnt from."""
        since = self._seen.add(sample)
        if self._seen_since is None and since is not None:
            self._seen_since = max(since - (self._first_t or 0.0), 0.0)

    @property
    def seen(self) -> list[ReportedFinding]:
        """The finding on rows that test the parameters that were learnt from them."""
        if self._seen_since is None:
            return []
        return [ReportedFinding("learned", (
            f"the parameters were learnt from these data, from {self._seen_since:.0f} s on (same "
            "stamps and readings), so they are no test: fit and intervals look better than they "
            "are; predict a recording that was not learnt from"), self._seen_since)]

    def _follow_trust(self, t: float) -> None:
        """Keep a sentence on lost trust whenever it is about something new."""
        self._first_t, self._t = t if self._first_t is None else self._first_t, t
        sentence, subjects = self._estimator.findings.lost_trust()
        if not subjects <= self._told:
            self._told |= subjects
            since = self.elapsed()
            self._lost.setdefault(kind_of(sentence), ReportedFinding(
                "trust", f"from {since:.1f} s: {sentence}", since))

    def stage_ends(self) -> tuple[StageEnd, ...]:
        """The stages of the schedule that began."""
        return () if self._stages is None else tuple(self._stages.finish())

    def trust_findings(self) -> list[ReportedFinding]:
        """What was said of lost trust during the run, and what is to be said at its end."""
        sentence, found = self._estimator.findings.trust_cause(), list(self._lost.values())
        if sentence and kind_of(sentence) not in self._lost:
            found.append(ReportedFinding("trust", f"at the end: {sentence}"))
        return found

    def _follow_physical(self, pi: np.ndarray) -> None:
        physical = self._estimator.physical
        self.log.add_physical(physical.min_eig_M(pi), physical.min_eig_J(pi),
                              physical.is_outside(pi))
