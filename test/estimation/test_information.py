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

"""The information state: arrival costs against recursive least squares, weights, maps, gaps and
restarts."""
import numpy as np
import pytest
from information_cases import add, finish, prediction_of, state_of
from problems import make_table

from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.estimation.prior_information import PriorInformation
from uvms_adaptive_dynamics.estimation.row_excitation import Excited
from uvms_adaptive_dynamics.estimation.saved_cost import cost_to_save, present_cost
from uvms_adaptive_dynamics.solvers import choose_solver
from uvms_adaptive_dynamics.uncertainty.channel_noise import NoiseStart
from uvms_adaptive_dynamics.uncertainty.constrained_inverse import ConstrainedInverse

FLOOR = 1e-9    # share of the prior's information, the smallest allowed


class RecursiveLeastSquares:
    """Textbook RLS with forgetting in covariance form (Ljung, System Identification, section 11.2).
    """

    def __init__(self, prior, stddev, forgetting):
        self.pi, self.P, self.forgetting = prior.copy(), np.diag(stddev ** 2), forgetting

    def update(self, Y, tau):
        P = self.P / self.forgetting
        K = P @ Y.T @ np.linalg.inv(np.eye(len(tau)) + Y @ P @ Y.T)
        self.pi = self.pi + K @ (tau - Y @ self.pi)
        self.P = (np.eye(len(self.pi)) - K @ Y) @ P


@pytest.mark.parametrize("window", [1, 10, 200])
@pytest.mark.parametrize("forgetting", [1.0, .98])
def test_information_arrival_is_recursive_least_squares(window, forgetting):
    """rho infinite, P inactive, floor zero: estimate and covariance equal RLS to 1e-9, for any
    window."""
    rng = np.random.default_rng(0)
    table = make_table(1, vehicle=False)
    p, C = table.size, table.channels
    prior, stddev = rng.normal(size=p), np.ones(p)
    state = state_of(table, prior, stddev, horizon=window, forgetting=forgetting,
                     information_floor=FLOOR, rho_quantile=1.0, forgetting_kind="uniform")
    solver, _ = choose_solver("native", table)
    oracle, pi = RecursiveLeastSquares(prior, stddev, forgetting), prior
    truth, free = rng.normal(size=p), np.ones(p, bool)
    for _ in range(120):
        Y = rng.normal(size=(C, p))
        tau = Y @ truth + .1 * rng.normal(size=C)
        add(state, Y, tau, pi)
        oracle.update(Y, tau)
        problem = state.problem(pi, free)
        pi = solver.solve(problem).pi
        np.testing.assert_allclose(pi, oracle.pi, rtol=1e-7, atol=1e-8)
    exact = np.linalg.solve(problem.total.H, problem.total.g)
    np.testing.assert_allclose(exact, oracle.pi, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.linalg.inv(problem.total.H), oracle.P, rtol=1e-9, atol=1e-12)


def test_relative_arrival_is_the_papers_cost():
    """||pi - pi_prev||_Q^2 with Q = diag(q / max(|pi_prev|, eps)^2), rows of the window unweighted,
    older ones gone."""
    rng = np.random.default_rng(1)
    table = make_table(1, vehicle=False)
    state = state_of(table, np.ones(table.size), np.ones(table.size), arrival="relative", horizon=5,
                     rho_quantile=1.0, relative_weight=3.0)
    pi = rng.normal(size=table.size)
    rows = [(rng.normal(size=(1, table.size)), rng.normal(size=1)) for _ in range(12)]
    for Y, tau in rows:
        add(state, Y, tau, pi)
    problem, other = state.problem(pi, np.ones(table.size, bool)), rng.normal(size=table.size)
    Q = 3.0 / np.maximum(np.abs(pi), Estimation().relative_epsilon * np.array(table.scale)) ** 2
    expected = Q @ (other - pi) ** 2 + sum(
        float((tau - Y @ other) @ (tau - Y @ other)) for Y, tau in rows[-5:])
    # plus the weak prior about ones, of deviation one, which bounds directions without rows
    expected += Estimation().information_floor * float(np.sum((other - 1) ** 2))
    assert problem.objective(other) == pytest.approx(expected, rel=1e-10)
    assert problem.total(other) == pytest.approx(expected, rel=1e-10)


