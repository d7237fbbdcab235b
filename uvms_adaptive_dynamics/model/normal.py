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

"""Quantiles of the standard normal distribution and of those that follow from it: the one source of
what a claim of so many per cent takes."""
from __future__ import annotations

from scipy.special import gammaincinv

Z95 = 1.959963984540054         # two-sided 95 %: half width of an interval in standard deviations
Z999 = 3.2905267314919255       # two-sided 99.9 %: standard errors of a claim that is made unasked
Z999_ABOVE = 3.090232306167813  # one-sided 99.9 %: of a claim that a figure is above a bound
NORMAL_MEDIAN = 0.6745          # of the size of a variable of deviation one


def chi_squared(share: float, degrees: float) -> float:
    """The quantile of chi squared; scipy.stats, which has it too, takes half a second to load."""
    return float(2 * gammaincinv(degrees / 2, share))
