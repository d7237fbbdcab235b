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

"""An answer of a verdict: one of three words, a sentence, and reasons; how reasons are merged
(docs/statement.md)."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

GOOD, USABLE, NOT_USABLE = VERDICTS = ("good", "usable", "not usable")


class Answer(NamedTuple):
    """A question, its verdict, the answer in a sentence, and the reasons against `good`, each with
    what to do about it."""

    question: str
    verdict: str
    sentence: str
    reasons: tuple[str, ...] = ()


def worst(words: Iterable[str]) -> str:
    """The worst of these words."""
    return max(words, key=VERDICTS.index, default=GOOD)


def answered(question: str, found: Sequence[tuple[str, str]], sentence: str) -> Answer:
    """The answer that follows from (verdict, reason) pairs: worst verdict, worst reason first."""
    order = sorted(found, key=lambda one: -VERDICTS.index(one[0]))
    return Answer(question, worst(word for word, _ in found), sentence,
                  tuple(reason for _, reason in order))


def merged(found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Merge sentences that differ only in the channel."""
    channels: dict[tuple[str, str], list[str]] = {}
    for word, sentence in found:
        name, _, rest = sentence.partition(": ")
        channels.setdefault((word, rest), []).append(name)
    return [(word, f"{', '.join(names)}: {rest}") for (word, rest), names in channels.items()]


def reasons_of_channels(found: Iterable[tuple[str, str, str, str]]) -> list[tuple[str, str]]:
    """(verdict, reason) pairs from (verdict, channel, figure, sentence with {} for the figure):
    channels with the same sentence share one."""
    channels: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for word, name, figure, sentence in found:
        channels.setdefault((word, sentence), []).append((name, figure))
    return [(word, f"{', '.join(name for name, _ in own)}: "
                   + sentence.replace("{}", ", ".join(figure for _, figure in own)))
            for (word, sentence), own in channels.items()]


def share_text(value: float) -> str:
    """A share in percent."""
    return f"{min(value, 1.0):.0%}"
