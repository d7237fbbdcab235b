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

"""Rows of the last seconds and their weights, in which changes of the robot are sought
(docs/mathematics.md, "Changes of the robot")."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from ..model.scales import Scales
from ..model.wiring import between, rewired, thrusts
from ..uncertainty.noise_scale import WINSOR
from ..uncertainty.parameter_covariance import ParameterCovariance
from .information import InformationState
from .prediction import Prediction

COVARIANCE_ROWS = 8     # rows between two kept covariances of the estimate
VARIANCES_FORMED = 12   # rows of a span at which their variance by the estimate is formed


# fields of `RecentRows` with a value for each row
SPANNING = ("Y", "predicted", "residual", "weight", "by_velocity", "R_nb", "load", "by_thruster",
            "measured", "thrust", "unmodelled")


@dataclass(frozen=True)
class RecentRows:
    """Rows of the last seconds, oldest first. Rows that are not learnt from are zero except for
    `residual` and `weight`: they show what moves a vehicle that its thrusters do not drive.

    Y (T, C, p); predicted, residual (T, C): made before each row was used; weight (T, C):
    reciprocal variance of a row, model error and correlation with its neighbours included;
    independent (C,): independent rows among them, the expected sum of weighted squares;
    by_velocity (T, C, 2): change of the predictions with the scale of the linear velocity; R_nb
    (T, 3, 3): attitudes; load (T, 12): external force assumed in each prediction; by_thruster
    (T, C, N): contribution of each thruster to the efforts; measured (T, C): the efforts, less
    known loads; allocation (6, N): of the thrusters; thrust (T, N): behind each command; unmodelled
    (T, C, q): what one deviation of each effect that the model lacks adds to the efforts. idle: the
    rows that are not learnt from, or whose noise is not known yet, with weights as if all of an
    axis had the same error."""

    Y: np.ndarray
    predicted: np.ndarray
    residual: np.ndarray
    weight: np.ndarray
    independent: np.ndarray
    by_velocity: np.ndarray | None = None
    R_nb: np.ndarray | None = None
    load: np.ndarray | None = None
    by_thruster: np.ndarray | None = None
    measured: np.ndarray | None = None
    allocation: np.ndarray | None = None
    thrust: np.ndarray | None = None
    unmodelled: np.ndarray | None = None
    idle: RecentRows | None = None

    def newest(self, rows: int) -> RecentRows:
        """Views of the newest `rows` of these without idle ones, whose `independent` stays."""
        return replace(self, **{name: values[-rows:] for name in SPANNING
                                if (values := getattr(self, name)) is not None})

    def without_newest(self, rows: int) -> RecentRows:
        """Views of all but the newest `rows`, whose `independent` stays."""
        kept = len(self.residual) - rows
        idle = None if self.idle is None else self.idle.without_newest(rows)
        return replace(self, idle=idle, **{name: values[:kept] for name in SPANNING
                                           if (values := getattr(self, name)) is not None})

    @cached_property
    def lacking(self) -> tuple[np.ndarray, np.ndarray]:
        """U (T C, q) and U^T r (q,): with effects of unknown size that the model lacks, the inverse
        of the rows' covariance is W - U U^T (Woodbury)."""
        if self.unmodelled is None or not self.unmodelled.size:     # (LAPACK prints of empty ones)
            return np.zeros((self.residual.size, 0)), np.zeros(0)
        L = self.unmodelled.reshape(self.residual.size, -1)
        weighted = self.weight.reshape(-1, 1) * L
        M = L.T @ weighted
        M.flat[::len(M) + 1] += 1.0
        # M is symmetric; its transpose has the memory order in which LAPACK works in place.
        root, info = dpotrf(M.T, lower=1, overwrite_a=1)
        if info:
            raise np.linalg.LinAlgError("the weight of what the model lacks is not finite")
        U = dtrtrs(root, weighted.T, lower=1, overwrite_b=1)[0].T
        return U, self.residual.ravel() @ U

    def residual_of(self, predicted: np.ndarray, scales: Scales, present: Scales) -> np.ndarray:
        """(T, C) residuals of other predictions (T, C), or the same, if the factors on measurements
        were `scales`; those behind these rows are `present`. The change of the predictions with the
        velocity is that of the present parameters."""
        change = np.zeros_like(self.residual)
        if self.measured is not None:
            change -= self.measured
            measured = self.measured.copy()
            if self.by_thruster is not None:
                measured += (self._by_thruster(scales, present) @ scales.thruster
                             - self.by_thruster @ present.thruster)
            change += measured * (scales.effort / present.effort)
        if self.by_velocity is not None:
            faster = scales.velocity / present.velocity - 1.0
            change -= self.by_velocity @ np.array([faster, faster ** 2])
        return self.residual + self.predicted - predicted + change

    def _by_thruster(self, scales: Scales, present: Scales) -> np.ndarray:
        """`by_thruster` if the commands drove those of `scales`."""
        assert self.by_thruster is not None
        if scales.drives == present.drives or self.allocation is None:
            return self.by_thruster
        return rewired(self.allocation, self.by_thruster, between(
            present.drives, scales.drives, self.by_thruster.shape[2]))


