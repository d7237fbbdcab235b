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

"""Which rows say something new: a row that stands still repeats one error, however often it is
seen.

White noise would be averaged out; offsets of sensors, dead bands and what the model lacks are not.
So a calm must neither count as thousands of independent rows, nor its small residuals as the noise
that rows in motion have. Nor may a motion that no known effort causes: a tether or a swell moves
the robot, the efforts are zero, and a robot without inertia or damping explains that without any
residual (docs/mathematics.md, "Rows that count"; docs/uncertainty.md, "Calm periods")."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.parameters import ParameterTable

# [s] over which a row's variation is seen, and for which a row counts after it has come to rest
RECENT_MOTION = 1.0
IN_MOTION = 0.3     # deviations of the noise that a row must vary by to be in motion at all
# [s] in which motion dies away that no effort keeps up: a body's inertia over its damping
COASTING = 5.0
AT_REST = 0.3       # share of a row's reference variation below which it is at rest
# [s] of a row's motion between the regressors kept as its reference, and how many are kept
REFERENCE_SPACING, REFERENCES_KEPT = 0.5, 40


class Excited(NamedTuple):
    """counts (C,) bool: rows that enter the estimate; moves (C,) bool: those whose residual tells
    of the noise."""

    counts: np.ndarray
    moves: np.ndarray


class RowExcitation:
    """Variation of each channel over the last seconds: of the efforts of the robot's blocks, which
    may balance each other.

    Blocks are the vehicle's inertia, damping and restoring, and each link; their variances are
    added. Efforts of single parameters would not do: weight and buoyancy are a hundred newtons
    each, and their difference is what is felt. The reference variation is computed with the present
    estimate, from regressors kept while the row moved: with the prior's parameters the first
    seconds may have looked like far more motion than there ever will be again.

    A row is driven by the variation of its own effort, of which a share is left that falls by e in
    COASTING, and the vehicle's by that of the arm's efforts on it as well."""

    def __init__(self, table: ParameterTable, period: float, presumed: np.ndarray):
        """period [s] of the rows; presumed (p,): parameters of such a robot, by which it is seen to
        move where an estimate that is wrong says that its motion takes no effort."""
        self._blocks, self._presumed = _blocks(table), presumed
        self._count = count = self._blocks.shape[1]
        # (p, 2 blocks) efforts of the blocks, by the estimate and by the presumed parameters, and
        # (2 blocks, 2) their sums
        self._of_both = np.hstack([self._blocks, presumed[:, None] * self._blocks])
        self._sums = np.repeat(np.eye(2), count, axis=0)
        # (2 C, 2 blocks) what acts on the vehicle of the arm, by the estimate
        by_arm = np.zeros((table.channels, 2 * count))
        by_arm[:table.channels - table.n, count - table.n:count] = 1.0
        self._by_arm = np.tile(by_arm, (2, 1))
        # squared, it falls twice as fast
        self._rate = min(1.0, period / RECENT_MOTION)
        self._coasting = min(1.0, 2 * period / COASTING)
        self._linger, self._spacing = int(round(RECENT_MOTION / period)), max(
            1, int(round(REFERENCE_SPACING / period)))
        C = table.channels
        self._mean = np.zeros((C, table.size))
        self._variation, self._motion, self._reference = np.zeros((3, C))
        self._effort_mean, self._coasting_mean, self._drive = np.zeros((3, C))
        self._kept, self._number = np.zeros((REFERENCES_KEPT, C, table.size)), np.zeros(C, int)
        self._moved, self._seen, self._still = np.zeros((3, C), int)
        # mean regressor and effort where a row came to rest
        self._place, self._place_effort = np.zeros((C, table.size)), np.zeros(C)
        self._ticks = 0

    def add_row(self, Y: np.ndarray, effort: np.ndarray, pi: np.ndarray, valid: np.ndarray,
                noise: np.ndarray) -> Excited:
        """Rows Y (C, p) and efforts (C,) of an instant, the estimate (p,) that predicted them and
        the noise (C,) known before."""
        # a mean at first
        first, begun = 1 / (self._seen + 1), self._seen > 0
        rate = np.maximum(self._rate, first) * valid
        away = Y - self._mean
        self._mean += rate[:, None] * away
        way = self._mean - self._place
        # Squared efforts of the blocks: of the variation and of the way, each row's of both sets of
        # parameters.
        count = self._count
        self._of_both[:, :count] = pi[:, None] * self._blocks
        squares = (np.concatenate([away, way]) @ self._of_both) ** 2
        (taken, along), (taken_presumed, along_presumed) = (
            squares @ self._sums).T.reshape(2, 2, -1)
        # the arm's of them that act on the vehicle
        by_arm, arm_along = (squares * self._by_arm).sum(axis=-1).reshape(2, -1)
        # A first row has not moved: its distance from the initial mean is no motion.
        self._variation += rate * (begun * taken - self._variation)
        self._motion += rate * (begun * np.maximum(taken, taken_presumed) - self._motion)
        self._effort_mean += rate * (effort - self._effort_mean)
        # What drives each row: the variation of its effort, with the arm's, as far as it is left.
        coasting = np.maximum(self._coasting, first) * valid
        change = effort - self._coasting_mean
        self._coasting_mean += coasting * change
        self._drive += coasting * (begun * (change ** 2 + by_arm) - self._drive)
        self._seen += valid
        driven = (IN_MOTION * noise) ** 2
        rests = AT_REST ** 2 * self._reference
        moves = (valid & (self._motion > driven) & (self._variation >= rests)
                 & (self._drive > driven))
        self._keep(away, moves & (self._seen > 1))
        if self._ticks % self._spacing == 0:
            kept = (self._kept @ self._of_both[:, :count]) ** 2
            self._reference = kept.sum(axis=(0, -1)) / np.clip(self._number, 1, REFERENCES_KEPT)
        self._ticks += 1
        # Too slow to be seen within a second, a tilt comes to other places all the same.
        elsewhere = valid & (np.maximum(along, along_presumed) > driven) & (along >= rests) & (
            (self._effort_mean - self._place_effort) ** 2 + arm_along > driven)
        fresh = moves | elsewhere
        np.copyto(self._place, self._mean, where=fresh[:, None])
        np.copyto(self._place_effort, self._effort_mean, where=fresh)
        self._still = np.where(fresh, 0, self._still + valid)
        return Excited(valid & (self._still <= self._linger), moves)

    def _keep(self, away: np.ndarray, moves: np.ndarray) -> None:
        """Keep a regressor of each row that has moved for another while."""
        now, = (moves & (self._moved % self._spacing == 0)).nonzero()
        self._moved += moves
        if now.size:
            self._kept[self._number[now] % REFERENCES_KEPT, now] = away[now]
            self._number[now] += 1


def _blocks(table: ParameterTable) -> np.ndarray:
    """(p, blocks) which parameter belongs to which block; a joint's link, friction and rotor are
    one."""
    blocks = [places for places in table.parts.values() if places[0] < table.vehicle_slice.stop]
    blocks += [
        np.array([i
                  for i, name in enumerate(table.names)
                  if name.startswith(f"{joint}.")])
        for joint in table.joints
    ]
    member = np.zeros((table.size, len(blocks)))
    for k, places in enumerate(blocks):
        member[places, k] = 1.0
    return member
