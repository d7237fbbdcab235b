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

"""MOSEK's task without a licence: the task is written to a file, read by an independent reader and
solved by Clarabel.

MOSEK itself solves nothing here, except in `test_mosek_answers_or_says_what_it_lacks` with a
licence: these tests show that the task is the problem, not how fast or accurate MOSEK is.
"""

import zlib
from dataclasses import replace
from types import SimpleNamespace

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("mosek")

from problems import admissible, make_problem, make_table  # noqa: E402

from uvms_adaptive_dynamics.config import Estimation  # noqa: E402
from uvms_adaptive_dynamics.errors import SolverError  # noqa: E402
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet  # noqa: E402
from uvms_adaptive_dynamics.solvers import (
    Guarded,
    choose_solver,
    condensed,
    projection_problem,
)  # noqa: E402
from uvms_adaptive_dynamics.solvers import mosek_solver as mosek_direct
from uvms_adaptive_dynamics.solvers.condensed import Round  # noqa: E402
from uvms_adaptive_dynamics.solvers.cvxpy_solver import CvxpySolver  # noqa: E402
from uvms_adaptive_dynamics.solvers.mosek_licence import licence_sentence  # noqa: E402
from uvms_adaptive_dynamics.solvers.mosek_solver import MosekSolver  # noqa: E402
from uvms_adaptive_dynamics.solvers.native.interior_point import strictly_inside  # noqa: E402
from uvms_adaptive_dynamics.solvers.native.solver import NativeSolver  # noqa: E402

CASES = {
    "plain": {},
    "rank deficient": {"rank": 5, "prior": 0.1},
    "frozen": {"frozen": (3, 6, 22, 30, 31, 40)},
    "many outliers": {"outliers": 0.3},
    "no outliers": {"outliers": 0.0, "noise": 0.05},
    "forgetting": {"weight": 0.95 ** np.arange(20)[::-1]},
}


