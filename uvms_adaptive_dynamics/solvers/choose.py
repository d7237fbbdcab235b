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

"""Choice of the solver: the one requested, or for 'auto' MOSEK if it has a licence, else the native
methods with Clarabel, if installed, as their fallback."""

from __future__ import annotations

import numpy as np

from ..config import Estimation
from ..errors import SolverError
from ..model.parameters import ParameterTable
from ..model.physical_set import PhysicalSet
from .guarded import Guarded
from .native.solver import NativeSolver
from .problem import HorizonProblem, Solver, projection_problem

NO_FALLBACK = ("the fallback solver 'clarabel' is not installed, so the last estimate stays at a "
               "tick at which the native methods fail; pip install clarabel")


def choose_solver(wanted: str, table: ParameterTable) -> tuple[Guarded, list[str]]:
    """(solver, messages to log). wanted: 'auto', 'native', 'clarabel', 'mosek' or 'cvxpy:<NAME>'.

    Each candidate must first solve a small problem. A solver that loses its licence later is
    replaced by the native one.

    Raises SolverError if a solver requested by name is missing or fails its trial solve: not to
    start is better than to start with another solver than requested.
    """
    notes: list[str] = []
    for name in ("mosek", "native") if wanted == "auto" else (wanted,):
        try:
            Guarded(solver := _make(name)).solve(_trial(table))
            alone = isinstance(solver, NativeSolver) and not solver.has_fallback
            return Guarded(solver, _native), [*notes, f"solver: {solver.name}",
                                              *([NO_FALLBACK] if alone else [])]
        except SolverError as error:
            # (who has not asked for it need not be told how to get it)
            why = str(error).partition(";")[0] if wanted == "auto" else error
            notes.append(f"solver '{name}' is not used: {why}")
    raise SolverError("; ".join(notes) + ". Set estimation.solver to 'auto', or install and "
                      "license the one you want.", "missing")


def _make(name: str) -> Solver:
    if name == "native":
        return _native()
    if name == "clarabel":
        return _clarabel()
    if name == "mosek":
        from .mosek_solver import MosekSolver

        return MosekSolver()
    from .cvxpy_solver import CvxpySolver

    return CvxpySolver(name.split(":", 1)[1])


def _native() -> Solver:
    try:
        return NativeSolver(behind=_clarabel())
    except SolverError:
        return NativeSolver()


def _clarabel() -> Solver:
    try:
        from .clarabel_solver import ClarabelSolver
    except ImportError:
        raise SolverError("the package 'clarabel' is not installed; pip install clarabel",
                          "missing") from None
    return ClarabelSolver()


def _trial(table: ParameterTable) -> HorizonProblem:
    """The trial problem, projecting the table's scales onto P: small, never degenerate, with every
    kind of constraint."""
    return projection_problem(table, PhysicalSet(table, Estimation()), np.array(table.scale))
