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

"""The contract of every solver: deadlines, frozen parameters, the given set P, method names and
status words of its answers."""

import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from problems import admissible, make_problem, make_table

from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.errors import SolverError
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.solvers import Guarded, choose, choose_solver, condensed
from uvms_adaptive_dynamics.solvers.clarabel_solver import ClarabelSolver
from uvms_adaptive_dynamics.solvers.cvxpy_solver import CvxpySolver
from uvms_adaptive_dynamics.solvers.native import solver as native
from uvms_adaptive_dynamics.solvers.native.answer import SolveClock
from uvms_adaptive_dynamics.solvers.native.cones import Cones
from uvms_adaptive_dynamics.solvers.native.interior_point import strictly_inside
from uvms_adaptive_dynamics.solvers.native.solver import NativeSolver
from uvms_adaptive_dynamics.solvers.warm_up import warm_up_problem

SOLVERS = {
    "native": NativeSolver,
    "clarabel": ClarabelSolver,
    "cvxpy": lambda: CvxpySolver("CLARABEL"),
}
TABLE = make_table(1)


class SlowClock:
    """A clock whose deadline passes at the n-th query."""

    def __init__(self, questions):
        self.questions, self.elapsed, self.left = questions, 0.0, 0.0

    @property
    def passed(self):
        self.questions -= 1
        return self.questions < 0


@pytest.mark.parametrize("name", SOLVERS)
def test_nothing_free_is_answered_with_what_is_frozen(name):
    """`frozen: ["*"]`: the estimate is unchanged and optimal; half of a tied pair counts as frozen.
    """
    problem = make_problem(TABLE, np.random.default_rng(1), N=6, frozen=range(TABLE.size))
    for free in (problem.free, np.arange(TABLE.size) == TABLE.index["mzg_X_dq"]):
        solution = Guarded(SOLVERS[name]()).solve(replace(problem, free=free))
        assert np.array_equal(solution.pi, problem.pi) and solution.status == "optimal"
        assert solution.objective == pytest.approx(problem.objective(problem.pi))


@pytest.mark.parametrize("name", SOLVERS)
def test_every_inequality_frozen_leaves_a_bounded_problem(name):
    """All but friction and damping frozen, as in a usual stage: two ticks agree with CVXPY."""
    rng = np.random.default_rng(2)
    free = np.zeros(TABLE.size, bool)
    free[TABLE.nonpositive] = free[TABLE.nonnegative] = True
    truth = admissible(TABLE, rng)
    truth[TABLE.nonpositive[::2]] = 0
    problem = make_problem(TABLE, rng, N=15, truth=truth, frozen=np.flatnonzero(~free))
    best = CvxpySolver("CLARABEL").solve(problem)
    solver = SOLVERS[name]()
    for pi in (problem.pi, best.pi):
        solution = solver.solve(replace(problem, pi=pi))
        assert solution.objective == pytest.approx(best.objective, rel=1e-6)
        assert np.array_equal(solution.pi[~free], problem.pi[~free])


def test_random_subsets_frozen_have_an_answer():
    """100 subsets: frozen values are bit-identical, answers are inside P."""
    rng = np.random.default_rng(3)
    for k in range(100):
        frozen = np.flatnonzero(rng.random(TABLE.size) < rng.uniform())
        problem = make_problem(TABLE, rng, N=5, frozen=frozen,
                               grouping=["sample", "channel", "horizon"][k % 3])
        solution = Guarded(NativeSolver(behind=ClarabelSolver())).solve(problem)
        assert np.array_equal(solution.pi[frozen], problem.pi[frozen])
        assert problem.physical.violation(solution.pi) < 1e-9


@pytest.mark.parametrize("name", SOLVERS)
def test_two_sets_used_in_turn_are_told_apart(name):
    """Sets are created and deleted, so a new one may have an old one's memory address: each answer
    is inside its own set."""
    rng, solver = np.random.default_rng(4), SOLVERS[name]()
    for k in range(60 if name == "native" else 8):
        limits = (90.0, 100.0) if k % 2 else (120.0, 130.0)
        table = replace(TABLE, weight_limits=limits)
        problem = make_problem(TABLE, rng, N=4)
        problem = replace(problem, physical=PhysicalSet(table, Estimation()))
        assert problem.physical.violation(solver.solve(problem).pi) < 1e-7


