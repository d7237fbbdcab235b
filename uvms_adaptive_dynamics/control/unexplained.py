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

"""The unexplained residual of the model as a stochastic process: its size and correlation in time.

The residuals are out of sample: rows behind the estimator's low-pass, predicted by parameters known
before. Their autocovariance decides how far a forecast drifts: an error that lasts a second moves a
vehicle ten times as far as one that changes sign every tenth of a second (docs/twin.md).
"""
from __future__ import annotations

from collections import deque
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import toeplitz
from scipy.optimize import nnls

from ..config import Config
from ..model.kernel import gaussian_kernel
from ..model.robot import RobotModel
from ..model.sample import Sample

BAND_STEP = 0.1     # [s] grid of the bands: the motion is below 1 Hz
# [s] Beyond this lag an autocovariance from a minute or two is chance; it is tapered to zero there.
LONGEST_LAG = 2.0
# [s] lags over which the white share is separated from the smooth one: a third longer than white
# noise correlates behind the low-pass (0.24 s), short against a motion period of a second.
WHITE_SPAN = 0.32
# [s] of rows of a channel; with fewer its residual counts as constant, the worst case.
FEWEST_SECONDS = 20.0


@dataclass(frozen=True)
class Unexplained:
    """variance (C,) [N^2, (N m)^2] and correlation (L, C) at whole multiples of BAND_STEP, zero
    beyond; effort_variance (n,) and effort_time (n,) [s] of the noise of measured joint efforts."""

    variance: np.ndarray
    correlation: np.ndarray
    effort_variance: np.ndarray
    effort_time: np.ndarray

    @cached_property
    def _roots(self) -> dict[int, np.ndarray]:
        return {}

    def roots(self, steps: int) -> np.ndarray:
        """(C, K, K) factors R_c with R_c R_c^T the covariance of a channel's residual in K steps.

        A measured correlation need not be positive semidefinite: negative eigenvalues are dropped.
        """
        if steps not in self._roots:
            first = np.zeros((steps, self.variance.size))
            span = min(steps, len(self.correlation))
            first[:span] = self.correlation[:span] * self.variance
            values, vectors = np.linalg.eigh(np.array([toeplitz(column) for column in first.T]))
            self._roots[steps] = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return self._roots[steps]


