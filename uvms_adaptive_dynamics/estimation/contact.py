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

"""A vehicle that something holds, whatever its thrust: a dock, the bottom, a net
(docs/mathematics.md, "Contact").

What holds it takes any effort, so nothing follows for the robot or its thrusters: the rows of the
vehicle do not count while it is held.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.normal import chi_squared
from ..uncertainty.motion_noise import AXES
from .accepted_change import Change, ContactChange, ContactSums
from .change_evidence import Rival, Spans, Unchanged
from .hypothesis import Hypothesis, Onset
from .low_pass import Row
from .prediction import Prediction
from .recent_rows import RecentRows

# ln likelihood ratio in favour of a free vehicle, summed where it is likelier, that ends a contact
FREE_NATS = 7.0
# Motion of a vehicle that is held: as much as noise shows with this probability, or this share of
# what varies of the squared efforts, since a net or a hull gives way by a tenth of a free motion.
NOISE_ALONE, GIVES_WAY = 0.999, 0.01


@dataclass(frozen=True)
class ContactHypothesis(Hypothesis):
    """The vehicle is held: it hardly moves, and the efforts differ by all that its motion does not
    take.

    stddev (k,): plausible inertia and damping, at `places` (k,); least [nats]: evidence that what
    varies of the efforts must give, since a payload or a pull may be held by constant thrust."""

    places: np.ndarray
    least: float

    preference = 1          # as a pull

    def columns(self, rows: RecentRows) -> np.ndarray:
        """See `Hypothesis.columns`: (T, C, 1) what is held."""
        known, motion = self._motion(rows)
        return (known * (rows.residual - motion))[..., None]

    def evidence(self, rows: RecentRows,
                 rival: type[Rival] = Unchanged) -> tuple[float, np.ndarray]:
        """See `Hypothesis.evidence`: there is nothing to fit."""
        known, motion = self._motion(rows)
        weight, change = rows.weight * known, np.ones(1)
        mean = (weight * rows.residual).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
        varying, left = np.sum(weight * [(rows.residual - mean) ** 2, motion ** 2], axis=(1, 2))
        noise = chi_squared(NOISE_ALONE, rows.independent[:AXES].sum())
        if 0.5 * (varying - left) < self.least or left > max(noise, GIVES_WAY * varying):
            return -math.inf, change
        return rival.of(self.columns(rows), rows).gain(change), change

    def evidence_since(self, spans: Spans) -> list[tuple[float, np.ndarray]]:
        """See `Hypothesis.evidence_since`."""
        return [self.evidence(rows) for rows in spans.each]

    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """See `Hypothesis.accepted`."""
        sums = ContactSums(self.places, self.stddev, onset.variance[:AXES])
        return ContactChange(self.name, onset.ticks, onset.noise, onset.odds, sums)

    def _motion(self, rows: RecentRows) -> tuple[np.ndarray, np.ndarray]:
        """(T, C) rows of the vehicle whose motion is known, and the efforts that it takes."""
        Y, motion = rows.Y, np.zeros_like(rows.residual)
        if rows.idle is not None:   # where thrust moves nothing, no row is learnt
            Y = Y + rows.idle.Y
        motion[:, :AXES] = effort_of_motion(Y, self.places, self.stddev)
        of_vehicle = np.arange(motion.shape[1]) < AXES
        return of_vehicle & np.any(Y, axis=2), motion


class Contact:
    """Whether the vehicle is held at present."""

    _sums: ContactSums | None
    _counts: np.ndarray

    def __init__(self) -> None:
        self.end()

    @property
    def lasts(self) -> bool:
        """Whether the vehicle is held."""
        return self._sums is not None

    def begin(self, sums: ContactSums) -> None:
        """The vehicle is held from now on."""
        self._sums, self._free = sums, 0.0

    def end(self) -> None:
        """The vehicle is free."""
        self._sums, self._free = None, 0.0

    def without_held(self, row: Row) -> Row:
        """The row without the axes of a vehicle that is held."""
        if not self.lasts:
            return row
        self._counts = row.valid[:AXES]
        return row._replace(valid=np.r_[np.zeros(AXES, bool), row.valid[AXES:]])

    def add_row(self, prediction: Prediction) -> bool:
        """Add a row that came through `without_held`; whether it ends the contact, since the
        vehicle is likelier to be free (Page's test)."""
        assert self._sums is not None
        places, size, variance = self._sums
        motion = effort_of_motion(prediction.regressor, places, size)
        gain = 0.5 * (motion ** 2 - prediction.residual[:AXES] ** 2) / variance
        self._free = max(0.0, self._free + float(gain[self._counts].sum()))
        ends = self._free > FREE_NATS
        if ends:
            self.end()
        return ends


def effort_of_motion(Y: np.ndarray, places: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(..., 6) efforts that the vehicle's motion in rows Y (..., C, p) takes with parameters of
    `size` (k,) at `places` (k,), as if each acted alone: inertia must not cancel the damping of a
    vehicle that coasts."""
    return np.sqrt(((Y[..., :AXES, places] * size) ** 2).sum(axis=-1))
