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

"""A temporary external force on the vehicle: a taut tether, a hook, contact (docs/mathematics.md,
"External force").

It is not a property of the robot, so no knowledge is dropped for it: it is estimated alongside the
parameters and subtracted from their rows. It lasts while the rows of the last seconds are evidence
for it, by the same Bayes factor that detected it.
"""
from __future__ import annotations

import math

import numpy as np

from ..model.vehicle import load_columns
from .change_evidence import LoadSums
from .low_pass import Row
from .prediction import Prediction

# [s] time constant of forgetting older rows: a few periods of a vehicle's motion, over which a
# force that turned with the vehicle would average out
LOAD_MEMORY = 10.0


class ExternalLoad:
    """Recursive least squares of a force that is constant in the world, and of where it acts.

    load (12,): in the order of `load_columns`, zero without a force; evidence: ln Bayes factor of
    the remembered rows in favour of a force."""

    def __init__(self, period: float):
        """period [s]: time between rows."""
        self._keep = math.exp(-period / LOAD_MEMORY)
        self._sums: LoadSums | None = None
        self.end()

    @property
    def lasts(self) -> bool:
        """Whether there is a force at present."""
        return self._sums is not None

    @property
    def force(self) -> float:
        """Size of the force [N]."""
        return float(np.linalg.norm(self.load[:3]))

    def begin(self, sums: LoadSums | None) -> None:
        """Begin (again) from the sums of the rows that detected the force; None ends it."""
        if sums is None:
            self.end()
        else:
            self._sums = sums
            self._solve()

    def end(self) -> None:
        """End the force."""
        self._sums, self.load, self.evidence = None, np.zeros(12), -math.inf

    def counted_as_known(self, row: Row) -> Row:
        """The row with the effort against the force added to its known load."""
        if not self.lasts:
            return row
        assert row.R_nb is not None
        tau_known = row.tau_known.copy()
        tau_known[:6] -= load_columns(row.R_nb) @ self.load
        return row._replace(tau_known=tau_known, load=self.load)

    def add_row(self, prediction: Prediction) -> None:
        """Add a row that was predicted with the load, also of a vehicle that is not driven, which
        the force alone moves or holds."""
        assert self._sums is not None and prediction.R_nb is not None
        counts = prediction.valid[:6]
        residual = np.where(counts, prediction.residual[:6], 0.0)
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
