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

"""Which entries of the matrix inequalities, in the eigenvectors of F, are conditions.

That follows from how many directions are null and how many have a multiplier, which hardly ever
changes from one tick to the next."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .cones import SIDE

# added to the regular part, in which a constraint that has just been left is still nearly singular
FLAT = 1e-9
EYE = np.eye(SIDE)
_UPPER = np.triu(np.ones((SIDE, SIDE), bool))


class Faces:
    """Masks (K, 4, 4) of ones and zeros, and places of the conditions, all read-only.

    null: directions that are null, whose `identity` it is; kept: pairs of directions that have a
    multiplier, of which `others` are the rest of the diagonal; free, kept_identity: pairs that have
    none, and the diagonal of those that do; lost: pairs that are null and have lost theirs. regular
    and across: entries of F22 and F21; added: to F22, which so is never singular; regular_diagonal
    (K, 4) bool. on_a_face: whether a direction has lost its multiplier.

    Of each of the c conditions: inequality (c,); column (c,), its place in the flattened matrix;
    entry, mirrored (c,), its place and that across the diagonal in all of them, flattened; double
    (c,): how many entries of the symmetric multiplier it stands for."""

    def __init__(self, rank: np.ndarray, null: np.ndarray):
        """rank, null (K,): how many directions have a multiplier, and how many are null."""
        self.on_a_face = bool((null > rank).any())
        first, kept = np.arange(SIDE) < null[:, None], np.arange(SIDE) < rank[:, None]
        self.first = first
        self.identity = first[:, :, None] * EYE
        self.kept, self.free, self.null = (_pairs(one) for one in (kept, ~kept, first))
        self.null -= _pairs(first & ~kept)
        self.kept_identity, self.others = kept[:, None, :] * EYE, ~kept[:, None, :] * EYE
        self.regular = _pairs(~first)
        self.regular_diagonal = ~first
        self.across = (~first[:, :, None] & first[:, None, :]).astype(float)
        self.added = np.where(first[:, :, None], 1.0, FLAT) * EYE
        k, i, j = np.nonzero(_UPPER & kept[:, :, None] & first[:, None, :])
        self.inequality, self.column = k, SIDE * i + j
        self.entry, self.mirrored = SIDE ** 2 * k + self.column, SIDE ** 2 * k + SIDE * j + i
        # An off-diagonal condition stands for two entries of the symmetric multiplier.
        self.double = np.where(i == j, 1.0, 2.0)
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


def faces_of(rank: np.ndarray, null: np.ndarray) -> Faces:
    """The faces for so many directions (K,) with a multiplier and so many (K,) null ones."""
    return _kept(tuple(rank.tolist()), tuple(null.tolist()))


@lru_cache(maxsize=256)
def _kept(rank: tuple[int, ...], null: tuple[int, ...]) -> Faces:
    return Faces(np.array(rank, int), np.array(null, int))


def _pairs(directions: np.ndarray) -> np.ndarray:
    """(K, 4, 4) ones where both directions (K, 4) bool are among them."""
    return (directions[:, :, None] & directions[:, None, :]).astype(float)
