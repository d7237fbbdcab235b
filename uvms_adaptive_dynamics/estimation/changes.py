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

"""Detection of changes of the robot (a payload, a float, a joint full of sand, a weak battery):
hypotheses that are judged by their evidence, confirmed by what comes next, and withdrawn.

After a change the old data, of minutes, outvote the new ones, of seconds, and the robust cost takes
these for outliers: the estimate would not follow for minutes. So every half second the residuals of
the last seconds are explained by each hypothesis in turn (`hypotheses`). One is believed where
its evidence is overwhelming and what it says predicts the next rows. What was known before is kept:
where it predicts better again, because a payload was put down or the change never was, it is
restored. docs/mathematics.md and docs/uncertainty.md, "Changes of the robot".
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
from .believed_change import Change, Checkpoint, Restoration
from .change_evidence import RecentRows, log_likelihood_ratio
from .hypotheses import Hypothesis, Onset, hypotheses
from .information import InformationState
from .prediction import Prediction
from .row_excitation import Excited

LOOK_PERIOD = 0.5                   # [s] between two looks
SINCE = (1.0, 2.0, 3.5, 6.0)        # [s] for which a change may have lasted
FIRST_LOOK = 20.0                     # [s] of rows that count, before which nothing is judged
# ln of the odds. 20 would do if residuals were noise: a hundred hypotheses and onsets are tried at
# each of a hundred thousand looks a day, and a false change a month is too many. What the model of
# a rough robot lacks reached 13 within a minute; a change worth following has 40 and more.
CHANGE_EVIDENCE_NATS = 30.0
CONFIRMED_NATS = 3.0                # ln likelihood ratio of the next rows alone,
CONFIRMING = 2                      # of so many looks: garbage of a second is over by then
RESTORED_NATS = 7.0                 # the same for what was known before, over the last seconds
ALIKE_NATS = 4.6                    # ln 100: hypotheses so close explain the data alike
KNOWLEDGE_KEPT = 3                  # earlier states of knowledge that are kept


class ChangeDetector(Protocol):
    """What the estimator asks after each row.

    nearest: ln Bayes factor up to which a change was found at as many looks as one is believed
    after, and predicted what came: a threshold below it would have had a change more."""

    nearest: float

    def judge(self, prediction: Prediction, excited: Excited,
              information: InformationState) -> Change | None:
        """The change that is believed from now on, if any."""

    def remember(self, known: Checkpoint) -> None:
        """Keep what was known before a change."""

    def withdraw(self, known: Checkpoint) -> None:
        """Keep it no more: it has been restored."""

    def break_off(self) -> None:
        """A gap in time."""


class NoChangeDetection:
    """The detector of an estimate that follows no changes."""

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


class _Ring:
    """The rows of the last seconds, of every `stride`-th tick."""

    def __init__(self, length: int, stride: int, channels: int, size: int, thrusters: int):
        self.stride, self._length = stride, length
        self._Y = np.zeros((length, channels, size))
        # measured, predicted, doubt (variance), counts
        self._values = np.zeros((4, length, channels))
        self._by_velocity = np.zeros((length, channels, 2))
        self._R_nb, self._load = np.zeros((length, 3, 3)), np.zeros((length, 12))
        self._by_thruster = np.zeros((length, channels, thrusters))
        self._pi = np.zeros((length, size))
        self.clear()

    def clear(self) -> None:
        self._next = self.filled = 0

    def add(self, prediction: Prediction, counts: np.ndarray) -> None:
        k = self._next
        self._Y[k] = prediction.regressor * counts[:, None]
        self._values[:, k] = ((prediction.measured - prediction.tau_known) * counts,
                              (prediction.predicted - prediction.tau_known) * counts,
                              prediction.parameter_variance, counts)
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

    def newest(self, rows: int, variance: np.ndarray, as_then: bool = False) -> RecentRows:
        """The newest `rows`; variance (C,) of an independent residual times the rows that carry its
        information. as_then: all predicted with the estimate of before the first of them, which has
        absorbed nothing of what came."""
        found = self.newest_of_each([rows], variance)[rows]
        if not as_then:
            return found
        predicted = found.Y @ self._pi[(self._next - rows) % self._length]
        return replace(found, predicted=predicted,
                       residual=found.residual + found.predicted - predicted)

    def newest_of_each(self, lengths: Sequence[int],
                       variance: np.ndarray) -> dict[int, RecentRows]:
        """`newest` of several numbers of rows, ascending: all views of the longest."""
        order = (self._next - lengths[-1] + np.arange(lengths[-1])) % self._length
        Y, by_velocity, R_nb, load, by_thruster = (values[order] for values in (
            self._Y, self._by_velocity, self._R_nb, self._load, self._by_thruster))
        measured, predicted, doubt, counts = self._values[:, order]
        residual = measured - predicted
        return {rows: RecentRows(Y[-rows:], predicted[-rows:], residual[-rows:],
                                 self._weight(rows, variance, counts[-rows:], doubt[-rows:]),
                                 by_velocity[-rows:], R_nb[-rows:], load[-rows:],
                                 by_thruster[-rows:])
                for rows in lengths}

    def _weight(self, rows: int, variance: np.ndarray, counts: np.ndarray,
                doubt: np.ndarray) -> np.ndarray:
        # What the parameters' own error does to the rows it does to all of them alike.
        return self.stride * counts / (variance + rows * self.stride * doubt)


@dataclass
class _Look:
    """One look at the rows of the last seconds, a hypothesis at a tick."""

    since: dict[int, RecentRows]        # by number of rows
    variance: np.ndarray
    found: list[tuple[float, int, np.ndarray]]      # (evidence, rows, change) of each hypothesis


class _Suspect(NamedTuple):
    evidence: float
    hypothesis: Hypothesis
    change: np.ndarray


class EvidenceChangeDetector:
    """Looks at the last seconds every half second, as few hypotheses at a tick as that takes."""

    def __init__(self, table: ParameterTable, free: np.ndarray, period: float, overlap: float,
                 prior_stddev: np.ndarray, rows_known: float, weight_density: float,
                 thrusters: int):
        """free (p,): estimated parameters; period [s]; overlap: neighbouring rows that carry the
        information of an independent one; prior_stddev (p,); rows_known: of a channel, learnt from
        before; weight_density [N/m^3] of water; thrusters: how many."""
        self._hypotheses = hypotheses(table, free, prior_stddev, weight_density, thrusters)
        stride = max(1, round(overlap / 4))
        tick = period * stride
        self._since = sorted({max(1, round(seconds / tick)) for seconds in SINCE})
        self._ring = _Ring(self._since[-1], stride, table.channels, table.size, thrusters)
        # a tick to begin a look and one to end it
        self._look_ticks = max(round(LOOK_PERIOD / period), 3)
        self._at_once = math.ceil(len(self._hypotheses) / (self._look_ticks - 2))
        self._settling = FIRST_LOOK / period
        self._quiet: deque[NoiseRecord] = deque(
            maxlen=1 + round(SINCE[-1] / (self._look_ticks * period)))
        self._known: list[Checkpoint] = []
        self._ticks, self._seen = 0, np.full(table.channels, rows_known)
        self._look: _Look | None = None
        self._suspects: deque[_Suspect] = deque(maxlen=CONFIRMING)
        self.nearest = 0.0
        self._better: list[int] = []        # known states that predicted better at the last look

    def judge(self, prediction: Prediction, excited: Excited,
              information: InformationState) -> Change | None:
        """See `ChangeDetector`."""
        self._ticks += 1
        self._seen += excited.counts
        if self._ticks % self._ring.stride == 0:
            self._ring.add(prediction, excited.counts)
        look = self._look
        if look is None:
            settled = self._seen.max() > self._settling and self._ring.filled >= self._since[0]
            if settled and self._ticks % self._look_ticks == 0:
                self._look = self._begin(information)
            return None
        if len(look.found) < len(self._hypotheses):
            tried = len(look.found)
            look.found += [self._best_since(one, look)
                           for one in self._hypotheses[tried:tried + self._at_once]]
            return None
        self._look = None
        change = self._restored(look) or self._believed(look)
        # The noise learned until now holds the change's residuals.
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
        self._look = None
        self._suspects.clear()
        self._better = []

    def _begin(self, information: InformationState) -> _Look:
        variance = information.noise.long_run ** 2
        variance *= information.gradient.rows_per_independent(variance)
        lengths = [rows for rows in self._since if rows <= self._ring.filled]
        since = self._ring.newest_of_each(lengths, variance)
        return _Look(since, variance, [])

    def _best_since(self, hypothesis: Hypothesis, look: _Look) -> tuple[float, int, np.ndarray]:
        columns = hypothesis.columns(look.since[max(look.since)])
        tried = [(*hypothesis.evidence(rows, columns[-length:]), length)
                 for length, rows in look.since.items()]
        best, change, length = max(tried, key=lambda one: one[0])
        return best, length, change

    def _believed(self, look: _Look) -> Change | None:
        """The hypotheses that explain the residuals, if the best one of earlier looks also predicts
        those that came since."""
        order = sorted(range(len(look.found)), key=lambda k: -look.found[k][0])
        best, length, change = look.found[order[0]]
        suspects = list(self._suspects)
        self._suspects.append(_Suspect(best, self._hypotheses[order[0]], change))
        lasting = min(best, *(suspect.evidence for suspect in suspects)) if suspects else best
        if (len(suspects) < CONFIRMING or lasting < min(self.nearest, CHANGE_EVIDENCE_NATS)
                or self._gain_since(suspects[0], look) < CONFIRMED_NATS):
            return None
        self.nearest = max(self.nearest, lasting)
        if lasting < CHANGE_EVIDENCE_NATS:
            return None
        believed = self._likely_cause(length, look)
        self._restart()
        return believed

    def _likely_cause(self, length: int, look: _Look) -> Change:
        """The change that began `length` rows ago, asked of an estimate that has not yet given way
        to it."""
        then = self._ring.newest(length, look.variance, as_then=True)
        found = [one.evidence(then)[0] for one in self._hypotheses]
        order = sorted(range(len(found)), key=lambda k: -found[k])
        alike = [self._hypotheses[k] for k in order if found[k] > found[order[0]] - ALIKE_NATS]
        alike = [one for one in alike if not any(one.holds(other) for other in alike)]
        odds = "; ".join(f"{self._hypotheses[k].name} 10^{found[k] / np.log(10):.0f} : 1"
                         for k in order[:3] if found[k] > 0)
        onset = Onset(length * self._ring.stride, self._quiet[0], then, look.variance, odds)
        return min(alike, key=lambda one: one.preference).believed(onset, alike)

    def _gain_since(self, suspect: _Suspect, look: _Look) -> float:
        new = min(CONFIRMING * self._look_ticks // self._ring.stride, self._ring.filled)
        return suspect.hypothesis.gain(suspect.change, self._ring.newest(new, look.variance))

    def _restored(self, look: _Look) -> Change | None:
        """What was known before a change, where it predicts better again: overwhelmingly, or at two
        looks. It has nothing to fit, so that all rows that it explains are evidence."""
        better = {}
        for k, known in enumerate(self._known):
            odds, length = max((self._gain_of(known, rows), length)
                               for length, rows in look.since.items())
            if odds > RESTORED_NATS:
                better[k] = odds, length
        believed = [k for k, (odds, _) in better.items()
                    if odds > CHANGE_EVIDENCE_NATS or k in self._better]
        self._better = list(better)
        if not believed:
            return None
        best = max(believed, key=lambda k: better[k][0])
        known = self._known.pop(best)
        self._restart()
        return Restoration(known.part, better[best][1] * self._ring.stride,
                           known.information.noise, known)

    @staticmethod
    def _gain_of(known: Checkpoint, rows: RecentRows) -> float:
        """ln likelihood ratio of the rows with what was known against the present estimate."""
        return log_likelihood_ratio(rows, rows.residual + rows.predicted - rows.Y @ known.pi)

    def _restart(self) -> None:
        """What was seen until now belongs to what has just been decided."""
        self.break_off()
        self._quiet.clear()


def change_detector(config: Config, robot: RobotModel, free: np.ndarray, directional: bool,
                    overlap: float, prior_stddev: np.ndarray, rows_known: float) -> ChangeDetector:
    """The detector that the settings ask for. directional: whether old rows can be marginalized.
    """
    if directional and config.estimation.follow_changes and free.any():
        return EvidenceChangeDetector(
            robot.table, free, config.filter.period, overlap, prior_stddev, rows_known,
            config.robot.water_density * config.robot.gravity, robot.thrusters)
    return NoChangeDetection()
