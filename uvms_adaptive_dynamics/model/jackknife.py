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

"""The jackknife (Tukey 1958; Efron and Stein 1981): how a figure of clusters varies, by what it is
without each of them."""
from __future__ import annotations

import numpy as np
from scipy.special import stdtrit


def variance(without: np.ndarray) -> np.ndarray:
    """(...) variance of a figure that is `without` (K, ...) without one of K clusters each."""
    K = len(without)
    return (K - 1) / K * np.sum((without - without.mean(axis=0)) ** 2, axis=0)


def covariance(without: np.ndarray) -> np.ndarray:
    """(..., n, n) covariance of figures (..., n), by what they are `without` (K, ..., n) one of K
    clusters each."""
    K = len(without)
    away = without - without.mean(axis=0)
    return (K - 1) / K * np.einsum("k...a,k...b->...ab", away, away)


def student_quantile(share: float, clusters: int) -> float:
    """Quantile of Student's t that such a deviation of so many clusters takes; scipy.stats, which
    has it too, takes half a second to load."""
    return float(stdtrit(clusters - 1, share))
