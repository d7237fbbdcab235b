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

"""Covariance of the cost's gradient at the true parameters: overlapping low-passed rows, coloured
noise, robust weights.

Half the gradient is s = sum_k y_k psi_k with rows y_k and robust residuals psi_k. For noise
independent of the motion,

    cov s = sum_j gamma(j) sum_k y_k y_{k+j}^T ,        gamma(j) = E psi_k psi_{k+j} ,

the long-run variance (Newey and West, 1987), here with gamma as a sum of model noises instead of a
truncated window. For one model noise the double sum becomes a single one: with psi = h * AR(1) *
eta and white eta, s = sum_m eta_m z_m, where z are the rows filtered once more by h and by the
AR(1) filter. So the speed of the motion relative to the noise is accounted for, which a factor on
each row's variance cannot do (docs/mathematics.md, "Gradient covariance").

Rows are in SI units: sums of z z^T are kept per channel and model noise. The channels' weights and
the variances of the noises are applied when the covariance is formed.
"""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..model.arguments import read_only
from .residual_autocovariance import ResidualAutocovariance

# ticks between two terms of the sum over m: z is low-passed twice and hardly changes in between
LAG_STRIDE = 5
BATCH = 4    # terms added together, by one matrix product instead of four


class GradientCovariance:
    """cov s, accumulated tick by tick with the same forgetting as the rows.

    Each tick updates one slice of the sums; a turn updates all and takes LAG_STRIDE BATCH ticks.
    covariance (p, p), read-only: cov s, at most one turn old."""

    covariance: np.ndarray

    def __init__(self, channels: int, size: int, kernel: np.ndarray, period: float, decay: float,
                 memory: float):
        """channels: C; size: p; kernel (K,): the rows' low-pass; period [s]; decay: a row's weight
        in the cost is decay^age [ticks]; memory: likewise for residuals."""
        self.autocovariance = ResidualAutocovariance(channels, kernel, period, memory)
        self._kernel, self._decay = kernel, decay
        B, K = self.autocovariance.ar.size, len(kernel)
        self._ar = self.autocovariance.ar[:, None, None]
        self._channel = np.tile(np.arange(channels), B)     # channel of each of the B C sums
        self._filtered = np.zeros((B, channels, size))
        self._recent = np.zeros((K, B * channels * size))
        self._new = np.zeros((B * channels, size, size))
        self._old = np.zeros_like(self._new)        # rows that have been mapped at least once
        self._terms = np.zeros((BATCH, B * channels, size))
        self._complete = np.zeros((B * channels, size, BATCH))
        self._slices = _slices(B * channels, LAG_STRIDE * BATCH)
        self.reset()

    def reset(self) -> None:
        """Drop all rows and residuals."""
        self.autocovariance.reset()
        self._new[:] = self._old[:] = self._terms[:] = self._complete[:] = 0.0
        self._tick = 0
        # due to new rows, due to old rows
        self._covariance = np.zeros((2,) + self._new.shape[1:])
        self._forming = np.zeros_like(self._covariance)
        self._sum_covariance()
        self._mapping = self._consistent = False
        self.break_off()

    def break_off(self) -> None:
        """Separate later rows from earlier ones at a gap in time."""
        self.autocovariance.break_off()
        self._filtered[:] = 0.0
        self._recent[:] = 0.0

    def add_row(self, Y: np.ndarray, residual: np.ndarray, informative: np.ndarray,
                weights: np.ndarray, variance: np.ndarray) -> None:
        """Add one tick; call it at every tick.

        Y (C, p): rows, zero where they do not count; residual (C,): their robust residuals;
        informative (C,) bool: those that inform the noise; weights (C,) of the rows in the cost;
        variance (C,) of residuals, for channels that have too few."""
        self.autocovariance.add_residual(residual, informative)
        self._filtered *= self._ar
        self._filtered += Y
        self._recent[self._tick % len(self._kernel)] = self._filtered.ravel()
        self._tick += 1
        if self._tick % LAG_STRIDE == 0:
            order = (np.arange(len(self._kernel)) - self._tick) % len(self._kernel)
            number = self._tick // LAG_STRIDE % BATCH
            self._terms[number] = (self._kernel[order] @ self._recent).reshape(
                self._terms.shape[1:])
        self._gather(weights, variance)

    def _gather(self, weights: np.ndarray, variance: np.ndarray) -> None:
        """Add the last complete batch of terms to this tick's slice; at the end of a turn, update
        `covariance`."""
        turn = self._tick % len(self._slices)
        if turn == 0:
            self._complete[:] = self._terms.transpose(1, 2, 0)
            self._forming[:] = 0.0
            self._consistent = not self._mapping
        part = self._slices[turn]
        if part.start < part.stop:
            new, old, z = self._new[part], self._old[part], self._complete[part]
            if self._decay < 1.0:
                new *= self._decay ** (2 * len(self._slices))
            new += np.matmul(LAG_STRIDE * z, z.transpose(0, 2, 1))
            if self._consistent:
                share = self._shares(weights, variance)[part]
                for forming, sums in zip(self._forming, (new, old)):
                    forming += (share @ sums.reshape(len(sums), -1)).reshape(forming.shape)
        if turn == len(self._slices) - 1 and self._consistent:
            self._covariance[:] = self._forming
            self._sum_covariance()

    def reform(self, weights: np.ndarray, variance: np.ndarray) -> None:
        """Form `covariance` at once with other weights (C,); variance (C,) as in `add_row`."""
        share = self._shares(weights, variance)
        self._covariance[0] = np.tensordot(share, self._new, 1)
        self._covariance[1] = np.tensordot(share, self._old, 1)
        self._sum_covariance()
        self._consistent = False

    def _sum_covariance(self) -> None:
        """Set `covariance`, which is read at every tick."""
        self.covariance = read_only(self._covariance.sum(axis=0))

    @property
    def of_old(self) -> np.ndarray:
        """(p, p) part of `covariance` due to rows before the present block."""
        return self._covariance[1]

    def rows_per_independent(self, variance: np.ndarray) -> np.ndarray:
        """(C,) number of neighbouring rows that carry the information of one independent residual,
        at frequencies far below the low-pass; variance (C,) as in `add_row`."""
        innovations = self.autocovariance.innovations(variance)
        slow = innovations @ (1 - self.autocovariance.ar) ** -2.0 * self._kernel.sum() ** 2
        return slow / np.maximum(self.autocovariance.total(variance), 1e-300)

    def _shares(self, weights: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """(B C,) factor of each sum in `covariance`."""
        return self.autocovariance.innovations(variance).T.ravel() * weights[self._channel] ** 2

    def mapped(self, T: np.ndarray, close: bool) -> Iterator[None]:
        """Map the old rows' gradient by T (p, p); close: then turn the new rows into old ones.

        Maps `covariance` at once. The iterator that is returned maps the sums, one slice per step:
        run it to the end.
        """
        new = np.zeros_like(self._new)
        if close:
            new, self._new = self._new, new
        self._covariance[1] = T @ self._covariance[1] @ T.T
        if close:
            self._covariance[1] += self._covariance[0]
            self._covariance[0] = 0.0
        self._sum_covariance()
        self._mapping, self._consistent = True, False
        return self._map_slices(T, new)

    def _map_slices(self, T: np.ndarray, new: np.ndarray) -> Iterator[None]:
        for part in self._slices:
            if part.start < part.stop:
                self._old[part] = T @ self._old[part] @ T.T + new[part]
                yield
        self._mapping = False


def _slices(count: int, parts: int) -> list[slice]:
    """Split `count` places into adjacent slices of nearly equal length, some possibly empty."""
    ends = [count * k // parts for k in range(parts + 1)]
    return [slice(*pair) for pair in zip(ends, ends[1:])]
