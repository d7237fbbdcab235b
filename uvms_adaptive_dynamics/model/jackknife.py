"""The jackknife (Tukey 1958; Efron and Stein 1981): how a figure of clusters varies, by what it is
without each of them."""
from __future__ import annotations

import numpy as np
from scipy.special import stdtrit


def variance(without: np.ndarray) -> np.ndarray:
    """(...) variance of a figure that is `without` (K, ...) without one of K clusters each."""
    K = len(without)
    return (K - 1) / K * np.sum((without - without.mean(axis=0)) ** 2, axis=0)


def student_quantile(share: float, clusters: int) -> float:
    """Quantile of Student's t that such a deviation of so many clusters takes; scipy.stats, which
    has it too, takes half a second to load."""
    return float(stdtrit(clusters - 1, share))
