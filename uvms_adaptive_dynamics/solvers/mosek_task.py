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

"""A MOSEK task for one shape of problem: built once, filled with each tick's numbers, then
optimized or written to a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from ..errors import SolverError
from .condensed import Condensed, Round
from .mosek_licence import solver_error
from .native.cones import Cones

MOSEK_TOLERANCE = 1e-10  # of the interior-point method: feasibilities and relative gap
MOSEK_ACCEPTED_GAP = 1e-6  # largest relative gap accepted if that tolerance is not reached
USABLE_VIOLATION = 1e-8
SHIFT = 1e-13  # added to a unit diagonal if rounding has made the quadratic indefinite
# solution statuses whose point may still be usable
FEASIBLE_STATUSES = ("prim_feas", "prim_and_dual_feas", "unknown")
MOSEK_SENTENCES = {
    "prim_infeas_cer": "no parameters satisfy all constraints: check frozen parameters outside P "
                       "and contradicting bounds",
    "dual_infeas_cer": "the cost has no minimum: the prior holds no information in some direction "
                       "(information_floor)",
    "unknown": "it stopped before it reached its tolerances",
}


class MosekTask:
    """A task of one shape: variables d (m), t, u and v (slots each); affine expressions in the
    order of `__init__`."""

    def __init__(self, mosek, env, cones: Cones, slots: int, rows: int):
        self._mosek, self._cones, self.slots, self.rows = mosek, cones, slots, rows
        self.m = m = cones.coordinates.size
        self._task = task = env.Task(0, 0)
        for tolerance in ("pfeas", "dfeas", "rel_gap"):
            task.putdouparam(getattr(mosek.dparam, f"intpnt_co_tol_{tolerance}"), MOSEK_TOLERANCE)
        task.putintparam(mosek.iparam.num_threads, 1)
        free, low = mosek.boundkey.fr, mosek.boundkey.lo
        task.appendvars(m + 1 + 2 * slots)
        task.putvarboundsliceconst(0, m + 1 + slots, free, 0.0, 0.0)
        task.putvarboundsliceconst(m + 1 + slots, m + 1 + 2 * slots, low, 0.0, 0.0)
        task.putcj(m, 1.0)
        self._bounds(mosek)
        sides = [int(d) for d in cones.side]
        self._matrix_start = 2 + m + slots * (rows + 2)
        task.appendafes(self._matrix_start + sum(d * (d + 1) // 2 for d in sides))
        task.putafefentry(0, m, 1.0)
        task.putafeg(1, 0.5)
        task.appendaccseq(task.appendrquadraticconedomain(2 + m + slots), 0, None)
        norm = task.appendquadraticconedomain(rows + 1)
        for k in range(slots):
            at = 2 + m + slots + k * (rows + 1)
            task.putafefrow(at, [m + 1 + k, m + 1 + slots + k], [1.0, 1.0])
            task.appendaccseq(norm, at, None)
        self._matrices(sides)

    def _bounds(self, mosek) -> None:
        cones = self._cones
        self._lower, self._upper = np.full(self.m, -np.inf), np.full(self.m, np.inf)
        below = cones.sign > 0
        self._lower[cones.places[below]] = cones.offset[below]
        self._upper[cones.places[~below]] = -cones.offset[~below]
        kinds = {
            (False, False): mosek.boundkey.fr,
            (True, False): mosek.boundkey.lo,
            (False, True): mosek.boundkey.up,
            (True, True): mosek.boundkey.ra,
        }
        self._kinds = [kinds[key]
                       for key in zip(np.isfinite(self._lower).tolist(),
                                      np.isfinite(self._upper).tolist())]

    def _matrices(self, sides: list[int]) -> None:
        """Set the constant coefficients of P's matrices: 2 x 2 as rotated cones 2 a c >= 2 b^2,
        larger ones as svec."""
        task, cones, at = self._task, self._cones, self._matrix_start
        for k, d in enumerate(sides):
            for i, j, factor in _entries(d):
                q = np.flatnonzero(cones.basis[k, :, i, j])
                task.putafefrow(at, cones.variables[k, q].tolist(),
                                (factor * cones.basis[k, q, i, j]).tolist())
                at += 1
            count = d * (d + 1) // 2
            domain = (task.appendrquadraticconedomain(3) if d == 2
                      else task.appendsvecpsdconedomain(count))
            task.appendaccseq(domain, at - count, None)

    def fill(self, c: Condensed) -> None:
        """Fill in a tick's numbers; slots without a group get zero rows and cost nothing."""
        task, m, slots, used = self._task, self.m, self.slots, len(c.rho)
        self._x0, self._size = c.x0, c.size
        root = _root(c.P)
        goal = -solve_triangular(root, c.g, trans="T", check_finite=False)
        task.putvarboundslice(0, m, self._kinds,
                              np.where(np.isfinite(self._lower), self._lower - c.x0, 0.0),
                              np.where(np.isfinite(self._upper), self._upper - c.x0, 0.0))
        price = np.ones(slots)
        price[:used] = 2 * c.weight * c.rho
        task.putclist(np.arange(m + 1 + slots, m + 1 + 2 * slots, dtype=np.int32), price)
        task.putcfix(c.c - float(goal @ goal))
        i, j = np.triu_indices(m)
        self._put_rows(2 + np.arange(m), np.arange(m, 0, -1), j, root[i, j])
        share = np.ones(slots)
        share[:used] = np.sqrt(c.weight)
        self._put_rows(2 + m + np.arange(slots), np.ones(slots, int), m + 1 + np.arange(slots),
                       share)
        start = 2 + m + slots
        places = (start + np.arange(slots)[:, None] * (self.rows + 1) + 1
                  + np.arange(self.rows)).ravel()
        values = np.zeros((slots, self.rows, m))
        values[:used] = -c.rows
        self._put_rows(places, np.full(places.size, m), np.tile(np.arange(m), places.size),
                       values.ravel())
        g = np.zeros((slots, self.rows + 1))
        g[:used, 1:] = c.residual
        g[used:, 0] = 1.0  # keep an unused cone away from its apex, where it would be degenerate
        F = self._cones.matrices(c.x0)
        constants = [factor * F[k, i, j] for k, d in enumerate(self._cones.side)
                     for i, j, factor in _entries(int(d))]
        task.putafegslice(2, self._matrix_start + len(constants),
                          np.concatenate([-goal, np.zeros(slots), g.ravel(), constants]))

    def _put_rows(self, places, counts, variables, values) -> None:
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        self._task.putafefrowlist(np.asarray(places, np.int64), np.asarray(counts, np.int32),
                                  starts.astype(np.int64), np.asarray(variables, np.int32),
                                  np.ascontiguousarray(values))

    def write(self, path: str | Path) -> None:
        """Write the task to a file."""
        self._task.writedata(str(path))

    def optimize(self, seconds: float | None = None) -> Round:
        """Optimize within `seconds`; the answer is clipped to its bounds. Raises SolverError if
        there is no usable answer."""
        mosek, task = self._mosek, self._task
        if seconds is not None and seconds <= 0:
            raise SolverError("mosek: the deadline passed before a feasible point was found",
                              "deadline")
        # A negative time means no limit.
        task.putdouparam(mosek.dparam.optimizer_max_time, -1.0 if seconds is None else seconds)
        try:
            ended = str(task.optimize()).rsplit(".", 1)[-1]
            return self._read(ended)
        except mosek.Error as error:
            raise solver_error(error) from None

    def _read(self, ended: str) -> Round:
        """Read the answer; ended: name of the optimizer's response code."""
        mosek, task, kind = self._mosek, self._task, self._mosek.soltype.itr
        word = str(task.getsolsta(kind)).rsplit(".", 1)[-1]
        late = ended == "trm_max_time"
        if word != "optimal" and word not in FEASIBLE_STATUSES:
            raise SolverError(f"mosek ended with status '{word}' ({ended}): "
                              f"{MOSEK_SENTENCES.get(word, 'no usable answer')}", word)
        x = np.clip(self._x0 + np.array(task.getxxslice(kind, 0, self.m)), self._lower, self._upper)
        primal, dual = task.getprimalobj(kind), task.getdualobj(kind)
        gap = abs(primal - dual) / self._size(primal)
        outside = self._cones.violation(x) if np.isfinite(x).all() else np.inf
        if not outside <= USABLE_VIOLATION or not (late or gap < MOSEK_ACCEPTED_GAP):
            raise SolverError(
                f"mosek ended with status '{word}' ({ended}), {gap:.1e} (relative) from the "
                f"optimum and outside the constraints by {outside:.1e} (scaled)",
                "deadline" if late else "inaccurate")
        status = "optimal" if word == "optimal" else "deadline" if late else "near-optimal"
        return Round(x, gap, task.getintinf(mosek.iinfitem.intpnt_iter), status)


def _root(P: np.ndarray) -> np.ndarray:
    """Upper triangular R (m, m) with R^T R = P."""
    size = np.sqrt(np.maximum(np.diag(P), 1e-300))
    scaled = P / np.outer(size, size)
    for shift in (0.0, SHIFT, 100 * SHIFT):
        try:
            return cholesky(scaled + shift * np.eye(len(P)), check_finite=False) * size
        except LinAlgError:
            continue
    raise SolverError("mosek: the arrival cost is not convex; check that the prior's standard "
                      "deviations are finite", "indefinite")


def _entries(d: int) -> list[tuple[int, int, float]]:
    """(row, column, factor) in the order of MOSEK's domains: svec (lower triangle by columns),
    or (a, c, sqrt 2 b) for d = 2."""
    if d == 2:
        return [(0, 0, 1.0), (1, 1, 1.0), (1, 0, np.sqrt(2.0))]
    return [(i, j, 1.0 if i == j else np.sqrt(2.0)) for j in range(d) for i in range(j, d)]
