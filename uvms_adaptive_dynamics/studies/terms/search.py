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

"""Greedy forward selection: try each set alone, then add sets as long as one is worth it."""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...config import Config
from ...config.robot import JOINT_TERMS, VEHICLE_TERMS
from .comparison import Comparison, compare
from .trial import HeldOutRows, SampleSets, trial, with_terms


class SearchStep(NamedTuple):
    """A trial with `terms`, compared with the trial without the last of them."""

    terms: tuple[str, ...]
    outcome: HeldOutRows
    against: Comparison


class SearchResult(NamedTuple):
    """without: trial with no set; alone: each set alone; steps of the search; chosen sets; best:
    trial with the chosen sets; against: its comparison with no set; vetoed: steps that were worth
    it in addition to the sets before, with their comparison with no set, by which a channel
    becomes worse."""

    without: HeldOutRows
    alone: list[SearchStep]
    steps: list[SearchStep]
    chosen: tuple[str, ...]
    best: HeldOutRows
    against: Comparison | None
    vetoed: Sequence[tuple[SearchStep, Comparison]] = ()


def applicable(config: Config) -> tuple[str, ...]:
    """Sets that apply to the robot; an arm on a fixed base is assumed to be in air."""
    robot = config.robot
    joints = tuple(name for name in JOINT_TERMS if robot.vehicle or name != "link_drag")
    return (VEHICLE_TERMS if robot.vehicle else ()) + (joints if robot.joints else ())


def search(config: Config, recordings: SampleSets, sets: Sequence[str],
           say: Callable[[str], None] = lambda sentence: None) -> SearchResult:
    """Greedy forward selection on the held-out rows; raises UvmsError."""
    outcomes: dict[tuple[str, ...], HeldOutRows] = {}

    def tried(terms: tuple[str, ...], place: str = "") -> HeldOutRows:
        if terms not in outcomes:
            say(f"{place}learning with {', '.join(terms) or 'none of the sets'}")
            outcomes[terms] = trial(with_terms(config, terms, sets), recordings)
        return outcomes[terms]

    begin = time.monotonic()
    without = best = tried(())
    say(f"a trial takes about {time.monotonic() - begin:.0f} s; a round tries each of the sets "
        "that are left, and each one that is worth it begins another round")
    chosen: tuple[str, ...] = ()
    alone: list[SearchStep] = []
    steps: list[SearchStep] = []
    vetoed: list[tuple[SearchStep, Comparison]] = []
    while len(chosen) < len(sets):
        left = [name for name in sets if name not in chosen]
        found = []
        for k, name in enumerate(left, 1):
            outcome = tried((*chosen, name), f"round {len(chosen) + 1}, {k} of {len(left)}: ")
            found.append(SearchStep((*chosen, name), outcome, compare(best, outcome, len(left))))
        alone = alone or found
        worth = []
        for step in (step for step in found if step.against.is_worth_it):
            since = compare(without, step.outcome, len(sets))
            if since.harmed:
                vetoed.append((step, since))
            else:
                worth.append(step)
        if not worth:
            break
        steps.append(min(worth, key=lambda step: step.against.mean.value))
        chosen, best = steps[-1].terms, steps[-1].outcome
    against = compare(without, best, len(sets)) if chosen else None
    return SearchResult(without, alone, steps, chosen, best, against, vetoed)
