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

"""Detection of changes of the robot (a payload, a float, a joint full of sand, a weak battery) as
hypotheses: judged by their evidence, confirmed by the rows that follow, withdrawn if wrong.

After a change, minutes of old data outvote seconds of new data, which the robust cost treats as
outliers: the estimate would lag by minutes. So every half second, and twice as often while one is
suspected, each hypothesis (`hypotheses`) is fitted to the residuals of the last seconds. A change
is accepted if its evidence is overwhelming and grows with the rows that follow, and noise that has
grown is less likely. The knowledge from before is kept, and restored if it predicts better again: a
payload was put down, or there was no change.
docs/mathematics.md and docs/uncertainty.md, "Changes of the robot".
"""
from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple, Protocol

import numpy as np

from ..config import Config
from ..model.parameters import ParameterTable
from ..model.robot import RobotModel
from ..model.scales import Scales
from ..model.vehicle_size import LEAST_DRIVEN
from .accepted_change import (
    EXTERNAL_FORCE,
    Change,
    Checkpoint,
    FactorsRestoration,
    LoadChange,
    Restoration,
    RobotChange,
)
from .change_evidence import GrownNoise, Spans, log_likelihood_ratio
from .contact import ContactHypothesis
from .estimate_uncertainty import StatedUncertainty
from .hypotheses import LoadHypothesis, another_robot, hypotheses, without_load
from .hypothesis import ALIKE_NATS, Hypothesis, Onset
from .information import InformationState, PastNoise
from .prediction import Prediction
from .recent_rows import RecentRows, RowHistory, SpanVariance
from .row_excitation import Excited
from .scale_hypotheses import ThrustScale
from .thruster_hypotheses import CommandOrder, ThrustCurves, ThrusterScale

CHANGE_CHECK_PERIOD = 0.5           # [s] between two checks, half of it while a change is suspected
SINCE = (1.0, 2.0, 3.5, 6.0, 12.0)  # [s] hypothetical ages of a change
# [s] of rows after which a channel's noise is known well enough for its rows to be evidence, and
# after which a saved estimate is taken to be this robot's
FIRST_CHANGE_CHECK = 20.0
# ln odds to accept a change. 20 would do if residuals were pure noise: about a hundred hypotheses
# and onsets are tried at each of a hundred thousand checks a day, and one false change a month is
# too many. Model error of a rough robot reached 13 within a minute; a change worth following
# reaches 40 or more.
CHANGE_EVIDENCE_NATS = 30.0
# ln odds to suspect a change, against grown noise, and by the confirming rows alone
CONFIRMED_NATS = 3.0
# periods, and a row's overlap with its neighbours, over which the rows must speak for a change: a
# second of garbage is over
CONFIRMING = 2
RESTORED_NATS = 7.0                 # ln likelihood ratio at two checks to restore earlier knowledge
KNOWLEDGE_KEPT = 3                  # number of earlier states of knowledge kept
PULLS = LoadHypothesis, ContactHypothesis


class ChangeDetector(Protocol):
    """Judges every row for a change of the robot.

    nearest: largest ln Bayes factor of a change that met every other condition of acceptance. With
    a threshold below it, that change would have been accepted."""

    nearest: float

    def judge(self, prediction: Prediction, excited: Excited, information: InformationState,
              scales: Scales, known: StatedUncertainty) -> Change | None:
        """Add a row; the change that is accepted with it, if any. scales: the factors on its
        measurements; known: uncertainty of the estimate that predicted it."""

    def remember(self, known: Checkpoint) -> None:
        """Keep the knowledge from before a change."""

    def note_restored(self, known: Checkpoint) -> None:
        """Drop kept knowledge that has been restored."""

    def break_off(self) -> None:
        """Drop the rows of the last seconds, as after a gap in time."""


class NoChangeDetection:
    """Detector of an estimator that follows no changes."""

    nearest = 0.0

    def judge(self, prediction: Prediction, excited: Excited, information: InformationState,
              scales: Scales, known: StatedUncertainty) -> Change | None:
        """See `ChangeDetector`."""
        return None

    def remember(self, known: Checkpoint) -> None:
        """See `ChangeDetector`."""

    def note_restored(self, known: Checkpoint) -> None:
        """See `ChangeDetector`."""

    def break_off(self) -> None:
        """See `ChangeDetector`."""