@pytest.mark.parametrize("name", ["native", "clarabel"])
def test_a_deadline_that_has_passed_is_an_error_or_a_feasible_point(name):
    """Without any time: either an error ('deadline') or a point inside P with a bound, and soon.
    """
    problem = make_problem(make_table(4), np.random.default_rng(5), N=40)
    solver = SOLVERS[name]()
    solver.solve(problem)
    begin = time.process_time()     # whatever else runs
    try:
        solution = solver.solve(problem, 0.0)
        assert solution.status == "deadline" and problem.physical.violation(solution.pi) < 1e-9
        assert solution.gap is not None
    except SolverError as error:
        assert error.status == "deadline"
    assert time.process_time() - begin < 0.2


def test_at_the_deadline_the_best_feasible_point_is_returned_with_its_gap():
    """Stopped at any step of either method: inside P, no worse than the previous estimate, within
    the stated gap."""
    rng, late, methods = np.random.default_rng(6), 0, set()
    problem = make_problem(TABLE, rng, N=20)
    problem = replace(problem, pi=admissible(TABLE, rng), floor=problem.arrival.H.diagonal())
    best = NativeSolver().solve(problem)
    moved = replace(problem, pi=best.pi,
                    tau=problem.tau + 0.3 * rng.normal(size=problem.tau.shape) * problem.valid)
    rows, target = moved.Y.reshape(-1, TABLE.size), moved.tau.ravel()
    moved = replace(moved,
                    total=moved.arrival
                    + type(moved.total)(rows.T @ rows, rows.T @ target, float(target @ target)))
    for case, questions in [(c, q) for c in (problem, moved) for q in range(14)]:
        warm = NativeSolver()
        if case is moved:
            warm.solve(problem)
        else:
            cones = native.Cones(case.physical, case.free, case.pi, native.strictly_inside)
            warm._warm = native.WarmStart(cones)
        optimum = NativeSolver().solve(case)
        solution, _ = native.solve_warm(case, warm._warm, SlowClock(questions))
        assert case.physical.violation(solution.pi) < 1e-9
        size = case.cost_size(solution.objective)
        assert solution.objective - optimum.objective <= (solution.gap + optimum.gap) * size
        if solution.status == "deadline":
            late += 1
            methods.add(solution.method)
            assert solution.objective <= case.objective(case.pi) * (1 + 1e-9)
            assert solution.objective == pytest.approx(case.objective(solution.pi), rel=1e-9)
    assert late > 5 and methods == {"active set", "interior point"}


def assert_best_feasible(solution, problem):
    """Assert a point inside P, no worse than the previous estimate, with a useful gap."""
    assert problem.physical.violation(solution.pi) < 1e-9
    if solution.status == "deadline":
        before = problem.objective(problem.pi)
        assert solution.objective <= before + 1e-9 * problem.cost_size(before)
        assert 0 <= solution.gap <= 1 + 1e-9


def test_with_hardly_any_time_every_tick_has_an_answer():
    """Random problems of every grouping, a first and a second tick, deadlines from zero to the
    middle of either method: no error."""
    rng, late = np.random.default_rng(12), 0
    for k in range(60):
        truth = admissible(TABLE, rng) * rng.choice([1, 1, 1, -1, 0], size=TABLE.size)
        kind = {
            "grouping": ["sample", "channel", "horizon"][k % 3],
            "truth": truth,
            "prior": 10 ** rng.uniform(-4, 1),
            "outliers": rng.uniform(0, 0.3),
        }
        first = replace(make_problem(TABLE, rng, N=20, **kind), pi=admissible(TABLE, rng))
        solver = NativeSolver(behind=ClarabelSolver())
        best = solver.solve(first)
        second = replace(make_problem(TABLE, rng, N=20, **kind), pi=best.pi)
        second = replace(second, physical=first.physical)
        warm = solver._warm
        for deadline in (0.0, 1e-4, 1e-3, 3e-3):
            for solver, problem in ((NativeSolver(), first),
                                    (NativeSolver(behind=ClarabelSolver()), second)):
                solver._warm = warm if problem is second else None
                solution = solver.solve(problem, deadline)
                assert_best_feasible(solution, problem)
                late += solution.status == "deadline"
    assert late > 200


def gives_up(cost, cones, start, active, clock):
    """An active-set method that fails."""
    return native.Stopped(start, active.multipliers, active.Z, 1)


class OutOfTime:
    """A fallback solver that finds no feasible point in the remaining time, or a poor one."""

    name = "out of time"

    def __init__(self, poor=False):
        self.poor = poor

    def solve(self, problem, deadline=None):
        if self.poor:
            value = 2 * problem.objective(problem.pi)
            return native.Solution(problem.pi, value, 1, 0.0, "deadline", 1.0, self.name)
        raise SolverError("the time was over", "deadline")


