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

"""Standard normal, chi-squared and beta distributions, the only source of confidence limits in the
package."""
from __future__ import annotations

import numpy as np
from scipy.special import betainc, gammaincinv

Z95 = 1.959963984540054         # two-sided 95 %: half width of an interval in standard deviations
Z999 = 3.2905267314919255       # two-sided 99.9 %: for claims that nobody asked for, e.g. findings
Z999_ABOVE = 3.090232306167813  # one-sided 99.9 %: for claims that a figure exceeds a bound
CERTAIN = 0.9995                # two-sided 99.9 %, as a quantile: where Student's t replaces Z999
NORMAL_MEDIAN = 0.6745          # median absolute value of a standard normal variable


def chi_squared(share: float, degrees: float) -> float:
    """Quantile of chi squared. Not from scipy.stats, which takes half a second to import."""
    return float(2 * gammaincinv(degrees / 2, share))


def chance_of(share: np.ndarray, columns: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Probability that as many arbitrary columns explain more than this share of the power of a
    variable with this many degrees of freedom; one if these do not outnumber the columns."""
    spare = np.maximum(freedom - columns, 0.0)
    enough = (spare > 0.0) & (columns > 0)
    found = betainc(np.where(enough, spare, 1.0) / 2, np.where(enough, columns, 1.0) / 2,
                    np.clip(1.0 - share, 0.0, 1.0))
    return np.where(enough, found, 1.0)