@dataclass
class _Check:
    """One check of the rows of the last seconds, spread over several ticks."""

    since: dict[int, RecentRows]        # by number of rows
    spans: Spans                        # the same, each as predicted when it began
    noise: PastNoise                    # from before them
    variance: SpanVariance
    found: list[tuple[float, int]]      # (evidence, rows) of each hypothesis


class _Suspect(NamedTuple):
    """The evidence of the likeliest hypothesis at a check; tick: when that ended."""

    evidence: float
    tick: int


class _Cause(NamedTuple):
    """The hypothesis to accept, the one that explains the rows (unless a pull stands for it, the
    same), all that explain them as well, their evidence in words, whether a pull, which would be
    accepted by itself, is nearly as likely as the likeliest, and the thrust's own uncertainty."""

    hypothesis: Hypothesis
    explains: Hypothesis
    alike: list[Hypothesis]
    odds: str
    perhaps_pull: bool
    curves: ThrustCurves

    def is_certain(self, then: RecentRows) -> bool:
        """Whether all that is more common than it is less likely."""
        return (self.beats_pull and self.drives(then) and self.beats_grown_noise(then)
                and self.beats_curves(then))

    def drives(self, then: RecentRows) -> bool:
        """Whether the thrust causes most of the motion, if single thrusters are said to have
        changed: a controller's thrust that answers waves is explained best where it cancels."""
        one = self.hypothesis
        if not isinstance(one, (ThrusterScale, CommandOrder)) or then.measured is None:
            return True
        effect = one.effect(one.evidence(then)[1], then)
        weight = then.weight * (effect != 0.0).any(axis=0)
        left = float(np.sum(weight * (then.residual - effect) ** 2))
        return left < (1.0 - LEAST_DRIVEN) * float(np.sum(weight * (then.measured - effect) ** 2))

    def beats_grown_noise(self, then: RecentRows) -> bool:
        """Whether it is likelier than that the noise has grown. For several parts that fail at once
        as much as any change must be than none: a factor on each thruster fits whatever the model
        lacks in a manoeuvre. Another wiring has nothing to fit."""
        least = CHANGE_EVIDENCE_NATS if self.hypothesis.is_conjunction else (
            RESTORED_NATS if isinstance(self.hypothesis, CommandOrder) else CONFIRMED_NATS)
        return self.explains.evidence(then, rival=GrownNoise)[0] > least

    @property
    def beats_pull(self) -> bool:
        """Whether it is no other order of the commands, or far likelier than a pull: two thrusters
        exchanged push the other way for as long as the commands are constant."""
        return not (self.perhaps_pull and isinstance(self.hypothesis, CommandOrder))

    def beats_curves(self, then: RecentRows) -> bool:
        """Whether it is far likelier than that nothing has changed and thrust is only roughly
        known: with constant commands, a new manoeuvre whose thrust is a third off looks like any
        thruster's failure, and thrust from a dead zone that is another one like any change."""
        curves = self.curves
        if not curves.thrusters.size:
            return True
        if not isinstance(self.hypothesis, (ThrusterScale, ThrustScale)):
            curves = curves.of_dead_zones()
        return self.hypothesis.evidence(then)[0] > curves.evidence(then)[0] + ALIKE_NATS