def test_equal_weights_stay_one_whatever_the_noise():
    """The paper's residual: newtons and newton metres weigh the same, even once the noise is known.
    """
    table, rng = make_table(), np.random.default_rng(8)
    for weights, equal in (("equal", True), ("noise", False)):
        state = state_of(table, np.zeros(table.size), np.ones(table.size), weights=weights,
                         adapt_noise=True)
        for _ in range(100):
            prediction = prediction_of(np.zeros((table.channels, table.size)),
                                       9 * rng.normal(size=table.channels), np.zeros(table.size))
            every = np.ones(table.channels, bool)
            state.learn_noise(prediction, Excited(every, every))
            state.refresh_weights()
        assert (state.scale == 1).all() == equal


def test_rows_at_rest_count_where_they_are_asked_to():
    """A row that stays the same for two seconds: left out by default, counted as in the paper."""
    table = make_table(1, vehicle=False)
    still = prediction_of(np.ones((1, table.size)), np.zeros(1), np.zeros(table.size))
    for setting, counts in (("left out", False), ("counted", True)):
        state = state_of(table, np.zeros(table.size), np.ones(table.size), rows_at_rest=setting)
        for _ in range(100):
            excited = state.observe(still)
        assert excited.learnt[0] == excited.in_motion[0] == counts


def old_information(state, pi):
    return state.problem(pi, np.ones(pi.size, bool)).arrival.H


def test_rows_leave_with_the_robust_weight_they_had():
    """An outlier that leaves the window keeps its small Huber weight instead of regaining a full
    one."""
    table = make_table(1, vehicle=False)
    pi = np.zeros(table.size)
    state = state_of(table, pi, np.ones(table.size), horizon=3, forgetting=1.0)
    Y = np.zeros((1, table.size))
    Y[0, 0] = 1.0
    add(state, Y, np.array([100.0]), pi)
    for _ in range(3):
        add(state, np.zeros((1, table.size)), np.zeros(1), pi)
    assert old_information(state, pi)[0, 0] - 1.0 == pytest.approx(1.96 / 100, rel=1e-3)


@pytest.mark.parametrize("kind", ["directional", "uniform"])
def test_closing_the_window_keeps_what_was_learned(kind):
    """After a gap the window is empty; its rows' information stays, an outlier's with its Huber
    weight."""
    rng = np.random.default_rng(2)
    table = make_table(1, vehicle=False)
    pi, free = np.zeros(table.size), np.ones(table.size, bool)
    state = state_of(table, pi, np.ones(table.size), horizon=20, forgetting_kind=kind)
    for _ in range(10):
        add(state, rng.normal(size=(1, table.size)), rng.uniform(-1, 1, size=1), pi)
    before = state.problem(pi, free).total.H
    state.break_off(pi, close_window=True)
    assert state.window.filled == 0
    np.testing.assert_allclose(old_information(state, pi), before)


def test_an_outlier_in_the_window_at_a_gap_keeps_its_robust_weight():
    """A row a hundred times beyond rho counts with a hundredth of its information after the gap."""
    table = make_table(1, vehicle=False)
    pi = np.zeros(table.size)
    state = state_of(table, pi, np.ones(table.size), horizon=20)
    row = np.random.default_rng(2).normal(size=(1, table.size))
    add(state, row, np.array([196.0]), pi)
    state.break_off(pi, close_window=True)
    np.testing.assert_allclose(
        old_information(state, pi) - np.eye(table.size), 0.01 * row.T @ row, rtol=1e-3, atol=1e-4)


