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

"""Warnings to the operator: when a controller should not rely on the model, by intervals and by
what is known about each block."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..model.parameters import ParameterTable

# Coverage over 10 s: in 34,560 such windows of simulated robots .08 % were below 80 %, none below
# this.
LEAST_COVERAGE = 0.75
# Share of a prediction's variance due to parameter uncertainty: below this after 5 to 20 s of full
# motion.
MOST_PARAMETER_SHARE = 0.25
# Share of a block's parameters that must be measured.
LEAST_MEASURED = 0.5
# Motions that show the vehicle's parts.
MOTIONS = {
    "vehicle inertia": "Accelerate and brake on every axis, several at once",
    "vehicle damping": "Move on every axis, slowly and fast, each for seconds",
    "vehicle restoring": "Tilt to several angles of roll and pitch, slowly or at rest",
}
# Advice on a part whose uncertainty is that of the model, not of the data.
FURTHER_TERMS = ("What the model lacks may move them, and no motion shows by how much: add the "
                 "terms that pay off (command terms), or use their intervals")


def channel_warnings(fits: Mapping[str, Mapping[str, Any]], seconds: float,
                     least_rows: int) -> list[str]:
    """One sentence for each channel whose predictions over the last `seconds` are unreliable.

    fits: per channel 'n', 'coverage95' and 'parameter_share' (mean share of the variance due to
    parameter uncertainty); the last two may be None."""
    found = []
    for channel, fit in fits.items():
        if fit["n"] < least_rows or fit["coverage95"] is None:
            continue
        if fit["coverage95"] < LEAST_COVERAGE:
            found.append(
                f"{channel}: the 95 % intervals covered only {fit['coverage95']:.0%} of the rows "
                f"in the last {seconds:g} s. The robot behaves unlike the model; do not let a "
                "controller rely on this channel until the intervals hold again")
        elif (share := fit["parameter_share"]) is not None and share > MOST_PARAMETER_SHARE:
            found.append(f"{channel}: {share:.0%} of the prediction's variance is parameter "
                         "uncertainty. Move this axis more before a controller relies on it")
    return found


def block_warnings(table: ParameterTable, words: Sequence[str],
                   limited: Sequence[bool] = ()) -> list[str]:
    """One sentence for each block that is less than half measured, what the model lacks aside: more
    motion would not help. words (p,) as from `known_from`, of which frozen ones do not count;
    limited (p,): see `ParameterSet`.

    `link_note` covers links: an arm's motion shows only sums over its links.
    """
    blocks = {name: places for name, places in table.parts.items() if not is_link(name)}
    shown = list(words)
    for place in np.flatnonzero(limited):
        shown[place] = "measured"
    found = []
    for block, places in blocks.items():
        measured, free = _measured(shown, places)
        if measured < LEAST_MEASURED * free:
            found.append(
                f"{block}: {free - measured} of {free} parameters still rest mostly on the prior. "
                f"{motion_for(block)}, before a controller relies on them")
    return found


def is_link(block: str) -> bool:
    """Whether a block is a link's."""
    return block.endswith(" link")


def motion_for(block: str) -> str:
    """The motion that shows one of `ParameterTable.parts`: a sentence without a full stop."""
    joint, _, kind = block.rpartition(" ")
    return MOTIONS.get(block) or {
        "friction": f"Move {joint} to and fro at several speeds, through its range",
        "link": f"Move {joint} and the joints before it, fast and through their range",
    }.get(kind, "Move what they act on")


def link_note(table: ParameterTable, words: Sequence[str]) -> str | None:
    """A sentence on links whose individual values rest mostly on the prior, or None.

    This is not a warning: it stays true for most arms, and does not affect predictions."""
    links = []
    for joint in table.joints:
        measured, free = _measured(words, table.parts[f"{joint} link"])
        if measured < LEAST_MEASURED * free:
            links.append(joint)
    return (
        f"links of {', '.join(links)}: most individual values rest on the prior. Predictions hold "
        "for motions like those learnt, but do not use a single link's mass or inertia in a "
        "controller") if links else None


def measured_blocks(table: ParameterTable, words: Sequence[str]) -> tuple[str, ...]:
    """The blocks, links included, with at least half of their free parameters measured; words (p,)
    as from `known_from`."""
    found = []
    for block, places in table.parts.items():
        measured, free = _measured(words, places)
        if free and measured >= LEAST_MEASURED * free:
            found.append(block)
    return tuple(found)


def _measured(words: Sequence[str], places: np.ndarray) -> tuple[int, int]:
    free = [words[place] for place in places if words[place] != "frozen"]
    return sum(word == "measured" for word in free), len(free)


def parameter_share(stddev: np.ndarray, noise: np.ndarray) -> float | None:
    """Mean share of the predictions' variance that their noise does not explain, from deviations
    stddev (T,) and noise (T,); None without rows."""
    return float(np.mean(np.clip(1 - (noise / stddev) ** 2, 0.0, 1.0))) if stddev.size else None
