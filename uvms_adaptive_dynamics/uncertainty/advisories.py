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

"""When a controller should not rely on the model: sentences for an operator, from intervals and
from what is known of each block."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..model.parameters import ParameterTable

# Of rows in 10 s: of 34,560 such windows of simulated robots, .08 % held fewer than 80 % and none
# fewer than this.
LEAST_COVERAGE = 0.75
# Of a prediction's variance, the share that comes from the parameters' own doubt: below it after 5
# to 20 s of full motion.
MOST_DOUBT = 0.25
# Of a block, the share of parameters that must be measured.
LEAST_MEASURED = 0.5
# What shows the vehicle's parts.
MOTIONS = {
    "vehicle inertia": "Accelerate and brake on every axis, several at once",
    "vehicle damping": "Move on every axis, slowly and fast, each for seconds",
    "vehicle restoring": "Tilt to several angles of roll and pitch, slowly or at rest",
}


def channel_warnings(fits: Mapping[str, Mapping[str, Any]], seconds: float,
                     least_rows: int) -> list[str]:
    """One sentence for each channel whose predictions of the last `seconds` should not be relied
    on.

    fits: per channel 'n', 'coverage95' and 'doubt' (mean share of the parameters in the variance);
    None where there is none."""
    found = []
    for channel, fit in fits.items():
        if fit["n"] < least_rows or fit["coverage95"] is None:
            continue
        if fit["coverage95"] < LEAST_COVERAGE:
            found.append(
                f"{channel}: the 95 % intervals held {fit['coverage95']:.0%} of the last "
                f"{seconds:g} s. The robot does what the model does not know; a controller should "
                "not rely on this channel until they hold again")
        elif fit["doubt"] is not None and fit["doubt"] > MOST_DOUBT:
            found.append(
                f"{channel}: {fit['doubt']:.0%} of the interval is doubt about the parameters. "
                "Move this axis more before a controller relies on it"
            )
    return found


def block_warnings(table: ParameterTable, words: Sequence[str]) -> list[str]:
    """One sentence for each block of which less than half is measured; words (p,) as of
    `known_from`, frozen ones do not count.

    Links have no sentence here (see `link_note`): the motion of an arm shows sums over its links.
    """
    blocks = {name: places for name, places in table.parts.items() if not name.endswith(" link")}
    found = []
    for block, places in blocks.items():
        measured, free = _measured(words, places)
        if measured < LEAST_MEASURED * free:
            found.append(
                f"{block}: {free - measured} of {free} parameters are mostly the prior's. "
                f"{motion_for(block)} before a controller relies on them")
    return found


def motion_for(block: str) -> str:
    """The motion that shows the parameters of one of `ParameterTable.parts`, in a sentence without
    its end."""
    joint, _, kind = block.rpartition(" ")
    return MOTIONS.get(block) or {
        "friction": f"Move {joint} to and fro at several speeds, through its range",
        "link": f"Move {joint} and the joints before it, fast and through their range",
    }.get(kind, "Move what they act on")


def link_note(table: ParameterTable, words: Sequence[str]) -> str | None:
    """A sentence on links whose single values are mostly the prior's, or None.

    It is no warning: with most arms it stays true for ever, and whoever uses the predictions is not
    concerned."""
    links = []
    for joint in table.joints:
        measured, free = _measured(words, table.parts[f"{joint} link"])
        if measured < LEAST_MEASURED * free:
            links.append(joint)
    return (
        f"links of {', '.join(links)}: most single values are the prior's. Predictions of motions "
        "like those learnt hold; a controller should not use a link's mass or inertia by "
        "itself") if links else None


def measured_blocks(table: ParameterTable, words: Sequence[str]) -> tuple[str, ...]:
    """The blocks, links included, of whose free parameters at least half are measured; words (p,)
    as of `known_from`."""
    found = []
    for block, places in table.parts.items():
        measured, free = _measured(words, places)
        if free and measured >= LEAST_MEASURED * free:
            found.append(block)
    return tuple(found)


def _measured(words: Sequence[str], places: np.ndarray) -> tuple[int, int]:
    free = [words[place] for place in places if words[place] != "frozen"]
    return sum(word == "measured" for word in free), len(free)


def doubt(stddev: np.ndarray, noise: np.ndarray) -> float | None:
    """Mean share of a prediction's variance (T,) that its noise (T,) does not explain; None without
    rows."""
    return float(np.mean(np.clip(1 - (noise / stddev) ** 2, 0.0, 1.0))) if stddev.size else None
