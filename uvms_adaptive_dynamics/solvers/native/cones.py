"""P in a solver's free coordinates: single-variable bounds and small matrix inequalities, batched."""
from __future__ import annotations

import numpy as np

from ...model.physical_set import Coordinates, PhysicalSet

SIDE = 4   # every matrix inequality is padded to this side with ones on the diagonal, so that all are one batch


class Cones:
    """s = sign x[places] - offset >= 0 and F_k(x) = constant_k + sum_q x[variables_kq] basis_kq positive semidefinite.

    Depends only on which parameters are free and on the value of those that are not. Whoever solves gives `interior`, a point
    (x, margin) as far inside as the cones allow, within reason.
    """

    interior: tuple[np.ndarray, float]

    def __init__(self, physical: PhysicalSet, free: np.ndarray, pi: np.ndarray):
        table = physical.table
        self.coordinates = at = Coordinates(table, free, np.array(table.scale))
        lower, upper = physical.lower[at.keep] / at.scale, physical.upper[at.keep] / at.scale
        below, above = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
        self.places = np.concatenate([below, above])
        self.sign = np.concatenate([np.ones(below.size), -np.ones(above.size)])
        self.offset = np.concatenate([lower[below], -upper[above]])
        members = [lmi for lmi in physical.inequalities if at.free[lmi.places].any()]   # a frozen one decides nothing
        K, width = len(members), max((len(lmi.places) for lmi in members), default=1)
        self.count = K
        self.side = np.array([lmi.basis.shape[1] for lmi in members], int)
        self.variables = np.zeros((K, width), int)
        self.basis = np.zeros((K, width, SIDE, SIDE))
        self.flat_basis = self.basis.reshape(K, width, SIDE * SIDE)
        filled = np.zeros(K, int)              # how many of a row's variables are real, the rest is padding
        self.constant = np.tile(np.eye(SIDE), (K, 1, 1))
        for k, lmi in enumerate(members):
            d = lmi.basis.shape[1]
            self.constant[k, :d, :d] = -physical.epsilon * np.eye(d)
            column: dict[int, int] = {}
            for place, matrix in zip(lmi.places, lmi.basis):
                variable = at.variable[place]
                if variable < 0:
                    self.constant[k, :d, :d] += pi[place] * matrix
                    continue
                # tied parameters share a variable: their matrices add
                q = column.setdefault(variable, len(column))
                self.variables[k, q] = variable
                self.basis[k, q, :d, :d] += at.scale[variable] * matrix
            filled[k] = len(column)
        # Places for scattering: what is padding goes to one past the end.
        real = np.arange(width) < filled[:, None]
        self.padded = np.where(real, self.variables, at.size)
        self.entries = np.where(real[:, :, None] & real[:, None, :], self.variables[:, :, None] * at.size + self.variables[:, None, :],
                                at.size ** 2)

    def slacks(self, x: np.ndarray) -> np.ndarray:
        """(b,) of the bounds, negative where violated."""
        return self.sign * x[self.places] - self.offset

    def matrices(self, x: np.ndarray) -> np.ndarray:
        """(K, 4, 4) F_k(x), padded."""
        return self.constant + self.along(x)

    def along(self, dx: np.ndarray) -> np.ndarray:
        """(K, 4, 4) change of the matrices by a step."""
        return np.matmul(dx[self.variables][:, None, :], self.flat_basis).reshape(self.count, SIDE, SIDE)

    def pull(self, Z: np.ndarray) -> np.ndarray:
        """(K, width) gradients <basis, Z> of multipliers Z (K, 4, 4), for the variables of each inequality."""
        return np.matmul(self.flat_basis, Z.reshape(self.count, SIDE * SIDE, 1))[..., 0]

    def balance(self, z: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """(m,) what multipliers z (b,) of the bounds and Z (K, 4, 4) of the inequalities take off the cost's gradient."""
        size = self.coordinates.size
        pulled = np.zeros(size + 1)
        np.add.at(pulled, self.places, self.sign * z)     # a variable may have two bounds
        pulled[self.padded] += self.pull(Z)
        return pulled[:size]

    def scattered(self, blocks: np.ndarray, bounds: np.ndarray | None = None) -> np.ndarray:
        """(m, m) matrix with the blocks (K, width, width) of the inequalities' variables and `bounds` (b,) on the diagonal."""
        size = self.coordinates.size
        matrix = np.zeros(size * size + 1)
        matrix[self.entries] = blocks
        if bounds is not None:
            np.add.at(matrix, self.places * (size + 1), bounds)     # a variable may have two bounds
        return matrix[:-1].reshape(size, size)

    def pulled_inside(self, x: np.ndarray) -> np.ndarray:
        """x, or where rounding left it outside a cone, the point on the way to the interior where it is not.

        A cost that is steep against what its optimum is worth may rise by much more than rounding on that way: look.
        """
        outside = self.violation(x)
        if outside <= 0.0:
            return x
        inside, margin = self.interior
        if margin <= 0.0:
            return x
        return x + outside / (outside + margin) * (inside - x)

    def violation(self, x: np.ndarray) -> float:
        """Largest excess over bounds and matrix inequalities, 0 inside."""
        worst = float(np.max(-self.slacks(x), initial=0.0))
        if self.count:
            worst = max(worst, -float(np.linalg.eigvalsh(self.matrices(x))[:, 0].min()))
        return max(worst, 0.0)
