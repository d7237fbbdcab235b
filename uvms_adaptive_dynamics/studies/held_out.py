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

"""Rows of another motion to test estimates on, without an estimator."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np


class HeldOut(NamedTuple):
    """Regressors Y (T, C, p) and efforts tau (T, C) less the known load [N, N m]; NaN in tau for
    rows that do not count."""

    Y: np.ndarray
    tau: np.ndarray

    def r2(self, pi: np.ndarray) -> np.ndarray:
        """(C,) R^2 of parameters (p,); NaN where no row counts."""
        counted = np.isfinite(self.tau)
        rows = np.maximum(counted.sum(axis=0), 1)
        away = self.tau - np.nansum(self.tau, axis=0) / rows
        power = np.nansum(away ** 2, axis=0)
        error = np.where(counted, self.tau - self.Y @ pi, 0.0)
        return 1.0 - np.sum(error ** 2, axis=0) / np.where(power > 0.0, power, np.nan)