class SpanVariance(NamedTuple):
    """Variances (C,) of the residuals: of one row, and that times the rows that carry the
    information of an independent one; effort_square (C,): the largest square of efforts to which
    these apply; by_motion: rows of a span -> (C,) variance since its motion is noisier than usual.

    Noise and efforts are robust scales, to which values beyond WINSOR deviations contribute no more
    than those at the clip. For larger efforts, only the model's error relative to them is known, so
    the variances of a span grow with their square. Noise of the measured motion, such as that of a
    loose IMU, is in the regressor too, where it looks like another inertia."""

    row: np.ndarray
    independent: np.ndarray
    effort_square: np.ndarray
    by_motion: Callable[[int], np.ndarray | float] = lambda rows: 0.0

    @classmethod
    def of(cls, information: InformationState) -> SpanVariance:
        """That of the present noise and its autocovariance, with motion as noisy as usual."""
        row = information.noise.long_run ** 2
        return cls(row, row * information.gradient.rows_per_independent(row),
                   (WINSOR * information.noise.effort) ** 2)

    def growth(self, predicted: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """(C,) factor on the variances of a span with predicted efforts and rows that count (T, C).
        """
        square = (predicted ** 2).sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
        return (np.maximum(square / self.effort_square, 1.0)
                + self.by_motion(len(counts)) / self.row)


class RowHistory:
    """The last `length` rows, of every `stride`-th tick; `filled`: how many it holds."""

    def __init__(self, length: int, stride: int, channels: int, size: int,
                 allocation: np.ndarray):
        """allocation (6, N): of the thrusters."""
        self.stride, self._length, self._allocation = stride, length, allocation
        self._Y = np.zeros((length, channels, size))
        # measured, predicted, residual, variance due to the parameters, valid, counts, drifts
        self._values = np.zeros((7, length, channels))
        self._by_velocity = np.zeros((length, channels, 2))
        self._R_nb, self._load = np.zeros((length, 3, 3)), np.zeros((length, 12))
        self._by_thruster = np.zeros((length, channels, allocation.shape[1]))
        self._thrust = np.zeros((length, allocation.shape[1]))
        self._pi = np.zeros((length, size))
        self._unmodelled: np.ndarray | None = None
        # covariances of some estimates, each with the number of its row since the rows were cleared
        self._covariances: deque[tuple[int, np.ndarray]] = deque(
            maxlen=2 + length // COVARIANCE_ROWS)
        self.clear()

    def clear(self) -> None:
        """Drop all rows."""
        self._next = self.filled = self._added = 0
        self._covariances.clear()

    def add(self, prediction: Prediction, counts: np.ndarray, settled: np.ndarray,
            covariance: ParameterCovariance, unmodelled: np.ndarray | None) -> None:
        """Add a tick's rows; counts (C,) bool: those to learn from; settled (C,) bool: channels
        whose noise is known, without which no row is evidence; covariance: of the estimate;
        unmodelled (C, q): see `InformationState.unmodelled`, None if not known yet."""
        if self._added % COVARIANCE_ROWS == 0:
            self._covariances.append((self._added, covariance.matrix))
        self._added += 1
        # No parameters explain motion without effort: something outside causes it.
        k, valid, drifts = self._next, prediction.valid, prediction.valid & ~counts & settled
        counts = counts & settled
        self._Y[k] = prediction.regressor * valid[:, None]
        self._values[:, k] = ((prediction.measured - prediction.tau_known) * valid,
                              (prediction.predicted - prediction.tau_known) * valid,
                              np.where(valid, prediction.residual, 0.0),
                              prediction.parameter_variance, valid, counts, drifts)
        if prediction.by_velocity is not None:
            self._by_velocity[k] = prediction.by_velocity * valid[:, None]
        if prediction.by_thruster is not None:
            self._by_thruster[k] = prediction.by_thruster * valid[:, None]
            if self._thrust.size:
                self._thrust[k] = thrusts(self._allocation, prediction.by_thruster)
        if prediction.R_nb is not None:
            self._R_nb[k] = prediction.R_nb
        self._load[k] = 0.0 if prediction.load is None else prediction.load
        self._pi[k] = prediction.pi
        if unmodelled is not None:
            if self._unmodelled is None:
                self._unmodelled = np.zeros((self._length, *unmodelled.shape))
            self._unmodelled[k] = unmodelled
        self._next = (k + 1) % self._length
        self.filled = min(self.filled + 1, self._length)

    def newest(self, rows: int, variance: SpanVariance) -> RecentRows:
        """The newest `rows`."""
        return self.newest_of_each([rows], variance)[rows]

    def contributions(self) -> np.ndarray:
        """(T, C, N) of each thruster to the efforts, oldest first; zero in rows that do not count.
        """
        order = self._newest(self.filled)
        return self._by_thruster[order] * self._values[5, order][..., None]

    def as_then(self, newest: RecentRows, variance: SpanVariance) -> RecentRows:
        """The newest rows, predicted with the estimate of the first one, which has absorbed nothing
        of a change since, and was as uncertain as then."""
        rows = len(newest.Y)
        then_pi = self._pi[(self._next - rows) % self._length]
        parameter_variance, *kinds = self._values[3:, self._newest(rows)]
        first = self._added - rows
        covariance = next((one for at, one in reversed(self._covariances) if at <= first),
                          self._covariances[0][1])
        # Forming the variance of every row would take milliseconds.
        some = np.linspace(0, rows - 1, min(rows, VARIANCES_FORMED)).astype(int)
        then = ((newest.Y[some] @ covariance) * newest.Y[some]).sum(axis=2)
        between = np.stack([np.interp(np.arange(rows), some, one) for one in then.T], axis=1)
        predicted = newest.Y @ then_pi
        weights = self._weights(rows, variance, predicted, kinds,
                                np.maximum(parameter_variance, between))
        found = replace(newest, predicted=predicted, residual=newest.residual + newest.predicted
                        - predicted, weight=weights[0], independent=weights[1])
        if newest.idle is None:
            return found
        idle, predicted = newest.idle, newest.idle.Y @ then_pi
        return replace(found, idle=replace(
            idle, predicted=predicted, residual=idle.residual + idle.predicted - predicted,
            weight=weights[2]))

    def _newest(self, rows: int) -> np.ndarray:
        """(rows,) places of the newest rows, oldest first."""
        return (self._next - rows + np.arange(rows)) % self._length

    def newest_of_each(self, lengths: Sequence[int],
                       variance: SpanVariance) -> dict[int, RecentRows]:
        """`newest` for several numbers of rows, ascending, all views of the longest."""
        order = self._newest(lengths[-1])
        parameter_variance, *kinds = self._values[3:, order]
        valid, counts, _ = kinds
        learnt, idle = self._masked(order, counts), self._masked(order, valid - counts)
        found = {}
        for rows in lengths:
            weight, independent, alone = self._weights(
                rows, variance, learnt.predicted[-rows:], [kind[-rows:] for kind in kinds],
                parameter_variance[-rows:])
            found[rows] = replace(
                learnt.newest(rows), weight=weight, independent=independent,
                idle=replace(idle.newest(rows), weight=alone))
        return found

    def _masked(self, order: np.ndarray, mask: np.ndarray) -> RecentRows:
        """The rows in this order, without weights, zero where mask (T, C) is, except the residual.
        """
        measured, predicted, residual = self._values[:3, order]
        each = mask[..., None]
        return RecentRows(
            self._Y[order] * each, predicted * mask, residual, np.zeros_like(residual),
            np.zeros(residual.shape[1]), self._by_velocity[order] * each, self._R_nb[order],
            self._load[order], self._by_thruster[order] * each, measured * mask, self._allocation,
            self._thrust[order], None if self._unmodelled is None else self._unmodelled[order])

    def _weights(self, rows: int, variance: SpanVariance, predicted: np.ndarray,
                 kinds: Sequence[np.ndarray], parameter_variance: np.ndarray
                 ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """weight (T, C), independent (C,) and the idle rows' weight (T, C), as in `RecentRows`;
        kinds (T, C) each: rows that are valid, that count, and that drift."""
        valid, counts, drifts = kinds
        # The parameters' error is common to all rows of the span, so it does not average out; nor
        # does the error of a row that is not driven.
        span, growth = rows * self.stride, variance.growth(predicted, counts)
        square = growth * variance.row + parameter_variance
        alone = self.stride / (span * square)
        weight = (self.stride * counts / (growth * variance.independent + span * parameter_variance)
                  + drifts * alone)
        return weight, (weight * square).sum(axis=0), (valid - counts) * alone
