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

"""What residuals reveal about a channel besides their size: a constant part, and a noise assumed
larger than all of them."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model.normal import Z999
from ..model.sample import VEHICLE_CHANNELS

# least share of the squared residual that a constant must explain to deserve attention
CONSTANT_SHARE = 0.2
TOO_LARGE = 3.0     # noise over residuals


class ResidualMean:
    """Mean and mean square of each channel's residuals in motion, equally weighted."""

    def __init__(self, channels: int):
        self._count, self._mean, self._square = np.zeros((3, channels))

    def add_row(self, residual: np.ndarray, in_motion: np.ndarray) -> None:
        """Add the residuals (C,) of a tick; in_motion (C,) bool: rows that count."""
        self._count += in_motion
        rate = in_motion / np.maximum(self._count, 1)
        self._mean += rate * (residual - self._mean)
        self._square += rate * (residual ** 2 - self._square)

    def findings(self, channels: Sequence[str], units: Sequence[str], estimated: np.ndarray,
                 rows_per_independent: np.ndarray, negligible: np.ndarray) -> list[str]:
        """A sentence for each channel with a constant residual whose offset is not yet estimated.

        estimated (C,) bool; rows_per_independent (C,): rows per independent one; negligible (C,):
        effort that such a robot hardly notices [N, N m], and no reason to change a setting."""
        independent = self._count / np.maximum(rows_per_independent, 1.0)
        variance = np.maximum(self._square - self._mean ** 2, 0.0)
        error = np.sqrt(variance / np.maximum(independent, 1.0))
        constant = ((independent > 2) & ~estimated
                    & (np.abs(self._mean) > np.maximum(Z999 * error, negligible))
                    & (self._mean ** 2 > CONSTANT_SHARE * self._square))
        return [self._sentence(channels[c], units[c], c, error[c])
                for c in np.flatnonzero(constant).tolist()]

    def _sentence(self, channel: str, unit: str, c: int, error: float) -> str:
        joint = channel not in VEHICLE_CHANNELS
        cause, remedy = (("the effort's zero", "'joints', or correct it with "
                          "joint_states.effort_offset") if joint else
                         ("tether, trim or current", "'vehicle' or, for a "
                          "current, robot.current_ned, which evaluate finds from a recording"))
        return (f"{channel}: measured minus predicted effort is {self._mean[c]:+.3g} +- "
                f"{error:.2g} {unit} on average, perhaps due to {cause}; set "
                f"robot.estimate_offsets to {remedy}")


def noise_findings(channels: Sequence[str], units: Sequence[str], assumed: np.ndarray,
                   at_most: np.ndarray, effort: np.ndarray, adapts: bool) -> list[str]:
    """A sentence for each channel whose assumed noise (C,) is far above all its residuals, so that
    the signal counts as noise although the channel moved.

    at_most (C,): upper bound of the residuals' rms; effort (C,): standard deviation of the measured
    effort; adapts: whether the noise follows residuals in motion. A joint whose whole effort is far
    below the noise expected from its URDF limit has a small load, or another unit."""
    found = []
    for c in np.flatnonzero(assumed > TOO_LARGE * at_most).tolist():
        smaller = ("a smaller estimation.noise_stddev, or move it: residuals in motion correct it"
                   if adapts else
                   "estimation.adapt_noise: true, or a smaller estimation.noise_stddev")
        seen, advice = f"the rms residual is at most {at_most[c]:.2g} {units[c]}", ""
        if channels[c] not in VEHICLE_CHANNELS and assumed[c] > TOO_LARGE * effort[c]:
            seen = f"the whole effort varies by {effort[c]:.2g} {units[c]}"
            advice = (f"If its unit is not {units[c]} (raw motor current?), set "
                      "joint_states.effort_scale; otherwise set ")
        found.append(f"{channels[c]}: the assumed noise is {assumed[c]:.3g} {units[c]} but {seen}, "
                     f"so the channel gets too little weight. {advice or 'Set '}{smaller}")
    return found
