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

"""Runs the stages of a schedule: frees and freezes parameters, watches what is learned, and decides
when a stage is done (docs/identification.md, "When a stage is done").

The node and `evaluate` call the same class between a tick's `add` and its `solve`."""
from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..model.normal import Z95
from ..model.sample import channel_names
from .stage_advice import advice
from .stage_knowledge import (
    KNOWLEDGE_PERIOD,
    LEAST_VARIANCE,
    Learner,
    StageDirections,
    StageKnowledge,
)
from .stages import Schedule, Stage, load_schedule

log = logging.getLogger(__name__)

# states of a run, as on ~/stage; NO_SCHEDULE if there is none
STAGE_RUNNING, STAGE_WAITING, STAGE_COMPLETE, NO_SCHEDULE = "running", "waiting", "complete", "none"
# why a stage ended
DONE, AT_MOST, BY_HAND, NOT_ENDED = "done", "at_most", "by hand", "the data ended"


class StageEnd(NamedTuple):
    """A finished stage: its name, data times of begin and end [s], why it ended ('done', 'at_most',
    'by hand', 'the data ended'), what was missing, and standard deviations (before, after) by
    parameter of the stage."""

    stage: str
    begin: float | None
    end: float | None
    why: str
    missing: tuple[str, ...]
    deviations: dict[str, tuple[float, float]]

    def sentence(self) -> str:
        """The outcome in words, for the statement."""
        how = "ended at its limit before it was done" if self.why == AT_MOST else self.why
        if self.begin is not None and self.end is not None:
            how += f" after {self.end - self.begin:.0f} s"
        return how + (f"; missing: {'; '.join(self.missing)}" if self.missing else "")


@dataclass(frozen=True)
class StageProgress:
    """Progress of a run. stage, index (from 0) of count; state: 'running', 'waiting' (until the
    robot may move) or 'complete' (after the last stage, whose parameters stay free); done: share
    from 0 to 1; elapsed [s] of rows in the stage, waiting excluded; moved: [s] in motion by channel
    (kind 'tilt': of rows that count); missing: one sentence per channel or interval; out_of_reach:
    parameters that this motion does not excite."""

    stage: Stage
    index: int
    count: int
    state: str
    done: float
    elapsed: float
    moved: dict[str, float]
    missing: tuple[str, ...]
    out_of_reach: tuple[str, ...]


