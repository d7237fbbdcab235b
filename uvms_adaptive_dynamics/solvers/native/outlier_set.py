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

"""The outlier set: Huber groups beyond rho or close to it, and how they correct the quadratic that
treats all rows as inliers (docs/mathematics.md, "Huber groups")."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class OutlierSet:
    """Rows, residuals and curvature of k groups beyond rho or close to it, contiguous in memory, in
    no particular order.

    rows R (k, rows, m); tau (k, rows); group (k,): index in the window; rho, weight (k,).
    isotropic, radial (k,): coefficients of R^T R and (R^T r)(R^T r)^T in the summed curvature,
    computed at the residuals `residual` r (k, rows).
    """

    NAMES = ("rows", "tau", "group", "rho", "weight", "isotropic", "radial", "residual")
    rows: np.ndarray
    tau: np.ndarray
    group: np.ndarray
    rho: np.ndarray
    weight: np.ndarray
    isotropic: np.ndarray
    radial: np.ndarray
    residual: np.ndarray

    def __init__(self, groups: int, rows: int, size: int):
        self.place = np.full(groups, -1)  # index of each group in the set, -1 if outside
        # sum over the set, to subtract from the condensed quadratic's Hessian
        self.curvature = np.zeros((size, size))
        room = 64
        self._room = {
            "rows": np.zeros((room, rows, size)),
            "tau": np.zeros((room, rows)),
            "group": np.zeros(room, int),
            "rho": np.zeros(room),
            "weight": np.zeros(room),
            "isotropic": np.zeros(room),
            "radial": np.zeros(room),
            "residual": np.zeros((room, rows)),
        }
        self._cut(0)

    def _cut(self, count: int) -> None:
        self.count = count
        for name in self.NAMES:
            setattr(self, name, self._room[name][:count])

    def add(self, groups: np.ndarray, rows: np.ndarray, tau: np.ndarray, rho: np.ndarray,
            weight: np.ndarray) -> None:
        """Add groups (k,), without curvature at first."""
        begin, end, room = self.count, self.count + len(groups), self._room
        while end > len(room["group"]):
            for name, array in room.items():
                room[name] = np.concatenate([array, np.zeros_like(array)])
        self._cut(end)
        for mine, value in ((self.rows, rows), (self.tau, tau), (self.group, groups),
                            (self.rho, rho), (self.weight, weight), (self.isotropic, 0.0),
                            (self.radial, 0.0), (self.residual, 0.0)):
            mine[begin:] = value
        self.place[groups] = np.arange(begin, end)

    def remove(self, places: np.ndarray) -> None:
        """Remove the groups at places (k,) with their curvature."""
        curved = places[self.isotropic[places] > 0]
        if curved.size:
            self.curvature -= self._curvature_of(curved)
        for at in sorted(places.tolist(), reverse=True):
            last = self.count - 1
            self.place[self.group[at]] = -1
            if at != last:
                for name in self.NAMES:
                    array = self._room[name]
                    array[at] = array[last]
                self.place[self.group[at]] = at
            self.count = last
        self._cut(self.count)

    def fade(self, factor: float) -> None:
        """Multiply all weights, and the curvature, by `factor`."""
        if factor == 1.0:
            return
        self.weight *= factor
        self.curvature *= factor

    def recompute(self, places: np.ndarray, isotropic: np.ndarray, radial: np.ndarray,
                  residual: np.ndarray) -> None:
        """Replace the curvature of the groups at places (k,) by that at `residual` (k, rows)."""
        curved = places[self.isotropic[places] > 0]
        if curved.size:
            self.curvature -= self._curvature_of(curved)
        self.isotropic[places], self.radial[places] = isotropic, radial
        self.residual[places] = residual
        curved = places[isotropic > 0]
        if curved.size:
            self.curvature += self._curvature_of(curved)

    def clear_curvature(self) -> None:
        """Drop the curvature of all groups."""
        self.curvature[:] = 0.0
        self.isotropic[:] = 0.0

    def as_inliers(self) -> np.ndarray:
        """(m, m) contribution of the set to the condensed quadratic: sum of weight R^T R."""
        rows = np.sqrt(self.weight)[:, None, None] * self.rows
        rows = rows.reshape(-1, rows.shape[-1])
        return rows.T @ rows

    def _curvature_of(self, places: np.ndarray) -> np.ndarray:
        weight, rows = self.weight[places], self.rows[places]
        k, _, m = rows.shape
        pulls = np.matmul(self.residual[places][:, None, :], rows)
        pulls *= np.sqrt(weight * self.radial[places])[:, None, None]
        rows *= np.sqrt(weight * self.isotropic[places])[:, None, None]
        stacked = np.concatenate([rows, pulls], axis=1).reshape(-1, m)
        return stacked.T @ stacked


class OutlierTerm(NamedTuple):
    """Correction by the groups beyond rho, at a point, of the quadratic that treats all rows as
    inliers: value, gradient (m,); norm, isotropic (k,) and residual (k, rows) of the set's groups.

    With grouping 'horizon' there is one group, whose norm and isotropic are numbers, and whose
    residual is R^T r (m,)."""

    value: float
    gradient: np.ndarray
    norm: np.ndarray
    isotropic: np.ndarray
    residual: np.ndarray