def test_reaction_puts_the_arm_of_the_previous_estimate_on_the_left():
    """coupling 'reaction': cost = arrival prior + sum of lambda^age |tau_v - Y_vm pi_m,prev - Y_v
    pi_v|^2 + |tau_m - Y_m pi_m|^2, for rows in the window and for older ones, whatever pi was when
    they came."""
    rng = np.random.default_rng(3)
    table = make_table(2)
    p, C, v, m = table.size, table.channels, table.vehicle_slice, table.arm_slice
    prior, stddev = rng.normal(size=p), np.ones(p)
    state = state_of(table, prior, stddev, horizon=4, coupling="reaction", forgetting=.9,
                     information_floor=FLOOR, rho_quantile=1.0)
    rows = []
    for _ in range(9):
        Y, tau = rng.normal(size=(C, p)), rng.normal(size=C)
        rows.append((Y, tau))
        add(state, Y, tau, rng.normal(size=p))
    previous, pi = rng.normal(size=p), rng.normal(size=p)
    problem = state.problem(previous, np.ones(p, bool))
    expected = .9 ** 9 * np.sum((pi - prior) ** 2)
    for age, (Y, tau) in enumerate(reversed(rows)):
        vehicle = tau[:6] - Y[:6, m] @ previous[m] - Y[:6, v] @ pi[v]
        arm = tau[6:] - Y[6:] @ pi
        expected += .9 ** age * (vehicle @ vehicle + arm @ arm)
    assert problem.objective(pi) == pytest.approx(expected, rel=1e-10)
    assert problem.total(pi) == pytest.approx(expected, rel=1e-10)


@pytest.mark.campaign
def test_a_hundred_thousand_ticks_cost_no_digits():
    """After 1e5 ticks with forgetting, columns of sizes 1e-3 to 1e3, the running quadratic and its
    minimiser equal sums in extended precision to 1e-9: normal equations, scaled, need no square
    root here."""
    rng = np.random.default_rng(6)
    table = make_table(1, vehicle=False)
    p, forgetting = table.size, .9998
    size = np.logspace(-3, 3, p)
    state = state_of(table, np.zeros(p), 1 / size, horizon=5, forgetting=forgetting,
                     information_floor=FLOOR, rho_quantile=1.0, forgetting_kind="uniform")
    H, g = np.diag(size.astype(np.longdouble) ** 2), np.zeros(p, np.longdouble)
    truth, pi, valid = rng.normal(size=p) / size, np.zeros(p), np.ones(1, bool)
    Y = rng.normal(size=(100_000, 1, p)) * size
    tau = Y @ truth + .1 * rng.normal(size=(100_000, 1))
    nothing = np.zeros((1, p + 1))
    for y, t in zip(Y, tau):
        state.window.tick()
        state.arrival.tick()
        leaving = state.window.oldest()
        if leaving is not None:
            state.arrival.add_row(leaving.rows, state.arrival.decay ** leaving.age)
        nothing[:, :-1], nothing[:, -1] = y, t
        state.window.add_row(nothing, valid)
        exact = y[0].astype(np.longdouble)
        H = forgetting * H + np.outer(exact, exact)
        g = forgetting * g + exact * t[0]
    total = state.problem(pi, np.ones(p, bool)).total
    assert np.max(
        np.abs(total.H - H) / np.outer(size, size)) < 1e-9 * np.max(np.diag(H) / size ** 2)
    scaled = total.H / np.outer(size, size)
    found = np.linalg.solve(scaled, total.g / size)
    # one step with the exact residual
    correction = np.linalg.solve(scaled, ((g - H @ (found / size)) / size).astype(float))
    assert np.max(np.abs(correction)) < 1e-9 * np.max(np.abs(found))


def direct(state, rows, pi, scale):
    """[Y tau]^T [Y tau] of all rows as plain sums, with weights scale^2."""
    stacked = np.concatenate([scale[:, None] * np.column_stack([Y, tau]) for Y, tau in rows])
    return stacked.T @ stacked


def lively(rng, table, count, size=1.0):
    return [(size * rng.normal(size=(table.channels, table.size)),
             size * rng.normal(size=table.channels)) for _ in range(count)]


@pytest.mark.parametrize("settings",
                         [{"forgetting_kind": "directional"}, {"forgetting_kind": "uniform"},
                          {"arrival": "relative", "horizon": 500}])
