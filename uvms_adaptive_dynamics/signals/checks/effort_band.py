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

"""Check for efforts that read zero below some size, as where a driver cuts small currents off.

The values themselves show it: an effort that takes many values on either side of a gap about its
commonest one, but none within the gap, has a dead band of that size.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .finding import Finding, Harm

BAND_ODDS = 1000.0      # required odds against a gap by chance, for all joints together
# Share of an effort's power that a band may hide: a tenth of what matters to a verdict.
LOST_POWER = 0.01


def dead_band(effort: np.ndarray, joints: int) -> float:
    """The largest size [N m] that reads zero in the efforts (k,) of one of `joints` joints; 0 if
    there is no dead band.

    On each side, the values between one and two gaps from zero could as well have been within the
    gap, so m different ones have a chance of 2^-m. A sensor with coarse steps has only one there.
    """
    known = effort[np.isfinite(effort)]
    if not len(known):
        return 0.0
    zero, values = _commonest(known)
    away = values - zero
    above, below = away[away > 0.0], -away[away < 0.0]
    if not (above.size and below.size):
        return 0.0
    gap = float(min(above.min(), below.min()))
    fewest = math.log2(BAND_ODDS * joints)
    near = [np.sum(side < 2.0 * gap) for side in (above, below)]
    return gap if min(near) > fewest else 0.0


def dead_band_findings(names: Sequence[str], effort: np.ndarray) -> list[Finding]:
    """The finding on the joints whose efforts (k, n) have a dead band."""
    bands = {j: band for j, column in enumerate(effort.T)
             if (band := dead_band(column, len(names)))}
    if not bands:
        return []
    concerned = [j for j, band in bands.items() if _lost_power(effort[:, j], band) > LOST_POWER]
    which, sizes = ", ".join(names[j] for j in bands), ", ".join(f"{b:.2g}" for b in bands.values())
    return [Finding("joint effort", (
        f"the efforts of {which} read zero below {sizes} N m (or N): they take many values beyond "
        "and none within, so small efforts are not measured, and friction comes out wrong; make "
        "the driver publish them"), harm=Harm.FOLLOWED if concerned else Harm.SLIGHT,
        joint=names[concerned[0]] if len(concerned) == 1 else "")]


def _lost_power(effort: np.ndarray, band: float) -> float:
    """Power of the efforts (k,) within the band, if they are spread evenly over it, as a share of
    the whole power."""
    known = effort[np.isfinite(effort)]
    within = float(np.mean(np.abs(known - _commonest(known)[0]) < band))
    return within * band ** 2 / 3.0 / max(float(np.var(known)), 1e-300)


def _commonest(effort: np.ndarray) -> tuple[float, np.ndarray]:
    """The commonest of the efforts (k,), which is what zero reads, and all different ones."""
    values, counts = np.unique(effort, return_counts=True)
    return float(values[np.argmax(counts)]), values