class StageRunner:
    """Runs a schedule on an estimator.

    ended: the finished stages, in order. Tell it with `wait` and `note_flown` what the robot does.
    """

    ended: list[StageEnd]
    _complete: bool
    _t: float | None            # of the newest row
    _begun: float | None        # of the stage's first row
    _moved: np.ndarray
    _flown_ticks: int           # ticks with the stage's own motion; _before: at the last update
    _flown_before: int
    _knowledge: StageKnowledge

    def __init__(self, schedule: Schedule, estimator: Learner,
                 say: Callable[[str], None] = log.info):
        """say: called with each sentence for the operator."""
        self.schedule, self._estimator, self._say = schedule, estimator, say
        self._waits = False
        self._flown: str | None = None
        self._period = estimator.config.filter.period
        self._update_ticks = max(1, round(KNOWLEDGE_PERIOD / self._period))
        table = estimator.table
        self._channels = channel_names(table.vehicle, table.joints)
        for note in schedule.notes:
            say(f"schedule '{schedule.name}': {note}")
        self.restart()

    def restart(self) -> None:
        """Start over at the first stage, also after a restart of the estimator; `wait` stays in
        force."""
        self.ended = []
        self._complete = False
        self._t = None
        self._begin(0)

    def wait(self, waits: bool = True) -> None:
        """Let the current stage wait, or run again. While it waits, neither time nor motion counts;
        the estimator keeps learning."""
        self._waits = waits

    @property
    def waits(self) -> bool:
        """Whether the stages wait."""
        return self._waits

    def note_flown(self, stage: str | None) -> None:
        """Note the stage whose motion a self-moving robot flies now, '' for none; None if a person
        moves the robot.

        With a name, time and pace count for that stage alone: holding still beside a moving arm, or
        the previous stage's motion, is not the motion that a stage asks for."""
        self._flown = stage

    def follow(self) -> StageProgress | None:
        """Call after each `add` of the estimator that gave a prediction. May free and freeze
        parameters. Returns the progress once a second, else None."""
        estimator = self._estimator
        if self._waits or not estimator.learn or estimator.prediction is None:
            return None
        self._t = float(estimator.prediction.t)
        if self._begun is None:
            self._begun = self._t
        self._ticks += 1
        if self._is_flown:
            excited = estimator.excited
            seen = excited.learnt if self._stage.kind == "tilt" else excited.in_motion
            self._moved += self._period * seen
            self._flown_ticks += 1
        if self._ticks % self._update_ticks:
            return None
        self._knowledge.update(self._moved_of_stage(), self._elapsed,
                             self._flown_ticks > self._flown_before)
        self._flown_before = self._flown_ticks
        progress = self.progress()
        if not self._complete:
            if self._is_done(progress):
                self._advance(DONE)
            elif self._elapsed >= self._stage.at_most:
                self._advance(AT_MOST)
            return self.progress()
        return progress

    def next(self) -> str:
        """Go to the next stage by hand; returns a sentence for the operator."""
        if self._complete:
            return f"schedule '{self.schedule.name}' is complete; there is no further stage."
        return self._advance(BY_HAND)

    def finish(self) -> list[StageEnd]:
        """All stages so far, including one cut off by the end of the data."""
        if self._complete:
            return list(self.ended)
        return [*self.ended, self._end_of(NOT_ENDED)]

    def progress(self) -> StageProgress:
        """Progress of the run, as of the last update."""
        stage, found = self._stage, self._knowledge.directions
        reached = found.out_of_reach | (found.left <= stage.left)
        gone = np.log(np.maximum(found.left, LEAST_VARIANCE)) / np.log(stage.left)
        shares = np.where(reached, 1.0, np.clip(gone, 0.0, 1.0))
        moved = self._moved_of_stage()
        in_motion = [min(1.0, seconds / stage.at_least) if stage.at_least else 1.0
                     for seconds in moved.values()]
        done = min([float(np.mean(shares)) if shares.size else 1.0, *in_motion])
        out_of_reach = tuple(dict.fromkeys(
            name for name, out in zip(found.names, found.out_of_reach) if out))
        return StageProgress(
            stage, self._index, len(self.schedule.stages),
            self._state, 1.0 if self._complete else done,
            self._elapsed, moved, self._missing(found, moved), out_of_reach)

    def summary(self) -> dict[str, str]:
        """Outcome of each stage so far in words, by name; the current one with its share done."""
        found = {end.stage: end.sentence() for end in self.ended}
        if not self._complete:
            progress = self.progress()
            missing = f"; missing: {'; '.join(progress.missing)}" if progress.missing else ""
            found[progress.stage.name] = f"running, {progress.done:.0%}{missing}"
        return found

    # --- internals --------------------------------------------------------------------------------

    @property
    def _stage(self) -> Stage:
        return self.schedule.stages[self._index]

    @property
    def _state(self) -> str:
        if self._complete:
            return STAGE_COMPLETE
        return STAGE_WAITING if self._waits else STAGE_RUNNING

    @property
    def _is_flown(self) -> bool:
        """True if the robot now does what the stage asks for; always, if it asks for no motion."""
        return self._flown in (None, self._stage.name) or not self._stage.move

    @property
    def _elapsed(self) -> float:
        return self._ticks * self._period

    def _begin(self, index: int) -> None:
        self._index, self._ticks = index, 0
        self._flown_ticks = self._flown_before = 0
        self._begun = self._t
        table, stage = self._estimator.table, self._stage
        free = np.zeros(table.size, bool)
        free[table.places((*stage.free, *stage.kept))] = True
        # Each stage is a new kind of motion. What the model lacks in it, judged by the noise of the
        # stages before, looks like a change of the robot.
        self._estimator.watch_changes(False)
        self._estimator.set_free(free)
        self._moved = np.zeros(len(self._channels))
        self._knowledge = StageKnowledge(stage, self._estimator, self._moved_of_stage())
        self._before = self._knowledge.deviations()
        moving = f"; move {', '.join(stage.move)}" if stage.move else ""
        self._say(f"stage {index + 1} of {len(self.schedule.stages)}, {stage.title}: "
                  f"{_counted(len(stage.free))} estimated"
                  + (f", plus {len(stage.kept)} from earlier stages" if stage.kept else "")
                  + moving)

    def _is_done(self, progress: StageProgress) -> bool:
        """True if the requested motion took place and no direction within reach is still open."""
        return self._knowledge.pace_is_known and not progress.missing

    def _missing(self, found: StageDirections, moved: dict[str, float]) -> tuple[str, ...]:
        stage = self._stage
        open_names = [name for name, left, out in zip(found.names, found.left, found.out_of_reach)
                      if left > stage.left and not out]
        open_names = list(dict.fromkeys(open_names))
        said, still = [], {channel for channel, seconds in moved.items()
                           if seconds < stage.at_least}
        for channel in moved:
            more = advice(channel, open_names, tuple(moved))
            if channel in still:
                word = "has moved too little" if stage.kind == "motion" else "was hardly tilted"
                if self._flown is not None and not self._flown_ticks:
                    word = "the stage's own motion has not begun"
                elif not moved[channel]:
                    word += ", or its rows are masked"
                # rounded down: 7.9 of 8 s are not 8
                more = (f"{channel}: {word} ({int(moved[channel])} of {stage.at_least:g} s)"
                        + more.removeprefix(channel).replace(": ", "; ", 1))
            if more:
                said.append(more)
        if not moved and open_names:
            said.append(f"not known yet: {', '.join(open_names)}")
        return (*said, *self._wide())

    def _wide(self) -> list[str]:
        """Intervals that are still wider than the stage wants, in words."""
        stage, table = self._stage, self._estimator.table
        said = []
        for name, width in stage.intervals.items():
            place = table.index[name]
            half = Z95 * float(np.sqrt(max(self._estimator.covariance[place, place], 0.0)))
            if half > width:
                said.append(f"{name}: +- {half:.3g} {table.units[place]}, wanted +- {width:.3g}")
        return said

    def _advance(self, why: str) -> str:
        end = self._end_of(why)
        self.ended.append(end)
        stage, number = self._stage, f"stage {self._index + 1} of {len(self.schedule.stages)}"
        ending = {DONE: f"done after {self._elapsed:.0f} s",
                  AT_MOST: f"ended at its limit of {stage.at_most:g} s before it was done",
                  BY_HAND: f"ended by hand after {self._elapsed:.0f} s"}[why]
        lacking = f"; missing: {'; '.join(end.missing)}" if end.missing else ""
        sentence = f"{number}, {stage.title}: {ending}{lacking}"
        self._say(sentence)
        if self._index + 1 < len(self.schedule.stages):
            self._begin(self._index + 1)
            return f"{sentence}. Now: {self._stage.title}."
        self._complete = True
        self._estimator.watch_changes(True)
        self._say(f"schedule '{self.schedule.name}' is complete; its free parameters stay free")
        return f"{sentence}. The schedule is complete."

    def _end_of(self, why: str) -> StageEnd:
        after = self._knowledge.deviations()
        return StageEnd(self._stage.name, self._begun, self._t, why, self.progress().missing,
                        {name: (before, now) for name, before, now in zip(
                            self._stage.free, self._before, after)})

    def _moved_of_stage(self) -> dict[str, float]:
        """[s] in motion of each channel that is to move, without those that are left out, since
        these never give a row in motion."""
        places = {channel: self._channels.index(channel) for channel in self._stage.move}
        left_out = self._estimator.left_out
        return {channel: float(self._moved[place]) for channel, place in places.items()
                if not left_out[place]}


def _counted(parameters: int) -> str:
    return "1 parameter is" if parameters == 1 else f"{parameters} parameters are"


def runner_of_settings(estimator: Learner,
                       say: Callable[[str], None] = log.info) -> StageRunner | None:
    """The runner for the schedule in the estimator's settings; None if they name none. Raises
    ConfigError for an unusable schedule."""
    settings = estimator.config.estimation
    if not settings.schedule:
        return None
    return StageRunner(load_schedule(settings.schedule, estimator.table, settings.frozen),
                       estimator, say)
