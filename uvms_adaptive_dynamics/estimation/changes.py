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
outliers: the estimate would lag by minutes. So every half second each hypothesis (`hypotheses`) is
fitted to the residuals of the last seconds. A change is accepted if its evidence is overwhelming
and it predicts the rows that follow. The knowledge from before is kept, and restored if it predicts
better again: a payload was put down, or there was no change. docs/mathematics.md and
docs/uncertainty.md, "Changes of the robot".
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from ..config import Config
from ..model.parameters import ParameterTable
from ..model.robot import RobotModel
from ..uncertainty.channel_noise import NoiseRecord
from ..uncertainty.noise_scale import WINSOR
from .accepted_change import EXTERNAL_FORCE, Change, Checkpoint, LoadChange, Restoration
from .change_evidence import RecentRows, log_likelihood_ratio
from .hypotheses import ALIKE_NATS, Hypothesis, Onset, hypotheses, without_load
from .information import InformationState
from .prediction import Prediction
from .row_excitation import Excited

CHANGE_CHECK_PERIOD = 0.5           # [s] between two checks
SINCE = (1.0, 2.0, 3.5, 6.0)        # [s] hypothetical ages of a change
FIRST_CHANGE_CHECK = 20.0           # [s] of rows that count before the first check
# ln odds to accept a change. 20 would do if residuals were pure noise: about a hundred hypotheses
# and onsets are tried at each of a hundred thousand checks a day, and one false change a month is
# too many. Model error of a rough robot reached 13 within a minute; a change worth following
# reaches 40 or more.
CHANGE_EVIDENCE_NATS = 30.0
CONFIRMED_NATS = 3.0                # ln likelihood ratio required of the following rows alone,
CONFIRMING = 2                      # those of this many checks: by then a second of garbage is over
RESTORED_NATS = 7.0                 # ln likelihood ratio at two checks to restore earlier knowledge
KNOWLEDGE_KEPT = 3                  # number of earlier states of knowledge kept


class ChangeDetector(Protocol):
    """Judges every row for a change of the robot.

    nearest: largest ln Bayes factor of a change that met every other condition of acceptance. With
    a threshold below it, that change would have been accepted."""

    nearest: float

    def judge(self, prediction: Prediction, excited: Excited,
              information: InformationState) -> Change | None:
        """Add a row; the change that is accepted with it, if any."""

    def remember(self, known: Checkpoint) -> None:
        """Keep the knowledge from before a change."""

    def withdraw(self, known: Checkpoint) -> None:
        """Drop kept knowledge that has been restored."""

    def break_off(self) -> None:
        """Drop the rows of the last seconds, as after a gap in time."""


class NoChangeDetection:
    """Detector of an estimator that follows no changes."""

    nearest = 0.0

    def judge(self, prediction: Prediction, excited: Excited,
              information: InformationState) -> Change | None:
        """See `ChangeDetector`."""
        return None

    def remember(self, known: Checkpoint) -> None:
        """See `ChangeDetector`."""

    def withdraw(self, known: Checkpoint) -> None:
        """See `ChangeDetector`."""

    def break_off(self) -> None:
        """See `ChangeDetector`."""


