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

"""Recordings that overlap in time and hold the same messages, as split files or copies do: each
message is used once."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..signals.topics import Input
from .bags import BagContents, read_messages
from .recording import Piece

# [s] at the beginning, in the middle and at the end of an overlap that are compared; shorter parts
# that are left are not used.
COMPARED_TIME = 1.0
# Share of the messages there that two recordings of the same dive have in common; of others, none.
SAME_SHARE = 0.5

TimeSpan = tuple[float, float]      # [s since the epoch]


def used_once(bags: Sequence[BagContents],
              inputs: Sequence[Input]) -> tuple[tuple[BagContents, ...], list[str]]:
    """(the recordings, each without what one before it holds too, sentences that say so)."""
    used: list[BagContents] = []
    said = []
    for bag in bags:
        left = [(bag.start, bag.end)]
        for other in tuple(used):
            span = max(bag.start, other.start), min(bag.end, other.end)
            if span[1] > span[0] and _are_the_same(bag, other, span, inputs):
                left = [part for one in left for part in _without(one, span)]
                said.append(f"'{bag.title}' repeats {span[1] - span[0]:.1f} s of '{other.title}'; "
                            "the same messages are used once")
        used += [bag] if left == [(bag.start, bag.end)] else [_part(bag, one) for one in left]
    return tuple(used), said


def _without(one: TimeSpan, span: TimeSpan) -> Iterator[TimeSpan]:
    """The parts of a span outside another one that are not too short."""
    for part in (one[0], min(one[1], span[0])), (max(one[0], span[1]), one[1]):
        if part[1] - part[0] > COMPARED_TIME:
            yield part


def _part(bag: BagContents, span: TimeSpan) -> BagContents:
    """The part of a recording within a span of its time."""
    begin = bag.start - bag.piece.begin
    piece = Piece(bag.piece.path, span[0] - begin, span[1] - begin)
    return replace(bag, start=span[0], end=span[1], piece=piece)


def _are_the_same(one: BagContents, other: BagContents, span: TimeSpan,
                  inputs: Sequence[Input]) -> bool:
    """Whether two recordings have most messages of a span in common."""
    begin, end = span
    last = max(begin, end - COMPARED_TIME)
    starts = begin, 0.5 * (begin + last), last
    parts = [(start, min(start + COMPARED_TIME, end)) for start in dict.fromkeys(starts)]
    keys = [[key for part in parts for key in _keys(_part(bag, part), inputs)]
            for bag in (one, other)]
    common = set(keys[1])
    return sum(key in common for key in keys[0]) > SAME_SHARE * len(keys[0])


def _keys(bag: BagContents, inputs: Sequence[Input]) -> Iterator[tuple[str, Any]]:
    """What tells each message with a stamp from all others: two recorders receive it at different
    times, and commands without a stamp repeat."""
    for role, message, _ in read_messages(bag.piece, inputs):
        if hasattr(message, "header"):
            yield role, repr(message)
