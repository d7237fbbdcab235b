"""A link's pseudo-inertia J = [[tr(I)/2 1 - I, ml], [ml^T, m]] as a linear map of its parameters.

Traversaro et al. 2016, Wensing et al. 2018: ten rigid parameters belong to a body exactly where J
is positive definite.
"""
from __future__ import annotations

import numpy as np

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
    basis.setflags(write=False)
    return basis


# (10, 4, 4): J = sum_i pi_i BASIS[i] of a link's rigid parameters m, mlx, mly, mlz, Ixx, ..., Iyz.
BASIS = _basis()