class EvidenceChangeDetector:
    """Checks the last seconds every half second, spreading the hypotheses over its ticks; twice as
    often while a change is suspected."""

    def __init__(self, table: ParameterTable, free: np.ndarray, period: float, overlap: float,
                 prior_stddev: np.ndarray, rows_known: float, weight_density: float,
                 allocation: np.ndarray, low_thrust: float):
        """free (p,): estimated parameters; period [s]; overlap: neighbouring rows that carry the
        information of one independent row; prior_stddev (p,); rows_known: rows per channel learnt
        from before; weight_density [N/m^3] of water; allocation (6, N): of the thrusters;
        low_thrust [N]: see `RobotModel.low_thrust`."""
        self._hypotheses = hypotheses(table, free, prior_stddev, weight_density, allocation,
                                      CHANGE_EVIDENCE_NATS)
        self._allocation, self._low_thrust = allocation, low_thrust
        self._rows_known = rows_known
        if rows_known:
            self._hypotheses += another_robot(free, prior_stddev),
        stride = max(1, round(overlap / 4))
        self._spacing = period * stride     # [s] of the rows
        self._since = sorted({max(1, round(seconds / self._spacing)) for seconds in SINCE})
        self._rows = RowHistory(self._since[-1], stride, table.channels, table.size, allocation)
        # at least three: the first tick begins a check, the last one ends it
        self._check_ticks = max(round(CHANGE_CHECK_PERIOD / period), 3)
        # in half of the ticks until the next check: what is found is not late by a whole period
        self._at_once = math.ceil(2 * len(self._hypotheses) / (self._check_ticks - 2))
        self._settling = FIRST_CHANGE_CHECK / period
        # noise at the last checks; the oldest is from before any span that is tested
        self._quiet: deque[tuple[PastNoise, SpanVariance]] = deque(
            maxlen=1 + round(SINCE[-1] / (self._check_ticks * period)))
        self._known: list[Checkpoint] = []
        self._ticks, self._seen = 0, np.zeros(table.channels)
        self._unmodelled: np.ndarray | None = None      # `InformationState.unmodelled`
        self._check: _Check | None = None
        # the newest first; two suspected checks take a period
        self._suspects: deque[_Suspect] = deque(maxlen=3)
        self._confirming = math.ceil((CONFIRMING * self._check_ticks + overlap) / stride)
        # ticks at which the next check is due, and at which the last one ended that was not early
        self._due, self._regular = self._check_ticks, 0
        self.nearest = 0.0
        self._better: list[int] = []        # kept states that predicted better at the last check
        self._free = False                  # likelier without the external force at the last check

    def judge(self, prediction: Prediction, excited: Excited, information: InformationState,
              scales: Scales, known: StatedUncertainty) -> Change | None:
        """See `ChangeDetector`."""
        self._ticks += 1
        self._seen += excited.learnt
        unmodelled = information.unmodelled(prediction.regressor, known.systematic)
        if unmodelled is not None:
            self._unmodelled = unmodelled
        settled = self._rows_known + self._seen > self._settling
        if self._ticks % self._rows.stride == 0:
            self._rows.add(prediction, excited.learnt, settled, known.covariance, self._unmodelled)
        check = self._check
        if check is None:
            if self._ticks >= self._due and settled.any() and self._rows.filled >= self._since[0]:
                self._due = self._ticks + self._check_ticks
                self._check = self._begin(information, prediction.pi)
            return None
        if len(check.found) < len(self._hypotheses):
            tried = len(check.found)
            check.found += [self._best_since(one, check)
                           for one in self._hypotheses[tried:tried + self._at_once]]
            return None
        self._check = None
        if self._ticks - self._regular < self._check_ticks:
            return self._accepted(check, scales)
        self._regular = self._ticks
        change = (self._released(check) or self._restored(check, scales)
                  or self._accepted(check, scales))
        if change is None:      # else the noise learnt until now contains its residuals
            self._quiet.append(_noise_of(information))
        return change

    def remember(self, known: Checkpoint) -> None:
        """See `ChangeDetector`."""
        self._known = [known, *self._known]
        if len(self._known) > KNOWLEDGE_KEPT:
            del self._known[-2]     # the oldest rests on most data, the others on a burst of errors

    def note_restored(self, known: Checkpoint) -> None:
        """See `ChangeDetector`."""
        self._known = [one for one in self._known if one is not known]
        self._restart()

    def break_off(self) -> None:
        """See `ChangeDetector`."""
        self._rows.clear()
        self._check = None
        self._suspects.clear()
        self._better, self._free = [], False

    def _end_start(self) -> None:
        """Test only changes that happen while the robot is watched."""
        self._hypotheses = tuple(one for one in self._hypotheses if not one.from_start)

    def _begin(self, information: InformationState, pi: np.ndarray) -> _Check:
        if self._seen.max() > self._settling:
            self._end_start()
        noise, variance = self._quiet[0] if self._quiet else _noise_of(information)
        variance = variance._replace(
            by_motion=lambda rows: information.sudden_variance(pi, rows * self._spacing))
        lengths = [rows for rows in self._since if rows <= self._rows.filled]
        since = self._rows.newest_of_each(lengths, variance)
        spans = [self._rows.as_then(rows, variance) for rows in since.values()]
        return _Check(since, Spans(spans), noise, variance, [])

    def _best_since(self, hypothesis: Hypothesis, check: _Check) -> tuple[float, int]:
        if hypothesis.from_start:
            return hypothesis.evidence(check.spans.longest)[0], max(check.since)
        tried = zip(hypothesis.evidence_since(check.spans), check.since)
        return max(((odds, length) for (odds, _), length in tried), key=itemgetter(0))

    def _accepted(self, check: _Check, scales: Scales) -> Change | None:
        """The change to accept: its evidence has lasted for a period and grown for CONFIRMING
        periods, and grown noise explains the rows less well."""
        k = max(range(len(check.found)), key=lambda k: check.found[k][0])
        best, length = check.found[k]
        if best > CONFIRMED_NATS:
            self._due -= self._check_ticks // 2
        earlier = next((one.evidence for one in self._suspects
                        if self._ticks - one.tick >= self._check_ticks), -math.inf)
        self._suspects.appendleft(_Suspect(best, self._ticks))
        lasting = min(best, earlier)
        if lasting < min(self.nearest, CHANGE_EVIDENCE_NATS) or not self._has_grown(
                self._hypotheses[k], length, check.variance):
            return None
        then = self._rows.as_then(self._rows.newest(length, check.variance), check.variance)
        onset = Onset(len(then.residual) * self._rows.stride, check.noise, then,
                      check.variance.independent, "")
        cause = self._likely_cause(onset, scales)
        if not cause.is_certain(then):
            return None
        self.nearest = max(self.nearest, lasting)
        if lasting < CHANGE_EVIDENCE_NATS:
            return None
        accepted = cause.hypothesis.accepted(onset._replace(odds=cause.odds), cause.alike)
        self._restart()
        if isinstance(accepted, RobotChange):   # as after a start from nothing
            self._rows_known, self._seen[:] = 0.0, 0.0
            self._end_start()
        return accepted

    def _likely_cause(self, onset: Onset, scales: Scales) -> _Cause:
        """The cause of a change, whose rows are predicted with the estimate from before it. What
        cannot have happened is no cause if what can explains the rows as well.

        Several parts that fail at once must be as much likelier than a line that pulls at the
        unchanged robot as any change must be than no change: while the commands are constant, two
        failed thrusters look like a pull, which is far more common. So must another order of the
        commands, for which no pull stands, since it comes with more evidence soon."""
        found = [one.evidence(onset.rows)[0] for one in self._hypotheses]
        order = sorted(range(len(found)), key=lambda k: -found[k])
        # (>=: beside enormous evidence, that difference is lost in rounding)
        alike = [self._hypotheses[k] for k in order if found[k] >= found[order[0]] - ALIKE_NATS]
        if len(alike) > 1:
            alike = [one for one in alike
                     if one.accepted(onset, [one]).is_possible(scales)] or alike
        alike = [one for one in alike if not any(one.holds(other) for other in alike)]
        odds = "; ".join(f"{self._hypotheses[k].name} 10^{found[k] / np.log(10):.0f} : 1"
                         for k in order[:3] if found[k] > 0)
        simplest = explains = min(alike, key=lambda one: (one.preference, one.stddev.size))
        pull = next((k for k in order if isinstance(self._hypotheses[k], PULLS)), None)
        perhaps_pull = pull is not None and (
            found[pull] > max(CHANGE_EVIDENCE_NATS, found[order[0]] - CHANGE_EVIDENCE_NATS))
        if pull is not None and perhaps_pull and simplest.is_conjunction:
            simplest = self._hypotheses[pull]
            alike = [simplest, *(one for one in alike if one is not simplest)]
        return _Cause(simplest, explains, alike, odds, perhaps_pull,
                      self._curves_before(len(onset.rows.residual)))

    def _curves_before(self, rows: int) -> ThrustCurves:
        """Of the newest `rows`, judged by the earlier ones that are kept."""
        earlier = self._rows.contributions()[:-rows]
        return ThrustCurves.of(self._allocation, self._low_thrust, earlier)

    def _has_grown(self, hypothesis: Hypothesis, length: int, variance: SpanVariance) -> bool:
        """Whether rows from before the last CONFIRMING periods are evidence of a change that began
        up to `length` rows ago, and all since then speak for it: after a second of garbage, the
        newest do not."""
        since = self._confirming
        if self._rows.filled <= since:
            return False
        length = min(max(length, 2 * since), self._rows.filled)
        then = self._rows.as_then(self._rows.newest(length, variance), variance)
        first, *later, whole = (hypothesis.evidence(then.without_newest(rows))[0]
                                for rows in (since, since // 2, since // 4, 2, 1, 0))
        return first > CONFIRMED_NATS and whole > max(first + CONFIRMED_NATS, *later)

    def _released(self, check: _Check) -> Change | None:
        """The end of an external force if the last rows are likelier without it, as in `_restored`.
        """
        odds, length = max((log_likelihood_ratio(rows, without_load(rows)), length)
                           for length, rows in check.since.items())
        before, self._free = self._free, odds > RESTORED_NATS
        if not odds > (RESTORED_NATS if before else CHANGE_EVIDENCE_NATS):
            return None
        self._restart()
        return LoadChange(EXTERNAL_FORCE, length * self._rows.stride, check.noise, "", None,
                          np.zeros(3))

    def _restored(self, check: _Check, scales: Scales) -> Change | None:
        """Restore knowledge from before a change if it predicts better again: overwhelmingly, or
        at two checks in a row. It has nothing to fit, so every row that it explains is evidence.
        What was learnt since is not given up where the factors on measurements are enough."""
        better = {}
        for k, known in enumerate(self._known):
            gains = [(_gains_of(known, rows, scales), length)
                     for length, rows in check.since.items()]
            estimate = max((both - max(factors, 0.0), length)
                           for (both, factors), length in gains)
            if estimate[0] > RESTORED_NATS:
                better[k] = *estimate, Restoration
                continue
            odds, length = max((factors, length) for (_, factors), length in gains)
            if odds > RESTORED_NATS:
                better[k] = odds, length, FactorsRestoration
        restorable = [k for k, (odds, *_) in better.items()
                    if odds > CHANGE_EVIDENCE_NATS or k in self._better]
        self._better = list(better)
        if not restorable:
            return None
        best = max(restorable, key=lambda k: better[k][0])
        known = self._known.pop(best)
        self._restart()
        _, length, restoration = better[best]
        noise = known.information.noise if restoration is Restoration else check.noise
        return restoration(known.part, length * self._rows.stride, noise, known)

    def _restart(self) -> None:
        """Start over: earlier rows belong to the decision just made."""
        self.break_off()
        self._quiet.clear()


def _noise_of(information: InformationState) -> tuple[PastNoise, SpanVariance]:
    """The present noise, and the variances of spans with it."""
    return information.noise_record(), SpanVariance.of(information)


def _gains_of(known: Checkpoint, rows: RecentRows, scales: Scales) -> tuple[float, float]:
    """ln likelihood ratios of the rows with the factors on measurements of a kept state, against
    the present estimate with its own (`scales`): by the kept estimate, by the present one."""
    kept, present = (rows.residual_of(predicted, known.scales, scales)
                     for predicted in (rows.Y @ known.pi, rows.predicted))
    return log_likelihood_ratio(rows, kept), log_likelihood_ratio(rows, present)


def change_detector(config: Config, robot: RobotModel, free: np.ndarray, directional: bool,
                    overlap: float, prior_stddev: np.ndarray, rows_known: float) -> ChangeDetector:
    """The detector that the settings select. directional: whether old rows can be marginalized."""
    if directional and config.estimation.follow_changes and free.any():
        return EvidenceChangeDetector(
            robot.table, free, config.filter.period, overlap, prior_stddev, rows_known,
            config.robot.water_density * config.robot.gravity, robot.allocation,
            robot.low_thrust)
    return NoChangeDetection()
