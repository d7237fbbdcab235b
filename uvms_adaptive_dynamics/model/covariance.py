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

"""Standard deviations from a covariance, and repair of one that rounding has spoilt."""
from __future__ import annotations

import numpy as np

# A singular covariance (frozen, tied or constrained parameters) becomes slightly indefinite by
# rounding: largest negative eigenvalue tolerated, with variances scaled to one.
INDEFINITE = 1e-6


def deviations(covariance: np.ndarray) -> np.ndarray:
    """(..., p) standard deviations from the diagonals of covariances (..., p, p).

    Variances that rounding made negative count as zero.
    """
    return np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0))


def semidefinite(covariance: np.ndarray) -> np.ndarray:
    """(p, p) the covariance itself, or the nearest symmetric semidefinite matrix if rounding
    made it asymmetric or indefinite, as happens with parameters that neither data nor prior
    determine, or that are known worse than others by many orders of magnitude.

    "Nearest" is meant with variances scaled to one."""
    covariance = 0.5 * (covariance + covariance.T)
    size = deviations(covariance)
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    if values[0] >= -0.1 * INDEFINITE:
        return covariance
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) * size[:, None]
    return root @ root.T
