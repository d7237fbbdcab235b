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
