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

"""P in a solver's free coordinates: bounds on single variables and a batch of small matrix
inequalities (docs/mathematics.md, "Physically consistent set")."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property

import numpy as np

from ...model.coordinates import Coordinates
from ...model.physical_set import PhysicalSet

# side to which all matrix inequalities are padded, with ones on the diagonal, to form one batch
SIDE = 4
# (scaled) violation up to which moving a point inside the constraints costs little
NEARLY_FEASIBLE = 1e-6


class Cones:
    """s = sign x[places] - offset >= 0 (b,), and F_k(x) = constant_k + sum_q x[variables_kq]
    basis_kq positive semidefinite, k < K.

    Depends only on which parameters are free and on the values of the frozen ones. find_interior:
    gives (x (m,), margin) inside all cones, towards which `pulled_inside` moves.
    """

    def __init__(self, physical: PhysicalSet, free: np.ndarray, pi: np.ndarray,
                 find_interior: Callable[[Cones], tuple[np.ndarray, float]] | None = None):
        table = physical.table
        self._find_interior = find_interior
        self.physical, self._free, self._frozen_pi = physical, free.copy(), pi[~free]
        self.coordinates = at = Coordinates(table, free, np.array(table.scale))
        lower, upper = physical.lower[at.keep] / at.scale, physical.upper[at.keep] / at.scale
        below, above = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
        self.places = np.concatenate([below, above])
        self.sign = np.concatenate([np.ones(below.size), -np.ones(above.size)])
        self.offset = np.concatenate([lower[below], -upper[above]])
        # only inequalities that contain a free parameter
        inequalities = [lmi for lmi in physical.inequalities if at.free[lmi.places].any()]
        K, width = len(inequalities), max((len(lmi.places) for lmi in inequalities), default=1)
        self.count = K
        self.side = np.array([lmi.basis.shape[1] for lmi in inequalities], int)
        self.variables = np.zeros((K, width), int)
        self.basis = np.zeros((K, width, SIDE, SIDE))
        self.flat_basis = self.basis.reshape(K, width, SIDE * SIDE)
        filled = np.zeros(K, int)  # number of variables per row; the rest is padding
        self.constant = np.tile(np.eye(SIDE), (K, 1, 1))
        for k, lmi in enumerate(inequalities):
            d = lmi.basis.shape[1]
            self.constant[k, :d, :d] = -physical.epsilon * np.eye(d)
            column: dict[int, int] = {}
            for place, matrix in zip(lmi.places, lmi.basis):
                variable = at.variable[place]
                if variable < 0:
                    self.constant[k, :d, :d] += pi[place] * matrix
                    continue
                # tied parameters share a variable: their matrices add up
                q = column.setdefault(variable, len(column))
                self.variables[k, q] = variable
                self.basis[k, q, :d, :d] += at.scale[variable] * matrix
            filled[k] = len(column)
        # places for scattering, with padding one past the end
        real = np.arange(width) < filled[:, None]
        self.padded = np.where(real, self.variables, at.size)
        self.entries = np.where(real[:, :, None] & real[:, None, :],
                                self.variables[:, :, None] * at.size + self.variables[:, None, :],
                                at.size ** 2)

    def fit(self, physical: PhysicalSet, free: np.ndarray, pi: np.ndarray) -> bool:
        """Whether these are the cones of the object `physical` with parameters `free` (p,) bool and
        the others at pi (p,)."""
        return (physical is self.physical and (free == self._free).all()
                and (not self._frozen_pi.size or np.array_equal(pi[~free], self._frozen_pi)))

    def tightened(self, margin: float) -> Cones:
        """The cones shrunk by a (scaled) margin: s - margin >= 0, F_k - margin I positive
        semidefinite."""
        tighter = copy.copy(self)
        tighter._find_interior = None
        tighter.offset = self.offset + margin
        tighter.constant = self.constant.copy()
        for k, d in enumerate(self.side):
            tighter.constant[k, :d, :d] -= margin * np.eye(d)
        return tighter

    @cached_property
    def interior(self) -> tuple[np.ndarray, float]:
        """(x (m,), margin) inside all cones; margin 0 if none is known."""
        return ((np.zeros(self.coordinates.size), 0.0) if self._find_interior is None
                else self._find_interior(self))

    def slacks(self, x: np.ndarray) -> np.ndarray:
        """s (b,), negative where a bound is violated."""
        return self.sign * x[self.places] - self.offset

    def matrices(self, x: np.ndarray) -> np.ndarray:
        """F_k(x) (K, 4, 4), padded."""
        return self.constant + self.along(x)

    def along(self, dx: np.ndarray) -> np.ndarray:
        """(K, 4, 4) change of the matrices F_k by a step dx (m,)."""
        flat = np.matmul(dx[self.variables][:, None, :], self.flat_basis)
        return flat.reshape(self.count, SIDE, SIDE)

    def pull(self, Z: np.ndarray) -> np.ndarray:
        """(K, width) gradient <basis, Z> by each inequality's variables, for Z (K, 4, 4)."""
        return np.matmul(self.flat_basis, Z.reshape(self.count, SIDE * SIDE, 1))[..., 0]

    def balance(self, z: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """(m,) gradient of <z, s> + <Z, F>, for multipliers z (b,) and Z (K, 4, 4): it equals the
        cost's gradient at the optimum."""
        size = self.coordinates.size
        pulled = np.zeros(size + 1)
        np.add.at(pulled, self.places, self.sign * z)  # a variable may have two bounds
        pulled[self.padded] += self.pull(Z)
        return pulled[:size]

    def scattered(self, blocks: np.ndarray, bounds: np.ndarray | None = None) -> np.ndarray:
        """(m, m) matrix with blocks (K, width, width) at the inequalities' variables, plus `bounds`
        (b,) on the diagonal."""
        size = self.coordinates.size
        matrix = np.zeros(size * size + 1)
        matrix[self.entries] = blocks
        if bounds is not None:
            np.add.at(matrix, self.places * (size + 1), bounds)  # a variable may have two bounds
        return matrix[:-1].reshape(size, size)

    def pulled_inside(self, x: np.ndarray) -> np.ndarray:
        """x (m,), moved towards the interior just far enough to be inside if rounding left it
        outside a cone.

        A steep cost may rise by much more than rounding on the way: evaluate it again.
        """
        outside = self.violation(x)
        if outside <= 0.0:
            return x
        inside, margin = self.interior
        if margin <= 0.0:
            return x
        return x + outside / (outside + margin) * (inside - x)

    def violation(self, x: np.ndarray, margin: float = 0.0) -> float:
        """Largest violation of bounds and matrix inequalities; 0 if x is at least `margin` inside.
        """
        worst = float((margin - self.slacks(x)).max(initial=0.0))
        if self.count:
            worst = max(worst, margin - float(np.linalg.eigvalsh(self.matrices(x))[:, 0].min()))
        return max(worst, 0.0)


def kronecker(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(K, 16, 16) Kronecker products of A, B (K, 4, 4): a flattened M times it is A^T M B."""
    product = A[:, :, None, :, None] * B[:, None, :, None, :]
    return product.reshape(len(A), SIDE * SIDE, SIDE * SIDE)
