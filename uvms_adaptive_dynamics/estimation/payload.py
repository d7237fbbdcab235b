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

"""What the last link holds: the difference between the robot since it grips and the robot before,
with the covariance of that difference (docs/payload.md).

Of rows since the grip, what the parameters known before predict is subtracted. What is left is

    r = Y e + (1 + s) * (Y_E d) + noise,

with e the error of what was known (its covariance), d (10,) the rigid parameters of what is held
about the last link's origin, and s the error of the scales of the wrench and of the joints' efforts
(`uncertainty.scale_stddev`), in which a mass learnt from one differs from that of the other. Rows
count as many times less as their noise is coloured.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.normal import Z95
from ..model.parameters import RIGID, ParameterTable
from .believed_change import Checkpoint
from .changes import SINCE
from .information import InformationState
from .prediction import Prediction

# What may be held, before any row has told: deviations of a mass [kg], and of its place in lengths
# of the last link.
MOST_MASS, PAYLOAD_REACH = 2.0, 1.5
GAUSS_NEWTON_STEPS = 10  # of Gauss and Newton; the scales make the rows bilinear
# Deviations from zero from which a mass has a place.
PLACED = 3.0


@dataclass(frozen=True)
class Payload:
    """What is held. joint: of the link that holds it, in whose frame (URDF) places are; since [s]:
    stamp of the grip, as far as it was noticed; seconds: of rows since then.

    mass [kg] is the one that weighs in water: that of the body less that of the water it displaces.
    place (3,) [m]: its centre; both with deviations. A mass that is not told from none has no
    place: NaN."""

    name: str
    joint: str
    since: float
    seconds: float
    mass: float
    mass_stddev: float
    place: np.ndarray
    place_stddev: np.ndarray

    @property
    def mass_interval(self) -> tuple[float, float]:
        """95 % interval [kg]; below zero where what is held may float."""
        return self.mass - Z95 * self.mass_stddev, self.mass + Z95 * self.mass_stddev

    def sentence(self) -> str:
        """All of it for people."""
        mass = f"{self.mass:.3g} +- {self.mass_stddev:.2g} kg in water"
        if not np.isfinite(self.place).all():
            return (f"{self.name}: {mass}, which may be nothing; move {self.joint} and the joints "
                    "before it")
        place = ", ".join(f"{1e3 * x:.0f} +- {1e3 * s:.0f}"
                          for x, s in zip(self.place, self.place_stddev))
        return f"{self.name}: {mass}, centre at ({place}) mm in the link of {self.joint}"


class PayloadTracker:
    """Sums of the rows since the last link holds something, and what was known before.

    held: whether it does, since [s]: stamp of the grip, name: of what; `begin`, `add_row`, `end`;
    `payload` answers."""

    def __init__(self, table: ParameterTable, period: float, memory: float, scale_stddev: float):
        """period [s] of rows; memory [s]: of their low-pass, for which they are of both robots;
        scale_stddev: of wrench and joint efforts, relative."""
        self._table, self._period, self._memory = table, period, memory
        self._scale_stddev = scale_stddev
        # Rows of the vehicle and of the joints: each has a scale of its own.
        first = table.channels - table.n
        self._parts = [rows for rows in (slice(0, first), slice(first, table.channels))
                       if rows.stop > rows.start]
        self.known: Checkpoint | None = None
        self.held, self.name, self.since = False, "", 0.0
        self._changed = -np.inf     # [s] stamp of the newest change of a part
        self._before: tuple[np.ndarray, np.ndarray, Checkpoint | None] | None = None

    @property
    def places(self) -> np.ndarray:
        """(10,) places of the last link's rigid parameters; (0,) without an arm."""
        if not self._table.n:
            return np.zeros(0, int)
        return np.arange(self._table.size)[self._table.link_slice(self._table.n - 1)][RIGID]

    def note_change(self, t: float, pi: np.ndarray, covariance: np.ndarray,
                    known: Checkpoint | None, concerned: bool) -> None:
        """A part has changed at t [s], of which pi (p,), its covariance and `known` were before;
        concerned: whether the last link is among it. Of changes within the time that a detector
        looks back over, the first may have taken the payload for another link's: what was known
        is what was known before it."""
        if not 0 <= t - self._changed < SINCE[-1] or self._before is None:
            self._before = pi, covariance, known
        self._changed = t
        if concerned:
            self.begin(t, *self._before)

    def begin(self, t: float, pi: np.ndarray, covariance: np.ndarray, known: Checkpoint | None,
              name: str = "payload") -> None:
        """Something is held since t [s]; pi (p,) with its covariance: known before; known: what the
        estimator goes back to at the release, where it does."""
        if not self.held:
            self._pi, self._covariance, self.known = pi.copy(), covariance.copy(), known
            self.name = name
        self.held = True
        self.begin_rows_anew(t)

    def begin_rows_anew(self, t: float) -> None:
        """Forget the rows of what is held, and count those from t [s] on."""
        self.since = t
        self._rows, size = 0, self._table.size
        self._N = np.zeros((len(self._parts), size, size))
        self._b = np.zeros((len(self._parts), size))

    def end(self) -> None:
        """Nothing is held any more."""
        self.held, self.known, self._before = False, None, None

    def add_row(self, prediction: Prediction, counts: np.ndarray,
                information: InformationState) -> None:
        """Add an instant's rows of which counts (C,) say something."""
        if not self.held or not counts.any() or prediction.t < self.since + self._memory:
            return
        variance = information.noise.long_run ** 2
        variance = variance * information.gradient.rows_per_independent(variance)
        Y, weight = prediction.regressor, counts / variance
        residual = prediction.measured - prediction.tau_known - Y @ self._pi
        self._rows += 1
        for k, rows in enumerate(self._parts):
            weighted = weight[rows, None] * Y[rows]
            self._N[k] += weighted.T @ Y[rows]
            self._b[k] += weighted.T @ residual[rows]

    def payload(self) -> Payload | None:
        """What is held, None where nothing is."""
        if not self.held:
            return None
        d, covariance = self._difference()
        mass, moment = float(d[0]), d[1:4]
        mass_stddev = float(np.sqrt(covariance[0, 0]))
        place = place_stddev = np.full(3, np.nan)
        if abs(mass) > PLACED * mass_stddev:
            place = moment / mass
            J = np.column_stack([-moment / mass ** 2, np.eye(3) / mass])
            place_stddev = np.sqrt(np.diag(J @ covariance[:4, :4] @ J.T))
        return Payload(self.name, self._table.joints[-1], self.since, self._rows * self._period,
                       mass, mass_stddev, place, place_stddev)

    def _difference(self) -> tuple[np.ndarray, np.ndarray]:
        """(d (10,), its covariance), by Gauss and Newton over d and the scales' errors."""
        information, moment = self._information()
        parts, size = len(self._parts), RIGID.stop
        length = PAYLOAD_REACH * self._table.reference_length[-1]
        stddev = MOST_MASS * np.array([1.0] + [length] * 3 + [length ** 2] * 6)
        prior = np.diag(np.concatenate(
            [stddev, np.full(parts, max(self._scale_stddev, 1e-6))]) ** -2.0)
        x = np.zeros(size + parts)
        for _ in range(GAUSS_NEWTON_STEPS):
            d, scales = x[:size], 1 + x[size:]
            J = np.hstack([np.kron(scales[:, None], np.eye(size)),
                           np.kron(np.eye(parts), d[:, None])])
            A = J.T @ information @ J + prior
            x = x + np.linalg.solve(A, J.T @ (moment - information @ np.kron(scales, d))
                                    - prior @ x)
        return x[:size], np.linalg.inv(A)[:size, :size]

    def _information(self) -> tuple[np.ndarray, np.ndarray]:
        """(L (10 k, 10 k), l (10 k,)) of d as the rows of each of k parts see it, the error of what
        was known eliminated: the cost is u^T L u / 2 - l^T u."""
        places, S = self.places, self._covariance
        K = S @ np.linalg.inv(np.eye(len(S)) + self._N.sum(axis=0) @ S)
        R = np.concatenate([N[places] for N in self._N])
        L = -R @ K @ R.T
        size = len(places)
        for k, N in enumerate(self._N):
            own = slice(k * size, (k + 1) * size)
            L[own, own] += N[np.ix_(places, places)]
        l = np.concatenate([b[places] for b in self._b]) - R @ K @ self._b.sum(axis=0)
        return (L + L.T) / 2, l
