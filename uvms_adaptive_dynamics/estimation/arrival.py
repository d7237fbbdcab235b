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

"""Arrival costs: the condensed rows that have left the window, and the prior.

The classes share their methods; `arrival_cost` chooses one. Rows are in SI units and per channel;
`weights` (C,), the reciprocal noise variances, are applied when a quadratic is formed.
docs/mathematics.md, "Arrival cost".
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..config import Estimation
from ..model.parameters import ParameterTable
from .forgetting import ParameterWander, RowMap, directional_map, marginal_map, wander_map
from .increment_arrival import IncrementArrival
from .prior_information import PriorInformation
from .square_root_information import ChannelInformation, triangular

# instants per block of directional forgetting: enough for a motion to excite all its directions
FORGETTING_BLOCK = 1000

ChannelMasks = Sequence[np.ndarray]    # masks (C,) of channels whose rows are summed separately


class UniformArrival:
    """All rows, with weight lambda^age; the prior fades at the same rate, down to a floor."""

    directional = False

    def __init__(self, settings: Estimation, table: ParameterTable, prior: PriorInformation,
                 split: ChannelMasks):
        self.decay, self._lowest = settings.forgetting, settings.information_floor
        self._old = ChannelInformation(table.channels, table.size)
        self._prior, self._given, self._share = prior.rows.T @ prior.rows, prior, 1.0
        self._split = split
        self._data = [np.zeros((table.size + 1,) * 2) for _ in split]
        self._weights = np.ones(table.channels)

    def tick(self) -> None:
        """See `IncrementArrival.tick`."""
        self._old.fade(self.decay)
        for part in self._data:
            part *= self.decay
        self._share = max(self._share * self.decay, self._lowest)

    def add_row(self, rows: np.ndarray, weight: float) -> None:
        """See `IncrementArrival.add_row`."""
        self._old.add_row(rows, weight)
        add_weighted(self._data, self._split, rows, weight * self._weights)

    def reweigh(self, weights: np.ndarray) -> None:
        """See `IncrementArrival.reweigh`."""
        self._weights = weights
        self._data = [self._old.weighted(weights * mask) for mask in self._split]

    def data(self) -> list[np.ndarray]:
        """See `IncrementArrival.data`."""
        return self._data

    def prior(self, pi: np.ndarray) -> np.ndarray:
        """See `IncrementArrival.prior`."""
        return self._share * self._prior

    def floor(self, pi: np.ndarray) -> np.ndarray:
        """See `IncrementArrival.floor`."""
        return self._share * self._given.floor

    def gradient_covariance(self) -> np.ndarray:
        """See `IncrementArrival.gradient_covariance`."""
        return self._share ** 2 * self._given.gradient_covariance


class DirectionalArrival:
    """All rows; only what newer rows replace is forgotten, one block at a time.

    In addition to the common methods, `close_block` and `marginalize` map the old rows. They map
    the sums at once and return an iterator that maps the channels' factors, one per step."""

    decay = 1.0
    directional = True

    def __init__(self, settings: Estimation, table: ParameterTable, prior: PriorInformation,
                 split: ChannelMasks, wander: ParameterWander | None = None):
        self._lambda, self._wander = settings.forgetting, wander
        self._given = prior
        self._old, self._block = (ChannelInformation(table.channels, table.size) for _ in range(2))
        self._in_block = 0
        self._prior_rows, self._prior_noise = prior.rows, prior.gradient_covariance
        self._old_data, self._block_data = np.zeros((2,) + (table.size + 1,) * 2)
        self._prior = prior.rows.T @ prior.rows
        self._weights = np.ones(table.channels)
        self._all = (np.ones(table.channels),)

    def tick(self) -> None:
        """See `IncrementArrival.tick`."""

    def add_row(self, rows: np.ndarray, weight: float) -> None:
        """See `IncrementArrival.add_row`."""
        self._block.add_row(rows, weight)
        add_weighted((self._block_data,), self._all, rows, weight * self._weights)
        self._in_block += 1

    def reweigh(self, weights: np.ndarray) -> None:
        """See `IncrementArrival.reweigh`; never while a map's iterator is unfinished."""
        self._weights = weights
        self._old_data = self._old.weighted(weights)
        self._block_data = self._block.weighted(weights)

    def data(self) -> list[np.ndarray]:
        """See `IncrementArrival.data`."""
        return [self._old_data + self._block_data]

    def prior(self, pi: np.ndarray) -> np.ndarray:
        """See `IncrementArrival.prior`."""
        return self._prior

    def floor(self, pi: np.ndarray) -> np.ndarray:
        """See `IncrementArrival.floor`: no direction loses its initial information."""
        return self._given.floor

    def gradient_covariance(self) -> np.ndarray:
        """See `IncrementArrival.gradient_covariance`."""
        return self._prior_noise

    def block_is_full(self) -> bool:
        """Whether it is time to forget."""
        return (self._in_block >= FORGETTING_BLOCK
                and (self._lambda < 1.0 or self._wander is not None))

    def closing_map(self) -> RowMap:
        """The map by which old rows and prior forget what the block's rows replace."""
        share = 1 - self._lambda ** min(self._in_block, FORGETTING_BLOCK)
        return directional_map(self.before_block(), self._block_data, share)

    def before_block(self) -> np.ndarray:
        """(p + 1, p + 1) sum of the old rows and the prior, without the block."""
        return self._old_data + self._prior

    def close_block(self) -> tuple[RowMap, Iterator[None]]:
        """Forget what the block's rows replace, let parameters wander as long as it took, then add
        the block to the old rows. Raises LinAlgError, with nothing changed, if the sums are not
        positive definite."""
        row_map, wander, fresh = self.closing_map(), self._wander, None
        if wander is not None and self._in_block:
            M = row_map.rows
            row_map = row_map.then(wander_map(M.T @ self.before_block() @ M, wander.places,
                                              wander.added(self._in_block)))
            fresh = self._refreshed(wander)
        self._map_sums(row_map)
        if fresh is not None:
            self._add_prior(fresh)
        self._old_data += self._block_data
        closed, self._block = self._block, ChannelInformation(len(self._weights),
                                                              len(self._prior) - 1)
        self._block_data = np.zeros_like(self._block_data)
        self._in_block = 0
        return row_map, self._old.mapped(row_map.rows, closed)

    def postpone(self) -> None:
        """Try again a block later."""
        self._in_block = 0

    def marginalize(self, places: np.ndarray, pi: np.ndarray) -> tuple[RowMap, Iterator[None]]:
        """Marginalize old rows over parameters at `places` (k,), which start again about pi (p,)
        with the prior's initial information."""
        row_map = marginal_map(self.before_block(), places)
        self._map_sums(row_map)
        self._add_prior(self._beginning(places, pi))
        nothing = ChannelInformation(len(self._weights), len(self._prior) - 1)
        return row_map, self._old.mapped(row_map.rows, nothing)

    def _refreshed(self, wander: ParameterWander) -> np.ndarray:
        """(k, p + 1) rows about zero that keep the variance of wandering parameters stationary."""
        rows, k = np.zeros((len(wander.places), len(self._prior))), np.arange(len(wander.places))
        rows[k, wander.places] = np.sqrt(wander.refreshed(self._in_block))
        return rows

    def _add_prior(self, rows: np.ndarray) -> None:
        """Add rows (k, p + 1) to the prior, as rows of unit noise."""
        self._prior_rows = triangular(np.vstack([self._prior_rows, rows]))
        self._prior = self._prior_rows.T @ self._prior_rows
        self._prior_noise = self._prior_noise + rows[:, :-1].T @ rows[:, :-1]

    def _beginning(self, places: np.ndarray, pi: np.ndarray) -> np.ndarray:
        """(k, p + 1) initial rows of the parameters at `places` (k,), about pi (p,)."""
        rows, k = np.zeros((len(places), len(pi) + 1)), np.arange(len(places))
        rows[k, places] = 1 / self._given.stddev[places]
        rows[:, -1] = rows[k, places] * pi[places]
        return rows

    def _map_sums(self, row_map: RowMap) -> None:
        M, T = row_map.rows, row_map.gradient
        self._prior_rows = self._prior_rows @ M
        self._prior = self._prior_rows.T @ self._prior_rows
        self._prior_noise = T @ self._prior_noise @ T.T
        self._old_data = M.T @ self._old_data @ M


ArrivalCost = IncrementArrival | UniformArrival | DirectionalArrival


def arrival_cost(settings: Estimation, table: ParameterTable, prior: PriorInformation,
                 split: ChannelMasks, wander: ParameterWander | None = None) -> ArrivalCost:
    """The arrival cost that the settings select. With coupling 'reaction' rows depend on the
    estimate, so forgetting is uniform. wander: parameters that drift by themselves; unless
    forgetting is directional, they fade like all others."""
    if settings.arrival != "information":
        return IncrementArrival(settings, table, prior, len(split))
    if settings.forgetting_kind == "uniform" or settings.coupling == "reaction":
        return UniformArrival(settings, table, prior, split)
    return DirectionalArrival(settings, table, prior, split, wander)


def add_weighted(sums: Sequence[np.ndarray], split: ChannelMasks, rows: np.ndarray,
                 weights: np.ndarray) -> None:
    """Add the weighted products of rows [Y tau] (C, p + 1), weights (C,), to each sum of the split.
    """
    for one, mask in zip(sums, split):
        one += ((weights * mask)[:, None] * rows).T @ rows