class Residuals:
    """Keeps the raw residuals of the last `twin.memory` seconds and fits a process to them."""

    def __init__(self, config: Config, robot: RobotModel):
        self._robot, self._period = robot, config.filter.period
        self._kernel, self._share = gaussian_kernel(config.filter), config.filter.minimum_share
        self._rows: deque[tuple[int, np.ndarray, np.ndarray]] = deque(
            maxlen=max(1, round(config.twin.memory / self._period)))

    def add(self, sample: Sample, pi: np.ndarray,
            effort_factor: np.ndarray | None = None) -> None:
        """Add a sample's residual for parameters pi (p,); effort_factor (C,): the estimator's."""
        raw = self._robot.raw_rows(sample, pi)
        raw = raw if effort_factor is None else raw.scaled(effort_factor)
        residual = np.where(sample.valid, raw.residual(pi), np.nan)
        self._rows.append((round(sample.t / self._period), residual, sample.joint_torque))

    def clear(self) -> None:
        """Drop all residuals, e.g. for another robot or after a time jump."""
        self._rows.clear()

    def copy(self) -> Residuals:
        """A snapshot of the residuals."""
        other = copy(self)
        other._rows = self._rows.copy()
        return other

    @property
    def seconds(self) -> float:
        """[s] of residuals kept."""
        return len(self._rows) * self._period

    def deviation(self, assumed: np.ndarray) -> np.ndarray:
        """(C,) RMS of the low-passed out-of-sample residuals; `assumed` (C,) for channels with too
        few."""
        low, valid = self._low_passed(self._on_grid()[0])
        seen = valid.sum(axis=0)
        square = np.where(valid, low ** 2, 0.0).sum(axis=0) / np.maximum(seen, 1)
        return np.where(seen * self._period >= FEWEST_SECONDS, np.sqrt(square), assumed)

    def process(self, noise_stddev: np.ndarray) -> Unexplained:
        """The fitted process, scaled to the long-run standard deviation `noise_stddev` (C,) that is
        saved with the parameters."""
        residual, efforts = self._on_grid()
        low, valid = self._low_passed(residual)
        # The ticks nearest to the bands' steps: slow ticks may be longer than a step.
        lags = np.round(np.arange(0.0, LONGEST_LAG + 0.5 * BAND_STEP, BAND_STEP)
                        / self._period).astype(int)
        near = np.arange(round(WHITE_SPAN / self._period) + 1)
        fading = np.linspace(1.0, 0.0, lags.size)
        correlation = np.repeat(fading[:, None], low.shape[1], axis=1)
        for c in np.flatnonzero(valid.sum(axis=0) * self._period >= FEWEST_SECONDS):
            found = _autocovariance(low[:, c], valid[:, c], np.union1d(lags, near))
            if found[0] > 0:
                at = {lag: g / found[0] for lag, g in zip(np.union1d(lags, near), found)}
                white = self._white_share(near, np.array([at[lag] for lag in near]))
                correlation[:, c] = fading * (np.array([at[lag] for lag in lags])
                                              - white * self._white(lags))
        variance, time = _effort_noise(efforts, self._period)
        return Unexplained(np.asarray(noise_stddev, float) ** 2, correlation, variance, time)

    def _on_grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (T, C) and joint efforts (T, n) on a gapless time grid, NaN in the gaps."""
        C, n = self._robot.table.channels, self._robot.table.n
        if not self._rows:
            return np.full((1, C), np.nan), np.full((1, n), np.nan)
        place = np.array([k for k, _, _ in self._rows])
        # Start after the last jump back; a gap longer than the longest lag is cut to that length.
        step = np.minimum(np.diff(place), round(LONGEST_LAG / self._period) + 1)
        begin = int(np.flatnonzero(step <= 0)[-1]) + 1 if (step <= 0).any() else 0
        at = np.concatenate([[0], np.cumsum(step[begin:])])
        residual, efforts = np.full((at[-1] + 1, C), np.nan), np.full((at[-1] + 1, n), np.nan)
        rows = list(self._rows)[begin:]
        residual[at], efforts[at] = [row[1] for row in rows], [row[2] for row in rows]
        return residual, efforts

    def _low_passed(self, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(residuals (T, C) behind the rows' low-pass, valid (T, C)), as in the estimator."""
        if len(residual) < len(self._kernel):
            return np.zeros_like(residual), np.zeros_like(residual, dtype=bool)
        valid = np.isfinite(residual)
        sums = _smoothed(np.where(valid, residual, 0.0), self._kernel)
        share = _smoothed(valid.astype(float), self._kernel)
        return sums / np.maximum(share, 1e-12), valid & (share >= self._share)

    def _white(self, lags: np.ndarray) -> np.ndarray:
        """Correlation of white noise behind the low-pass, at lags [ticks]."""
        overlap = np.correlate(self._kernel, self._kernel, "full")[len(self._kernel) - 1:]
        return np.where(lags < len(overlap), overlap[np.minimum(lags, len(overlap) - 1)],
                        0.0) / overlap[0]

    def _white_share(self, lags: np.ndarray, correlation: np.ndarray) -> float:
        """Share of the variance that is white before the low-pass; the rest is smooth.

        The white share is noise of measured accelerations, which moves nothing, or of joint
        efforts, which has its own term.
        """
        tau = lags * self._period
        parts = np.column_stack([self._white(lags), np.ones_like(tau), -tau ** 2])
        return float(min(nnls(parts, correlation)[0][0], 1.0))


def _smoothed(columns: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    return np.column_stack([np.convolve(column, kernel, "same") for column in columns.T])


def _autocovariance(values: np.ndarray, valid: np.ndarray, lags: np.ndarray) -> np.ndarray:
    """(L,) mean products of valid values (T,) at lags [ticks]; a lag without any pair gets the
    value at zero, i.e. counts as fully correlated."""
    values = np.where(valid, values, 0.0)
    found = np.full(lags.size, values @ values / max(valid.sum(), 1))
    for k, lag in enumerate(lags):
        count = np.count_nonzero(valid[:valid.size - lag] & valid[lag:]) if lag < valid.size else 0
        if count:
            found[k] = values[:values.size - lag] @ values[lag:] / count
    return found


def _effort_noise(efforts: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """(variance (n,), correlation time (n,) [s]) of the noise of measured efforts (T, n).

    Second differences remove a slow signal. Readings are interpolated to the ticks, so that the
    noise has autocovariances g0 and g1 at zero and one tick; filtered by (1, -2, 1) these become
    6 g0 - 8 g1 and 7 g1 - 4 g0. The noise is modelled by an exponential of the same variance and
    density: time = period (g0 + 2 g1) / (2 g0).
    """
    n = efforts.shape[1]
    second = np.diff(efforts, 2, axis=0)
    pairs = np.isfinite(second[1:]) & np.isfinite(second[:-1])
    if not pairs.any():
        return np.zeros(n), np.full(n, period)
    counted = np.maximum(pairs.sum(axis=0), 1)
    at_zero = np.where(pairs, second[1:] ** 2, 0.0).sum(axis=0) / counted
    at_one = np.where(pairs, second[1:] * second[:-1], 0.0).sum(axis=0) / counted
    g0 = np.maximum((7 * at_zero + 8 * at_one) / 10, 0.0)
    g1 = np.clip((4 * at_zero + 6 * at_one) / 10, 0.0, 0.5 * g0)
    time = period * (g0 + 2 * g1) / (2 * np.where(g0 > 0, g0, 1.0))
    return g0, np.where(g0 > 0, time, period)
