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

"""The set P of physically consistent parameters (paper, "Physical Consistency Constraints").

M_v is symmetric because its two pairs of off-diagonal parameters are tied to one variable each. It
splits into two 2x2 blocks and two scalars, since no other entry couples them; with term set
'off_axis_inertia' into two 3x3 blocks, which that set adds.
docs/mathematics.md, "Physically consistent set".
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..config import Estimation
from .arguments import read_only
from .parameters import RIGID, ParameterTable

# M_v couples surge with pitch and sway with roll only (parameter table: M04 = M40, M13 = M31).
VEHICLE_BLOCKS = ((0, 4), (1, 3))
ALONE = ("m_Z_dw", "Iz_N_dr")
# Parameters farther outside P than this (scaled) count as a violation.
VIOLATION = 1e-7
# (scaled) Rounding and the solvers' accuracy stay below this; answers of a solver and parameters
# beyond it are refused.
ACCEPTED_VIOLATION = 1e-6
EIGENVALUE_ROUNDING = 1e-9  # rounding of eigenvalues, relative to the largest


@dataclass(frozen=True)
class LinearMatrixInequality:
    """sum_k pi[places[k]] basis[k] - epsilon I must be positive semidefinite; basis (m, d, d)."""

    places: np.ndarray
    basis: np.ndarray
    label: str


class PhysicalSet:
    """P as bounds and linear matrix inequalities on pi."""

    def __init__(self, table: ParameterTable, estimation: Estimation):
        self.table = table
        self.epsilon = estimation.epsilon
        self.lower = np.full(table.size, -np.inf)
        self.upper = np.full(table.size, np.inf)
        self.upper[table.nonpositive] = 0.0
        self.lower[table.nonnegative] = 0.0
        further, low, high = table.term_bounds
        self.lower[further], self.upper[further] = low, high
        if table.vehicle:
            weight = table.index["W"]
            self.lower[weight], self.upper[weight] = table.weight_limits
            for name in ALONE:
                self.lower[table.index[name]] = self.epsilon

    @cached_property
    def inequalities(self) -> tuple[LinearMatrixInequality, ...]:
        """The matrix inequalities in order: M_v's blocks, those of further parameters, each link's
        scaled pseudo-inertia."""
        table, found = self.table, []
        if table.vehicle:
            for a, b in VEHICLE_BLOCKS:
                basis = np.array(
                    [[[1, 0], [0, 0]], [[0, 0], [0, 1]], [[0, .5], [.5, 0]], [[0, .5], [.5, 0]]],
                    float)
                names = {(0, 4): ("m_X_du", "Iy_M_dq", "mzg_X_dq", "mzg_M_du"),
                         (1, 3): ("m_Y_dv", "Ix_K_dp", "mzg_Y_dp", "mzg_K_dv")}[(a, b)]
                found.append(LinearMatrixInequality(table.places(names), basis, f"M_v[{a},{b}]"))
        for one in table.term_sets.values():
            found += [LinearMatrixInequality(table.places(names), basis, label)
                      for names, basis, label in one.inequalities(table)]
        for j, joint in enumerate(table.joints):
            places = np.arange(table.size)[table.link_slice(j)][RIGID]
            found.append(
                LinearMatrixInequality(places, table.scaled_pseudo_inertia_basis[j], f"J[{joint}]"))
        return tuple(found)

    @cached_property
    def single_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper), each (p,): range of each parameter in P, whatever the others are; -inf
        and inf if there is no bound.

        Besides the bounds, the diagonals of the matrix inequalities limit single parameters: if
        some Z has tr(Z basis[k]) = 1 and tr(Z basis[l]) = 0 for all other l, the parameter is
        tr(Z sum_l pi_l basis[l]), which is at least epsilon tr(Z) if Z is positive semidefinite.
        """
        lower, upper = self.lower.copy(), self.upper.copy()
        for lmi in self.inequalities:
            flat = lmi.basis.reshape(len(lmi.places), -1)
            dual = np.linalg.pinv(flat).T
            alone = np.isclose(dual @ flat.T, np.eye(len(flat))).all(axis=1)
            for k in np.flatnonzero(alone):
                Z = dual[k].reshape(lmi.basis.shape[1:])
                values = np.linalg.eigvalsh(Z)
                place, bound = lmi.places[k], self.epsilon * np.trace(Z)
                if values[0] >= -EIGENVALUE_ROUNDING * values[-1]:
                    lower[place] = max(lower[place], bound)
                elif values[-1] <= EIGENVALUE_ROUNDING * -values[0]:
                    upper[place] = min(upper[place], bound)
        return read_only(lower), read_only(upper)

    @cached_property
    def _batch(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(places (K, w), basis (K, w, 4, 4), scattered (K, w)) of all matrix inequalities, padded
        to one shape; scattered: the places, with padding at index p, past the last parameter."""
        width = max(len(lmi.places) for lmi in self.inequalities)
        places = np.zeros((len(self.inequalities), width), int)
        scattered = np.full_like(places, self.table.size)
        basis = np.zeros((len(self.inequalities), width, 4, 4))
        for k, lmi in enumerate(self.inequalities):
            real, d = slice(0, len(lmi.places)), lmi.basis.shape[1]
            places[k, real] = scattered[k, real] = lmi.places
            basis[k, real, :d, :d] = lmi.basis
        return places, basis, scattered

    @cached_property
    def _padding(self) -> np.ndarray:
        """(K, 4, 4) ones on the padded part of the diagonal, so that it is never singular."""
        padding = np.tile(np.eye(4), (len(self.inequalities), 1, 1))
        for k, lmi in enumerate(self.inequalities):
            d = lmi.basis.shape[1]
            padding[k, :d, :d] = 0.0
        return padding

    def min_eig_M(self, pi: np.ndarray) -> float | None:
        """Smallest eigenvalue of M_v (symmetric part), None without a vehicle."""
        if not self.table.vehicle:
            return None
        if "off_axis_inertia" in self.table.term_slices:    # which couples the blocks
            M = self.table.vehicle_inertia(pi)
            return float(np.linalg.eigvalsh(0.5 * (M + M.T))[0])
        values = self._eigenvalues(pi)[:len(VEHICLE_BLOCKS)]
        # Two of the four eigenvalues are padding (one): the block's smallest is the first, or the
        # third if both of the block's exceed one.
        lowest = np.where(values[:, 0] < 1.0, values[:, 0], values[:, 2])
        return float(min(lowest.min(), pi[self._alone].min()))

    def min_eig_J(self, pi: np.ndarray) -> np.ndarray:
        """(n,) smallest eigenvalue of each link's scaled pseudo-inertia."""
        return self._eigenvalues(pi)[-self.table.n:, 0].copy() if self.table.n else np.zeros(0)

    def violation(self, pi: np.ndarray, epsilon: float | None = None) -> float:
        """Distance of pi outside P, 0 inside: the largest violation of bounds and equalities
        (relative to each parameter's scale) and of the matrix inequalities (blocks of M_v unscaled,
        pseudo-inertias scaled)."""
        usual = epsilon is None
        epsilon = self.epsilon if epsilon is None else epsilon
        if usual and self._judged is not None and self._judged[0] is pi:
            return self._judged[1]
        G, fixed, per_epsilon = self._linear
        excess = float((G @ pi + (fixed + epsilon * per_epsilon)).max(initial=0.0))
        if self.inequalities:
            excess = max(excess, epsilon - float(self._eigenvalues(pi)[:, 0].min()))
        if usual:
            self._judged = None if pi.flags.writeable else (pi, excess)
        return excess

    @cached_property
    def _linear(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(G (r, p), h (r,), e (r,)): bounds and equalities as G pi + h + epsilon e <= 0, each
        relative to its parameter's scale."""
        p, inverse = self.table.size, np.diag(1 / self.table.scale)
        below, above = (np.flatnonzero(np.isfinite(bound)) for bound in (self.lower, self.upper))
        a, b = self.table.equal_pairs.T
        apart = inverse[a]
        apart[np.arange(a.size), b] = -1 / self.table.scale[a]
        alone = self._alone if self.table.vehicle else np.zeros(0, int)
        G = np.concatenate([-inverse[below], inverse[above], apart, -apart, -inverse[alone]])
        h = np.concatenate([inverse[below] @ np.where(np.isfinite(self.lower), self.lower, 0.0),
                            -inverse[above] @ np.where(np.isfinite(self.upper), self.upper, 0.0),
                            np.zeros(2 * a.size + alone.size)])
        e = np.concatenate([np.zeros(len(G) - alone.size), 1 / self.table.scale[alone]])
        return G.reshape(-1, p), h, e

    def is_outside(self, pi: np.ndarray) -> bool:
        """Whether pi is farther outside P than a solver's accuracy explains."""
        return self.violation(pi) > VIOLATION

    @cached_property
    def _alone(self) -> np.ndarray:
        """Places of M_v's entries that no other entry couples to."""
        return self.table.places(ALONE)

    # of the last read-only array: a tick asks several times for the same estimate
    _seen: tuple[np.ndarray, np.ndarray] | None = None
    _judged: tuple[np.ndarray, float] | None = None

    def _eigenvalues(self, pi: np.ndarray) -> np.ndarray:
        """Eigenvalues (K, 4), ascending, of all matrix inequalities at pi; padding has eigenvalues
        of one.

        The result for the last read-only array is cached."""
        if self._seen is not None and self._seen[0] is pi:
            return self._seen[1]
        found = np.linalg.eigvalsh(self._matrices(pi))
        self._seen = None if pi.flags.writeable else (pi, found)
        return found

    def _matrices(self, pi: np.ndarray) -> np.ndarray:
        """(K, 4, 4) all matrix inequalities at pi, padded."""
        places, basis, _ = self._batch
        flat = basis.reshape(*places.shape, -1)
        matrices = np.matmul(pi[places][:, None, :], flat).reshape(-1, 4, 4)
        return matrices + self._padding

    def active_normals(self, pi: np.ndarray, tolerance: float = 1e-6) -> np.ndarray:
        """(k, p) gradients of the constraints active at pi, equalities included.

        A bound is active within `tolerance` times the parameter's scale; a matrix inequality if an
        eigenvalue is within `tolerance` times the larger of its trace and one (pseudo-inertias are
        scaled). Its gradient has the entries v^T basis[k] v with the eigenvector v.
        """
        near = tolerance * self.table.scale
        bounds, = ((pi - self.lower < near) | (self.upper - pi < near)).nonzero()
        at_bounds = np.zeros((bounds.size, self.table.size))
        at_bounds[np.arange(bounds.size), bounds] = 1.0
        if not self.inequalities:
            return np.concatenate([self._equalities, at_bounds])
        values, vectors = np.linalg.eigh(self._matrices(pi))
        traces = np.maximum(np.abs(values).sum(axis=1), 1.0)
        k, i = np.nonzero(values - self.epsilon < tolerance * traces[:, None])
        v = vectors[k, :, i]
        _, basis, scattered = self._batch
        # the last column collects the padding
        singular = np.zeros((k.size, self.table.size + 1))
        singular[np.arange(k.size)[:, None], scattered[k]] = np.matmul(
            np.matmul(v[:, None, None, :], basis[k]), v[:, None, :, None])[..., 0, 0]
        return np.concatenate([self._equalities, at_bounds, singular[:, :-1]])

    @cached_property
    def _equalities(self) -> np.ndarray:
        """(e, p) gradients of the equalities."""
        a, b = self.table.equal_pairs.T
        rows, each = np.zeros((a.size, self.table.size)), np.arange(a.size)
        rows[each, a], rows[each, b] = 1.0, -1.0
        return rows
