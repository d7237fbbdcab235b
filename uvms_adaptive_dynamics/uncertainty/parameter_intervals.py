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

"""Intervals of single parameters that respect P, for everything shown, published and saved
(docs/uncertainty.md, "Intervals of parameters").

The normal distribution's interval is cut at the bounds that P sets for the parameter alone. The
truth lies in P, so it is never cut off, and coverage is that of the uncut interval."""
from __future__ import annotations

import numpy as np

from ..model.normal import Z95
from ..model.physical_set import PhysicalSet


def parameter_intervals(physical: PhysicalSet, pi: np.ndarray, stddev: np.ndarray) -> np.ndarray:
    """(2, ..., p) lower and upper ends of the 95 % intervals of estimates pi (..., p) in P with
    deviations stddev (..., p); NaN where a deviation is NaN."""
    lower, upper = physical.single_bounds
    half = Z95 * np.asarray(stddev, float)
    # An estimate may exceed its bound by the solver's tolerance.
    low = np.minimum(np.maximum(pi - half, lower), pi)
    high = np.maximum(np.minimum(pi + half, upper), pi)
    return np.stack([low, high])
