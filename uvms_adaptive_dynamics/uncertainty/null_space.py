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

"""Rank of the rows, and their null space in words: which parameters are known only in combination
(docs/mathematics.md, "Identifiability")."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.coordinates import Coordinates
from ..model.parameters import ParameterTable

# relative to the largest eigenvalue of the scaled Gram matrix; structural zeros come out near 1e-16
RANK_TOLERANCE = 1e-12
# scaled coefficient below which a parameter is not part of a combination
INVOLVED = 1e-5
TERMS = 6                     # most terms of a combination that is written out


@dataclass(frozen=True)
class Directions:
    """Directions of the free parameters on the equality constraints, in the table's scales, with
    the columns that have an effect normalized.

    rank: determined directions, of `size`; condition: largest over smallest singular value of the
    determined directions, for the normalized rows; unseen (k,): indices (of x) without effect; null
    (m, size - rank - k): basis of the remaining null space, scaled."""

    at: Coordinates
    rank: int
    condition: float
    unseen: np.ndarray
    null: np.ndarray

    @property
    def size(self) -> int:
        """Number of directions."""
        return self.at.size


def directions(table: ParameterTable, free: np.ndarray, information: np.ndarray) -> Directions:
    """Rank and null space of the Gram matrix (p, p) of the rows."""
    at = Coordinates(table, free, np.array(table.scale))
    gram = at.columns(at.columns(information).T)
    size = np.sqrt(np.maximum(np.diag(gram), 0))
    seen = np.flatnonzero(size > 0)
    unseen = np.flatnonzero(size == 0)
    if not seen.size:
        return Directions(at, 0, np.inf, unseen, np.zeros((at.size, 0)))
    values, vectors = np.linalg.eigh(gram[np.ix_(seen, seen)] / np.outer(size[seen], size[seen]))
    determined = values > RANK_TOLERANCE * values[-1]
    null = np.zeros((at.size, int(np.sum(~determined))))
    null[seen] = vectors[:, ~determined] / size[seen, None]
    return Directions(at, int(determined.sum()), float(np.sqrt(values[-1] / values[determined][0])),
                      unseen, null)


def combinations(table: ParameterTable, found: Directions) -> tuple[
        set[str], list[str], list[tuple[str, np.ndarray]]]:
    """(names determined only in combination, a sentence for each group of them, each combination
    that can be written out with its coefficients (p,))."""
    open_directions = _echelon(found.null)
    names = [table.names[i] for i in found.at.keep]
    combined, sentences, kept = set(), [], []
    for places, opened in _groups(np.abs(open_directions) > INVOLVED):
        members = [names[i] for i in places]
        combined.update(members)
        determined = _echelon(_complement(open_directions[np.ix_(places, opened)]))
        # Scaled combinations c^T x are c / scale in the parameters themselves.
        columns = [column / found.at.scale[places] for column in determined.T]
        written = [_written(column, members) for column in columns]
        for text, column in zip(written, columns):
            if text:
                coefficients = np.zeros(table.size)
                coefficients[found.at.keep[places]] = column / column[np.flatnonzero(column)[0]]
                kept.append((text, coefficients))
        if not written:
            sentences.append(f"{listed(members)}: set by the prior")
        elif all(written) and len(written) <= TERMS:
            sentences.append(f"{listed(members)} only as {listed(written)}")
        else:
            sentences.append(f"{listed(members)} only in {len(written)} "
                             f"combination{'s' if len(written) > 1 else ''}")
    return combined, sentences, kept


def _groups(involved: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Connected components (places, columns) of a sparsity pattern (m, k)."""
    groups, left = [], set(range(involved.shape[1]))
    while left:
        columns = {left.pop()}
        while True:
            places = involved[:, sorted(columns)].any(axis=1)
            more = {k for k in left if (involved[:, k] & places).any()}
            if not more:
                break
            columns |= more
            left -= more
        groups.append((np.flatnonzero(places), np.array(sorted(columns))))
    return groups


def _complement(N: np.ndarray) -> np.ndarray:
    """(m, m - k) basis of the orthogonal complement of the columns of N (m, k)."""
    U, _, _ = np.linalg.svd(N, full_matrices=True)
    return U[:, N.shape[1]:]


def _echelon(N: np.ndarray) -> np.ndarray:
    """A sparse basis of the same column space, by Gauss-Jordan elimination with full pivoting;
    largest entries are one."""
    N = N / np.maximum(np.abs(N).max(axis=0), 1e-300) if N.size else N.copy()
    done: list[int] = []
    for k in range(N.shape[1]):
        rest = np.abs(N[:, k:])
        rest[done] = 0.0
        i, j = np.unravel_index(np.argmax(rest), rest.shape)
        N[:, [k, k + j]] = N[:, [k + j, k]]
        N[:, k] /= N[i, k]
        others = np.arange(N.shape[1]) != k
        N[:, others] -= np.outer(N[:, k], N[i, others])
        done.append(int(i))
    N[np.abs(N) < INVOLVED * np.abs(N).max(axis=0, initial=0.0)] = 0.0
    return N


def _written(coefficients: np.ndarray, names: list[str]) -> str:
    """The combination as a formula, such as 'W - B'; '' if it has too many terms."""
    lead = next(c for c in coefficients if c)
    terms = [(c / lead, name) for c, name in zip(coefficients, names) if c]
    if len(terms) > TERMS:
        return ""
    text = ""
    for c, name in terms:
        size = "" if abs(abs(c) - 1) < 5e-4 else f"{abs(c):.3g} "
        text += (" - " if c < 0 else " + " if text else "") + size + name
    return text.strip()


def listed(names: Sequence[str]) -> str:
    """The names as an enumeration: 'a, b and c'."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