class _Variance(NamedTuple):
    """Variances (C,) of the residuals: of one row, and that times the rows that carry the
    information of an independent one; effort_square (C,): the largest square of efforts to which
    these apply.

    Noise and efforts are robust scales, to which values beyond WINSOR deviations contribute no more
    than those at the clip. Of larger efforts nothing is known but that the model's error relative
    to them was no larger, so the variances of a span grow with their square."""

    row: np.ndarray
    independent: np.ndarray
    effort_square: np.ndarray

    def growth(self, predicted: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """(C,) factor on the variances of a span with predicted efforts and rows that count (T, C).
        """
        square = (predicted ** 2).sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
        return np.maximum(square / self.effort_square, 1.0)


class _Ring:
    """The rows of the last seconds, every `stride`-th tick."""

    def __init__(self, length: int, stride: int, channels: int, size: int, thrusters: int):
        self.stride, self._length = stride, length
        self._Y = np.zeros((length, channels, size))
        # measured, predicted, residual, variance due to the parameters, counts, drifts
        self._values = np.zeros((6, length, channels))
        self._by_velocity = np.zeros((length, channels, 2))
        self._R_nb, self._load = np.zeros((length, 3, 3)), np.zeros((length, 12))
        self._by_thruster = np.zeros((length, channels, thrusters))
        self._pi = np.zeros((length, size))
        self.clear()

    def clear(self) -> None:
        self._next = self.filled = 0

    def add(self, prediction: Prediction, counts: np.ndarray) -> None:
        # What moves without its own effort is moved from outside, whatever its parameters.
        k, drifts = self._next, prediction.valid & ~counts
        self._Y[k] = prediction.regressor * counts[:, None]
        self._values[:, k] = ((prediction.measured - prediction.tau_known) * counts,
                              (prediction.predicted - prediction.tau_known) * counts,
                              np.where(prediction.valid, prediction.residual, 0.0),
                              prediction.parameter_variance, counts, drifts)
        if prediction.by_velocity is not None:
            self._by_velocity[k] = prediction.by_velocity * counts[:, None]
        if prediction.by_thruster is not None:
            self._by_thruster[k] = prediction.by_thruster * counts[:, None]
        if prediction.R_nb is not None:
            self._R_nb[k] = prediction.R_nb
        self._load[k] = 0.0 if prediction.load is None else prediction.load
        self._pi[k] = prediction.pi
        self._next = (k + 1) % self._length
        self.filled = min(self.filled + 1, self._length)

    def newest(self, rows: int, variance: _Variance, as_then: bool = False) -> RecentRows:
        """The newest `rows`. as_then: predict all of them with the estimate of the first one, which
        has absorbed nothing of a change since."""
        found = self.newest_of_each([rows], variance)[rows]
        if not as_then:
            return found
        predicted = found.Y @ self._pi[(self._next - rows) % self._length]
        return replace(found, predicted=predicted,
                       residual=found.residual + found.predicted - predicted)

    def newest_of_each(self, lengths: Sequence[int],
                       variance: _Variance) -> dict[int, RecentRows]:
        """`newest` for several numbers of rows, ascending, all views of the longest."""
        order = (self._next - lengths[-1] + np.arange(lengths[-1])) % self._length
        Y, by_velocity, R_nb, load, by_thruster = (values[order] for values in (
            self._Y, self._by_velocity, self._R_nb, self._load, self._by_thruster))
        measured, predicted, residual, parameter_variance, counts, drifts = self._values[:, order]
        return {rows: RecentRows(Y[-rows:], predicted[-rows:], residual[-rows:],
                                 self._weight(rows, variance, predicted[-rows:], counts[-rows:],
                                              drifts[-rows:], parameter_variance[-rows:]),
                                 by_velocity[-rows:], R_nb[-rows:], load[-rows:],
                                 by_thruster[-rows:], measured[-rows:])
                for rows in lengths}

    def _weight(self, rows: int, variance: _Variance, predicted: np.ndarray, counts: np.ndarray,
                drifts: np.ndarray, parameter_variance: np.ndarray) -> np.ndarray:
        # The parameters' error is common to all rows of the span, so it does not average out; nor
        # does the error of a row that is not driven.
        span, growth = rows * self.stride, variance.growth(predicted, counts)
        return self.stride * (counts / (growth * variance.independent + span * parameter_variance)
                              + drifts / (span * (growth * variance.row + parameter_variance)))


@dataclass
class _Check:
    """One check of the rows of the last seconds, spread over several ticks."""

    since: dict[int, RecentRows]        # by number of rows
    variance: _Variance
    found: list[tuple[float, int, np.ndarray]]      # (evidence, rows, change) of each hypothesis


class _Suspect(NamedTuple):
    evidence: float
    hypothesis: Hypothesis
    change: np.ndarray


class EvidenceChangeDetector:
    """Checks the last seconds every half second, spreading the hypotheses over its ticks."""

    def __init__(self, table: ParameterTable, free: np.ndarray, period: float, overlap: float,
                 prior_stddev: np.ndarray, rows_known: float, weight_density: float,
                 thrusters: int):
        """free (p,): estimated parameters; period [s]; overlap: neighbouring rows that carry the
        information of one independent row; prior_stddev (p,); rows_known: rows per channel learnt
        from before; weight_density [N/m^3] of water; thrusters: their number."""
        self._hypotheses = hypotheses(table, free, prior_stddev, weight_density, thrusters)
        stride = max(1, round(overlap / 4))
        tick = period * stride
        self._since = sorted({max(1, round(seconds / tick)) for seconds in SINCE})
        self._ring = _Ring(self._since[-1], stride, table.channels, table.size, thrusters)
        # at least three: the first tick begins a check, the last one ends it
        self._check_ticks = max(round(CHANGE_CHECK_PERIOD / period), 3)
        self._at_once = math.ceil(len(self._hypotheses) / (self._check_ticks - 2))
        self._settling = FIRST_CHANGE_CHECK / period
        self._quiet: deque[NoiseRecord] = deque(
            maxlen=1 + round(SINCE[-1] / (self._check_ticks * period)))
        self._known: list[Checkpoint] = []
        self._ticks, self._seen = 0, np.full(table.channels, rows_known)
        self._check: _Check | None = None
        self._suspects: deque[_Suspect] = deque(maxlen=CONFIRMING)
        self.nearest = 0.0
        self._better: list[int] = []        # kept states that predicted better at the last check
        self._free = False                  # likelier without the external force at the last check

    def judge(self, prediction: Prediction, excited: Excited,
              information: InformationState) -> Change | None:
        """See `ChangeDetector`."""
        self._ticks += 1
        self._seen += excited.counts
        if self._ticks % self._ring.stride == 0:
            self._ring.add(prediction, excited.counts)
        check = self._check
        if check is None:
            settled = self._seen.max() > self._settling and self._ring.filled >= self._since[0]
            if settled and self._ticks % self._check_ticks == 0:
                self._check = self._begin(information)
            return None
        if len(check.found) < len(self._hypotheses):
            tried = len(check.found)
            check.found += [self._best_since(one, check)
                           for one in self._hypotheses[tried:tried + self._at_once]]
            return None
        self._check = None
        change = (self._released(check, information) or self._restored(check)
                  or self._accepted(check))
        # Once a change is accepted, the noise learned until now contains its residuals.
        self._quiet.append(information.noise.record() if change is None else change.noise)
        return change

    def remember(self, known: Checkpoint) -> None:
        """See `ChangeDetector`."""
        self._known = [known, *self._known][:KNOWLEDGE_KEPT]

    def withdraw(self, known: Checkpoint) -> None:
        """See `ChangeDetector`."""
        self._known = [one for one in self._known if one is not known]
        self._restart()

    def break_off(self) -> None:
        """See `ChangeDetector`."""
        self._ring.clear()
        self._check = None
        self._suspects.clear()
        self._better, self._free = [], False

    def _begin(self, information: InformationState) -> _Check:
        row = information.noise.long_run ** 2
        variance = _Variance(row, row * information.gradient.rows_per_independent(row),
                             (WINSOR * information.noise.effort) ** 2)
        lengths = [rows for rows in self._since if rows <= self._ring.filled]
        since = self._ring.newest_of_each(lengths, variance)
        return _Check(since, variance, [])

    def _best_since(self, hypothesis: Hypothesis, check: _Check) -> tuple[float, int, np.ndarray]:
        columns = hypothesis.columns(check.since[max(check.since)])
        tried = [(*hypothesis.evidence(rows, columns[-length:]), length)
                 for length, rows in check.since.items()]
        best, change, length = max(tried, key=lambda one: one[0])
        return best, length, change

    def _accepted(self, check: _Check) -> Change | None:
        """The change to accept: its evidence has lasted, and the best hypothesis of the first check
        predicts the rows since."""
        order = sorted(range(len(check.found)), key=lambda k: -check.found[k][0])
        best, length, change = check.found[order[0]]
        suspects = list(self._suspects)
        self._suspects.append(_Suspect(best, self._hypotheses[order[0]], change))
        lasting = min(best, *(suspect.evidence for suspect in suspects)) if suspects else best
        if (len(suspects) < CONFIRMING or lasting < min(self.nearest, CHANGE_EVIDENCE_NATS)
                or self._gain_since(suspects[0], check) < CONFIRMED_NATS):
            return None
        self.nearest = max(self.nearest, lasting)
        if lasting < CHANGE_EVIDENCE_NATS:
            return None
        accepted = self._likely_cause(length, check)
        self._restart()
        return accepted

    def _likely_cause(self, length: int, check: _Check) -> Change:
        """The change that began `length` rows ago, judged with the estimate from before it."""
        then = self._ring.newest(length, check.variance, as_then=True)
        found = [one.evidence(then)[0] for one in self._hypotheses]
        order = sorted(range(len(found)), key=lambda k: -found[k])
        # (>=: beside enormous evidence, that difference is lost in rounding)
        alike = [self._hypotheses[k] for k in order if found[k] >= found[order[0]] - ALIKE_NATS]
        alike = [one for one in alike if not any(one.holds(other) for other in alike)]
        odds = "; ".join(f"{self._hypotheses[k].name} 10^{found[k] / np.log(10):.0f} : 1"
                         for k in order[:3] if found[k] > 0)
        onset = Onset(length * self._ring.stride, self._quiet[0], then, check.variance.independent,
                      odds)
        return min(alike, key=lambda one: one.preference).accepted(onset, alike)

    def _gain_since(self, suspect: _Suspect, check: _Check) -> float:
        new = min(CONFIRMING * self._check_ticks // self._ring.stride, self._ring.filled)
        return suspect.hypothesis.gain(suspect.change, self._ring.newest(new, check.variance))

    def _released(self, check: _Check, information: InformationState) -> Change | None:
        """The end of an external force if the last rows are likelier without it, as in `_restored`.
        """
        odds, length = max((log_likelihood_ratio(rows, without_load(rows)), length)
                           for length, rows in check.since.items())
        before, self._free = self._free, odds > RESTORED_NATS
        if not odds > (RESTORED_NATS if before else CHANGE_EVIDENCE_NATS):
            return None
        noise = self._quiet[0] if self._quiet else information.noise.record()
        self._restart()
        return LoadChange(EXTERNAL_FORCE, length * self._ring.stride, noise, None, np.zeros(3), "")

    def _restored(self, check: _Check) -> Change | None:
        """Restore knowledge from before a change if it predicts better again: overwhelmingly, or
        at two checks in a row. It has nothing to fit, so every row that it explains is evidence."""
        better = {}
        for k, known in enumerate(self._known):
            odds, length = max((self._gain_of(known, rows), length)
                               for length, rows in check.since.items())
            if odds > RESTORED_NATS:
                better[k] = odds, length
        restorable = [k for k, (odds, _) in better.items()
                    if odds > CHANGE_EVIDENCE_NATS or k in self._better]
        self._better = list(better)
        if not restorable:
            return None
        best = max(restorable, key=lambda k: better[k][0])
        known = self._known.pop(best)
        self._restart()
        return Restoration(known.part, better[best][1] * self._ring.stride,
                           known.information.noise, known)

    @staticmethod
    def _gain_of(known: Checkpoint, rows: RecentRows) -> float:
        """ln likelihood ratio of the rows by the kept estimate, against the present one."""
        return log_likelihood_ratio(rows, rows.residual + rows.predicted - rows.Y @ known.pi)

    def _restart(self) -> None:
        """Start over: earlier rows belong to the decision just made."""
        self.break_off()
        self._quiet.clear()


def change_detector(config: Config, robot: RobotModel, free: np.ndarray, directional: bool,
                    overlap: float, prior_stddev: np.ndarray, rows_known: float) -> ChangeDetector:
    """The detector that the settings select. directional: whether old rows can be marginalized."""
    if directional and config.estimation.follow_changes and free.any():
        return EvidenceChangeDetector(
            robot.table, free, config.filter.period, overlap, prior_stddev, rows_known,
            config.robot.water_density * config.robot.gravity, robot.thrusters)
    return NoChangeDetection()
