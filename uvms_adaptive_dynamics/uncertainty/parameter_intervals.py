"""Intervals of single parameters that respect P: the one source of those that are shown, published
and saved (docs/uncertainty.md, "Intervals of parameters").

The interval of the normal distribution is cut at what P admits for the parameter by itself. The
truth is in P, so nothing that is cut off can hold it: coverage is that of the uncut interval."""
from __future__ import annotations

import numpy as np

from ..model.normal import Z95
from ..model.physical_set import PhysicalSet


def parameter_intervals(physical: PhysicalSet, pi: np.ndarray, stddev: np.ndarray) -> np.ndarray:
    """(2, ..., p) lower and upper end of the 95 % interval of each parameter of estimates pi
    (..., p) in P with deviations stddev (..., p); NaN where a deviation is."""
    lower, upper = physical.single_bounds
    half = Z95 * np.asarray(stddev, float)
    # An estimate may lie outside its bound by what the solver's accuracy admits.
    low = np.minimum(np.maximum(pi - half, lower), pi)
    high = np.maximum(np.minimum(pi + half, upper), pi)
    return np.stack([low, high])
