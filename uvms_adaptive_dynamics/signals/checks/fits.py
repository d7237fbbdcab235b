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

"""Small fits for the frame checks: linear regression, lag, and nearest signed axes."""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from ...model.jackknife import variance
from ...model.rotations import from_rpy, to_frd

ROBUST_QUANTILE = 0.9     # share of the residuals that a robust fit keeps
# Variance of a standard normal variable without the tenth that is farthest from zero.
TRIMMED_VARIANCE = 0.623
STRETCHES = 10            # stretches of time for the jackknife
TRIED_SHIFTS = np.arange(-0.3, 0.41, 0.02)  # [s] candidate lags of a signal
# Smallest tilt worth a finding: brackets are mounted by hand. An IMU that leans by this much moves
# the righting moment of an even keel by a thirtieth of its largest.
MIN_TILT = math.radians(2.0)
# Ridge relative to the mean diagonal: without motion the error is large, but nothing raises.
RIDGE_SHARE = 1e-9

SIGNED_AXES = [np.eye(3)[list(order)] * np.array(signs)[:, None]
               for order in itertools.permutations(range(3))
               for signs in itertools.product((1.0, -1.0), repeat=3)]


def regression(x: np.ndarray, y: np.ndarray, overlap: float,
               stddev: Sequence[float] = ()) -> tuple[np.ndarray, np.ndarray, float]:
    """(b (p,), its covariance (p, p), share of y's power explained) of the fit y (k,) = x (k, p) b.
    stddev (p,): of b about zero, if known; infinite for others.

    The tenth of the rows with the largest residuals is left out, and the rest fitted again.
    overlap: number of overlapping rows that carry the information of one."""
    power = max(float(y @ y) / len(y), 1e-300)
    b = solve(x, y)
    size = np.abs(y - x @ b)
    keep = size <= np.quantile(size, ROBUST_QUANTILE)
    x, y = x[keep], y[keep]
    b = solve(x, y)
    residual = y - x @ b
    N = x.T @ x
    if len(stddev):
        tight = overlap * float(np.mean(residual ** 2)) / TRIMMED_VARIANCE / np.square(stddev)
        N += np.diag(tight)
        b = np.linalg.solve(N + _ridge(N), x.T @ y)
        residual = y - x @ b
    # independent rows less the degrees of freedom that the fit takes
    free = max(len(y) / overlap - x.shape[1], 1.0)
    covariance = residual @ residual / TRIMMED_VARIANCE / free * np.linalg.inv(N + _ridge(N))
    left = float(residual @ residual) / len(y) / TRIMMED_VARIANCE
    return b, covariance, 1.0 - min(1.0, left / power)


def relation(x: np.ndarray, y: np.ndarray, overlap: float) -> tuple[np.ndarray, np.ndarray]:
    """(A (p, m), standard errors (p, m)) of the least-squares fit y (k, m) = x (k, p) A; overlap as
    in `regression`."""
    A = solve(x, y)
    N = x.T @ x
    of_row = overlap * np.mean((y - x @ A) ** 2, axis=0)
    return A, np.sqrt(np.outer(np.diagonal(np.linalg.inv(N + _ridge(N))), of_row))


def rows_in(t: np.ndarray, window: float) -> int:
    """How many rows at times t (k,) [s] a window [s] usually has, at least one."""
    return max(1, round(window / np.median(np.diff(t))))


def overlap_of(t: np.ndarray, window: float) -> float:
    """How many neighbours of the rows at times t (k,) [s] share an error that lasts for a window
    [s], at least one."""
    return max(1.0, window / float(np.median(np.diff(t))))


