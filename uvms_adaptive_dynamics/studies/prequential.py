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

"""Rows predicted before they were used, with the parts of their intervals, and other methods'
intervals for comparison."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..config import Uncertainty
from ..estimation.estimator import Estimator
from ..model.sample import Sample
from ..uncertainty.recursive_noise import channel_noise


class PrequentialRows(NamedTuple):
    """t (T,) [s]; residual, stddev, fit, reference (T, C) in N and N m; valid (T, C).

    stddev: of the prediction, noise included; fit: its part from the parameters' covariance;
    reference: residual of the reference parameters on the same rows.
    """

    t: np.ndarray
    residual: np.ndarray
    stddev: np.ndarray
    fit: np.ndarray
    reference: np.ndarray
    valid: np.ndarray


def predicted(samples: Sequence[Sample], estimator: Estimator, solve_every: int,
              reference: np.ndarray) -> PrequentialRows:
    """Learn from the samples in order, solving at every `solve_every`-th; reference (p,):
    parameters for comparison."""
    rows = []
    for k, sample in enumerate(samples):
        row = estimator.add(sample)
        if row is None:
            continue
        fit = np.sqrt(np.maximum(row.predicted_stddev ** 2 - row.noise_stddev ** 2, 0.0))
        rows.append((row.t, row.residual, row.predicted_stddev, fit,
                     row.measured - row.tau_known - row.regressor @ reference, row.valid))
        if k % solve_every == 0:
            estimator.solve()
    return PrequentialRows(*map(np.array, zip(*rows)))


def paper_stddev(rows: PrequentialRows, initial: np.ndarray, causal: bool) -> np.ndarray:
    """(T, C) standard deviations of predictions as in the paper: fit and noise, the noise from
    'residual statistics'.

    The paper leaves the statistics open. Its public code averages the newest squared residual and
    the previous variance with equal weights, and the newest residual is the row's own: no residual
    can then exceed 1.41 standard deviations. With `causal` the same recursion ends one row earlier.
    initial (C,): the initial noise.
    """
    noise = channel_noise(Uncertainty(noise="recursive"), initial, 0.02, 5.0, 5000.0, adapt=True)
    found = np.empty_like(rows.residual)
    for k, (residual, fit, valid) in enumerate(zip(rows.residual, rows.fit, rows.valid)):
        before = noise.interval_stddev
        noise.add_residual(np.where(valid, residual, 0.0), valid, np.hypot(fit, before))
        found[k] = np.hypot(fit, before if causal else noise.interval_stddev)
    return np.where(rows.valid, found, np.nan)
