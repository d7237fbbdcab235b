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

"""A force that pulls at the vehicle from outside while it lasts: a taut tether, a hook, contact
(docs/mathematics.md, "External force").

It is no property of the robot, so nothing that is known is dropped for it: it is estimated beside
the parameters and taken off their rows. It is there for as long as the rows of the last seconds are
evidence for it, by the same Bayes factor by which it was found.
"""
from __future__ import annotations

import math

import numpy as np

from ..model.vehicle import load_columns
from .change_evidence import LoadSums
from .low_pass import Row
from .prediction import Prediction

# [s] in which older rows lose weight by e: a few periods of a vehicle's motion, over which a force
# that turned with it would average out
LOAD_MEMORY = 10.0


class ExternalLoad:
    """Recursive least squares of a force that is constant in the world, and of where it pulls.

    load (12,): as `load_columns` counts it, zero while there is none; evidence: ln Bayes factor of
    the rows remembered, for it."""

    def __init__(self, period: float):
        """period [s] of rows."""
        self._keep = math.exp(-period / LOAD_MEMORY)
        self._sums: LoadSums | None = None
        self.end()

    @property
    def lasts(self) -> bool:
        """Whether there is one."""
        return self._sums is not None

    def begin(self, sums: LoadSums | None) -> None:
        """Begin (again) from the rows by which it was found, None: there is none any more."""
        if sums is None:
            self.end()
        else:
            self._sums = sums
            self._solve()

    def end(self) -> None:
        """There is none (any more)."""
        self._sums, self.load, self.evidence = None, np.zeros(12), -math.inf

    def counted_as_known(self, row: Row) -> Row:
        """The row with the effort that holds against it in what is known."""
        if not self.lasts:
            return row
        assert row.R_nb is not None
        tau_known = row.tau_known.copy()
        tau_known[:6] -= load_columns(row.R_nb) @ self.load
        return row._replace(tau_known=tau_known, load=self.load)

    def add_row(self, prediction: Prediction, counts: np.ndarray) -> None:
        """A row that was predicted with the load, of channels that count (C,); a vehicle at rest
        forgets nothing."""
        assert self._sums is not None and prediction.R_nb is not None
        counts, residual = counts[:6], prediction.residual[:6]
        if not counts.any():
            return
        columns = load_columns(prediction.R_nb)
        weighted = columns.T * (counts * self._sums.weight)
        A, b = self._sums.A, self._sums.b
        A *= self._keep
        b *= self._keep
        A += weighted @ columns
        b += weighted @ (columns @ self.load - residual)
        self._solve()

    def _solve(self) -> None:
        assert self._sums is not None
        self.evidence, self.load = self._sums.solution()
