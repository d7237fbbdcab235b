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

"""Hypotheses that a measurement has changed by a factor (docs/mathematics.md, "Changes of the
robot")."""
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .accepted_change import Change, EffortChange, ThrustChange, VelocityChange
from .change_evidence import Rival, Spans, Unchanged
from .hypothesis import Hypothesis, Onset, names_of
from .recent_rows import RecentRows

# Prior deviations of a factor: a battery or the speed of sound, or a unit, a gear ratio, a faulty
# sensor.
SIZES_OF_FACTOR = (0.15, 0.6)
NEWTON_STEPS = 4            # after three, a scale of 1.3 is within a thousandth


class ScaleHypothesis(Hypothesis):
    """A factor on a measurement. stddev (1,) of one: `sizes` are those of the factor."""

    preference = 0  # a simpler cause than a dozen parameters, and nothing is forgotten for it
    sizes = SIZES_OF_FACTOR

    def columns(self, rows: RecentRows) -> np.ndarray:
        """See `Hypothesis.columns`."""
        columns = np.zeros((*rows.residual.shape, 1))
        self._fill(columns[:, :, 0], rows)
        return columns

    @abstractmethod
    def _fill(self, column: np.ndarray, rows: RecentRows) -> None:
        """Write the derivative of the efforts by the factor into column (T, C), zero on entry."""


@dataclass(frozen=True)
class EffortScale(ScaleHypothesis):
    """A factor on the efforts of `channels`."""

    channels: np.ndarray
    change: ClassVar[type[EffortChange]] = EffortChange

    def _fill(self, column: np.ndarray, rows: RecentRows) -> None:
        column[:, self.channels] = rows.predicted[:, self.channels]

    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """See `Hypothesis.accepted`."""
        change = float(self.evidence(onset.rows)[1][0])
        return self.change(names_of(alike), onset.ticks, onset.noise, self.channels, 1 + change,
                           onset.odds)


@dataclass(frozen=True)
class ThrustScale(EffortScale):
    """A factor on the thrust of all thrusters.

    It must hold in both regressions, of needed efforts on thrust and of thrust on needed efforts:
    no factor explains efforts of a vehicle that moves while its thrusters rest."""

    change: ClassVar[type[EffortChange]] = ThrustChange

    def evidence(self, rows: RecentRows,
                 rival: type[Rival] = Unchanged) -> tuple[float, np.ndarray]:
        """See `Hypothesis.evidence`: that of the less likely of the two regressions."""
        forward, change = super().evidence(rows, rival)
        if rows.measured is None:
            return forward, change
        backward, _ = self._odds(rival.of(self._backward(rows.measured), rows))
        return min(forward, backward), change

    def evidence_since(self, spans: Spans) -> list[tuple[float, np.ndarray]]:
        """See `Hypothesis.evidence_since`."""
        forward, measured = super().evidence_since(spans), spans.longest.measured
        if measured is None:
            return forward
        backward = map(self._odds, spans.unchanged(self._backward(measured)))
        return [(min(one, other), change)
                for (one, change), (other, _) in zip(forward, backward)]

    def _backward(self, measured: np.ndarray) -> np.ndarray:
        """(T, C, 1) columns of the regression on needed efforts."""
        column = np.zeros(measured.shape)
        column[:, self.channels] = -measured[:, self.channels]
        return column[..., None]


@dataclass(frozen=True)
class VelocityScale(ScaleHypothesis):
    """A factor that corrects the vehicle's linear velocity."""

    def _fill(self, column: np.ndarray, rows: RecentRows) -> None:
        if rows.by_velocity is not None:
            column[:, :6] = rows.by_velocity[:, :6, 0]

    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """See `Hypothesis.accepted`."""
        correction = 1 + self._correction(onset.rows)
        return VelocityChange(names_of(alike), onset.ticks, onset.noise, 1 / correction, onset.odds)

    def _correction(self, rows: RecentRows) -> float:
        """The best correction factor minus one, by Gauss-Newton from the linear solution: drag is
        not linear in the velocity."""
        change = float(self.evidence(rows)[1][0])
        if rows.by_velocity is None:
            return change
        slope, curvature = np.moveaxis(rows.by_velocity, 2, 0)
        precision = max(self.sizes) ** -2
        for _ in range(NEWTON_STEPS):
            along = slope + 2 * change * curvature
            left = rows.residual - change * slope - change ** 2 * curvature
            change += float((np.sum(rows.weight * along * left) - precision * change)
                            / (np.sum(rows.weight * along ** 2) + precision))
        return change