def test_weights_are_those_of_the_noise_when_a_problem_is_formed(settings):
    """Rows that arrived under a different noise count with the present weight, in the window and
    out of it."""
    rng, table = np.random.default_rng(0), make_table(2)
    pi, free = np.zeros(table.size), np.ones(table.size, bool)
    state = state_of(table, pi, np.full(table.size, 1e3),
                     **{"horizon": 30, "forgetting": 1.0, "rho_quantile": 1.0, **settings})
    rows = lively(rng, table, 250)
    for Y, tau in rows:
        add(state, Y, tau, pi)
    noise = rng.uniform(.1, 10, table.channels)
    state._use_noise(noise)
    problem, expected = state.problem(pi, free), direct(state, rows, pi, 1 / noise)
    size = np.sqrt(np.diag(expected))
    prior = state.arrival.prior(pi)
    np.testing.assert_allclose((problem.total.H - prior[:-1, :-1]) / np.outer(size, size)[:-1, :-1],
                               (expected / np.outer(size, size))[:-1, :-1], atol=1e-9)
    np.testing.assert_allclose(problem.scale, 1 / noise)


def test_the_order_of_recordings_does_not_matter():
    """A quiet recording first or last gives the same problem, however small its residuals (one
    noise for both, lambda 1)."""
    rng, table = np.random.default_rng(1), make_table(1, vehicle=False)
    pi, free = np.zeros(table.size), np.ones(table.size, bool)
    quiet, loud = lively(rng, table, 150, .01), lively(rng, table, 150)
    totals = []
    for rows in (quiet + loud, loud + quiet):
        state = state_of(table, pi, np.ones(table.size), horizon=10, forgetting=1.0,
                         rho_quantile=1.0)
        for Y, tau in rows:
            add(state, Y, tau, pi)
        state._use_noise(np.full(1, .5))
        totals.append(state.problem(pi, free).total.H)
    np.testing.assert_allclose(*totals, rtol=1e-9)


def test_noise_moves_the_weights_only_when_it_matters():
    """Noise within a fifth of the one in use changes nothing; beyond that the problem's scale
    follows it."""
    table = make_table(1, vehicle=False)
    state = state_of(table, np.zeros(table.size), np.ones(table.size), adapt_noise=True)
    scale = state.scale
    for stddev, expected in ((1.15, scale), (3.0, np.full(1, 1 / 3.0))):
        state.noise._long_run._stddev[:] = stddev
        for _ in range(25):
            state.refresh_weights()
        np.testing.assert_allclose(state.scale, expected)


@pytest.fixture
def learned():
    """(state, pi, free) after 1300 rows, 1000 of which form a block that has left the window."""
    rng, table = np.random.default_rng(5), make_table(1)
    pi, free = np.zeros(table.size), np.ones(table.size, bool)
    state = state_of(table, pi, np.ones(table.size), horizon=50, forgetting=.9995, rho_quantile=1.0,
                     adapt_noise=True)
    for k, (Y, tau) in enumerate(lively(rng, table, 1300)):
        add(state, Y * np.where(np.arange(table.size) < 20, 1.0, float(k < 600)), tau, pi)
    return state, pi, free


def test_sums_and_factors_agree_after_a_map(learned):
    """Forgetting and marginalization change the sums at once and the channels' factors tick by
    tick, with the same final result."""
    state, pi, free = learned
    for change in (lambda: state.forget(now=True),
                   lambda: state.marginalize(np.array([3, 5, 30]), pi)):
        change()
        at_once = state.problem(pi, free).total
        finish(state)
        state._use_noise(1 / state.scale)     # forms the sums again from the factors
        later = state.problem(pi, free).total
        size = np.sqrt(np.diag(at_once.H))
        np.testing.assert_allclose(later.H / np.outer(size, size), at_once.H / np.outer(size, size),
                                   atol=1e-9)
        np.testing.assert_allclose(later.g / size, at_once.g / size, atol=1e-9)


def calibration(state):
    """Effect of timing and calibration errors on the gradient."""
    return state.systematic.of_one_deviation(state.scale ** 2)


