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

"""What drives a vehicle's rows beside their own efforts: its momentum along other axes.

A hull that thrust pushes ahead is turned by its added mass while it drifts aside, with no thrust
in yaw. docs/mathematics.md, "Rows that are learnt from"."""
from __future__ import annotations

import numpy as np

from ..model.parameters import INERTIA_PLACES, ParameterTable
from ..uncertainty.motion_noise import AXES


class MomentumDrive:
    """Variation of what the vehicle's momenta along other axes do to its rows.

    An axis' momentum counts with the share of the axis' motion that its own effort causes: swell
    makes momentum too, and it is no known cause. Momentum is known no better than its parameters,
    so that rows driven by it alone never outnumber the row's others: an axis without thrusters is
    not learnt from.

    displaced (C,): squared efforts of these momenta [N^2, N^2 m^2] since the row last counted as
    new."""

    def __init__(self, table: ParameterTable):
        self._axes = axes = AXES if table.vehicle else 0
        # (p, axes) the parameters of each axis' momentum; (axes, axes) the axes that they act on
        self._of_axis = np.zeros((table.size, axes))
        for place, (_, axis) in enumerate(INERTIA_PLACES if axes else ()):
            self._of_axis[place, axis] = 1.0
        self._others = 1.0 - np.eye(axes)
        self._drive, self.displaced = np.zeros((2, table.channels))
        self._effort_power, self._predicted_power = np.zeros((2, axes))
        # rows driven by efforts less rows driven by momenta alone
        self._surplus = np.zeros(table.channels, int)

    def add_row(self, Y: np.ndarray, deviation: np.ndarray, displacement: np.ndarray,
                effort: np.ndarray, blocks: np.ndarray, pi: np.ndarray, rate: np.ndarray) -> None:
        """Y (C, p): regressor; deviation, displacement (C, p): from its mean and from where the row
        last counted as new; effort (C,) [N, N m]; blocks (p, b): the estimate pi (p,) by blocks of
        the robot; rate (C,): of the row in the means."""
        axes, rate = self._axes, rate[:self._axes]
        if not axes:
            return
        predicted_power = ((Y[:axes] @ blocks) ** 2).sum(axis=1)
        self._effort_power += rate * (effort[:axes] ** 2 - self._effort_power)
        self._predicted_power += rate * (predicted_power - self._predicted_power)
        most = np.maximum(self._predicted_power, self._effort_power)
        share = self._effort_power / np.maximum(most, np.finfo(float).tiny) * self._others
        momenta = self._of_axis * pi[:, None]
        varied, displaced = (((change[:axes] @ momenta) ** 2 * share).sum(axis=1)
                             for change in (deviation, displacement))
        counts = self._surplus[:axes] > 0
        self._drive[:axes] += rate * (counts * varied - self._drive[:axes])
        self.displaced[:axes] = counts * displaced

    def drives(self, above: np.ndarray) -> np.ndarray:
        """(C,) bool, rows on which the squared efforts are above the given ones (C,)."""
        return self._drive > above

    def count(self, by_efforts: np.ndarray, by_momenta: np.ndarray) -> None:
        """Count rows that efforts have driven, and those that momenta alone have, (C,) bool."""
        self._surplus += by_efforts
        self._surplus -= by_momenta
