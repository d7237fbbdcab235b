"""MOSEK's task of one shape of problem: built once, filled with a tick's numbers, written to a file or optimized."""
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import SolverError
from .native.cones import Cones

NO_LICENCE = ("no usable MOSEK licence was found; get one at mosek.com (a trial one, or a free one for academic use) and put the file "
              "at ~/mosek/mosek.lic, or its path into the environment variable MOSEKLM_LICENSE_FILE")
TOLERANCE = 1e-10       # of the interior point: feasibilities and relative gap
SENTENCES = {
    "prim_infeas_cer": "no parameters satisfy all constraints: look at frozen parameters outside P and at contradicting bounds",
    "dual_infeas_cer": "the cost has no minimum: the prior holds no information in some direction (information_floor)",
    "unknown": "it stopped before it reached its tolerances"}


class Condensed(NamedTuple):
    """A problem about x0 (m,): |root d - goal|^2 + constant, and groups of rows |residual_k - rows_k d| with rho and weight."""

    x0: np.ndarray
    root: np.ndarray
    goal: np.ndarray
    constant: float
    rows: np.ndarray
    residual: np.ndarray
    rho: np.ndarray
    weight: np.ndarray


class Task:
    """The task of one shape: variables d (m), t, u, v (slots each); affine expressions in the order of `__init__`."""

    def __init__(self, mosek, env, cones: Cones, slots: int, rows: int):
        self._mosek, self._cones, self.slots, self.rows = mosek, cones, slots, rows
        self.m = m = cones.coordinates.size
        self._task = task = env.Task(0, 0)
        for tolerance in ("pfeas", "dfeas", "rel_gap"):
            task.putdouparam(getattr(mosek.dparam, f"intpnt_co_tol_{tolerance}"), TOLERANCE)
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
        kinds = {(False, False): mosek.boundkey.fr, (True, False): mosek.boundkey.lo, (False, True): mosek.boundkey.up,
                 (True, True): mosek.boundkey.ra}
        self._kinds = [kinds[key] for key in zip(np.isfinite(self._lower).tolist(), np.isfinite(self._upper).tolist())]

    def _matrices(self, sides: list[int]) -> None:
        """Coefficients of P's matrices, which no tick changes: 2 x 2 as rotated cones 2 a c >= 2 b^2, larger ones as svec."""
        task, cones, at = self._task, self._cones, self._matrix_start
        for k, d in enumerate(sides):
            for i, j, factor in _entries(d):
                q = np.flatnonzero(cones.basis[k, :, i, j])
                task.putafefrow(at, cones.variables[k, q].tolist(), (factor * cones.basis[k, q, i, j]).tolist())
                at += 1
            count = d * (d + 1) // 2
            domain = task.appendrquadraticconedomain(3) if d == 2 else task.appendsvecpsdconedomain(count)
            task.appendaccseq(domain, at - count, None)

    def fill(self, c: Condensed) -> None:
        """Put a tick's numbers in; slots without a group get zero rows and cost nothing."""
        task, m, slots, used = self._task, self.m, self.slots, len(c.rho)
        self._x0 = c.x0
        task.putvarboundslice(0, m, self._kinds, np.where(np.isfinite(self._lower), self._lower - c.x0, 0.0),
                              np.where(np.isfinite(self._upper), self._upper - c.x0, 0.0))
        price = np.ones(slots)
        price[:used] = 2 * c.weight * c.rho
        task.putclist(np.arange(m + 1 + slots, m + 1 + 2 * slots, dtype=np.int32), price)
        task.putcfix(c.constant)
        i, j = np.triu_indices(m)
        self._put_rows(2 + np.arange(m), np.arange(m, 0, -1), j, c.root[i, j])
        share = np.ones(slots)
        share[:used] = np.sqrt(c.weight)
        self._put_rows(2 + m + np.arange(slots), np.ones(slots, int), m + 1 + np.arange(slots), share)
        start = 2 + m + slots
        places = (start + np.arange(slots)[:, None] * (self.rows + 1) + 1 + np.arange(self.rows)).ravel()
        values = np.zeros((slots, self.rows, m))
        values[:used] = -c.rows
        self._put_rows(places, np.full(places.size, m), np.tile(np.arange(m), places.size), values.ravel())
        g = np.zeros((slots, self.rows + 1))
        g[:used, 1:] = c.residual
        g[used:, 0] = 1.0   # an empty cone is kept away from its tip, where it would be degenerate
        F = self._cones.matrices(c.x0)
        constants = [factor * F[k, i, j] for k, d in enumerate(self._cones.side) for i, j, factor in _entries(int(d))]
        task.putafegslice(2, self._matrix_start + len(constants), np.concatenate([-c.goal, np.zeros(slots), g.ravel(), constants]))

    def _put_rows(self, places, counts, variables, values) -> None:
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        self._task.putafefrowlist(np.asarray(places, np.int64), np.asarray(counts, np.int32), starts.astype(np.int64),
                                  np.asarray(variables, np.int32), np.ascontiguousarray(values))

    def write(self, path: str | Path) -> None:
        """The task as a file."""
        self._task.writedata(str(path))

    def optimize(self) -> tuple[np.ndarray, float, int]:
        """(x (m,) within its bounds, relative duality gap, iterations)."""
        mosek, task = self._mosek, self._task
        try:
            ended = task.optimize()
            kind = mosek.soltype.itr
            status = task.getsolsta(kind)
        except mosek.Error as error:
            licence = any(word in str(error.errno) for word in ("license", "licensed"))
            raise SolverError(NO_LICENCE if licence else f"mosek failed: {error.msg} ({error.errno})", "licence" if licence else "error") from None
        if status != mosek.solsta.optimal:
            word = str(status).rsplit(".", 1)[-1]
            raise SolverError(f"mosek ended with status '{word}' ({ended}): {SENTENCES.get(word, 'there is no usable answer')}", word)
        x = self._x0 + np.array(task.getxxslice(kind, 0, self.m))
        primal, dual = task.getprimalobj(kind), task.getdualobj(kind)
        gap = abs(primal - dual) / max(abs(primal), 1e-12)
        return np.clip(x, self._lower, self._upper), gap, task.getintinf(mosek.iinfitem.intpnt_iter)


def _entries(d: int) -> list[tuple[int, int, float]]:
    """(row, column, factor) in the order of MOSEK's domains: svec (lower triangle by columns), or (a, c, sqrt 2 b) for d = 2."""
    if d == 2:
        return [(0, 0, 1.0), (1, 1, 1.0), (1, 0, np.sqrt(2.0))]
    return [(i, j, 1.0 if i == j else np.sqrt(2.0)) for j in range(d) for i in range(j, d)]
