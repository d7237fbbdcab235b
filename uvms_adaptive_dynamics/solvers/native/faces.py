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

"""Which entries of the matrix inequalities, in the eigenvectors of F, are active conditions
(docs/mathematics.md, "Optimality conditions").

This depends only on how many directions are null and how many have a multiplier. These numbers
rarely change from tick to tick, so the masks are cached."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .cones import SIDE

# shift of the regular part: a constraint that was active until now is still nearly singular
FLAT = 1e-9
EYE = np.eye(SIDE)
_UPPER = np.triu(np.ones((SIDE, SIDE), bool))


class Faces:
    """Masks (K, 4, 4) of ones and zeros, and places of the c active conditions, all read-only.

    Directions are sorted: those with a multiplier, then those that are null without one, then the
    regular ones. first (K, 4) bool: null directions; identity: their diagonal. kept: pairs of
    directions with a multiplier; kept_identity: their diagonal; free: pairs without multipliers;
    others: their diagonal. null: pairs of null directions, except pairs that have both lost their
    multiplier. regular, across: entries of F22 and F21; added: shift that keeps F22 invertible;
    regular_diagonal (K, 4) bool; regular_places: its places in all flattened matrices. on_a_face:
    whether a null direction has lost its multiplier.

    Per condition: inequality (c,); column (c,): place in the flattened matrix; entry, mirrored
    (c,): place, and transposed place, in all flattened matrices; double (c,): entries of the
    symmetric multiplier that it represents, 1 or 2; diagonal: the conditions that represent one."""

    def __init__(self, rank: np.ndarray, null: np.ndarray):
        """rank, null (K,): numbers of directions with a multiplier, and of null directions."""
        self.on_a_face = bool((null > rank).any())
        first, kept = np.arange(SIDE) < null[:, None], np.arange(SIDE) < rank[:, None]
        self.first = first
        self.identity = first[:, :, None] * EYE
        self.kept, self.free, self.null = (_pairs(one) for one in (kept, ~kept, first))
        self.null -= _pairs(first & ~kept)
        self.kept_identity, self.others = kept[:, None, :] * EYE, ~kept[:, None, :] * EYE
        self.regular = _pairs(~first)
        self.regular_diagonal = ~first
        inequality, direction = self.regular_diagonal.nonzero()
        self.regular_places = SIDE ** 2 * inequality + (SIDE + 1) * direction
        self.across = (~first[:, :, None] & first[:, None, :]).astype(float)
        self.added = np.where(first[:, :, None], 1.0, FLAT) * EYE
        k, i, j = np.nonzero(_UPPER & kept[:, :, None] & first[:, None, :])
        self.inequality, self.column = k, SIDE * i + j
        self.entry, self.mirrored = SIDE ** 2 * k + self.column, SIDE ** 2 * k + SIDE * j + i
        # An off-diagonal condition represents two entries of the symmetric multiplier.
        self.double, self.diagonal = np.where(i == j, 1.0, 2.0), np.flatnonzero(i == j)
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


def faces_of(rank: np.ndarray, null: np.ndarray) -> Faces:
    """The faces for rank (K,) directions with a multiplier among null (K,) null ones, cached."""
    return _kept(tuple(rank.tolist()), tuple(null.tolist()))


@lru_cache(maxsize=256)
def _kept(rank: tuple[int, ...], null: tuple[int, ...]) -> Faces:
    return Faces(np.array(rank, int), np.array(null, int))


def _pairs(directions: np.ndarray) -> np.ndarray:
    """(K, 4, 4) ones where both directions of a pair are in the set (K, 4) bool."""
    return (directions[:, :, None] & directions[:, None, :]).astype(float)