def test_a_record_is_put_back_whole_whatever_came_since(learned):
    """Information, gradient covariance, calibration and noise are those of the record; only the
    window is empty."""
    state, pi, free = learned
    state.age_window(0, pi)
    finish(state)
    before = state.problem(pi, free).total
    noise, gradient = state.noise.long_run, state.gradient_covariance()
    systematic, rows = calibration(state), state.rows_learned
    record = state.record()
    state.marginalize(np.array([3, 5, 30]), pi)
    finish(state)
    assert np.abs(state.problem(pi, free).total.H - before.H).max() > 1.0
    state.put_back(record)
    after = state.problem(pi, free)
    np.testing.assert_allclose(after.total.H, before.H, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(after.total.g, before.g, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(state.noise.long_run, noise)
    np.testing.assert_allclose(state.gradient_covariance(), gradient, rtol=1e-9)
    np.testing.assert_allclose(calibration(state), systematic, rtol=1e-9)
    assert state.rows_learned == rows and state.window.filled == 0


def test_a_record_can_be_put_back_again(learned):
    """What is learned, forgotten and marginalized after a return leaves the record as it was."""
    state, pi, free = learned
    record = state.record()
    state.put_back(record)

    def contents():
        total = state.problem(pi, free).total
        return (total.H, total.g, state.gradient_covariance(), state.noise.long_run,
                state.noise.stddev, calibration(state))
    before = contents()
    rng = np.random.default_rng(6)
    for Y, tau in lively(rng, make_table(1), 80):     # longer than the window
        add(state, Y, tau, pi)
    state.forget(now=True)
    finish(state)
    state.marginalize(np.array([3, 5, 30]), pi)
    finish(state)
    assert np.abs(state.problem(pi, free).total.H - before[0]).max() > 1.0
    state.put_back(record)
    for value, expected in zip(contents(), before):
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


def test_a_saved_cost_has_forgotten_what_the_unfinished_block_replaces(learned):
    """It is what forgetting now would leave, with the gradient's noise; asking changes nothing."""
    state, pi, _ = learned
    state.forget(now=True)
    finish(state)
    for Y, tau in lively(np.random.default_rng(6), make_table(1), 500):
        add(state, Y, tau, pi)
    before, noise = present_cost(state, pi), state.gradient_covariance()
    A, gradient, B = cost_to_save(state, pi)
    for now, was in zip((*present_cost(state, pi), state.gradient_covariance()), (*before, noise)):
        np.testing.assert_array_equal(now, was)
    state.forget(now=True)
    finish(state)
    after = present_cost(state, pi)
    size = np.sqrt(np.diag(before[0]))
    assert np.abs((before[0] - A) / size / size[:, None]).max() > .05
    np.testing.assert_allclose(A, after[0], rtol=1e-9, atol=1e-9 * np.abs(A).max())
    np.testing.assert_allclose(gradient, after[1], rtol=1e-6, atol=1e-9 * np.abs(after[1]).max())
    np.testing.assert_allclose(B, state.gradient_covariance(), rtol=1e-9,
                               atol=1e-9 * np.abs(B).max())


def test_the_window_is_aged_as_far_as_asked(learned):
    """Older rows become old data with their present weight; newer ones stay, and stay as old."""
    state, pi, free = learned
    before, filled = present_cost(state, pi), state.window.filled
    newest = [one._replace(rows=one.rows.copy()) for one in state.window.all()[-5:]]
    state.age_window(5, pi)
    finish(state)
    assert state.window.filled == 5 < filled
    for kept, was in zip(state.window.all(), newest):
        np.testing.assert_array_equal(kept.rows, was.rows)
        assert kept.age == was.age
    assert len(set(state.window.born)) == 5
    after = present_cost(state, pi)
    # Only the share forgotten for the completed block is lost.
    size = np.sqrt(np.diag(before[0]))
    assert np.abs((after[0] - before[0]) / size / size[:, None]).max() < .3


def test_marginalization_maps_every_sum(learned):
    """Old rows keep nothing about a marginalized parameter: not in the information, the gradient's
    noise, nor the Gram matrix."""
    state, pi, free = learned
    state.break_off(pi, close_window=True)
    state.forget(now=True)
    finish(state)
    places = np.array([3, 5, 30])
    assert np.abs(state.gradient._old[:, places]).max() > 0
    state.marginalize(places, pi)
    finish(state)
    size = np.sqrt(np.diag(state.problem(pi, free).total.H))
    assert np.abs(state.data_information(pi)[places] / size / size[places, None]).max() < 1e-9
    assert np.abs(state.gradient._old[:, places]).max() < 1e-9
    total = state.problem(pi, free).total.H
    np.testing.assert_allclose(total[np.ix_(places, places)], np.eye(3), atol=1e-9)


def test_rows_that_do_not_count_let_time_pass():
    """Five seconds in which every 25th tick counts: no residual is a neighbour of the previous one.
    """
    table = make_table(1, vehicle=False)
    state = state_of(table, np.zeros(table.size), np.ones(table.size))
    for k in range(250):
        counts = np.array([k % 25 == 0])
        add(state, np.ones((1, table.size)), np.ones(1), np.zeros(table.size), counts)
    products = state.gradient.autocovariance._sum[1, :, 0]
    lags = state.gradient.autocovariance._lags
    assert products[0] > 9 and not products[(lags > 0) & (lags % 25 != 0)].any()


@pytest.mark.parametrize("unlearnt, tells", [(0.0, True), (0.2, True), (9.0, False)])
def test_residuals_tell_the_noise_where_the_parameters_are_learnt(unlearnt, tells):
    """However uncertain earlier noise leaves them: otherwise a noise estimated too large once would
    stay, since it makes the parameters uncertain."""
    table = make_table(1, vehicle=False)
    state = state_of(table, np.zeros(table.size), np.ones(table.size))
    for _ in range(50):
        add(state, np.ones((1, table.size)), np.ones(1), np.zeros(table.size), doubt=9.0,
            unlearnt=unlearnt)
    assert (state.gradient.autocovariance.products[1, 0, 0] > 45) == tells


def test_break_off_reaches_the_gradient():
    """After a gap no row is correlated by the low-pass with one before it."""
    table = make_table(1, vehicle=False)
    state = state_of(table, np.zeros(table.size), np.ones(table.size))
    add(state, np.ones((1, table.size)), np.ones(1), np.zeros(table.size))
    assert state.gradient._recent.any()
    state.break_off(np.zeros(table.size), close_window=False)
    assert not state.gradient._recent.any() and not state.gradient._filtered.any(
    ) and not state.gradient.autocovariance._ring.any()


def test_a_saved_covariance_comes_back():
    """After a restart from a covariance, information and gradient noise give that covariance again,
    times the inflation."""
    rng, table = np.random.default_rng(7), make_table(1)
    p, free = table.size, np.ones(table.size, bool)
    root = rng.normal(size=(p, p)) * .01 * np.array(table.scale)[:, None]
    covariance, values = root @ root.T, rng.normal(size=p)
    for inflation in (1.0, 9.0):
        state = state_of(table, np.zeros(p), np.ones(p))
        state.restart(
            PriorInformation.from_saved(values, covariance, np.array(table.scale), 12.4, inflation,
                                        free), NoiseStart(np.full(table.channels, 2.0)))
        problem, B = state.problem(values, free), state.gradient_covariance()
        G = ConstrainedInverse(problem.total.H, B, np.zeros((0, p)), 0, np.zeros(p), free).matrix
        size = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(G @ B @ G / np.outer(size, size),
                                   inflation * covariance / np.outer(size, size), atol=1e-6)
        np.testing.assert_allclose(np.linalg.solve(problem.total.H, problem.total.g), values,
                                   rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(state.scale, .5)


def test_a_singular_saved_covariance_is_believed_up_to_a_bound():
    """Tied parameters and active constraints make a covariance singular; the start is positive
    definite nevertheless."""
    table = make_table(1)
    p = table.size
    covariance = np.zeros((p, p))
    covariance[0, 0] = 1e-2
    prior = PriorInformation.from_saved(np.ones(p), covariance, np.array(table.scale), 12.4, 1.0,
                                        np.ones(p, bool))
    H = prior.rows[:, :-1].T @ prior.rows[:, :-1]
    assert np.linalg.eigvalsh(H * np.outer(table.scale, table.scale)).min() > 0
    assert (np.linalg.eigvalsh(H - np.diag(prior.floor)) > -1e-9 * np.abs(H).max()).all()


def test_frozen_values_are_not_inflated():
    """Inflation weakens estimated parameters; frozen ones keep their deviation."""
    table = make_table(1)
    p, free = table.size, np.ones(table.size, bool)
    free[4] = False
    prior = PriorInformation.from_saved(np.ones(p), np.diag(np.array(table.scale) ** 2),
                                        np.array(table.scale), 12.4, 4.0, free)
    assert prior.covariance[4, 4] == table.scale[4] ** 2 and prior.covariance[
        5, 5] == 4 * table.scale[5] ** 2
