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

"""Coverage of intervals by regime: speed, rest, change of the robot, sign of the command."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.normal import Z95
from .run_log import Rows
from .run_record import Run, fixed_stddev

AFTER_CHANGE = 60.0     # [s] that re-estimating a changed part of the robot takes


class Regime(NamedTuple):
    """Rows (C,) of each channel in a regime, and how many of them lie inside their interval."""

    name: str
    rows: np.ndarray
    inside: np.ndarray


def regimes(run: Run) -> list[Regime]:
    """The regimes of a run, without adaptation: intervals use the noise saved with the initial
    parameters or, without one, the noise that the run would save."""
    rows = run.log.rows()
    noise = run.final.noise_stddev if run.saved_noise is None else run.saved_noise
    stddev = fixed_stddev(run, np.full(rows.valid.shape[1], np.nan) if noise is None else noise)
    inside = np.abs(rows.measured - rows.predicted) <= Z95 * stddev
    return [Regime(name, np.sum(rows.valid & mask, axis=0),
                   np.sum(rows.valid & mask & inside, axis=0))
            for name, mask in _masks(rows, run.log.changes).items()]


def _masks(rows: Rows, changes: list[float]) -> dict[str, np.ndarray]:
    """(T, C) bool by name. Speed is that of the channel's own axis or joint, in terciles of its
    rows in motion; the command is the measured effort."""
    moving = rows.valid & rows.in_motion
    low, high = _terciles(rows.speed, moving)
    after = np.zeros(rows.t.size, bool)
    for t in changes:
        after |= (rows.t > t) & (rows.t <= t + AFTER_CHANGE)
    return {"slow third": moving & (rows.speed <= low),
            "middle third": moving & (rows.speed > low) & (rows.speed <= high),
            "fast third": moving & (rows.speed > high), "at rest": ~rows.in_motion,
            f"{AFTER_CHANGE:g} s after a change": np.repeat(after[:, None], moving.shape[1], 1),
            "command positive": rows.measured > 0, "command negative": rows.measured < 0}


def _terciles(speed: np.ndarray, counted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(C,), (C,): lower and upper tercile of each channel's counted rows; zero without rows."""
    limits = [np.quantile(speed[counted[:, c], c], [1 / 3, 2 / 3]) if counted[:, c].any()
              else np.zeros(2) for c in range(speed.shape[1])]
    low, high = np.array(limits).T
    return low, high
