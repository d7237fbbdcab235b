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

"""A link's pseudo-inertia J = [[tr(I)/2 1 - I, ml], [ml^T, m]] as a linear map of its parameters.

Traversaro et al. 2016, Wensing et al. 2018: ten rigid-body parameters are physically consistent
exactly if J is positive definite. docs/mathematics.md, "Physically consistent set".
"""
from __future__ import annotations

import numpy as np

from .arguments import read_only

# Entries of the tensor I in the order of a link's parameters Ixx Iyy Izz Ixy Ixz Iyz.
TENSOR_PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def _basis() -> np.ndarray:
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1
    for axis in range(3):
        basis[1 + axis, axis, 3] = basis[1 + axis, 3, axis] = 1
    for k, (a, b) in enumerate(TENSOR_PLACES):
        if a == b:
            basis[4 + k, :3, :3] = np.eye(3) / 2
        basis[4 + k, a, b] -= 1
        if a != b:
            basis[4 + k, b, a] -= 1
    return read_only(basis)


# (10, 4, 4): J = sum_i pi_i BASIS[i] of a link's rigid parameters m, mlx, mly, mlz, Ixx, ..., Iyz.
BASIS = _basis()


def offset_inertia(mass: float, centre: np.ndarray) -> np.ndarray:
    """(3, 3) inertia [kg m^2] about the origin of a point mass [kg] at `centre` (3,) [m]: the term
    of Steiner's theorem."""
    return mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))


def central_inertia(rigid: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """(mass [kg], centre of mass (3,) [m], inertia about it (3, 3) [kg m^2]) from a link's rigid
    parameters (10,) with non-zero mass."""
    mass, centre, inertia = float(rigid[0]), rigid[1:4] / rigid[0], np.zeros((3, 3))
    for (row, column), value in zip(TENSOR_PLACES, rigid[4:]):
        inertia[row, column] = inertia[column, row] = value
    return mass, centre, inertia - offset_inertia(mass, centre)
