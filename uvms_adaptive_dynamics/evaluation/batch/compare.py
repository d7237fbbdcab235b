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

"""Differences between two sets of results on the same recordings, with their uncertainty.

Standard errors come from a jackknife: each pooled figure is also computed with one cluster left
out. Clusters are the common recordings or, if there is only one, pieces of its time, since rows are
correlated. With K clusters, intervals are those of Student's t with K - 1 degrees of freedom.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...model.jackknife import student_quantile, variance

SUMS = ("n", "squared", "inside", "nll")
CONFIDENCE = 0.95


class Difference(NamedTuple):
    """A figure's change and the half-width of its 95 % interval (NaN for a single cluster)."""

    value: float
    half_width: float

    @property
    def sure(self) -> bool:
        """Whether the interval excludes zero."""
        return abs(self.value) > self.half_width


class ChannelComparison(NamedTuple):
    """How a channel's `new` results differ from its `old` ones.

    RMSE in the channel's unit and change of its logarithm; change of the coverage of 95 %
    intervals and of the NLL [nats per row]; worst: the recording whose RMSE grew most; clusters:
    their number; kind: 'recordings' or 'pieces'."""

    channel: str
    unit: str
    old_rmse: float
    new_rmse: float
    log_rmse: Difference
    old_coverage: float
    coverage: Difference
    nll: Difference
    worst: str
    clusters: int
    kind: str

    @property
    def word(self) -> str:
        """'worse' if RMSE or NLL grew significantly, 'better' if one fell significantly and neither
        grew; else 'same' or 'undecided'."""
        if self.log_rmse.value == self.nll.value == self.coverage.value == 0.0:
            return "same"
        sure = [d.value for d in (self.log_rmse, self.nll) if d.sure]
        if not sure:
            return "undecided"
        return "worse" if max(sure) > 0.0 else "better"


WORD_ORDER = ("worse", "undecided", "same", "better")

ChannelResults = Mapping[tuple[str, str], Mapping[str, Any]]     # (split, recording) -> channels


def other_recordings(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Names that stand for different recordings in two results, each with name -> digest."""
    return [name for name, digest in old.items() if new.get(name, digest) != digest]


def judged_by_variant(tasks: Iterable[Mapping[str, Any]],
                      without: Sequence[str] = ()) -> dict[str, dict]:
    """{variant: {(split, recording): channels}} of all tasks of a batch.json with a result, but for
    some recordings."""
    found: dict[str, dict] = {}
    for task in tasks:
        if task["result"] is not None:
            own = found.setdefault(task["variant"], {})
            for name, channels in zip(task["judged"], task["result"]["recordings"], strict=True):
                if name not in without:
                    own[task["split"], name] = channels
    return found


def paired_variants(old: Mapping[str, ChannelResults], new: Mapping[str, ChannelResults]
                    ) -> list[tuple[str, str]]:
    """Pairs of variants with the same name; without any, if one side has a single variant, that one
    with each of the other side."""
    same = [(name, name) for name in old if name in new]
    return same or (list(product(old, new)) if 1 in (len(old), len(new)) else [])


def compared(old: ChannelResults, new: ChannelResults) -> list[ChannelComparison]:
    """All common channels, those that got worse first."""
    both = [key for key in old if key in new]
    channels = dict.fromkeys(name for key in both for name in old[key] if name in new[key])
    found = [_channel([(key, old[key][name], new[key][name]) for key in both
                       if name in old[key] and name in new[key]], name)
             for name in channels]
    return worst_first(one for one in found if one is not None)


def worst_first(found: Iterable[ChannelComparison]) -> list[ChannelComparison]:
    """Sorted by word (worse, undecided, same, better), then by growth of the RMSE."""
    return sorted(found, key=lambda one: (WORD_ORDER.index(one.word), -one.log_rmse.value))


def _channel(pairs: Sequence[tuple[tuple[str, str], Mapping, Mapping]],
             name: str) -> ChannelComparison | None:
    # A recording without rows on one side cannot be compared.
    pairs = [pair for pair in pairs if pair[1]["n"] and pair[2]["n"]]
    if not pairs:
        return None
    old = np.array([_by_piece(channel).sum(axis=0) for _, channel, _ in pairs])
    new = np.array([_by_piece(channel).sum(axis=0) for _, _, channel in pairs])
    growth = _figures(new)[:, 0] - _figures(old)[:, 0]
    split, recording = pairs[int(np.argmax(growth))][0]
    kind = "recordings"
    if len(pairs) == 1:
        kind = "pieces"
        old, new = _pieces(pairs[0][1], pairs[0][2])
    change, half_width = jackknife(old, new)
    (log_old, old_coverage, _), (log_new, _, _) = (
        _figures(side.sum(axis=0)) for side in (old, new))
    log_rmse, coverage, nll = map(Difference, change, half_width)
    return ChannelComparison(
        name, pairs[0][1]["unit"], old_rmse=float(np.exp(log_old)),
        new_rmse=float(np.exp(log_new)), log_rmse=log_rmse, old_coverage=float(old_coverage),
        coverage=coverage, nll=nll, clusters=len(old), kind=kind,
        worst=recording if recording == split else f"{recording} ({split})")


def _pieces(old: Mapping, new: Mapping) -> tuple[np.ndarray, np.ndarray]:
    """Sums (K, 4), (K, 4) of the pieces in which both have rows."""
    a, b = _by_piece(old), _by_piece(new)
    a, b = (side[:min(len(a), len(b))] for side in (a, b))
    counted = (a[:, 0] > 0) & (b[:, 0] > 0)
    return a[counted], b[counted]


def _by_piece(channel: Mapping) -> np.ndarray:
    """Sums (K, 4) of a recording's pieces; NaN where missing."""
    return np.array([channel["pieces"][name] for name in SUMS], float).T


def _figures(sums: np.ndarray) -> np.ndarray:
    """(..., 3) log of the RMSE, coverage and mean NLL from sums (..., 4)."""
    n, squared, inside, nll = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([0.5 * np.log(squared / n), inside / n, nll / n], axis=-1)


def jackknife(old: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Change (3,) of log RMSE, coverage and mean NLL, from sums (K, 4) of the same clusters, and
    half-widths (3,) of its 95 % intervals."""
    K = len(old)
    change = _figures(new.sum(axis=0)) - _figures(old.sum(axis=0))
    if K < 2:
        return change, np.full(3, np.nan)
    without = _figures(new.sum(axis=0) - new) - _figures(old.sum(axis=0) - old)
    return change, student_quantile(0.5 + CONFIDENCE / 2, K) * np.sqrt(variance(without))