@pytest.mark.parametrize("questions, behind",
                         [(0, None), (1, None), (1, OutOfTime()), (2, OutOfTime()),
                          (9, OutOfTime()), (9, OutOfTime(poor=True))])
@pytest.mark.parametrize("broken", [False, True])
def test_a_stalled_method_that_the_deadline_catches_leaves_its_best_point(questions, behind, broken,
                                                                          monkeypatch):
    """The interior-point method ends short of the optimum, and the time ends then, a moment later,
    or in the fallback solver: its point is the answer, not its error."""
    rng = np.random.default_rng(13)
    problem = make_problem(TABLE, rng, N=20)
    problem = replace(problem, pi=admissible(TABLE, rng))
    optimum, interior = NativeSolver().solve(problem), native.solve_interior

    def stalls(cost, cones, start, tolerance, clock):
        near = interior(cost, cones, start, 1e-3)
        if not broken:
            return replace(near, gap=3e-5)
        active = near.active
        return native.Stopped(near.x, active.multipliers, active.Z, near.steps)

    monkeypatch.setattr(native, "solve_interior", stalls)
    monkeypatch.setattr(native, "solve_active_set", gives_up)
    monkeypatch.setattr(native, "SolveClock", lambda deadline: SlowClock(questions))
    solution = NativeSolver(behind).solve(problem, 0.01)
    assert (solution.status, solution.method) == ("deadline", "interior point")
    assert solution.objective == pytest.approx(optimum.objective, rel=1e-3)
    assert solution.objective - optimum.objective <= solution.gap * solution.objective
    assert_best_feasible(solution, problem)


class Fails:
    """A fallback solver without an answer."""

    name = "fails"

    def solve(self, problem, deadline=None):
        raise SolverError("outside the constraints", "AlmostSolved")


@pytest.mark.parametrize("behind", [None, Fails()])
@pytest.mark.parametrize("usable", [True, False])
def test_the_best_point_is_an_answer_where_all_methods_stop_near_it(usable, behind, monkeypatch):
    """Certified near the optimum it is near-optimal; far from it the last error is raised."""
    rng = np.random.default_rng(13)
    problem = make_problem(TABLE, rng, N=20)
    problem = replace(problem, pi=admissible(TABLE, rng))
    optimum, interior = NativeSolver().solve(problem), native.solve_interior

    def stalls(cost, cones, start, tolerance, clock):
        near = interior(cost, cones, start, 1e-6)
        if usable:
            return replace(near, gap=3e-5)
        nothing = near.active.multipliers * 0, near.active.Z * 0
        return native.Stopped(start, *nothing, 1)

    monkeypatch.setattr(native, "solve_interior", stalls)
    monkeypatch.setattr(native, "solve_active_set", gives_up)
    if not usable:
        with pytest.raises(SolverError):
            NativeSolver(behind).solve(problem)
        return
    solution = NativeSolver(behind).solve(problem)
    assert (solution.status, solution.method) == ("near-optimal", "interior point")
    assert solution.objective - optimum.objective <= solution.gap * solution.objective < 1e-4 * (
        solution.objective
    )
    assert_best_feasible(solution, problem)


def test_a_set_without_an_interior_keeps_the_previous_estimate_at_the_deadline():
    """Two equal bounds: an answer is on the edge up to rounding, and feasible enough to be kept."""
    rng = np.random.default_rng(14)
    for _ in range(8):
        weighed = replace(TABLE, weight_limits=(115.0, 115.0))
        problem = make_problem(weighed, rng, N=10)
        problem = replace(problem, pi=NativeSolver().solve(problem).pi)
        solution = NativeSolver().solve(problem, 1e-9)
        assert solution.status == "deadline"
        assert_best_feasible(solution, problem)
        np.testing.assert_allclose(solution.pi, problem.pi, rtol=1e-12, atol=1e-12)


def test_the_clock_tells_what_is_left():
    """The remaining time is None without a deadline, and never negative."""
    assert SolveClock().left is None and not SolveClock().passed
    clock = SolveClock(0.0)
    assert clock.left == 0.0 and clock.passed
    assert 9.0 < SolveClock(10.0).left <= 10.0


@pytest.mark.parametrize("name", SOLVERS)
def test_an_answer_names_who_gave_it(name):
    """Method and status are among those of the contract."""
    solution = SOLVERS[name]().solve(make_problem(TABLE, np.random.default_rng(7), N=6))
    assert solution.status in ("optimal", "near-optimal")
    assert (
        solution.method
        == {"native": "interior point", "clarabel": "clarabel", "cvxpy": "cvxpy:CLARABEL"}[name]
    )


