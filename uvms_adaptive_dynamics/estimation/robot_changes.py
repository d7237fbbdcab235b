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

"""Changes of the robot as the estimator follows them: detected, corrected, undone, and reported.

The detector finds a change; `accepted_change` defines its effect on the estimator's knowledge. This
module keeps what corrects later data (factors on measurements, an external force), and the
checkpoints to return to if a sensor becomes faulty. docs/mathematics.md, "Changes of the robot" and
"External force".
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..model.robot import RawRows, RobotModel
from ..model.sample import Sample
from ..model.scales import Scales
from .accepted_change import (
    Change,
    Checkpoint,
    ContactChange,
    LoadChange,
    OutsideChange,
    PartChange,
    Restoration,
    contact_gone,
    load_gone,
)
from .changes import change_detector
from .checkpoints import Checkpoints
from .contact import Contact
from .external_load import ExternalLoad
from .low_pass import Row
from .payload import PayloadTracker
from .prediction import Prediction
from .provenance import Provenance
from .robot_knowledge import RobotKnowledge
from .row_excitation import Excited


class Revision(NamedTuple):
    """Consequence for the estimate: its values pi (p,); the reason, in a sentence; jumps: whether
    the values were replaced rather than updated; standing: the sentence about the last change not
    withdrawn, or ''; restarted (k,): places of parameters that are estimated from the start;
    restored: what the values had come from at the instant they return to."""

    pi: np.ndarray
    sentence: str
    jumps: bool
    standing: str
    restarted: np.ndarray = np.zeros(0, int)
    restored: Provenance | None = None


class _Accepted(NamedTuple):
    """An accepted change: stamps [s] of its acceptance and of its onset; the sentence about the
    change that stands since then, '' after a restoration, None if it leaves the values."""

    at: float
    since: float
    standing: str | None


class RobotChanges:
    """Updates the estimator's knowledge when the robot changes.

    scales: factors on measurements, set by accepted changes; load: the external force; detector:
    finds the changes. Call `restart` before anything else."""

    scales: Scales

    def __init__(self, config: Config, robot: RobotModel, knowledge: RobotKnowledge,
                 payload: PayloadTracker, overlap: float, elapsed: Callable[[float], float]):
        """knowledge, payload: the estimator's own; overlap: number of neighbouring rows that carry
        the information of an independent row; elapsed(t) [s]: time from the first sample to stamp
        t."""
        self._config, self._robot, self._knowledge = config, robot, knowledge
        self._information, self._payload = knowledge.information, payload
        self._overlap, self._elapsed = overlap, elapsed
        self._watches = True

    def restart(self, scales: Scales, rows_known: float) -> None:
        """Begin again with factors on measurements; rows_known: rows per channel learnt before."""
        self.scales = scales
        self._accepted: list[_Accepted] = []
        self._payload.end()
        self.load, self.contact = ExternalLoad(self._config.filter.period), Contact()
        self._checkpoints = Checkpoints()
        self._returned_to: tuple[float, Checkpoint] | None = None
        self.renew_detector(rows_known)

    def renew_detector(self, rows_known: float = 0.0) -> None:
        """Start a new detector for the parameters that are free now."""
        information = self._information
        self.detector = change_detector(self._config, self._robot, self._knowledge.free,
                                        information.follows_changes and self._watches,
                                        self._overlap, information.prior.stddev, rows_known)

    def watch(self, watches: bool) -> None:
        """Look for changes from now on, with an empty detector, or do not."""
        if watches != self._watches:
            self._watches = watches
            self.renew_detector()

    def change_settings(self, config: Config) -> None:
        """Adopt other settings; switching the detector on or off renews it."""
        before, self._config = self._config.estimation, config
        if config.estimation.follow_changes != before.follow_changes:
            self.renew_detector()

    @property
    def changed_since(self) -> float:
        """Stamp [s] of the first change or external force, inf without any."""
        return min((one.since for one in self._accepted), default=math.inf)

    @property
    def _standing(self) -> str:
        """The sentence about the last change that was not withdrawn, or ''."""
        return next((one.standing for one in reversed(self._accepted)
                     if one.standing is not None), "")

    def shift_times(self, passed: float) -> None:
        """The clock has been set by so much [s]."""
        self._accepted = [one._replace(at=one.at + passed, since=one.since + passed)
                          for one in self._accepted]
        self._payload.shift_times(passed)

    def break_off(self) -> None:
        """Discard the residuals so far as evidence of a change."""
        self.detector.break_off()

    def corrected(self, sample: Sample) -> Sample:
        """The sample with its linear velocity and wrench corrected by the factors."""
        return self.scales.corrected(sample, self._robot.allocation)

    def with_columns(self, raw: RawRows, sample: Sample, pi: np.ndarray) -> RawRows:
        """The raw rows of a corrected sample with the columns of two kinds of change, a scale of
        the velocity and of a thruster; pi (p,): the estimate."""
        return raw._replace(by_velocity=self._robot.by_velocity(sample, pi),
                            by_thruster=self._robot.by_thruster(sample, self.scales.effort))

    def with_load(self, row: Row) -> Row:
        """The row with the external force in its known load, without a vehicle that is held."""
        return self.contact.without_held(self.load.counted_as_known(row))

    def check_sensors(self, sample: Sample, pi: np.ndarray) -> Revision | None:
        """Keep a checkpoint with the estimate pi (p,) when the sensors are found right; return to
        it when one that was right becomes faulty, since its wrong readings may have been learnt."""
        if self._checkpoints.first is None:
            self._checkpoints.first = sample.t, self._checkpoint(pi)
        found = self._checkpoints.before_fault(sample)
        if found is not None:
            self._returned_to = found
            return self._undo(*found, sample.t)
        if self._checkpoints.is_due(sample):
            self._returned_to = None
            self._checkpoints.keep(sample, self._checkpoint(pi))
        return None

    def _checkpoint(self, pi: np.ndarray) -> Checkpoint:
        """What is known now, with the estimate pi (p,)."""
        return Checkpoint("sensors", pi, self.scales, self._information.record(),
                          self._knowledge.provenance)

    def add_row(self, prediction: Prediction, excited: Excited, pi: np.ndarray) -> list[Revision]:
        """Judge a row that is learnt; returns the revisions that follow, in order."""
        found = []
        if self.contact.lasts and self.contact.add_row(prediction):
            self.detector.break_off()
            found.append(Revision(pi, contact_gone(self._elapsed(prediction.t)), False,
                                  self._standing))
        if self.load.lasts:
            self.load.add_row(prediction)
            if self.load.evidence < 0:
                self.load.end()
                found.append(Revision(pi, load_gone(self._elapsed(prediction.t)), False,
                                      self._standing))
        change = self.detector.judge(prediction, excited, self._information, self.scales,
                                     self._knowledge.recent)
        revision = None if change is None else self.follow(change, prediction.t, pi)
        return found if revision is None else [*found, revision]

    def follow(self, change: Change, t: float, pi: np.ndarray) -> Revision | None:
        """Update the knowledge for a change accepted at stamp t [s], from the estimate pi (p,);
        None if that is impossible."""
        covariance = self._knowledge.covariance
        followed = change.follow(self._information, pi, self.scales)
        if followed is None:
            return None
        if followed.before is not None:
            followed = followed._replace(
                before=followed.before._replace(provenance=self._knowledge.provenance))
        if isinstance(change, PartChange):
            concerned = np.isin(self._payload.places, change.places).any()
            self._payload.note_change(t, pi, covariance, followed.before, bool(concerned))
        elif isinstance(change, Restoration):
            self.detector.note_restored(change.known)
            if change.known is self._payload.known:
                self._payload.end()
        elif isinstance(change, LoadChange):
            self.load.begin(change.sums)
        elif isinstance(change, ContactChange):
            self.load.end()
            self.contact.begin(change.sums)
        self.scales = followed.scales
        if followed.before is not None:
            self.detector.remember(followed.before)
        since = t - change.ticks * self._config.filter.period
        sentence = change.sentence(self._elapsed(since))
        # what acts from outside leaves the values
        jumps = not isinstance(change, OutsideChange)
        standing = None if not jumps else "" if isinstance(change, Restoration) else sentence
        self._accepted.append(_Accepted(t, since, standing))
        restarted = change.places if isinstance(change, PartChange) else np.zeros(0, int)
        restored = change.provenance if isinstance(change, Restoration) else None
        return Revision(followed.pi, sentence, jumps, self._standing, restarted, restored)

    def begin_again(self, since: float, now: float,
                    always_wrong: bool) -> tuple[float, Revision] | None:
        """Return once more to the checkpoint of the fault that lasts, since all samples from stamp
        `since` [s] on can be learnt again; its stamp [s] and the consequence, None if it is older
        or of another clock. now [s]: stamp of the sample; always_wrong: it has lasted from the
        first sample on."""
        kept = self._checkpoints.first if always_wrong else self._returned_to
        if kept is None or not since <= kept[0] <= now:
            return None
        until, known = kept
        return until, self._undo(until, known, until)

    def _undo(self, until: float, known: Checkpoint, rows_from: float) -> Revision:
        """Return to the checkpoint `known` of stamp `until` [s]; rows_from [s]: stamp from which
        rows are learnt now."""
        self._information.put_back(known.information)
        self.scales = known.scales
        self._accepted = [one for one in self._accepted if one.at <= until]
        if self._payload.since > until:
            self._payload.end()
        else:
            self._payload.restart_rows(rows_from)
        self.renew_detector()
        self.load.end()
        self.contact.end()
        return Revision(known.pi, (
            f"what was learnt since {self._elapsed(until):.0f} s is undone: a sensor that was "
            "right until then is faulty"), True, self._standing, restored=known.provenance)
