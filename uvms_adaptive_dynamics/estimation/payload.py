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

"""The payload held by the last link: the difference between the robot since the grip and the robot
before it, with the covariance of that difference (docs/payload.md).

The residuals of rows since the grip, predicted with the parameters known before it, are

    r = Y e + c tau + (1 + s) * (Y_E d) + noise,

with e the error of those parameters (with their covariance), d (10,) the payload's rigid-body
parameters about the last link's origin, s the scale errors of the wrench and of the joints'
efforts, which make the masses learnt from the two differ, and c the change of the wrench's scale
since those parameters were learnt, as by a battery that sags, which shows in all efforts tau that
they predict and is part of the wrench's s. Each has the deviation `uncertainty.scale_stddev`. The
weight of rows is divided by the number of them that carry the information of an independent row,
since their noise is coloured. What else a payload changes, such as the friction of loaded gears,
leaves residuals beyond the noise: the covariance grows by their mean square in units of it.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.normal import Z95
from ..model.parameters import RIGID, ParameterTable
from .accepted_change import Checkpoint
from .changes import SINCE
from .information import InformationState
from .prediction import Prediction

# Prior deviations of a payload: mass [kg], and its place in lengths of the last link.
MOST_MASS, PAYLOAD_REACH = 2.0, 1.5
GAUSS_NEWTON_STEPS = 10  # the rows are bilinear in payload and scales
# A mass this many deviations from zero has a place.
PLACED = 3.0


@dataclass(frozen=True)
class Payload:
    """A payload. joint: that of the link that holds it, in whose URDF frame the place is; since
    [s]: stamp of the grip as noticed; seconds: duration of the rows since then.

    mass [kg]: the body's mass minus that of the water it displaces; place (3,) [m]: its centre;
    both with standard deviations. The place is NaN for a mass that cannot be told from zero.
    in_water: false for an arm on a fixed base, which may be in air."""

    name: str
    joint: str
    since: float
    seconds: float
    mass: float
    mass_stddev: float
    place: np.ndarray
    place_stddev: np.ndarray
    in_water: bool = True

    @property
    def mass_interval(self) -> tuple[float, float]:
        """95 % interval [kg]; negative values are possible, since a payload may float."""
        return self.mass - Z95 * self.mass_stddev, self.mass + Z95 * self.mass_stddev

    def sentence(self) -> str:
        """The payload in a sentence for people."""
        mass = (f"{self.mass:.3g} +- {self.mass_stddev:.2g} kg"
                f"{' in water' if self.in_water else ''}")
        if not np.isfinite(self.place).all():
            return (f"{self.name}: {mass}, not distinguishable from zero; move {self.joint} and "
                    "the joints before it")
        place = ", ".join(f"{1e3 * x:.0f} +- {1e3 * s:.0f}"
                          for x, s in zip(self.place, self.place_stddev))
        return f"{self.name}: {mass}, centre at ({place}) mm in the link of {self.joint}"


class PayloadTracker:
    """Sums of the rows since the last link grips something, and the knowledge before.

    held: whether it holds something; since [s]: stamp of the grip; name: of the payload. Call
    `begin`, `add_row` and `end`; `payload` gives the result."""

    def __init__(self, table: ParameterTable, period: float, memory: float, scale_stddev: float):
        """period [s] of rows; memory [s]: length of their low-pass, during which rows mix the robot
        before and after the grip; scale_stddev: of wrench and joint efforts, relative."""
        self._table, self._period, self._memory = table, period, memory
        self._scale_stddev = scale_stddev
        # Rows of the vehicle and rows of the joints have different scale errors.
        first = table.channels - table.n
        self._parts = [rows for rows in (slice(0, first), slice(first, table.channels))
                       if rows.stop > rows.start]
        parts = len(self._parts)
        # (parts, unknown scales): the parts' own, and c, a part of the first one's
        self._scales = np.eye(parts, parts + table.vehicle)
        self._scales[0, parts:] = 1.0
        self.known: Checkpoint | None = None
        self.held, self.name, self.since = False, "", 0.0
        self._rows_from = -np.inf   # [s] stamp from which rows are summed
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
        """Note that parameters have changed at t [s]; pi (p,), covariance (p, p) and known are from
        before; concerned: whether the last link's are among them.

        The first of several changes within the detector's look-back time may have attributed the
        payload to another link, so the knowledge before the first one counts."""
        if not 0 <= t - self._changed < SINCE[-1] or self._before is None:
            self._before = pi, covariance, known
        self._changed = t
        if concerned:
            self.begin(t, *self._before)

    def begin(self, t: float, pi: np.ndarray, covariance: np.ndarray, known: Checkpoint | None,
              name: str = "payload") -> None:
        """Something is held since t [s]; pi (p,), covariance (p, p): estimate before it; known: the
        checkpoint to return to at the release, or None."""
        if not self.held:
            self._pi, self._covariance, self.known = pi.copy(), covariance.copy(), known
            self.name, self.since = name, t
        self.held = True
        self.restart_rows(t)

    def rename(self, name: str) -> None:
        """Give what is held another name, unless that is empty."""
        self.name = name or self.name

    def restart_rows(self, t: float) -> None:
        """Forget the payload's rows, and sum those from t [s] on."""
        self._rows_from = t
        self._rows, size = 0, self._table.size + 1      # Y, and the predicted efforts
        self._N = np.zeros((len(self._parts), size, size))
        self._b = np.zeros((len(self._parts), size))
        # squared residuals in units of the noise, and how many independent rows they are
        self._squares = self._independent = 0.0

    def shift_times(self, passed: float) -> None:
        """The clock has been set by so much [s]."""
        self.since += passed
        self._rows_from += passed
        self._changed += passed

    def end(self) -> None:
        """The last link holds nothing any more."""
        self.held, self.known, self._before = False, None, None

    def add_row(self, prediction: Prediction, learnt: np.ndarray,
                information: InformationState) -> None:
        """Add an instant's rows; learnt (C,) bool."""
        if not self.held or not learnt.any() or prediction.t < self._rows_from + self._memory:
            return
        variance = information.noise.long_run ** 2
        overlap = information.gradient.rows_per_independent(variance)
        weight = learnt / (variance * overlap)
        predicted = prediction.tau_known + prediction.regressor @ self._pi
        columns = np.column_stack([prediction.regressor, predicted])
        residual = prediction.measured - predicted
        self._rows += 1
        self._squares += float(weight @ residual ** 2)
        self._independent += float((learnt / overlap).sum())
        for k, rows in enumerate(self._parts):
            weighted = weight[rows, None] * columns[rows]
            self._N[k] += weighted.T @ columns[rows]
            self._b[k] += weighted.T @ residual[rows]

    def payload(self) -> Payload | None:
        """The payload, None if nothing is held."""
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
                       mass, mass_stddev, place, place_stddev, self._table.vehicle)

    def _difference(self) -> tuple[np.ndarray, np.ndarray]:
        """(d (10,), its covariance (10, 10)), by Gauss-Newton over d and the unknown scales."""
        information, moment, squares = self._information()
        parts, unknown = self._scales.shape
        size = RIGID.stop
        length = PAYLOAD_REACH * self._table.reference_length[-1]
        stddev = MOST_MASS * np.array([1.0] + [length] * 3 + [length ** 2] * 6)
        prior = np.diag(np.concatenate(
            [stddev, np.full(unknown, max(self._scale_stddev, 1e-6))]) ** -2.0)
        x = np.zeros(size + unknown)
        for _ in range(GAUSS_NEWTON_STEPS):
            d, changed = x[:size], x[size + parts:]
            scales = 1 + self._scales @ x[size:]
            J = np.block([
                [np.kron(scales[:, None], np.eye(size)), np.kron(self._scales, d[:, None])],
                [np.zeros((changed.size, size)), np.eye(unknown)[parts:]]])
            u = np.concatenate([np.kron(scales, d), changed])
            A = J.T @ information @ J + prior
            x = x + np.linalg.solve(A, J.T @ (moment - information @ u) - prior @ x)
        left = squares - 2 * moment @ u + u @ information @ u
        excess = max(left / max(self._independent - size, 1.0), 1.0)
        return x[:size], excess * np.linalg.inv(A)[:size, :size]

    def _information(self) -> tuple[np.ndarray, np.ndarray, float]:
        """(L (m, m), l (m,), q) with cost (u^T L u - 2 l^T u + q) / 2, where u stacks (1 + s) d of
        each part, and c; the error e is eliminated."""
        parts, unknown = self._scales.shape
        S, size = self._covariance, self._table.size
        column = np.concatenate([*[self.places] * parts, np.full(unknown - parts, size)])
        part = np.concatenate([np.repeat(np.arange(parts), self.places.size),
                               np.zeros(unknown - parts, int)])
        N = self._N.sum(axis=0)[:size, :size]
        K = S @ np.linalg.inv(np.eye(size) + N @ S)
        R = self._N[part, column, :size]
        L = np.where(part[:, None] == part, self._N[part[:, None], column[:, None], column], 0.0)
        L -= R @ K @ R.T
        b = self._b.sum(axis=0)[:size]
        l = self._b[part, column] - R @ K @ b
        return (L + L.T) / 2, l, self._squares - float(b @ K @ b)
