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

"""The variants of one seed, and their errors in the same windows."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...config import Config
from ...control.feedforward import Feedforward
from ...control.motion_controller import Gains
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from .loop import CarriedPayload, KnowledgeSource, TrackingErrors, rms, run_loop
from .parameter_sources import Adapted, Known
from .truth import wrong_prior

VARIANTS = {"pid": "PID alone", "prior": "fixed prior", "adapted": "adapted",
            "true": "true parameters"}
ERRORS = {"position": "mm", "attitude": "mrad", "joints": "mrad"}
BACK_FACTOR = 1.2   # times the error with true parameters that counts as recovered after a pick-up
SLIDING = 5.0       # [s] averaging window for that: a period of the motion


@dataclass(frozen=True)
class RunTimes:
    """Times [s] of a run: a start transient outside all windows, a payload [kg] from `picked_up` to
    `dropped`, `settling` after each of these outside all windows, and the end."""

    transient: float = 25.0
    picked_up: float = 55.0
    dropped: float = 90.0
    settling: float = 10.0
    end: float = 120.0
    mass: float = 0.38

    @property
    def payload(self) -> CarriedPayload:
        """The payload of the runs."""
        return CarriedPayload(self.mass, self.picked_up, self.dropped)

    @property
    def windows(self) -> dict[str, tuple[float, float]]:
        """Windows before, with and after the payload, the same for all variants."""
        return {"before": (self.transient, self.picked_up),
                "payload": (self.picked_up + self.settling, self.dropped),
                "after": (self.dropped + self.settling, self.end)}

    def shortened(self, end: float) -> RunTimes:
        """The schedule scaled to `end` [s]."""
        share = end / self.end
        return RunTimes(self.transient * share, self.picked_up * share, self.dropped * share,
                        self.settling * share, end, self.mass)


@dataclass(frozen=True)
class Truths:
    """The robot's parameters without and with the payload."""

    empty: ParameterSet
    loaded: ParameterSet


def run_variants(config: Config, model: RobotModel, truths: Truths, gains: Gains, seed: int,
                 factor: float, schedule: RunTimes,
                 said: Callable[[str], None]) -> dict[str, TrackingErrors]:
    """Tracks of a seed by variant; these differ only in the feedforward's parameters."""
    wrong = wrong_prior(truths.empty, model, config, factor, seed)
    tracks = {}
    for name in VARIANTS:
        feedforward: Feedforward | None = None
        knowledge: KnowledgeSource | None = None
        if name == "true":
            feedforward = Feedforward(model, truths.empty, config)
            knowledge = Known(truths.empty.values, truths.loaded.values, schedule.payload)
        elif name != "pid":
            feedforward = Feedforward(model, wrong, config)
            knowledge = Adapted(config, model, wrong) if name == "adapted" else None
        tracks[name] = run_loop(config, model, seed, schedule.end, gains, feedforward, knowledge,
                                schedule.payload)
        refused = knowledge.refused if isinstance(knowledge, Adapted) else 0
        said(f"seed {seed}, {VARIANTS[name]}: done"
             + (f", {refused} estimates refused by the feedforward" if refused else ""))
    return tracks


def errors_of(track: TrackingErrors, schedule: RunTimes) -> dict[str, dict[str, float]]:
    """RMS of each error [m, rad] by window, and over all windows together ('all')."""
    found: dict[str, dict[str, float]] = {}
    for name, values in track.norms().items():
        inside = {window: rms(values, track.t, span) for window, span in schedule.windows.items()}
        counted = np.any([(track.t >= a) & (track.t < b) for a, b in schedule.windows.values()],
                         axis=0)
        found[name] = inside | {"all": rms(values[counted], track.t[counted], (0.0, np.inf))}
    return found


def back_after(adapted: TrackingErrors, true: TrackingErrors,
               schedule: RunTimes) -> dict[str, float | None]:
    """[s] from pick-up until the error, averaged over SLIDING, stays within BACK_FACTOR of the
    error with true parameters until the drop; None if it never does."""
    spans = np.arange(schedule.picked_up, schedule.dropped - SLIDING, 0.5)
    found: dict[str, float | None] = {}
    for name in ERRORS:
        ours, theirs = adapted.norms()[name], true.norms()[name]
        within = np.array([rms(ours, adapted.t, (a, a + SLIDING))
                           <= BACK_FACTOR * rms(theirs, true.t, (a, a + SLIDING))
                           for a in spans], bool)
        outside = np.flatnonzero(~within)
        if not spans.size:
            found[name] = None
        elif not outside.size:
            found[name] = 0.0
        elif outside[-1] + 1 < spans.size:
            found[name] = float(spans[outside[-1] + 1] - schedule.picked_up)
        else:
            found[name] = None
    return found
