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

"""What the rows so far determine, for the operator and for a saved estimate: rank, flags, blocks of
parameters, and the null space in words (docs/mathematics.md, "Identifiability")."""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..model.parameters import ParameterTable
from .null_space import combinations, directions, listed

# largest remaining share of the prior's uncertainty in the efforts of a trusted block
TRUSTED = 0.3


@dataclass(frozen=True)
class Block:
    """A group of parameters. excitation: rms effort in the rows seen that the prior's uncertainty
    of the group allows, in deviations of the noise; left: remaining share of that uncertainty."""

    name: str
    excitation: float
    left: float


class Combination(NamedTuple):
    """A combination of parameters that the rows determine although its parts are not: as a formula,
    with value and standard deviation (SI)."""

    text: str
    value: float
    stddev: float


@dataclass(frozen=True)
class Identifiability:
    """What the data determine: rank of `size` directions, condition number, flag of each parameter
    (p,), blocks, sentences and warnings for the operator, and the combinations short enough to be
    written out."""

    rank: int
    size: int
    condition: float
    known_from: tuple[str, ...]
    blocks: tuple[Block, ...]
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    combinations: tuple[Combination, ...] = ()

    def for_file(self) -> dict:
        """The part saved in a parameter file, in plain types."""
        return {
            "rank": self.rank, "directions": self.size, "condition": float(self.condition),
            "sentences": list(self.sentences), "warnings": list(self.warnings),
            "combinations": {one.text: {"value": one.value, "stddev": one.stddev}
                             for one in self.combinations}
        }


def identifiability(table: ParameterTable, free: np.ndarray, information: np.ndarray, rows: float,
                    pi: np.ndarray, covariance: np.ndarray, systematic: np.ndarray,
                    prior_stddev: np.ndarray, words: tuple[str, ...]) -> Identifiability:
    """The summary. information (p, p): Gram matrix of `rows` normalized rows; pi (p,) with
    covariance (p, p): the estimate; systematic (k, p): its shift by one deviation of each error
    that residuals do not show; prior_stddev (p,); words (p,): flags from `known_from`."""
    found = directions(table, free, information)
    blocks = tuple(_block(name, places, information, rows, covariance, prior_stddev)
                   for name, places in table.blocks.items() if np.any(prior_stddev[places] > 0))
    combined, sentences, written = combinations(table, found)
    alone = [table.names[i] for i in found.at.keep
             if words[i] == "prior" and table.names[i] not in combined]
    silent = [table.names[found.at.keep[k]] for k in found.unseen]
    if silent:
        sentences.append(f"{listed(silent)}: no effect on any row so far; set by the prior")
    alone = [name for name in alone if name not in silent]
    if alone:
        it = "it" if len(alone) == 1 else "them"
        sentences.append(
            f"{listed(alone)}: set by the prior, since the motion so far hardly shows {it}")
    warnings = tuple(
        f"{block.name}: its efforts still have {block.left:.0%} of the prior's uncertainty; do not "
        "let a controller use this block alone"
        for block in blocks if block.left > TRUSTED)
    return Identifiability(
        found.rank, found.size, found.condition, words, blocks, tuple(sentences), warnings,
        tuple(Combination(text, float(c @ pi), float(np.sqrt(
            max(c @ covariance @ c, 0.0) + np.sum((systematic @ c) ** 2))))
            for text, c in written))


def _block(name: str, places: np.ndarray, information: np.ndarray, rows: float,
           covariance: np.ndarray, prior_stddev: np.ndarray) -> Block:
    own = np.ix_(places, places)
    # Rounding may leave either slightly below zero.
    before = max(float(np.sum(np.diag(information)[places] * prior_stddev[places] ** 2)), 0.0)
    left = max(float(np.sum(information[own] * covariance[own])), 0.0)
    return Block(name, float(np.sqrt(before / max(rows, 1.0))),
                 float(np.sqrt(left / before)) if before > 0 else 1.0)
