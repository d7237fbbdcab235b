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

"""Which rows are informative: a row at rest repeats one error, however often it is seen.

Averaging removes white noise, but not sensor offsets, dead bands or model error. So a calm period
must not count as thousands of independent rows, and its small residuals must not count as the noise
of rows in motion. Motion without a known effort must not count either: if a tether or a swell moves
the robot while all efforts are zero, a robot without inertia and damping fits without any residual
(docs/mathematics.md, "Rows that are learnt from"; docs/uncertainty.md, "Calm periods")."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.parameters import ParameterTable
from .momentum_drive import MomentumDrive

# [s] over which a row's variation is averaged, and for which a row still counts after coming to
# rest
RECENT_MOTION = 1.0
IN_MOTION = 0.3     # variation, in noise deviations, from which a row is in motion
# [s] time constant of coasting without effort: a body's inertia over its damping
COASTING = 5.0
AT_REST = 0.3       # share of a row's reference variation below which it is at rest
# [s] of motion between two regressors kept as a row's reference; how many are kept
REFERENCE_SPACING, REFERENCES_KEPT = 0.5, 40


class Excited(NamedTuple):
    """Rows of an instant: learnt (C,) bool, those to learn from; in_motion (C,) bool, those whose
    residuals inform the noise."""

    learnt: np.ndarray
    in_motion: np.ndarray


class RowExcitation:
    """Variation of each channel over the last second, summed over the robot's blocks.

    Blocks are the vehicle's inertia, damping and restoring, and each link. Their variances add,
    because efforts of blocks may cancel. Single parameters would be too fine: weight and buoyancy
    are a hundred newtons each, and only their difference acts. The reference variation is computed
    with the present estimate, from regressors kept while the row moved: judged by a wrong prior,
    the first seconds could look like more motion than there ever will be again.

    A row is driven by the variation of its own effort, which fades by e in COASTING; a row of the
    vehicle also by that of the arm's efforts on it, and of its momentum along other axes
    (`MomentumDrive`)."""

    def __init__(self, table: ParameterTable, period: float, presumed: np.ndarray):
        """period [s] of the rows; presumed (p,): typical parameters of such a robot, which reveal
        motion even if a wrong estimate says that it takes no effort."""
        self._blocks, self._presumed = _blocks(table), presumed
        self._count = count = self._blocks.shape[1]
        # (p, 2 blocks) efforts of the blocks by the estimate and by the presumed parameters;
        # (2 blocks, 2) sums over the blocks of each
        self._of_both = np.hstack([self._blocks, presumed[:, None] * self._blocks])
        self._sums = np.repeat(np.eye(2), count, axis=0)
        # (2 C, 2 blocks) picks the links' efforts on the vehicle, by the estimate
        by_arm = np.zeros((table.channels, 2 * count))
        by_arm[:table.channels - table.n, count - table.n:count] = 1.0
        self._by_arm = np.tile(by_arm, (2, 1))
        self._momentum = MomentumDrive(table)
        self._rate = min(1.0, period / RECENT_MOTION)
        # factor 2: a square falls twice as fast
        self._coasting = min(1.0, 2 * period / COASTING)
        self._linger = round(RECENT_MOTION / period)
        self._spacing = max(1, round(REFERENCE_SPACING / period))
        C = table.channels
        self._mean = np.zeros((C, table.size))
        self._variation, self._motion, self._reference = np.zeros((3, C))
        self._effort_mean, self._coasting_mean, self._drive = np.zeros((3, C))
        self._kept, self._number = np.zeros((REFERENCES_KEPT, C, table.size)), np.zeros(C, int)
        self._moved, self._seen, self._still = np.zeros((3, C), int)
        # mean regressor and effort at which each row last counted as new
        self._place, self._place_effort = np.zeros((C, table.size)), np.zeros(C)
        self._ticks = 0

    def add_row(self, Y: np.ndarray, effort: np.ndarray, pi: np.ndarray, valid: np.ndarray,
                noise: np.ndarray) -> Excited:
        """Judge the rows Y (C, p) and efforts (C,) [N, N m] of an instant, valid (C,) bool, by the
        estimate pi (p,) that predicted them and the noise (C,) known before."""
        first, begun = 1 / (self._seen + 1), self._seen > 0
        rate = np.maximum(self._rate, first) * valid        # a plain mean at first
        deviation = Y - self._mean
        self._mean += rate[:, None] * deviation
        displacement = self._mean - self._place     # since the row last counted as new
        # squared efforts of the blocks in both, by the estimate and by the presumed parameters
        count = self._count
        self._of_both[:, :count] = pi[:, None] * self._blocks
        squares = (np.concatenate([deviation, displacement]) @ self._of_both) ** 2
        (varied, displaced), (varied_presumed, displaced_presumed) = (
            squares @ self._sums).T.reshape(2, 2, -1)
        # squared efforts of the arm on the vehicle
        varied_by_arm, displaced_by_arm = (squares * self._by_arm).sum(axis=-1).reshape(2, -1)
        # The first row has not moved: its distance from the initial mean, zero, is not motion.
        self._variation += rate * (begun * varied - self._variation)
        self._motion += rate * (begun * np.maximum(varied, varied_presumed) - self._motion)
        self._effort_mean += rate * (effort - self._effort_mean)
        # what drives each row: the faded variation of its own effort and of the arm's on it
        coasting = np.maximum(self._coasting, first) * valid
        change = effort - self._coasting_mean
        self._coasting_mean += coasting * change
        self._drive += coasting * (begun * (change ** 2 + varied_by_arm) - self._drive)
        self._seen += valid
        self._momentum.add_row(Y, deviation, displacement, effort, self._of_both[:, :count],
                               pi, begun * coasting)
        above_noise = (IN_MOTION * noise) ** 2
        at_rest = AT_REST ** 2 * self._reference
        moves = valid & (self._motion > above_noise) & (self._variation >= at_rest)
        driven = self._drive > above_noise
        in_motion = moves & (driven | self._momentum.drives(above_noise))
        self._momentum.count(moves & driven, in_motion & ~driven)
        self._keep(deviation, in_motion & (self._seen > 1))
        if self._ticks % self._spacing == 0:
            kept = (self._kept @ self._of_both[:, :count]) ** 2
            self._reference = kept.sum(axis=(0, -1)) / np.clip(self._number, 1, REFERENCES_KEPT)
        self._ticks += 1
        # A tilt too slow to show within a second still reaches new attitudes.
        elsewhere = (
            valid & (np.maximum(displaced, displaced_presumed) > above_noise)
            & (displaced >= at_rest)
            & ((self._effort_mean - self._place_effort) ** 2 + displaced_by_arm
               + self._momentum.displaced > above_noise))
        fresh = in_motion | elsewhere
        np.copyto(self._place, self._mean, where=fresh[:, None])
        np.copyto(self._place_effort, self._effort_mean, where=fresh)
        self._still = np.where(fresh, 0, self._still + valid)
        return Excited(valid & (self._still <= self._linger), in_motion)

    def _keep(self, deviation: np.ndarray, in_motion: np.ndarray) -> None:
        """Keep a regressor of each row that has moved for another REFERENCE_SPACING."""
        now, = (in_motion & (self._moved % self._spacing == 0)).nonzero()
        self._moved += in_motion
        if now.size:
            self._kept[self._number[now] % REFERENCES_KEPT, now] = deviation[now]
            self._number[now] += 1


def _blocks(table: ParameterTable) -> np.ndarray:
    """(p, blocks) membership of each parameter; a joint's link, friction and rotor are one block.
    """
    blocks = [places for places in table.parts.values() if places[0] < table.vehicle_slice.stop]
    blocks += [np.array([i for i, name in enumerate(table.names) if name.startswith(f"{joint}.")])
               for joint in table.joints]
    member = np.zeros((table.size, len(blocks)))
    for k, places in enumerate(blocks):
        member[places, k] = 1.0
    return member