def test_clarabels_bad_ends_are_sentences(monkeypatch):
    """A status without a usable answer raises a SolverError with that status and its meaning."""
    from uvms_adaptive_dynamics.solvers import clarabel_solver

    def ends(status):
        result = SimpleNamespace(status=status, x=np.zeros(1000), obj_val=0.0, obj_val_dual=0.0,
                                 iterations=3)
        monkeypatch.setattr(clarabel_solver.clarabel, "DefaultSolver",
                            lambda *_: SimpleNamespace(solve=lambda: result))
        ClarabelSolver().solve(make_problem(TABLE, np.random.default_rng(8), N=3))

    for status, word in (("PrimalInfeasible", "frozen parameters outside P"),
                         ("DualInfeasible", "information_floor"), ("Unsolved", "no usable answer")):
        with pytest.raises(SolverError, match=word) as caught:
            ends(status)
        assert caught.value.status == status


def test_a_panic_of_clarabel_is_a_failed_solve(monkeypatch):
    """Its Rust code panics where an eigenvalue problem does not converge; that is no `Exception`,
    and would end the node. Ctrl-C still does."""
    from uvms_adaptive_dynamics.solvers import clarabel_solver

    class PanicException(BaseException):
        pass

    def ends(error):
        def solve():
            raise error

        monkeypatch.setattr(clarabel_solver.clarabel, "DefaultSolver",
                            lambda *_: SimpleNamespace(solve=solve))
        ClarabelSolver().solve(make_problem(TABLE, np.random.default_rng(8), N=3))

    with pytest.raises(SolverError, match="ended in a panic .Eigval error"):
        ends(PanicException("Eigval error: Eigen(1)"))
    with pytest.raises(KeyboardInterrupt):
        ends(KeyboardInterrupt())


def test_a_panic_below_cvxpy_is_a_failed_solve(monkeypatch):
    """CVXPY lets a panic of its solver through."""
    class PanicException(BaseException):
        pass

    problem = make_problem(TABLE, np.random.default_rng(8), N=3)
    solver = CvxpySolver("CLARABEL")
    solver.solve(problem)

    def panics(*_, **__):
        raise PanicException("Eigval error: Eigen(1)")

    monkeypatch.setattr("cvxpy.Problem.solve", panics)
    with pytest.raises(SolverError, match="CLARABEL ended in a panic .Eigval error"):
        solver.solve(problem)


def test_clarabel_alone_answers_for_clarabel(monkeypatch):
    """No native method is involved."""
    monkeypatch.setattr(native, "solve_active_set", None)
    monkeypatch.setattr(native, "solve_interior", None)
    problem = make_problem(TABLE, np.random.default_rng(9), N=10)
    solver, _ = choose_solver("clarabel", TABLE)
    assert solver.solve(problem).method == "clarabel" and solver.name == "clarabel"
    assert solver.answered == {"clarabel": 1} and sum(solver.statuses.values()) == 1


def test_auto_is_native_where_mosek_cannot_be_used(monkeypatch):
    """If MOSEK fails its trial for any reason, native is used and a note says why; a missing solver
    requested by name is an error."""
    for reason in ("missing", "licence", "error"):

        def refuse(name, make=choose._make, reason=reason):
            if name == "mosek":
                raise SolverError("it was refused", reason)
            return make(name)

        with monkeypatch.context() as patch:
            patch.setattr(choose, "_make", refuse)
            solver, notes = choose_solver("auto", TABLE)
        assert solver.name == "native" and "refused" in notes[0]
    with pytest.raises(SolverError, match="NOSUCH"):
        choose_solver("cvxpy:NOSUCH", TABLE)


def test_without_clarabel_native_estimates_alone(monkeypatch):
    """As on a machine with nothing but rosdep's packages: one sentence says that nothing stands
    behind it, and clarabel requested by name is an error that says what to install."""
    for name in ("clarabel", "cvxpy"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "uvms_adaptive_dynamics.solvers.clarabel_solver")
    solver, notes = choose_solver("native", TABLE)
    assert solver.name == "native" and sum("'clarabel'" in note for note in notes) == 1
    problem = make_problem(TABLE, np.random.default_rng(11), N=5)
    assert solver.solve(problem).status == "optimal"
    with pytest.raises(SolverError, match="pip install clarabel"):
        choose_solver("clarabel", TABLE)


