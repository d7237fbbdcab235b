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

"""Since when a sensor has been wrong, by what the model predicts: of samples that are known as
they came and as they are with that sensor put right, which ones to learn from."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..model.normal import NORMAL_MEDIAN
from ..model.sample import Sample

ONSET_BLOCK = 25        # samples whose mean residuals are compared, of which every
ONSET_STRIDE = 5        # fifth is taken
RIGHT_BLOCKS = 8        # of right readings, from which a channel's residuals are judged
# Squared residual, in variances of right readings, at which a row is as likely wrong as right, and
# beyond which it is no more so.
EVEN_SQUARE, MOST_SQUARE = 2.0, 9.0
ONSET_NATS = 7.0        # ln odds to exclude that the fault began elsewhere, or not at all

Pair = tuple[Sample, Sample]


def onset(before: np.ndarray, after: np.ndarray, right: np.ndarray) -> tuple[int, int] | None:
    """(first block that may be wrong, first one that is wrong for certain); None if none is.

    before, after (T, C): residuals of each block as it came and put right, NaN where it does not
    count; right (T,) bool: the readings are known to have been right as they came."""
    known = np.where(right[:, None], before, np.nan)
    judged = np.isfinite(known).sum(axis=0) >= RIGHT_BLOCKS
    if not judged.any():
        return None
    # (the model has been fitted to the right ones; of later ones, the better of both is right)
    sizes = np.abs([before, after])[:, :, judged]
    later = np.where(right[:, None], np.nan, np.fmin(*sizes))
    scale = np.fmax(*(_median(size) for size in (sizes[0, right], later))) / NORMAL_MEDIAN

    def likelihood(residual: np.ndarray) -> np.ndarray:
        """(T,) how much likelier right than wrong each block is, in nats."""
        square = np.minimum((residual[:, judged] / scale) ** 2, MOST_SQUARE)
        return np.nansum(0.5 * (EVEN_SQUARE - square), axis=1)
    gain = np.where(right, 0.0, likelihood(after) - likelihood(before))
    # of an onset at each block, or after the last
    total = np.append(np.cumsum(gain[::-1])[::-1], 0.0)
    total[:np.flatnonzero(right).max(initial=-1) + 1] = -np.inf
    if not total.max() > ONSET_NATS:
        return None
    likely = np.flatnonzero(total > total.max() - ONSET_NATS)
    return int(likely[0]), int(likely[-1])


def _median(values: np.ndarray) -> np.ndarray:
    """(C,) median of the values (T, C) that are known, NaN if there are none."""
    return np.array([np.median(known) if (known := column[np.isfinite(column)]).size else np.nan
                     for column in values.T])


def to_learn(pairs: Sequence[Pair], right_until: float,
             residual: Callable[[Sample], np.ndarray]) -> list[Sample]:
    """The samples to learn from, of pairs as they came and put right: these from the onset of the
    fault on. While it is open which are right, rows count that are the same in both.

    right_until [s]: stamp until which the readings are known to have been right as they came;
    residual: returns the residuals (C,) of a sample, NaN where it does not count."""
    blocks = [pairs[k:k + ONSET_BLOCK] for k in range(0, len(pairs), ONSET_BLOCK)]
    means = np.array([[np.mean([residual(pair[side]) for pair in block[::ONSET_STRIDE]], axis=0)
                       for block in blocks] for side in (0, 1)])
    right = np.array([block[-1][0].t <= right_until for block in blocks])
    first, last = onset(means[0], means[1], right) or (int(right.sum()), len(blocks))
    same = np.isclose(means[0], means[1])
    return [one for k, block in enumerate(blocks) for one in (
        [pair[0] for pair in block] if k < first else [pair[1] for pair in block] if k >= last else
        [replace(pair[1], valid=pair[0].valid & pair[1].valid & same[k])
         for pair in block])]