def integral(t: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """(k, ...) integral of rate (k, ...) over t (k,) [s] from t[0], by the trapezoidal rule."""
    dt = np.diff(t).reshape(-1, *[1] * (rate.ndim - 1))
    steps = np.cumsum(0.5 * (rate[1:] + rate[:-1]) * dt, axis=0)
    return np.concatenate([np.zeros((1, *rate.shape[1:])), steps])


def lag_of(t: np.ndarray, features: np.ndarray, values: np.ndarray, overlap: float,
           uses: Sequence[Sequence[int]] | None = None) -> tuple[float, float]:
    """(lag [s] of values (k, m) behind the features that cause them, its standard error [s]).

    features (k, p) at the times t (k,) [s]: each value depends linearly on the columns that `uses`
    lists for it (m lists, by default all); overlap as in `regression`. The joint likelihood is
    evaluated at TRIED_SHIFTS and refined by a parabola. The error combines its curvature with a
    jackknife over stretches of time, since what the features lack, such as a payload that is put
    down, lasts longer than the overlap; it is infinite if the best shift is the first or the last.
    """
    uses = [range(features.shape[1])] * values.shape[1] if uses is None else uses
    inside = (t > t[0] + TRIED_SHIFTS[-1]) & (t < t[-1] + TRIED_SHIFTS[0])
    if inside.sum() < 2 * max(map(len, uses)):
        return 0.0, math.inf
    # twice the negative log likelihood; all shifts at once for speed: the node's inputs wait
    squares = _left(_earlier(t, features, t[inside] - TRIED_SHIFTS[:, None]), values[inside], uses)
    parts = np.array_split(np.arange(squares.shape[1]), STRETCHES)
    sums = np.stack([squares[:, part].sum(axis=1) for part in parts], axis=1)   # (s, K, m)
    whole, rows = sums.sum(axis=1), int(inside.sum())
    lag, error = _likeliest_lag(whole, rows, overlap)
    without = [_likeliest_lag(whole - sums[:, k], rows - part.size, overlap)[0]
               for k, part in enumerate(parts)]
    return lag, math.hypot(error, math.sqrt(variance(np.array(without))))


def _likeliest_lag(squares: np.ndarray, count: int, overlap: float) -> tuple[float, float]:
    """(lag [s], its error by the likelihood's curvature) from the sums (s, m) of `count` squared
    residuals at TRIED_SHIFTS."""
    cost = np.log(np.maximum(squares / count, 1e-300)).sum(axis=1) * count / overlap
    lag, curvature = vertex(TRIED_SHIFTS, cost)
    return lag, math.sqrt(2.0 / curvature) if curvature > 0.0 else math.inf


def vertex(grid: np.ndarray, cost: np.ndarray) -> tuple[float, float]:
    """(place of the smallest cost (S,) on an even grid (S,), refined by a parabola; the parabola's
    curvature per squared unit of the grid, zero if the place is an end of the grid)."""
    k = int(np.argmin(cost))
    if k in (0, len(grid) - 1):
        return float(grid[k]), 0.0
    before, here, after = cost[k - 1:k + 2]
    curvature, step = max(before - 2.0 * here + after, 1e-12), grid[1] - grid[0]
    return (float(grid[k] + step * 0.5 * (before - after) / curvature),
            float(curvature / step ** 2))


def stretch_means(t: np.ndarray, x: np.ndarray, length: float) -> np.ndarray:
    """(m, n) means of x (k, n) at times t (k,) over stretches of this length [s]."""
    _, stretch = np.unique(np.floor(t / length), return_inverse=True)
    return np.column_stack([np.bincount(stretch, column) for column in x.T]) / np.bincount(
        stretch)[:, None]


def _earlier(t: np.ndarray, x: np.ndarray, when: np.ndarray) -> np.ndarray:
    """Rows x (k, p) of the times t (k,), interpolated linearly: (..., p) at the times `when` (...).
    """
    after = np.clip(np.searchsorted(t, when, side="right"), 1, len(t) - 1)
    begin, value = t[after - 1], x[after - 1]
    share = ((when - begin) / np.maximum(t[after] - begin, 1e-12))[..., None]
    return value + share * (x[after] - value)


def _left(x: np.ndarray, values: np.ndarray, uses: Sequence[Sequence[int]]) -> np.ndarray:
    """(s, k, m) squared residuals of values (k, m) fitted to the columns of x (s, k, p) that they
    use."""
    N, xy = np.swapaxes(x, 1, 2) @ x, np.swapaxes(x, 1, 2) @ values
    found = np.empty((len(x), *values.shape))
    for m, used in enumerate(map(list, uses)):
        part = N[:, used][:, :, used]
        b = np.linalg.solve(part + _ridge(part), xy[:, used, m, None])
        found[:, :, m] = (values[:, m] - (x[:, :, used] @ b)[..., 0]) ** 2
    return found


def solve(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A (p, m) of the least-squares fit y (k, m) = x (k, p) A."""
    N = x.T @ x
    return np.linalg.solve(N + _ridge(N), x.T @ y)


def orthonormal(x: np.ndarray) -> np.ndarray:
    """(k, m) orthonormal basis of the columns of x (k, m), whose sizes may differ by orders."""
    return np.asarray(np.linalg.qr(x / np.maximum(np.sqrt(np.mean(x ** 2, axis=0)), 1e-9))[0])


def unexplained(basis: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What a regression on an orthonormal basis (k, m) leaves of y, (k,) or (..., k, n)."""
    return np.asarray(y - basis @ (basis.T @ y))


def _ridge(N: np.ndarray) -> np.ndarray:
    """(..., p, p) to add to N (..., p, p)."""
    p = N.shape[-1]
    size = np.maximum(np.trace(N, axis1=-2, axis2=-1) / p, 1e-12)
    return RIDGE_SHARE * size[..., None, None] * np.eye(p)


def nearest_axes(Q: np.ndarray) -> tuple[np.ndarray | None, float]:
    """(signed permutation matrix nearest to Q (3, 3), distance of Q's directions from it).

    (None, infinity) if Q is zero.
    """
    size = np.linalg.norm(Q)
    if size < 1e-9:
        return None, math.inf
    Q = Q * (math.sqrt(3.0) / size)
    best = min(SIGNED_AXES, key=lambda axes: float(np.linalg.norm(Q - axes)))
    return best, float(np.linalg.norm(Q - best)) / math.sqrt(3.0)


def to_rpy(R: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch, yaw [rad] of a rotation (3, 3), in the convention of the settings."""
    return (math.atan2(R[2, 1], R[2, 2]), -math.asin(max(-1.0, min(1.0, R[2, 0]))),
            math.atan2(R[1, 0], R[0, 0]))


def rpy_setting(R: np.ndarray) -> tuple[float, ...]:
    """`to_rpy`, rounded as in a settings file."""
    return tuple(round(angle, 4) + 0.0 for angle in to_rpy(R))      # (+ 0.0: no "-0.0")


def mounted(frame: str, rpy: Sequence[float], turn: np.ndarray) -> tuple[float, ...]:
    """Corrected setting rpy [rad] of a sensor whose readings must be rotated by `turn` (3, 3), FRD.
    """
    axes = to_frd(frame)
    return rpy_setting(axes.T @ turn @ axes @ from_rpy(*rpy))


def listed(values: Iterable[float]) -> str:
    """Numbers as text, as in a setting."""
    return "[" + ", ".join(f"{round(value, 2) + 0.0:.2f}" for value in values) + "]"


def is_level(rpy: Sequence[float]) -> bool:
    """Whether a mount's angles [rad] are too small for a finding."""
    return max(map(abs, rpy)) < MIN_TILT


def axis_name(row: np.ndarray) -> str:
    """Name such as '-y' of a row of signed axes."""
    k = int(np.argmax(np.abs(row)))
    return ("-" if row[k] < 0 else "+") + "xyz"[k]


def degrees(rpy: Sequence[float] | np.ndarray) -> str:
    """Roll, pitch and yaw (3,) [rad], or a small rotation vector, as text: '0, 0, 90 degrees (roll,
    pitch, yaw)'."""
    whole = ", ".join(str(round(float(angle))) for angle in np.degrees(rpy))
    return f"{whole} degrees (roll, pitch, yaw)"
