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

"""Samples of a run's recordings from the front end, and the front end's final state.

Nothing here depends on the estimate, so it can run ahead in another process (`processes`) with the
same results.
"""
from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

from ..config import Config
from ..model.robot import RobotModel
from ..model.sample import Misread, Sample
from ..review.review import is_doubted
from ..signals.checks.finding import Mend
from ..signals.decode.input_state import InputState
from ..signals.front_end import SignalFrontEnd
from ..signals.topics import inputs
from ..uncertainty.evidence import ReportedFinding
from .bags import BagContents, read_messages
from .causes import nothing_usable
from .gaps import Gaps
from .input_log import InputFigures, InputLog
from .mask_spans import MaskSpans, Span

# Samples per batch: front end and estimator then each find their own data in the processor's
# caches, which saves 5 % of a run's time.
SAMPLES_AHEAD = 64


class Recordings(NamedTuple):
    """The input: checked recordings, in order, and settings; mends: what puts the readings of the
    first one right, from its start."""

    bags: tuple[BagContents, ...]
    config: Config
    mends: tuple[Mend, ...] = ()


def goes_on(before: Sequence[BagContents], after: Sequence[BagContents]) -> bool:
    """Whether the recordings `after` begin where the last one before ended, in the same bag."""
    one, other = before[-1].piece, after[0].piece
    return one.path == other.path and one.end == other.begin


class Batch(NamedTuple):
    """Consecutive samples of recording number `bag`, and the share of it read so far."""

    bag: int
    samples: list[Sample]
    share: float


class Signals(NamedTuple):
    """The front end's final state; see `Run`.

    states: input states by role; misread: faults at the end, with the channels that depend on them;
    doubted: whether rows depend on a wrong frame or delay, apart from the sign of an effort;
    unusable: the reason to report if there was no row; mends: what puts the readings right;
    compared: whether a recording was long enough to compare its sensors."""

    findings: tuple[ReportedFinding, ...]
    misread: tuple[Misread, ...]
    doubted: bool
    counters: Mapping[str, int]
    masked: Mapping[str, Mapping[str, int]]
    ticks: int
    states: Mapping[str, InputState]
    inputs: Mapping[str, InputFigures]
    longest_gap: Mapping[str, float | None]
    mask_spans: Sequence[Sequence[Span]]
    unusable: str
    mends: tuple[Mend, ...]
    compared: bool


def prepared(recordings: Recordings) -> Generator[Batch | Signals, None, None]:
    """Yield all samples in order, in batches, and then the front end's final state. Signals are
    reset between recordings. Raises UvmsError if a recording is damaged."""
    bags, config, mends = recordings
    needed, robot = inputs(config), RobotModel.from_config(config)
    front = SignalFrontEnd(config, robot, mends)
    received_log, gaps = InputLog(front.inputs), Gaps(config.robot.vehicle)
    masks = MaskSpans(len(robot.channels), config.filter.period)
    front.follow_masks(masks.add)
    found: list[ReportedFinding] = []
    compared = False
    for number, bag in enumerate(bags):
        if number:
            front.reset()
        gaps.begin(bag.start)
        masks.begin(number)
        waiting: list[Sample] = []
        for role, message, received in read_messages(bag.piece, needed, received_log.undecodable):
            front.add_message(role, message, received)
            made = front.samples()
            for sample in made:
                gaps.add(sample, received)
            waiting += made
            if len(waiting) >= SAMPLES_AHEAD:
                yield Batch(number, waiting,
                            min(0.999, (received - bag.start) / max(bag.end - bag.start, 1e-9)))
                waiting = []
        # Drop the last `filter.latency` of a bag: the node could not finish those ticks either.
        yield Batch(number, waiting, 1.0)
        front.frames.finish()
        compared |= front.frames.has_compared
        gaps.end(bag.end)
        received_log.end_recording()
        found += _findings(bag, front)
    yield Signals(
        tuple(found), front.misread, is_doubted(front),
        counters={**front.counters, **received_log.undecodable}, masked=front.masked,
        ticks=front.ticks, states=front.inputs,
        inputs=received_log.figures(), longest_gap=gaps.figures(), mask_spans=masks.spans,
        unusable=nothing_usable(bags, front, received_log.undecodable), mends=front.mends,
        compared=compared)


def _findings(bag: BagContents, front: SignalFrontEnd) -> list[ReportedFinding]:
    """The front end's warnings on a recording, each with the time at which a check found it."""
    since = {f"{finding.setting}: {finding.sentence}": t for finding, t in front.frames.findings}
    return [ReportedFinding(
        sentence.partition(":")[0], f"{bag.path.name}: {sentence}",
        next((t for begin, t in since.items() if sentence.startswith(begin)), None))
        for sentence in front.warnings]