def test_a_licence_lost_at_run_time_hands_over_to_native(caplog):
    """The same tick is answered, one warning is logged, and the lost solver is not used again;
    other errors pass through."""
    problem = make_problem(TABLE, np.random.default_rng(10), N=5)

    class Licensed:
        name, status, asked = "mosek", "licence", 0

        def solve(self, problem, deadline=None):
            self.asked += 1
            raise SolverError("the MOSEK licence has expired", self.status)

    lost = Licensed()
    guarded = Guarded(lost, NativeSolver)
    for _ in range(3):
        assert guarded.solve(problem).status == "optimal"
    assert lost.asked == 1 and guarded.name == "native" and len(guarded.notes) == 1
    assert sum("expired" in record.message for record in caplog.records) == 1
    failing = Guarded(other := Licensed(), NativeSolver)
    other.status = "error"
    with pytest.raises(SolverError):
        failing.solve(problem)
    assert failing.name == "mosek"


def test_who_takes_over_has_what_is_left_of_the_deadline():
    """A licence server that takes its time to refuse has used it."""
    given = []

    class Refused:
        name = "mosek"

        def solve(self, problem, deadline=None):
            time.sleep(0.02)
            raise SolverError("no token", "licence")

    class Substitute(NativeSolver):
        def solve(self, problem, deadline=None):
            given.append(deadline)
            return super().solve(problem)

    problem = make_problem(TABLE, np.random.default_rng(11), N=8)
    for deadline in (5.0, None):
        Guarded(Refused(), Substitute).solve(problem, deadline)
    assert 4.0 < given[0] <= 4.98 and given[1] is None


@pytest.mark.parametrize("frozen", [(), range(5), range(TABLE.size)])
def test_a_warm_up_runs_every_method_and_leaves_no_trace(frozen, monkeypatch):
    """Later answers and counts equal those of a solver without warm-up."""
    called = set()
    for name in ("solve_active_set", "solve_interior"):

        def spy(*args, function=getattr(native, name), name=name):
            called.add(name)
            return function(*args)

        monkeypatch.setattr(native, name, spy)
    problem = make_problem(TABLE, np.random.default_rng(11), N=8, frozen=frozen)
    behind = ClarabelSolver()
    warm, cold = Guarded(NativeSolver(behind)), Guarded(NativeSolver(ClarabelSolver()))
    warm.warm_up(problem.physical, problem.free, problem.pi)
    if len(frozen) < TABLE.size:
        assert called == {"solve_active_set", "solve_interior"} and behind._form is not None
    assert not warm.answered and not warm.statuses
    np.testing.assert_allclose(warm.solve(problem).pi, cold.solve(problem).pi, rtol=1e-12)


def test_the_warm_up_solves_a_problem_of_the_robot():
    """It has the robot's free set and previous estimate and an outlier, and can be solved."""
    rng = np.random.default_rng(12)
    pi, free = admissible(TABLE, rng), rng.random(TABLE.size) < 0.8
    problem = warm_up_problem(PhysicalSet(TABLE, Estimation()), free, pi)
    norms, rho, _ = problem.group_norms(problem.residuals(2 * pi))
    assert (norms > rho).any() and np.array_equal(problem.free, free) and problem.pi is pi
    assert NativeSolver(ClarabelSolver()).solve(problem).status in ("optimal", "near-optimal")


def test_a_problem_is_solved_again_about_an_answer_with_too_large_a_gap():
    """Where the cost at the start is many times the optimum, Clarabel's tolerances, relative to the
    step, leave a gap; a second, much shorter step does not. A second answer is never asked for
    twice."""
    problem = make_problem(TABLE, np.random.default_rng(8), N=3)
    begun = []

    def solve_once(c, gaps=(2e-4, 3e-6)):
        begun.append(c.x0)
        return condensed.Round(best + 1e-3 / len(begun), gaps[len(begun) - 1], 5, "optimal")

    cones = Cones(problem.physical, problem.free, problem.pi, strictly_inside)
    best = cones.coordinates.reduce(ClarabelSolver().solve(problem).pi)
    _, found = condensed.solve_in_rounds(problem, cones, solve_once, "test")
    assert (found.gap, found.iterations) == (3e-6, 10)
    np.testing.assert_allclose(begun[1], best + 1e-3)
    begun.clear()
    _, found = condensed.solve_in_rounds(problem, cones, lambda c: solve_once(c, (2e-4, 2e-4)),
                                         "test")
    assert found.gap == 2e-4 and len(begun) == 2
