"""One problem, several solvers behind one signature: `solver.solve(problem, deadline) ->
Solution`, else SolverError."""

from .choose import choose_solver
from .guarded import Guarded
from .problem import HorizonProblem, Solution, Solver, projection_problem

__all__ = ["Guarded", "HorizonProblem", "Solution", "Solver", "choose_solver", "projection_problem"]
