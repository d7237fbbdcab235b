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

"""Evidence for a change of the robot: Bayes factors of the rows of the last seconds
(docs/mathematics.md, "Changes of the robot").

The size of a change is unknown, so it is a normal random variable about zero, with a plausible
deviation. The evidence is the marginal likelihood of the recent residuals over their likelihood
without a change (Willsky and Jones, "A generalized likelihood ratio approach to the detection and
estimation of jumps", 1976). A change of many parameters pays for them (Occam factor); model error
counts as noise, with its own correlation time.

A change has two rivals. Against `Unchanged`, the noise is what it was before, and what the model
lacks may show for the first time. Against `GrownNoise`
the noise of each channel has an unknown level, with the change as without it.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from .recent_rows import RecentRows

# factors by which the noise of a channel may have grown, each a quarter as likely as the one before
GROWTHS = (1.0, 2.0, 4.0, 8.0)
REWEIGHTINGS = 5        # iterations towards the likeliest change under grown noise


class LoadSums(NamedTuple):
    """Normal equations A (12, 12), b (12,) of the total external force; weight (6,) of a single
    row; stddev (12,): prior deviations of such a force."""

    A: np.ndarray
    b: np.ndarray
    weight: np.ndarray
    stddev: np.ndarray

    def solution(self) -> tuple[float, np.ndarray]:
        """(ln Bayes factor of such a force against none, its posterior mean (12,))."""
        return bayes_factor(self.A, self.b, self.stddev)


def bayes_factor(A: np.ndarray, b: np.ndarray, stddev: np.ndarray) -> tuple[float, np.ndarray]:
    """(ln Bayes factor against zero, posterior mean (k,)) of an unknown with normal equations
    A (k, k), b (k,) and a normal prior about zero with stddev (k,). Raises LinAlgError."""
    D = stddev
    if D.size == 1:     # most hypotheses are scales: numbers need no LAPACK
        d = D.item()
        m, db = d * A.item() * d + 1.0, d * b.item()
        if m > 0:
            return 0.5 * (db ** 2 / m - math.log(m)), np.array([d * db / m])
    M = D[:, None] * A * D
    M.flat[::D.size + 1] += 1.0
    # M is symmetric; its transpose has the memory order in which LAPACK factorizes in place.
    L, info = dpotrf(M.T, lower=1, clean=0, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError("a change's information is not positive definite")
    u, _ = dtrtrs(L, D * b, lower=1)
    mean = D * dtrtrs(L, u, lower=1, trans=1)[0]
    return float(0.5 * u @ u - np.log(L.diagonal()).sum()), mean


class Rival(Protocol):
    """What may explain rows without the change that is tested; tests that change against it."""

    @classmethod
    def of(cls, columns: np.ndarray, rows: RecentRows) -> Rival:
        """columns (T, C, k): effect of one unit of the change on the efforts of the rows."""

    def odds(self, stddev: np.ndarray) -> tuple[float, np.ndarray]:
        """(ln Bayes factor of the change against this, the change's posterior mean (k,)); stddev
        (k,): prior deviation of such a change. Raises LinAlgError."""

    def gain(self, change: np.ndarray) -> float:
        """ln likelihood ratio of a given change (k,) against this."""

    def beside(self, A: np.ndarray, b: np.ndarray) -> Rival:
        """This with further normal equations A (k, k), b (k,) of rows whose noise is known."""


class Unchanged(NamedTuple):
    """Nothing has changed, the noise is what it was, and effects that the model lacks have any
    plausible size. Normal equations A (k, k), b (k,)."""

    A: np.ndarray
    b: np.ndarray

    @classmethod
    def of(cls, columns: np.ndarray, rows: RecentRows) -> Unchanged:
        """See `Rival.of`."""
        columns = columns.reshape(rows.residual.size, -1)
        weighted = rows.weight.reshape(-1, 1) * columns
        U, by_U = rows.lacking
        along = columns.T @ U
        return cls(columns.T @ weighted - along @ along.T,
                   rows.residual.ravel() @ weighted - along @ by_U)

    def odds(self, stddev: np.ndarray) -> tuple[float, np.ndarray]:
        """See `Rival.odds`."""
        return bayes_factor(self.A, self.b, stddev)

    def gain(self, change: np.ndarray) -> float:
        """See `Rival.gain`."""
        return float(self.b @ change - 0.5 * change @ self.A @ change)

    def beside(self, A: np.ndarray, b: np.ndarray) -> Unchanged:
        """See `Rival.beside`."""
        return Unchanged(self.A + A, self.b + b)


class Spans:
    """Several spans of rows that end together, tested at once. each: their rows; longest: those of
    the longest."""

    def __init__(self, spans: Sequence[RecentRows]):
        """spans: the longest comes last."""
        self.each, self.longest = spans, spans[-1]
        # zero for rows before a span's own
        weight, weighted = np.zeros((2, len(spans), *self.longest.residual.shape))
        for k, rows in enumerate(spans):
            weight[k, -len(rows.residual):] = rows.weight
            weighted[k, -len(rows.residual):] = rows.weight * rows.residual
        self._weight, self._weighted = (one.reshape(len(spans), -1) for one in (weight, weighted))

    def unchanged(self, columns: np.ndarray) -> list[Unchanged]:
        """`Unchanged` of each span; columns (T, C, k): of the longest."""
        if columns.shape[2] > 1:
            return [Unchanged.of(columns[-len(rows.residual):], rows) for rows in self.each]
        column = columns.ravel()
        A, b = self._weight @ column ** 2, self._weighted @ column
        for k, rows in enumerate(self.each):
            U, by_U = rows.lacking
            along = column[-len(U):] @ U
            A[k] -= along @ along
            b[k] -= along @ by_U
        return [Unchanged(A[k:k + 1, None], b[k:k + 1]) for k in range(len(A))]


class GrownNoise(NamedTuple):
    """The noise of each channel is what it was, times one of GROWTHS.

    Normal equations A (C, k, k), b (C, k), sum of squares (C,) and number (C,) of independent rows
    of each channel, by the noise from before. The likelihood of a channel is the mean of those with
    each growth; the change is integrated out about its likeliest value (Laplace). known: of rows
    whose noise has not grown."""

    A: np.ndarray
    b: np.ndarray
    square: np.ndarray
    number: np.ndarray
    known: Unchanged | None = None

    @classmethod
    def of(cls, columns: np.ndarray, rows: RecentRows) -> GrownNoise:
        """See `Rival.of`."""
        columns, residual = columns.transpose(1, 0, 2), rows.residual.T[:, :, None]
        weighted = (rows.weight.T[:, :, None] * columns).transpose(0, 2, 1)
        return cls(weighted @ columns, (weighted @ residual)[:, :, 0],
                   (rows.weight * rows.residual ** 2).sum(axis=0), rows.independent)

    def odds(self, stddev: np.ndarray) -> tuple[float, np.ndarray]:
        """See `Rival.odds`."""
        precision = np.ones_like(self.number)
        for _ in range(REWEIGHTINGS):       # each iteration finds a likelier change
            A, b = np.tensordot(precision, self.A, 1), precision @ self.b
            if self.known is not None:
                A, b = A + self.known.A, b + self.known.b
            explained, mean = bayes_factor(A, b, stddev)
            left = np.maximum(self.square + (self.A @ mean - 2 * self.b) @ mean, 0.0)
            likelihood, precision = self._of_squares(left)
        prior = 0.5 * mean @ (b - A @ mean)         # of its size, by the optimality of the mean
        occam = explained - 0.5 * b @ mean
        gain = (likelihood - self._of_squares(self.square)[0]).sum()
        if self.known is not None:
            gain += self.known.gain(mean)
        return float(gain - prior + occam), mean

    def beside(self, A: np.ndarray, b: np.ndarray) -> GrownNoise:
        """See `Rival.beside`."""
        return self._replace(known=Unchanged(A, b))

    def gain(self, change: np.ndarray) -> float:
        """See `Rival.gain`."""
        left = np.maximum(self.square + (self.A @ change - 2 * self.b) @ change, 0.0)
        return float((self._of_squares(left)[0] - self._of_squares(self.square)[0]).sum())

    def _of_squares(self, square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(ln likelihood (C,) of residuals with sums of squares (C,), up to a constant; their
        expected precision (C,), relative to the noise from before)."""
        growth = np.array(GROWTHS)
        each = -np.outer(square, 0.5 / growth ** 2) - np.outer(self.number + 2, np.log(growth))
        largest = each.max(axis=1)
        share = np.exp(each - largest[:, None])
        total = share.sum(axis=1)
        return largest + np.log(total), share @ growth ** -2.0 / total


def log_likelihood_ratio(rows: RecentRows, residual: np.ndarray) -> float:
    """ln likelihood ratio of rows with `residual` (T, C) instead of their own residuals."""
    return 0.5 * float(np.sum(rows.weight * (rows.residual ** 2 - residual ** 2)))
