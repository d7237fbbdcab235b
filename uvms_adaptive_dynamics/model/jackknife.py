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

"""The delete-one-cluster jackknife (Tukey 1958; Efron and Stein 1981): variance of a statistic from
its values with one cluster left out at a time."""
from __future__ import annotations

import numpy as np
from scipy.special import stdtrit


def variance(without: np.ndarray) -> np.ndarray:
    """(...) jackknife variance of a statistic; without (K, ...): its values with each of the K
    clusters left out."""
    K = len(without)
    return (K - 1) / K * np.sum((without - without.mean(axis=0)) ** 2, axis=0)


def variance_of_series(without: np.ndarray) -> float:
    """Jackknife variance of a statistic from clusters in the order of time whose neighbours may be
    correlated; without (K,) as in `variance`.

    What the clusters contribute follows a first-order autoregression whose coefficient, estimated
    and at least zero, inflates the variance of their sum (Andrews and Monahan 1992)."""
    away = without - without.mean()
    correlation = float(away[1:] @ away[:-1]) / max(float(away @ away), 1e-300)
    inflation = (1.0 + correlation) / (1.0 - correlation) if correlation > 0.0 else 1.0
    return float(variance(without)) * inflation


def covariance(without: np.ndarray) -> np.ndarray:
    """(..., n, n) jackknife covariance of statistics (..., n); without (K, ..., n): their values
    with each of the K clusters left out."""
    K = len(without)
    away = without - without.mean(axis=0)
    return (K - 1) / K * np.einsum("k...a,k...b->...ab", away, away)


def student_quantile(share: float, clusters: float) -> float:
    """Quantile of Student's t with clusters - 1 degrees of freedom, for intervals from the
    deviation of that many values. Not from scipy.stats, which takes half a second to import."""
    return float(stdtrit(clusters - 1, share))
