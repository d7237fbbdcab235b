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

"""Which parameters are estimated, and the covariance of the others: those frozen by settings, and
those held for now by a stage (docs/identification.md, "What freezing does").

Data about held parameters are not lost: rows keep all their columns, so a parameter freed later
profits from everything seen while it was held."""
from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..errors import ParameterError, require
from ..model.arguments import read_only
from ..model.parameters import ParameterTable


class FreeSet:
    """free (p,) bool: estimated now; allowed (p,) bool: not frozen by the settings; both read-only.

    covariance (f, f): of the parameters that are not free, at the time they were frozen."""

    free: np.ndarray
    covariance: np.ndarray
    _words: tuple[str, ...]     # each parameter's flag when the set last changed
    _settled: np.ndarray

    def __init__(self, table: ParameterTable, frozen: Iterable[str]):
        """frozen: names or patterns from the settings. Raises ParameterError if one matches
        nothing."""
        self._table = table
        self.allowed = self.free = self._settled = self._paired(~table.match(frozen))
        self.covariance, self._words = np.zeros((0, 0)), ()

    def restart(self, covariance: np.ndarray) -> None:
        """Begin again from a covariance (p, p); the set stays."""
        frozen = ~self.free
        self.covariance, self._words = covariance[np.ix_(frozen, frozen)], ()
        self.settle()

    def wanted(self, free: np.ndarray | Iterable[str]) -> np.ndarray:
        """(p,) bool from a mask (p,) or from names and patterns. Parameters frozen by settings stay
        frozen, and pairs tied by symmetry are free together or not at all. Raises
        ParameterError."""
        if isinstance(free, np.ndarray):
            if free.shape != (self._table.size,) or free.dtype != bool:
                raise ParameterError(
                    f"parameters to free: got an array of shape {free.shape} and type "
                    f"{free.dtype}, expected {self._table.size} booleans, or names and patterns.")
            mask = free
        else:
            require("parameters to free", free, Iterable, expected="names and patterns, or a mask")
            names = list(free)
            for name in names:
                require("parameters to free", name, str, expected="names and patterns")
            mask = self._table.match(names)
        return self._paired(mask & self.allowed)

    def change(self, free: np.ndarray, covariance: np.ndarray, words: tuple[str, ...]) -> None:
        """Estimate `free` (p,) from now on; the other parameters keep their part of the covariance
        (p, p) and their flag from `words` (p,)."""
        self.free, self._words = free, words
        self.covariance = covariance[np.ix_(~free, ~free)].copy()

    def settle(self) -> None:
        """Mark the present set as applied."""
        self._settled = self.free

    @property
    def settled(self) -> bool:
        """Whether the present set has been applied."""
        return self._settled is self.free or np.array_equal(self._settled, self.free)

    @property
    def held(self) -> np.ndarray:
        """(p,) bool: held for now by a stage."""
        return self.allowed & ~self.free

    def held_covariance(self) -> np.ndarray:
        """(h, h) covariance of the held parameters."""
        among = self.held[~self.free]
        return self.covariance[np.ix_(among, among)]

    def flags(self, words: tuple[str, ...], solved: bool) -> tuple[str, ...]:
        """(p,) flags: `words` for free parameters, remembered flags for held ones; remembered flags
        for all while nothing has been solved since the set changed."""
        if not self.settled or (self._words and not solved):
            return self._words
        before = self._words or ("prior",) * len(words)
        return tuple(old if held else word for held, old, word in zip(self.held, before, words))

    def _paired(self, free: np.ndarray) -> np.ndarray:
        free = free.copy()
        for a, b in self._table.equal_pairs:
            free[a] = free[b] = free[a] and free[b]
        return read_only(free)
