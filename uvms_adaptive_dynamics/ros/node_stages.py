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

"""Stages of a schedule in the node: run on the worker's thread, reported on ~/stage and in the log
(docs/identification.md)."""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ..control.stage_runner import (
    AT_MOST,
    NO_SCHEDULE,
    STAGE_COMPLETE,
    STAGE_WAITING,
    StageProgress,
    runner_of_settings,
)
from ..errors import UvmsError
from ..estimation.estimator import Estimator
from . import messages
from .status import OK, WARN

# [s] without a message of the node that moves the robot, after which the stages wait
FLOWN_TIMEOUT = 1.0
SAY_EVERY = 10.0        # [s] of rows between log lines on progress
UNTIL = ("until the node that moves the robot is armed (its ~/arm), or ~/run_stages is called "
         "with true")
WITHOUT = ("no schedule is configured; all parameters that are not frozen are estimated "
               "together")


class NodeStages:
    """Runs the schedule of the settings, if any, and publishes its progress.

    Use it on the worker's thread once that runs, except for `ended` (the number of ended stages)
    and `note_flown`.
    """

    def __init__(self, estimator: Estimator, publish: Callable[[str, Any], None],
                 say: Callable[[str], None], node_name: str):
        """publish(topic name, message); say(line): writes to the log.

        If a node may move the robot (identification.move), stages wait until it is armed. Raises
        ConfigError for an unusable schedule.
        """
        self._publish, self._say, self._node_name = publish, say, node_name
        self._t, self._said_at, self.ended = 0.0, 0.0, 0
        # name of the stage whose motion is flown, and time of the message; None: no message
        self._flown: tuple[str, float] | None = None
        self._runner = runner_of_settings(estimator, say)
        if self._runner is not None and estimator.config.identification.move:
            self._runner.wait()
            say(f"the stages are waiting {UNTIL}")

    def note_flown(self, stage: str) -> None:
        """Note the stage whose motion the robot is flying, '' for none; called on the executor."""
        self._flown = stage, time.monotonic()

    def follow(self, t: float) -> None:
        """Update at time t [s]; call after each `add` of the estimator that gave a prediction."""
        if self._runner is None:
            return
        if (flown := self._flown) is not None and (
                silent := time.monotonic() - flown[1]) > FLOWN_TIMEOUT:
            self._flown = flown = None
            if not self._runner.waits:
                self._runner.wait()
                self._say(f"no message of the node that moves the robot for {silent:.1f} s: the "
                          f"stages are waiting {UNTIL}")
                self.announce()
        self._runner.note_flown(None if flown is None else flown[0])
        if (progress := self._runner.follow()) is None:
            return
        self._t = t
        if progress.elapsed < self._said_at:        # another stage
            self._said_at = 0.0
        if progress.state != STAGE_COMPLETE and progress.elapsed >= self._said_at + SAY_EVERY:
            self._said_at = progress.elapsed
            self._say(sentence(progress))
        self.announce()

    def next(self) -> str:
        """End the stage by hand; returns the answer for the operator.

        Raises UvmsError without a schedule.
        """
        if self._runner is None:
            raise UvmsError(f"{WITHOUT}.")
        answer = self._runner.next()
        self.announce()
        return answer

    def run(self, go: bool) -> str:
        """Let the current stage run or wait; returns the answer.

        The caller moves the robot: all motion counts until a node reports what it flies. Raises
        UvmsError without a schedule.
        """
        if self._runner is None:
            raise UvmsError(f"{WITHOUT}.")
        self._flown = None
        self._runner.wait(not go)
        self.announce()
        return f"{sentence(self._runner.progress())}."

    def restart(self) -> None:
        """Start again from the first stage, after a restart of the estimator."""
        if self._runner is not None:
            self._runner.restart()
        self.announce()

    def summary(self) -> dict[str, str] | None:
        """Result of each stage, in words; None without a schedule."""
        return None if self._runner is None else self._runner.summary()

    def announce(self) -> None:
        """Publish the progress."""
        runner = self._runner
        if runner is None:
            self._publish_status(OK, WITHOUT, {"schedule": "", "state": NO_SCHEDULE})
            return
        progress, self.ended = runner.progress(), len(runner.ended)
        last = runner.ended[-1] if runner.ended else None
        level = WARN if last is not None and last.why == AT_MOST else OK
        values = {"schedule": runner.schedule.name, **figures(progress),
                  "stages ended at their limit": sum(end.why == AT_MOST for end in runner.ended)}
        if last is not None:
            values |= {"last stage": last.stage, "last stage ended": last.why,
                       "last stage missing": "; ".join(last.missing)}
        self._publish_status(level, sentence(progress), values)

    def _publish_status(self, level: int, message: str, values: Mapping[str, object]) -> None:
        self._publish("stage", messages.status_array(self._t, self._node_name, "stage", level,
                                                     message, values))


def sentence(progress: StageProgress) -> str:
    """Progress of a run, for the operator."""
    where = f"stage {progress.index + 1} of {progress.count}, {progress.stage.title}"
    if progress.state == STAGE_COMPLETE:
        return f"the schedule is complete; what {progress.stage.title} freed stays free"
    if progress.state == STAGE_WAITING:
        return f"{where}: waiting at {progress.elapsed:.0f} s, {UNTIL}"
    lacking = "; ".join(progress.missing) or "nothing"
    return (f"{where}: {progress.done:.0%} after {progress.elapsed:.0f} s (at most "
            f"{progress.stage.at_most:g} s); missing: {lacking}")


def figures(progress: StageProgress) -> dict[str, object]:
    """Keys and values of ~/stage."""
    stage = progress.stage
    missing = dict(one.partition(": ")[::2] for one in progress.missing)
    return {
        "state": progress.state, "stage": stage.name, "title": stage.title,
        "index": progress.index, "count": progress.count, "kind": stage.kind,
        "move": ",".join(stage.move), "free": ",".join(stage.free), "kept": ",".join(stage.kept),
        "done": progress.done, "elapsed": progress.elapsed, "at_least": stage.at_least,
        "at_most": stage.at_most,
        **{f"missing {what}": how for what, how in missing.items()},
        **{f"moved {channel}": seconds for channel, seconds in progress.moved.items()},
        "out of reach": ",".join(progress.out_of_reach)}
