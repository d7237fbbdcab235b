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

"""Efforts that are published without their sign, as a current's magnitude.

Load and friction are linear in posture and speed, y = x b. A magnitude |x b| has a kink where the
load crosses zero, which no x b has. The signs up to the last negative effort are known; those of
the rows since then follow from b, which is fitted to both together.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .fits import overlap_of, solve
from .joint_order import ORDER_ODDS

ROWS_PER_WINDOW = 5       # of a joint's error that are used
SIGN_STEPS = 10           # refits with the signs of the last one; they settle within a few


def magnitudes_since(t: np.ndarray, features: list[np.ndarray], moving: np.ndarray,
                     effort: np.ndarray, window: float, rival: float = 0.0) -> float | None:
    """Time [s] of the last negative effort, if those since then are magnitudes with odds of a
    thousand, also against an explanation that lowers -2 log likelihood by `rival`; minus infinity
    if there is none, None if they are not, or without a joint.

    features: of each of n joints those (k, p) of its load and friction at times t (k,) [s]; moving
    (k, n): rows to judge; effort (k, n); window [s]: rows this near share their error."""
    if not features:
        return None
    negative = np.flatnonzero((effort < 0.0).any(axis=1))
    begin = int(negative[-1]) + 1 if negative.size else 0
    thin = max(1, round(overlap_of(t, window) / ROWS_PER_WINDOW))
    evidence = np.zeros(2)
    for j, x in enumerate(features):
        rows = np.flatnonzero(moving[:, j])[::thin]
        evidence += _evidence(t[rows], x[rows], effort[rows, j], rows >= begin, window)
    if evidence.min() < rival + 2.0 * math.log(ORDER_ODDS * effort.shape[1]):
        return None
    return float(t[begin - 1]) if begin else -math.inf


def sign_changed_at(t: np.ndarray, friction: np.ndarray, load: np.ndarray, y: np.ndarray,
                    window: float, cuts: Sequence[float]) -> float | None:
    """The likeliest of the times `cuts` [s] since which efforts y (k,) at times t (k,) [s] have the
    other sign, with odds of a thousand against one sign throughout, and against another load since
    then, which turns no friction about. friction (k, 2), load (k, q): what the efforts depend on;
    window [s]: rows this near share their error."""
    thin = max(1, round(overlap_of(t, window) / ROWS_PER_WINDOW))
    t, friction, load, y = t[::thin], friction[::thin], load[::thin], y[::thin]
    x = np.hstack([friction, load])
    cuts = [cut for cut in cuts if min(windows(t[t <= cut], window),
                                       windows(t[t > cut], window)) > x.shape[1]]
    if not cuts:
        return None
    left, cut = min((_left(x, np.where(t > cut, -y, y)), cut) for cut in cuts)
    after = (t > cut)[:, None]
    turned = np.where(after[:, 0], -y, y)
    other_load = _left(np.hstack([friction, load * ~after, load * after]), y)
    share = independent(t, turned - x @ solve(x, turned), window)
    gain = share * windows(t, window) * np.log(np.array([_left(x, y), other_load]) / left)
    # (each coefficient of another load is expected to fit noise)
    gain[1] += 2.0 * load.shape[1]
    return cut if gain.min() > 2.0 * math.log(ORDER_ODDS * len(cuts)) else None


def _evidence(t: np.ndarray, x: np.ndarray, y: np.ndarray, lost: np.ndarray,
              window: float) -> np.ndarray:
    """(2,) -2 log likelihood of signed efforts y (k,), of one load throughout and of another load
    in the rows `lost` (k,), less that of efforts that have lost their sign there.

    Each coefficient of another load is expected to fit noise. So does a kink: with nothing to tell
    the signs by, one of some (e N / p)^p ways to split N windows in p dimensions has been chosen.
    """
    p, known = x.shape[1], ~lost
    before, after = (windows(t[rows], window) for rows in (known, lost))
    if before > 2.0 * p and after >= 1.0:
        one_load = _left(x, y)
        other_load = _left(x[known], y[known]) + _left(x[lost], y[lost])
        magnitudes, share = _magnitudes(t, x, y, lost, [x @ solve(x[known], y[known])], window)
        gain = share * (before + after) * np.log(np.array([one_load, other_load]) / magnitudes)
        return gain + [0.0, 2.0 * min(p, after)]
    if after <= 2.0 * p:
        return np.zeros(2)
    t, x, y = t[lost], x[lost], y[lost]
    starts = list((x - np.median(x, axis=0)).T)
    magnitudes, share = _magnitudes(t, x, y, lost[lost], starts, window)
    least = 2.0 * p * math.log(math.e * after / p)
    return np.full(2, max(share * after * math.log(_left(x, y) / magnitudes) - least, 0.0))


def windows(t: np.ndarray, window: float) -> int:
    """Number of windows with rows at t (k,) [s]."""
    return np.unique(np.floor(t / window)).size


def _left(x: np.ndarray, y: np.ndarray) -> float:
    """Sum of squares that the fit y = x b leaves."""
    return float(np.sum((y - x @ solve(x, y)) ** 2)) + 1e-12 * float(y @ y) + 1e-300


def _magnitudes(t: np.ndarray, x: np.ndarray, y: np.ndarray, lost: np.ndarray,
                starts: list[np.ndarray], window: float) -> tuple[float, float]:
    """(least sum of squares that y = |x b| in the rows `lost`, else x b, leaves, of fits that begin
    with the signs of the starts (k,); share of the windows that are independent by its errors)."""
    fitted = solve(x, np.eye(len(x)))       # (p, k) from efforts to their b
    found = []
    for predicted in starts:
        for _ in range(SIGN_STEPS):
            signed = np.where(lost & (predicted < 0.0), -y, y)
            predicted = x @ (fitted @ signed)
        found.append((_left(x, signed), signed - predicted))
    left, error = min(found, key=lambda one: one[0])
    return left, independent(t, error, window)


def independent(t: np.ndarray, error: np.ndarray, window: float) -> float:
    """How many independent errors a window counts for, from the correlation r of those (k,) that
    are a window apart: (1 - r) / (1 + r), at most 1."""
    later = np.searchsorted(t, t + window)
    pairs = np.flatnonzero(later < len(t))
    pairs = pairs[t[later[pairs]] - t[pairs] < 1.5 * window]
    power = float(np.mean(error ** 2))
    if not pairs.size or power <= 0.0:
        return 1.0
    r = min(max(float(np.mean(error[pairs] * error[later[pairs]])) / power, 0.0), 1.0)
    return (1.0 - r) / (1.0 + r)
