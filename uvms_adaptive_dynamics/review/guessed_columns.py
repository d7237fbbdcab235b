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

"""Columns of the model and of what it may lack, for the rows of a recording (docs/statement.md,
"What explains the rest")."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..config.estimation import Filter
from ..model.robot import LinksDrag, RobotModel
from ..model.sample import Sample
from ..signals.checks.thrust_fit import COUPLINGS
from .arm_check import WEIGHT, at_rest
from .arm_exchange import low_passed_rows, with_lacking

# [s] A wrong wiring acts at once. If what the efforts will be this much later explains a channel
# now, both have a cause in common: longer than the low-pass, shorter than a motion.
AHEAD = 0.5


class Columns(NamedTuple):
    """Low-passed rows: times (T,), columns of the model (T, C, p) and of each guess (T, C, k),
    efforts minus known loads and valid, both (T, C)."""

    t: np.ndarray
    own: np.ndarray
    guesses: dict[str, np.ndarray]
    tau: np.ndarray
    valid: np.ndarray


def guessed_columns(samples: Sequence[Sample], config: Config, robot: RobotModel,
                    settings: Filter) -> Columns:
    """Columns of the model and of all guesses except the current."""
    whole = with_lacking(config, robot)
    places = {name: np.r_[whole.table.term_slices[name]] for name in robot.table.lacking}
    floats = robot.vehicle and robot.joints and not robot.knows_buoyancy
    weights = robot.table.places(f"{joint}.{name}" for joint in robot.joints for name in WEIGHT)

    def columns(sample: Sample, Y: np.ndarray, drag: LinksDrag | None) -> dict[str, np.ndarray]:
        lacking = whole.raw_rows(sample, drag=drag).Y
        parts = {"own": Y, **{name: lacking[:, at] for name, at in places.items()}}
        if floats:
            parts["buoyancy"] = robot.raw_rows(at_rest(sample)).Y[:, weights]
        if robot.vehicle:
            parts["tether"] = np.zeros((len(Y), 8))
            parts["tether"][:3, :2] = sample.R_nb.T[:, :2]
            parts["tether"][:6, 2:] = np.eye(6)
        return parts

    raw = [robot.raw_rows(sample) for sample in samples]
    found = [columns(sample, own.Y, drag)
             for sample, own, drag in zip(samples, raw, whole.links_drag_of(samples))]
    widths = {name: part.shape[1] for name, part in found[0].items()}
    t, Y, tau, valid = low_passed_rows(samples, [
        own._replace(Y=np.concatenate(list(parts.values()), axis=1))
        for own, parts in zip(raw, found)], settings)
    guesses = dict(zip(widths, np.split(Y, np.cumsum(list(widths.values()))[:-1], axis=2)))
    own = guesses.pop("own")
    together = np.concatenate([np.zeros((*tau.shape, 0)), *guesses.values()], axis=2)
    levers = np.ones(tau.shape[1])
    if robot.vehicle:
        allocation = np.reshape(config.thrusters.allocation, (6, -1))
        levers[:6] = np.maximum(np.linalg.norm(allocation, axis=1), 1e-9)
    others = _of_others(tau, levers, robot)
    step = round(AHEAD / max(float(np.median(np.diff(t))), 1e-9)) if len(t) > 1 else 0
    return Columns(t, own, guesses | {"together": together, "efforts": others,
                                      "ahead": np.roll(others, -step, axis=0)}, tau, valid)


def _of_others(tau: np.ndarray, levers: np.ndarray, robot: RobotModel) -> np.ndarray:
    """(T, C, k) efforts of the other channels of vehicle or arm, with a column for each pair except
    those whose efforts differ too much in size for a wiring error. levers (C,): effort of each
    channel per unit of thrust or joint effort."""
    size = np.std(tau, axis=0) / levers
    pairs = [(c, d) for part in (robot.vehicle_rows, robot.arm_rows)
             for c in range(part.start, part.stop) for d in range(part.start, part.stop)
             if c != d and size[c] > max(COUPLINGS) * size[d]]
    found = np.zeros((*tau.shape, len(pairs)))
    for k, (c, d) in enumerate(pairs):
        found[:, c, k] = tau[:, d]
    return found
