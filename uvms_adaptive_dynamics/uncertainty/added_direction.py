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

"""Test whether a fit lacks a direction: the coefficient that one more column would get on top of
all parameters, with its standard error (a score test with one Gauss-Newton step)."""
from __future__ import annotations

import math
from copy import copy
from typing import NamedTuple

import numpy as np

from ..model.jackknife import student_quantile, variance, variance_of_series
from ..model.normal import CERTAIN, NORMAL_MEDIAN

# [s] of a cluster of the jackknife: the low-pass correlates rows over .4 s, motions over a second.
# Model error lasts as long as a posture, so neighbouring clusters may still be correlated.
CLUSTER_LENGTH = 2.5
MIN_PIECES = 8          # clusters that a standard error needs
REWEIGHING_ROUNDS = 3   # alternations of fitting and weighting
OUTLIER_STDDEVS = 4.0   # standard deviations beyond which a row is left out
# Ridge on weighted columns of unit power: small against everything excited.
ADDED_RIDGE = 1e-7


class Coefficient(NamedTuple):
    """The coefficient of an added direction, its standard error, the number of clusters behind it,
    and by how much the direction lowers the sum of squares (twice the log likelihood of independent
    rows); `freedom`: degrees of freedom of the standard error, if not clusters - 1."""

    value: float
    stddev: float
    clusters: int
    gain: float = 0.0
    freedom: float | None = None

    def half_width(self, share: float) -> float:
        """Of the confidence interval that ends at the quantile `share`, by Student's t."""
        freedom = self.clusters - 1 if self.freedom is None else self.freedom
        return student_quantile(share, freedom + 1) * self.stddev

    def with_variance(self, more: float, clusters: int) -> Coefficient:
        """With an independent variance, estimated from that many clusters, beside its own; the sum
        has the degrees of freedom of Welch (1947) and Satterthwaite (1946)."""
        parts = ((self.stddev ** 2, self.clusters), (more, clusters))
        total = sum(variance for variance, _ in parts)
        if not 0.0 < total < math.inf:
            return self._replace(stddev=math.sqrt(total))
        freedom = 1.0 / sum((variance / total) ** 2 / (K - 1) for variance, K in parts)
        return self._replace(stddev=math.sqrt(total), freedom=freedom)

    def exceeds(self, least: float) -> bool:
        """Whether the coefficient's magnitude exceeds `least` with 99.9 % confidence."""
        return self.clusters >= MIN_PIECES and abs(self.value) - self.error > least

    @property
    def error(self) -> float:
        """Half width of the coefficient's 99.9 % confidence interval."""
        return self.half_width(CERTAIN)


