"""One problem, several solvers behind one signature: `solver.name`, `solver.solve(problem) -> Solution`, SolverError else."""
from __future__ import annotations

from typing import Protocol

import numpy as np

from ..config import Estimation
from ..model.physical_set import PhysicalSet
from ..errors import SolverError
from .problem import HorizonProblem, Quadratic, Solution
from ..model.parameters import ParameterTable


class Solver(Protocol):
    """What every solver offers."""

    name: str

    def solve(self, problem: HorizonProblem) -> Solution:
        """Minimise over P; raises SolverError with the solver's status where there is no usable answer."""


class Guarded:
    """A solver whose every bad end is a SolverError: numbers that break down in it and answers that are none included.

    inaccurate counts the answers that it called less than optimal; they are passed on with their status.
    """

    def __init__(self, inner: Solver):
        self.inner, self.name, self.inaccurate = inner, inner.name, 0

    @property
    def ticks(self) -> dict[str, int]:
        """How many problems each of its methods has answered; empty where there is but one."""
        return getattr(self.inner, "ticks", {})

    def solve(self, problem: HorizonProblem) -> Solution:
        """See `Solver`."""
        try:
            solution = self.inner.solve(problem)
        except np.linalg.LinAlgError as error:
            raise SolverError(f"{self.name} broke down ({error}); are all measurements finite and of sensible size?", "breakdown") from None
        if not np.isfinite(solution.pi).all():
            raise SolverError(f"{self.name} answered with parameters that are not finite", "not finite")
        self.inaccurate += solution.status != "optimal"
        solution.pi.setflags(write=False)
        return solution


def choose_solver(wanted: str, table: ParameterTable) -> tuple[Solver, list[str]]:
    """(solver, what to log): the wanted one, or for 'auto' MOSEK if a trial solve with it succeeds, else Clarabel.

    'mosek' and 'clarabel' are called directly; 'cvxpy:<NAME>' hands the readable statement to any solver CVXPY knows.

    Raises SolverError where a solver that was asked for by name is missing or fails its trial solve: asking for one
    and silently getting another would be worse than not starting.
    """
    notes: list[str] = []
    candidates = ("mosek", "clarabel") if wanted == "auto" else (wanted,)
    for name in candidates:
        try:
            solver = Guarded(_make(name))
            solver.solve(_trial(table))
            solver.inaccurate = 0
            return solver, notes + [f"solver: {solver.name}"]
        except SolverError as error:
            notes.append(f"solver '{name}' is not used: {error}")
    raise SolverError("; ".join(notes) + ". Set estimation.solver to 'auto', or install and license the one you want.", "missing")


def _make(name: str) -> Solver:
    if name == "clarabel":
        from .native.solver import ClarabelSolver
        return ClarabelSolver()
    if name == "mosek":
        from .mosek_solver import MosekSolver
        return MosekSolver()
    from .cvxpy_solver import CvxpySolver
    return CvxpySolver(name.split(":", 1)[1])


def _trial(table: ParameterTable) -> HorizonProblem:
    """The projection of the table's scales onto P: small, never degenerate, with every kind of constraint."""
    return projection_problem(table, PhysicalSet(table, Estimation()), np.array(table.scale))


def projection_problem(table: ParameterTable, physical: PhysicalSet, pi: np.ndarray) -> HorizonProblem:
    """Nearest point of P to pi, distances relative to each parameter's size."""
    H = np.diag(1 / np.maximum(np.abs(pi), 0.1 * table.scale) ** 2)
    quadratic = Quadratic(H, H @ pi, float(pi @ H @ pi))
    nothing = np.zeros((0, table.channels))
    return HorizonProblem(physical, quadratic, quadratic, np.zeros((0, table.channels, table.size)), nothing, nothing.astype(bool),
                          np.zeros(0), "sample", 1.0, np.ones(table.size, bool), pi)
