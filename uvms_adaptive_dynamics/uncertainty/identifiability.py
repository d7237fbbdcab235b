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

"""What the data determine: rank and conditioning, which parameters are measured, and the null space
in words (docs/mathematics.md, "Identifiability").

All of it follows from the rows seen so far: which parameters have an effect, which are known only
in combination, and which blocks are known."""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from ..model.coordinates import Coordinates
from ..model.covariance import deviations
from ..model.parameter_checks import KNOWN_FROM_WORDS
from ..model.parameters import ParameterTable
from ..model.physical_set import PhysicalSet

# relative to the largest eigenvalue of the scaled Gram matrix; structural zeros come out near 1e-16
RANK_TOLERANCE = 1e-12
MEASURED_SHARE, WEAK_SHARE = 0.3, 0.9  # remaining share of the prior's standard deviation, at most
# largest share of a measured parameter's remaining variance that may be the prior's error
PULL = 0.1
# largest remaining share of the prior's uncertainty in the efforts of a trusted block
TRUSTED = 0.3
# scaled coefficient below which a parameter is not part of a combination
INVOLVED = 1e-5
# deviations beyond which truncation has no effect; width below which the density is uniform
FAR, NARROW = 10.0, 0.02
TERMS = 6                     # most terms of a combination that is written out


def known_from(stddev: np.ndarray, systematic: np.ndarray, prior_stddev: np.ndarray,
               from_prior: np.ndarray, limited: np.ndarray) -> tuple[str, ...]:
    """A flag for each parameter (p,): 'measured', 'weak', 'prior', or 'frozen' if the prior has no
    deviation.

    stddev: posterior deviation; systematic: deviation added by timing and calibration errors;
    prior_stddev: the prior's; from_prior: part of `stddev` due to the prior's error, not to noise;
    limited: `stddev` truncated to the physical set.
    A parameter is measured if the data alone narrowed it to a third and a wrong prior hardly moves
    the estimate."""
    words = []
    for left, off, before, pulled, room in zip(stddev, systematic, prior_stddev, from_prior,
                                               limited):
        if before <= 0:
            words.append("frozen")
        elif np.hypot(left, off) < MEASURED_SHARE * before and pulled ** 2 <= PULL * left ** 2:
            words.append("measured")
        else:
            room = min(np.hypot(left, off), room)
            words.append("weak" if room < WEAK_SHARE * before else "prior")
    return tuple(words)


def at_least(saved: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, ...]:
    """The better of the current flags (p,) and those of a saved estimate (p,) or (): a parameter
    that it measured stays measured, since its deviations come from data."""
    if not saved:
        return words
    return tuple(new if "frozen" in (new, old) else max(new, old, key=KNOWN_FROM_WORDS.index)
                 for new, old in zip(words, saved))


def limited_by_physics(physical: PhysicalSet, pi: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """(p,) standard deviations of pi, truncated to the physical set.

    If parameter i is off by t deviations, the others most likely follow along
    cov[:, i] / stddev[i]. On this line the set is an interval, and the normal distribution is
    truncated to it."""
    stddev = deviations(covariance)
    along = covariance / np.where(stddev > 0, stddev, 1.0)
    up, down = np.full((2, stddev.size), np.inf)
    for lmi in physical.inequalities:
        # Half of epsilon keeps the matrix regular at the edge of the set, despite rounding.
        least = 0.5 * physical.epsilon * np.eye(lmi.basis.shape[1])
        margin = np.tensordot(pi[lmi.places], lmi.basis, 1) - least
        root = np.linalg.inv(np.linalg.cholesky(margin))
        values = np.linalg.eigvalsh(root @ np.tensordot(along[lmi.places].T, lmi.basis, 1) @ root.T)
        with np.errstate(divide="ignore"):
            up = np.minimum(up, np.where(values[:, 0] < 0, -1 / values[:, 0], np.inf))
            down = np.minimum(down, np.where(values[:, -1] > 0, 1 / values[:, -1], np.inf))
    return stddev * _cut_off(np.minimum(down, FAR), np.minimum(up, FAR))


def _cut_off(down: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Standard deviation of a standard normal distribution truncated to [-down, up], both >= 0."""
    low, high = (np.exp(-.5 * x ** 2) / np.sqrt(2 * np.pi) for x in (down, up))     # densities
    share = np.maximum(ndtr(up) - ndtr(-down), 1e-300)
    variance = 1 - (down * low + up * high) / share - ((low - high) / share) ** 2
    return np.where(up + down < NARROW, (up + down) / np.sqrt(12),
                    np.sqrt(np.maximum(variance, 0.0)))


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
                    pi: np.ndarray, covariance: np.ndarray, prior_stddev: np.ndarray,
                    words: tuple[str, ...]) -> Identifiability:
    """The summary. information (p, p): Gram matrix of `rows` normalized rows; pi (p,) with
    covariance (p, p): the estimate; prior_stddev (p,); words (p,): flags from `known_from`."""
    found = directions(table, free, information)
    blocks = tuple(_block(name, places, information, rows, covariance, prior_stddev)
                   for name, places in table.blocks.items() if np.any(prior_stddev[places] > 0))
    combined, sentences, written = _combinations(table, found)
    alone = [table.names[i] for i in found.at.keep
             if words[i] == "prior" and table.names[i] not in combined]
    silent = [table.names[found.at.keep[k]] for k in found.unseen]
    if silent:
        sentences.append(f"{_listed(silent)}: no effect on any row so far; set by the prior")
    alone = [name for name in alone if name not in silent]
    if alone:
        it = "it" if len(alone) == 1 else "them"
        sentences.append(
            f"{_listed(alone)}: set by the prior, since the motion so far hardly shows {it}")
    warnings = tuple(
        f"{block.name}: its efforts still have {block.left:.0%} of the prior's uncertainty; do not "
        "let a controller use this block alone"
        for block in blocks if block.left > TRUSTED)
    combinations = tuple(
        Combination(text, float(c @ pi), float(np.sqrt(max(c @ covariance @ c, 0.0))))
        for text, c in written)
    return Identifiability(found.rank, found.size, found.condition, words, blocks, tuple(sentences),
                           warnings, combinations)


def _block(name: str, places: np.ndarray, information: np.ndarray, rows: float,
           covariance: np.ndarray, prior_stddev: np.ndarray) -> Block:
    own = np.ix_(places, places)
    # Rounding may leave either slightly below zero.
    before = max(float(np.sum(np.diag(information)[places] * prior_stddev[places] ** 2)), 0.0)
    left = max(float(np.sum(information[own] * covariance[own])), 0.0)
    return Block(name, float(np.sqrt(before / max(rows, 1.0))),
                 float(np.sqrt(left / before)) if before > 0 else 1.0)


def _combinations(table: ParameterTable, found: Directions) -> tuple[
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
            sentences.append(f"{_listed(members)}: set by the prior")
        elif all(written) and len(written) <= TERMS:
            sentences.append(f"{_listed(members)} only as {_listed(written)}")
        else:
            sentences.append(f"{_listed(members)} only in {len(written)} "
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


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