class ConicBenchmarkFile:
    """A CBF file (cblib.zib.de, format 1-3): minimize c x + c0, A x + b in cones, sum x_j H_j +
    D positive semidefinite."""

    def __init__(self, path):
        words = iter(path.read_text().split("\n"))
        self.domains, self.psd, self.c0, entries = {}, [], 0.0, {}
        for section in words:
            if section in ("VER", "OBJSENSE"):
                assert next(words) in ("3", "MIN")
            elif section in ("VAR", "CON"):
                size, count = map(int, next(words).split())
                self.domains[section] = [next(words).split() for _ in range(count)]
                assert sum(int(n) for _, n in self.domains[section]) == size
                setattr(self, section, size)
            elif section == "PSDCON":
                self.psd = [int(next(words)) for _ in range(int(next(words)))]
            elif section == "OBJBCOORD":
                self.c0 = float(next(words))
            elif section.endswith("COORD"):
                entries[section] = np.array([list(map(float, next(words).split()))
                                             for _ in range(int(next(words)))])
        self.c = np.zeros(self.VAR)
        self.c[entries["OBJACOORD"][:, 0].astype(int)] = entries["OBJACOORD"][:, 1]
        i, j, value = entries["ACOORD"].T
        self.A = sp.csr_matrix((value, (i.astype(int), j.astype(int))), (self.CON, self.VAR))
        self.b = np.zeros(self.CON)
        self.b[entries["BCOORD"][:, 0].astype(int)] = entries["BCOORD"][:, 1]
        self.H, self.D = (entries.get("HCOORD", np.zeros((0, 5))),
                          entries.get("DCOORD", np.zeros((0, 4))))

    def solve(self):
        """(x, objective) by Clarabel."""
        blocks = [*self._linear_blocks(), *self._matrix_blocks()]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = 400
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        # With its default refinement some tasks end in a numerical error on some machines.
        settings.iterative_refinement_max_iter = 50
        settings.iterative_refinement_reltol = settings.iterative_refinement_abstol = 1e-14
        result = clarabel.DefaultSolver(sp.csc_matrix((self.VAR, self.VAR)), self.c,
                                        sp.vstack([-A for A, _, _ in blocks]).tocsc(),
                                        np.concatenate([b for _, b, _ in blocks]),
                                        [cone for _, _, cone in blocks], settings).solve()
        assert str(result.status) in ("Solved", "AlmostSolved", "InsufficientProgress"), (
            result.status
        )
        return np.array(result.x), result.obj_val + self.c0

    def _linear_blocks(self):
        """(A, b, Clarabel's cone of A x + b) of variables and rows, domain by domain."""
        for section, A, b in (("VAR", sp.eye(self.VAR).tocsr(), np.zeros(self.VAR)),
                              ("CON", self.A, self.b)):
            at = 0
            for domain, n in self.domains[section]:
                if domain != "F":
                    yield vector_block(A[at : at + int(n)], b[at : at + int(n)], domain)
                at += int(n)

    def _matrix_blocks(self):
        """The same for the matrix inequalities."""
        for k, d in enumerate(self.psd):
            # Clarabel: upper triangle by columns, off-diagonals times sqrt 2; CBF: lower triangle,
            # symmetric.
            place = lambda i, j: max(i, j) * (max(i, j) + 1) // 2 + min(i, j)
            A, b = sp.lil_matrix((d * (d + 1) // 2, self.VAR)), np.zeros(d * (d + 1) // 2)
            for _, variable, i, j, value in self.H[self.H[:, 0] == k]:
                A[place(int(i), int(j)), int(variable)] += value * (1 if i == j else np.sqrt(2))
            for _, i, j, value in self.D[self.D[:, 0] == k]:
                b[place(int(i), int(j))] += value * (1 if i == j else np.sqrt(2))
            yield A.tocsr(), b, clarabel.PSDTriangleConeT(d)


def vector_block(A, b, domain):
    """(A, b, cone) in Clarabel's form of A x + b in a domain of the file."""
    if domain == "L-":
        A, b = -A, -b
    if domain == "QR":  # 2 a b >= |c|^2
        turn = sp.block_diag([np.array([[1, 1], [1, -1]]) / np.sqrt(2), sp.eye(len(b) - 2)]).tocsr()
        A, b = turn @ A, turn @ b
    kind = {
        "L+": clarabel.NonnegativeConeT,
        "L-": clarabel.NonnegativeConeT,
        "L=": clarabel.ZeroConeT,
        "Q": clarabel.SecondOrderConeT,
        "QR": clarabel.SecondOrderConeT,
    }[domain]
    return A, b, kind(len(b))


@pytest.fixture
def read_back(monkeypatch, tmp_path):
    """MosekSolver with its optimizer replaced: the task is written, read back, and solved by
    Clarabel."""
    files = []

    def optimize(task, seconds=None):
        files.append(tmp_path / f"{len(files)}.cbf")
        task.write(files[-1])
        x, objective = ConicBenchmarkFile(files[-1]).solve()
        task.objective = objective
        return Round(np.clip(task._x0 + x[:task.m], task._lower, task._upper), 0.0, 1, "optimal")

    monkeypatch.setattr(mosek_direct.MosekTask, "optimize", optimize)
    solver = MosekSolver()
    solver.files = files
    return solver


def on_the_edge(table, rng):
    """True parameters at which bounds are active."""
    truth = admissible(table, rng)
    truth[table.nonpositive[::2]] = 0
    if table.nonnegative.size:
        truth[table.nonnegative[0]] = 0
    return truth


@pytest.mark.parametrize("grouping", ["sample", "channel", "horizon"])
@pytest.mark.parametrize("case", CASES)
def test_task_is_the_problem(grouping, case, read_back):
    """The written task's optimum equals our solver's: objective to 1e-6, Y pi to 1e-5 of its
    RMS, the file's own objective too."""
    rng = np.random.default_rng(zlib.crc32(f"mosek {grouping} {case}".encode()))
    table = make_table()
    problem = make_problem(table, rng, grouping=grouping, truth=on_the_edge(table, rng),
                           **CASES[case])
    written, ours = read_back.solve(problem), NativeSolver().solve(problem)
    assert written.objective == pytest.approx(ours.objective, rel=1e-6)
    assert read_back._task.objective == pytest.approx(ours.objective, rel=1e-6)
    Y = problem.Y.reshape(-1, table.size)
    assert np.sqrt(np.mean((Y @ (written.pi - ours.pi)) ** 2)) < 1e-5 * np.sqrt(
        np.mean((Y @ ours.pi) ** 2)
    )
    frozen = list(CASES[case].get("frozen", ()))
    assert np.array_equal(written.pi[frozen], problem.pi[frozen])


@pytest.mark.parametrize("grouping", ["sample", "channel", "horizon"])
def test_rows_in_si_units_are_weighed_by_the_noise(grouping, read_back):
    """The task with rows in SI units has the same answer as the one with normalized rows."""
    rng = np.random.default_rng(21)
    table = make_table()
    problem = make_problem(table, rng, grouping=grouping, truth=on_the_edge(table, rng),
                           scale=10 ** rng.uniform(-1.7, 1.7, table.channels))
    before = replace(problem, Y=problem.normalized_Y(), tau=problem.scale * problem.tau,
                     scale=np.ones(table.channels))
    assert read_back.solve(problem).objective == pytest.approx(
        NativeSolver().solve(before).objective, rel=1e-6
    )


def test_parameters_agree_where_the_data_determine_them(read_back):
    """Well conditioned rows: each parameter to 1e-4 of its scale (1e-6 of objective is 1e-3 of
    a standard deviation)."""
    rng = np.random.default_rng(3)
    table = make_table()
    problem = make_problem(table, rng, N=40, truth=on_the_edge(table, rng), outliers=0.03)
    np.testing.assert_allclose(read_back.solve(problem).pi / table.scale,
                               NativeSolver().solve(problem).pi / table.scale, atol=1e-4)


@pytest.mark.parametrize("n, vehicle", [(0, True), (3, False), (4, True)])
def test_other_robots_make_the_same_task(n, vehicle, read_back):
    """Vehicle alone, arm alone and the robot of the default configuration: the projection of a
    random point onto P."""
    table = make_table(n, vehicle)
    physical = PhysicalSet(table, Estimation())
    outside = -admissible(table, np.random.default_rng(4))
    problem = projection_problem(table, physical, outside)
    written, ours = read_back.solve(problem), NativeSolver().solve(problem)
    assert written.objective == pytest.approx(ours.objective, rel=1e-6)
    assert physical.violation(written.pi) < 1e-6


def test_a_kept_task_equals_a_new_one(read_back, tmp_path):
    """Ticks of changing data in one task, with outliers coming and going: its file equals that of a
    task made for the tick alone."""
    rng = np.random.default_rng(5)
    table, tasks = make_table(), set()
    truth = on_the_edge(table, rng)
    physical = PhysicalSet(table, Estimation())
    for k, outliers in enumerate((0.3, 0.0, 0.1, 0.02)):
        problem = make_problem(table, rng, truth=truth, outliers=outliers)
        problem = replace(problem, physical=physical)
        kept, new = tmp_path / f"kept{k}.cbf", tmp_path / f"new{k}.cbf"
        read_back.write_task(problem, kept)
        tasks.add(id(read_back._task))
        fresh = MosekSolver()
        fresh.write_task(problem, new)
        a, b = ConicBenchmarkFile(kept), ConicBenchmarkFile(new)
        if a.VAR == b.VAR:
            assert kept.read_text() == new.read_text()
        assert a.solve()[1] == pytest.approx(b.solve()[1], rel=1e-7)
    assert len(tasks) < 4


def test_groups_that_end_beyond_rho_get_their_cone(read_back, monkeypatch):
    """If no group gets a cone in the first round, rounds continue until the answer is that of the
    whole problem."""
    rng = np.random.default_rng(6)
    table = make_table()
    truth = on_the_edge(table, rng)
    problem = make_problem(table, rng, N=25, truth=truth, outliers=0.02)
    ours = NativeSolver().solve(problem)
    norms, rho, _ = problem.group_norms(problem.residuals(ours.pi))
    assert (norms > rho).any()
    monkeypatch.setattr(condensed, "CONE_SHARE", 1e3)
    written = read_back.solve(problem)
    assert len(read_back.files) > 1
    assert written.objective == pytest.approx(ours.objective, rel=1e-6)


def test_every_format_is_written_without_a_licence(tmp_path):
    """.ptf for people, .cbf for other solvers, .task.gz for MOSEK's support."""
    problem = make_problem(make_table(), np.random.default_rng(7))
    for name in ("tick.ptf", "tick.cbf", "tick.task.gz"):
        MosekSolver().write_task(problem, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000


@pytest.fixture
def licensed():
    """Whether MOSEK solves here."""
    problem = make_problem(make_table(), np.random.default_rng(8))
    try:
        MosekSolver().solve(problem)
    except SolverError as error:
        return error
    return None


@pytest.mark.parametrize("wanted, name", [("mosek", "mosek"), ("cvxpy:MOSEK", "cvxpy:MOSEK")])
def test_both_ways_to_mosek_are_chosen_by_name(wanted, name, licensed):
    """'mosek' is the task, 'cvxpy:MOSEK' the CVXPY statement; without a licence either is refused
    with advice."""
    if licensed is None:
        assert choose_solver(wanted, make_table())[0].name == name
    else:
        with pytest.raises(SolverError, match="MOSEKLM_LICENSE_FILE"):
            choose_solver(wanted, make_table())
    assert choose_solver("auto", make_table())[0].name == ("mosek" if licensed is None
                                                           else "native")


@pytest.mark.parametrize("grouping", ["sample", "channel", "horizon"])
def test_mosek_answers_or_says_what_it_lacks(grouping, licensed):
    """With a licence, MOSEK's own answer: objective to 1e-6 of the statement's, constraints to
    1e-8. Without one, the error says where to get a licence and where to put it."""
    rng = np.random.default_rng(9)
    table = make_table()
    problem = make_problem(table, rng, grouping=grouping, truth=on_the_edge(table, rng))
    if licensed is not None:
        with pytest.raises(SolverError) as refusal:
            MosekSolver().solve(problem)
        assert refusal.value.status == "licence"
        for word in ("mosek.com", "~/mosek/mosek.lic", "MOSEKLM_LICENSE_FILE"):
            assert word in str(refusal.value)
        return
    solution = MosekSolver().solve(problem)
    assert solution.objective == pytest.approx(CvxpySolver("CLARABEL").solve(problem).objective,
                                               rel=1e-6)
    assert problem.physical.violation(solution.pi) < 1e-8


class Refusing:
    """MOSEK's own task with an optimizer that ends with a given MOSEK code; it never pretends to
    have solved."""

    def __init__(self, task, ends):
        self.task, self.ends = task, ends

    def __getattr__(self, name):
        return getattr(self.task, name)

    def optimize(self):
        import mosek

        raise mosek.Error(self.ends, "told to")


@pytest.fixture
def ending(monkeypatch):
    """Makes every task end with the given mosek.rescode; counts the attempts."""
    attempts = []

    def end_with(code):
        optimize = mosek_direct.MosekTask.optimize

        def refusing(task, seconds=None):
            attempts.append(seconds)
            real, task._task = task._task, Refusing(task._task, code)
            try:
                return optimize(task, seconds)
            finally:
                task._task = real

        monkeypatch.setattr(mosek_direct.MosekTask, "optimize", refusing)
        return attempts

    return end_with


@pytest.mark.parametrize("code, words",
                         [("err_license_expired", "expired; renew"), ("err_license_max", "tokens"),
                          ("err_license_server", "server does not answer"),
                          ("err_license_cannot_connect", "cannot connect"),
                          ("err_missing_license_file", "~/mosek/mosek.lic"),
                          ("err_license_version", "older version"),
                          ("err_license_feature", "feature"),
                          ("err_license_invalid_hostid", "another machine")])
def test_each_refusal_of_a_licence_is_its_own_sentence(code, words, ending):
    """For each response code: status 'licence', what is wrong and what to do; MOSEK is tried once,
    then native takes over."""
    import mosek

    attempts = ending(getattr(mosek.rescode, code))
    problem = make_problem(make_table(), np.random.default_rng(10), N=6)
    with pytest.raises(SolverError, match=words) as refusal:
        MosekSolver().solve(problem)
    assert refusal.value.status == "licence" and len(attempts) == 1
    guarded = Guarded(MosekSolver(), NativeSolver)
    assert guarded.solve(problem).status == "optimal" and guarded.name == "native"


def test_every_licence_code_of_this_mosek_has_a_sentence():
    """No licence code is reported as another error, and no other code as a licence problem."""
    import mosek

    codes = [name for name in dir(mosek.rescode)
             if name.startswith("err_") and ("license" in name or "flexlm" in name)]
    assert len(codes) > 15 and all(licence_sentence(name) for name in codes)
    assert len({licence_sentence(name) for name in codes}) > 15
    assert licence_sentence("err_space") is None and licence_sentence(
        mosek.rescode.err_license_max
    ) == licence_sentence("err_license_max")


def test_another_failure_is_tried_again_with_a_new_task(ending):
    """Out of memory, for example: two attempts, then an error that names the code; the deadline is
    passed on."""
    import mosek

    attempts = ending(mosek.rescode.err_space)
    solver = MosekSolver()
    with pytest.raises(SolverError, match="err_space") as failure:
        solver.solve(make_problem(make_table(), np.random.default_rng(11), N=6), 5.0)
    assert (failure.value.status == "error" and len(attempts) == 2
            and all(0 < seconds <= 5.0 for seconds in attempts))


def test_one_environment_per_process():
    """Two solvers share it, and with it one licence token."""
    assert MosekSolver()._env is MosekSolver()._env


@pytest.mark.parametrize("word, ended, gap, outside, expected",
                         [("optimal", "ok", 1e-11, 0, "optimal"),
                          ("unknown", "trm_stall", 1e-8, 0, "near-optimal"),
                          ("prim_and_dual_feas", "trm_max_iterations", 1e-7, 0, "near-optimal"),
                          ("prim_feas", "trm_max_time", 0.1, 0, "deadline"),
                          ("unknown", "trm_stall", 1e-3, 0, "inaccurate"),
                          ("unknown", "trm_max_time", 0.1, 1, "deadline error"),
                          ("optimal", "ok", 1e-11, 1, "inaccurate"),
                          ("prim_infeas_cer", "ok", 0, 0, "prim_infeas_cer"),
                          ("dual_infeas_cer", "ok", 0, 0, "dual_infeas_cer")])
def test_what_an_end_of_the_optimizer_means(word, ended, gap, outside, expected):
    """Short of its tolerances but feasible and close: near-optimal; out of time: the point with its
    gap; otherwise an error."""
    import mosek

    problem = make_problem(make_table(), np.random.default_rng(12), N=6)
    solver = MosekSolver()
    solver._filled(condensed.condense(problem, solver._cones_for(problem), np.zeros(0, int)),
                   solver._cones)
    task, objective = solver._task, problem.objective(problem.pi)
    inside = strictly_inside(solver._cones)[0] - task._x0 + (1e3 if outside else 0)
    task._task = SimpleNamespace(getsolsta=lambda kind: getattr(mosek.solsta, word),
                                 getxxslice=lambda *_: inside,
                                 getprimalobj=lambda kind: objective * (1 + gap),
                                 getdualobj=lambda kind: objective, getintinf=lambda item: 7)
    if expected in ("optimal", "near-optimal", "deadline"):
        found = task._read(ended)
        assert (found.status == expected and found.gap == pytest.approx(gap, rel=0.2)
                and found.iterations == 7)
    else:
        with pytest.raises(SolverError) as failure:
            task._read(ended)
        assert failure.value.status == expected.split()[0]