class RobustFit:
    """Least squares whose channels are weighted by the noise that the fit leaves.

    Y (T, C, p), tau (T, C), valid (T, C), t (T,) [s]; cluster: length [s] of the pieces that the
    jackknife leaves out, over which errors of the model may be correlated; witness (C,): number of
    the witness that each channel belongs to, for channels that share errors of the model (None: of
    its own). `solution` (p,) are the coefficients, `predicted` (T, C) the efforts they predict, and
    `cost` is twice the negative log likelihood of the residuals, for independent rows and up to a
    constant.
    """

    def __init__(self, Y: np.ndarray, tau: np.ndarray, valid: np.ndarray, t: np.ndarray,
                 cluster: float = CLUSTER_LENGTH, witness: np.ndarray | None = None):
        # A channel with no more rows than parameters could be fitted exactly, and says nothing of
        # its noise.
        self.valid = valid & (valid.sum(axis=0) > Y.shape[2])
        self.tau, self._t, self._Y, self._cluster = tau, t, Y, cluster
        self._witness = np.arange(tau.shape[1]) if witness is None else witness
        self._piece = pieces_of(t, cluster)
        self._fit()

    def _fit(self) -> None:
        Y, tau, valid = self._Y, self.tau, self.valid
        deviation = _by_channel(tau - tau.mean(axis=0), valid)
        for _ in range(REWEIGHING_ROUNDS):
            self._weigh(1.0 / deviation)
            self.solution = self._scale * self._solution(tau, valid)
            self.predicted = Y @ self.solution
            deviation = _by_channel(tau - self.predicted, valid)
        self._weigh(1.0 / deviation)
        self._residual = tau - self.predicted
        self._used = valid & (np.abs(self._residual) < OUTLIER_STDDEVS * deviation)
        clipped = np.minimum(np.abs(self._residual), OUTLIER_STDDEVS * deviation)
        squares = np.where(valid, clipped ** 2, 0.0)
        power = squares.sum(axis=0) / np.maximum(valid.sum(axis=0), 1) + 1e-300
        self._costs = np.where(valid, squares / power - 1.0 + np.log(power), 0.0)
        self.cost = float(self._costs.sum())

    @property
    def channel_costs(self) -> np.ndarray:
        """(C,) the cost of each channel's rows."""
        return self._costs.sum(axis=0)

    def of(self, tau: np.ndarray) -> RobustFit:
        """The same rows fitted to other efforts tau (T, C)."""
        other = copy(self)
        other.tau = tau
        other._fit()
        return other

    def beside(self, columns: np.ndarray) -> RobustFit:
        """The fit with further columns (T, C, k)."""
        other = copy(self)
        other._Y = np.concatenate([self._Y, columns], axis=2)
        other._fit()
        return other

    def unseen(self, length: float) -> np.ndarray:
        """(T, C) cross-validated predictions: each piece of `length` [s] by a fit to the rest."""
        pieces = pieces_of(self._t, length)
        A = self._Y * self._scale * self._weight[:, None]
        found, parts = self.predicted.copy(), []
        for rows in (pieces == k for k in np.unique(pieces)):
            used = self._used[rows]
            own, y = A[rows][used], (self._residual[rows] * self._weight)[used]
            parts.append((rows, own.T @ own, own.T @ y))
        whole, right = (sum(part[k] for part in parts) for k in (1, 2))
        for rows, N, b in parts:
            change = np.linalg.solve(whole - N + self._ridge(0), right - b)
            found[rows] += self._Y[rows] @ (self._scale * change)
        return found

    def _weigh(self, weight: np.ndarray) -> None:
        """Set the channels' weights (C,), and the scale of the columns to a mean square of one."""
        self._weight = weight
        squares = ((self._Y * weight[:, None])[self.valid] ** 2).sum(axis=0)
        power = np.sqrt(np.maximum(squares / max(self.valid.sum(), 1), 1e-300))
        self._scale = 1.0 / np.maximum(power, 1e-9 * power.max())

    def _solution(self, tau: np.ndarray, valid: np.ndarray) -> np.ndarray:
        A = (self._Y * self._scale * self._weight[:, None])[valid]
        return np.linalg.solve(A.T @ A + self._ridge(0), A.T @ (tau * self._weight)[valid])

    def _ridge(self, further: int) -> np.ndarray:
        p = self._Y.shape[2]
        return np.diag(np.r_[np.full(p, ADDED_RIDGE * max(self.valid.sum(), 1)), np.zeros(further)])

    def added(self, directions: np.ndarray) -> list[Coefficient]:
        """The coefficient of each direction (T, C, d), added to Y one at a time."""
        p = self._Y.shape[2]
        N, b = self._sums(directions)
        places = (np.r_[0:p, p + k] for k in range(directions.shape[2]))
        return [self._coefficient(N[:, at[:, None], at], b[:, at]) for at in places]

    def confirmed(self, direction: np.ndarray, judges: np.ndarray, before: float = 0.0) -> bool:
        """Whether the 95 % interval of `before` plus the coefficient of a direction (T, C) keeps
        its sign without the rows of any one witness among the channels `judges` (C,), if any of
        these have rows.

        What the model lacks is alike in all rows of a witness, so a jackknife over time does not
        show it, but it is another on each."""
        judges = judges & self._used.any(axis=0)
        whole, right = self._sums(direction[:, :, None])
        value = before + self._coefficient(whole, right).value
        for witness in np.unique(self._witness[judges]):
            N, b = self._sums(direction[:, :, None], judges & (self._witness == witness))
            one = self._coefficient(whole - N, right - b)
            if math.copysign(1.0, value) * (before + one.value) <= one.half_width(0.975):
                return False
        return bool(judges.any())

    def explains_more(self, other: RobustFit, judges: np.ndarray, least: float) -> bool:
        """Whether the cost is below that of another fit to the same rows by more than `least`, also
        without the witness among the channels `judges` (C,) that says so most, and with 99.9 %
        confidence if the gain varies from one cluster of time to another (Vuong 1989)."""
        gain = other._costs - self._costs
        by_witness = np.bincount(self._witness, gain.sum(axis=0) * judges)
        _, piece = np.unique(self._piece, return_inverse=True)
        by_piece = np.bincount(piece, gain.sum(axis=1))
        K = len(by_piece)
        if K < MIN_PIECES:
            return False
        doubt = student_quantile(CERTAIN, K) * math.sqrt(K * float(np.var(by_piece, ddof=1)))
        return bool(gain.sum() - max(by_witness.max(), doubt) > least)

    def _coefficient(self, N: np.ndarray, b: np.ndarray) -> Coefficient:
        """The last unknown of clusters' normal equations N (K, q, q), b (K, q)."""
        whole, y = N.sum(axis=0), b.sum(axis=0)
        without = np.array([self._solved(whole - a, y - c)[-1] for a, c in zip(N, b)])
        x, p = self._solved(whole, y), len(y) - 1
        gain = float(x @ y - np.linalg.solve(whole[:p, :p] + self._ridge(0), y[:p]) @ y[:p])
        return Coefficient(float(x[-1]), math.sqrt(variance_of_series(without))
                           if len(without) else math.inf, len(without), gain)

    def freedom(self, direction: np.ndarray) -> float:
        """Degrees of freedom, at least one, of the standard error of a direction's coefficient: one
        less than the number of clusters that would tell as much of it if all told alike (Carter,
        Schnepel and Steigerwald 2017). direction (T, C)."""
        N, _ = self._sums(direction[:, :, None])
        of_last = self._solved(N.sum(axis=0), np.eye(N.shape[1])[-1])
        told = np.einsum("i,kij,j->k", of_last, N, of_last)
        return max(float(told.sum() ** 2 / max(float(told @ told), 1e-300)) - 1.0, 1.0)

    def between_channels(self, direction: np.ndarray) -> tuple[float, int]:
        """(variance, K): how far the K channels that judge a direction (T, C) disagree on its
        coefficient; these are the channels that it does not change, but whose parameters it shares.

        What the model lacks is alike in all rows of a channel, so a jackknife over time does not
        show it; this one leaves out channels. The variance is infinite for K < 2."""
        channels = np.arange(direction.shape[1])
        sums = [tuple(part.sum(axis=0) for part in self._sums(direction[:, :, None], channels == c))
                for c in channels]
        whole, right = (np.sum(parts, axis=0) for parts in zip(*sums))
        without = np.array([self._solved(whole - N, right - b)[-1]
                            for (N, b), used, own in zip(sums, self._used.T, direction.T)
                            if used.any() and not own[used].any()])
        return float(variance(without)) if len(without) > 1 else math.inf, len(without)

    def _sums(self, directions: np.ndarray, channels: np.ndarray | slice = slice(None)
              ) -> tuple[np.ndarray, np.ndarray]:
        """Normal equations (K, p + d, p + d), (K, p + d) of some channels, by clusters that have
        rows."""
        found = []
        for piece in np.unique(self._piece[self._used.any(axis=1)]):
            rows = self._piece == piece
            used = self._used[rows][:, channels]
            A = np.concatenate([self._Y[rows][:, channels] * self._scale,
                                directions[rows][:, channels]],
                               axis=2) * self._weight[channels, None]
            y = (self._residual[rows] * self._weight)[:, channels]
            A, y = A[used], y[used]
            found.append((A.T @ A, A.T @ y))
        size = self._Y.shape[2] + directions.shape[2]
        return (np.array([N for N, _ in found]).reshape(-1, size, size),
                np.array([b for _, b in found]).reshape(-1, size))

    def _solved(self, N: np.ndarray, b: np.ndarray) -> np.ndarray:
        ridge = self._ridge(1)
        # The tiny ridge gives an unexcited direction the coefficient zero.
        ridge[-1, -1] = 1e-12 * max(float(np.trace(N)), 1e-300)
        return np.linalg.solve(N + ridge, b)


def pieces_of(t: np.ndarray, length: float) -> np.ndarray:
    """(T,) number of the piece of `length` [s] to which each of the times t (T,) belongs."""
    return ((t - t[0]) // length).astype(int)


def _by_channel(residual: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """(C,) robust standard deviations; infinite for channels without valid rows."""
    return np.array([
        max(float(np.median(np.abs(residual[rows, c]))) / NORMAL_MEDIAN, 1e-9) if rows.any()
        else np.inf for c, rows in enumerate(valid.T)])
